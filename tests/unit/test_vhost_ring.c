// SPDX-License-Identifier: GPL-2.0
/* Split virtqueues: sizes, indices that wrap, indirect tables, and who is told of what when. */
#include "tests/unit/vhost_rig.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/scratch.h"

#define SECTOR 512u

/* More requests than a 16-bit index counts, in rings that are as small and as large as can be; with all that is there of them. */
static void indices_wrap(void **state)
{
	const __u32 sizes[] = {4, 256};
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 3, RIG_DATA, SECTOR);
	struct vhost_rig rig;
	int stopped;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	for (size_t s = 0; s < COUNT(sizes); s++) {
		__u32 todo = 66003, done = 0;

		vhost_rig_run(&rig, 1, sizes[s]);
		io.indirect = true;
		while (done < todo) {
			__u32 sent = 0;

			while (sent < sizes[s] && done + sent < todo &&
			       frontend_submit(&rig.front, 0, &io) >= 0)
				sent++;
			frontend_kick(&rig.front, 0);
			for (; sent; sent--, done++) {
				int head = frontend_reap(&rig.front, 0, NULL);

				assert_true(head >= 0);
				assert_int_equal(*frontend_status(&rig.front, 0, (__u16)head),
						 VIRTIO_BLK_S_OK);
			}
		}
		stopped = frontend_stop_queue(&rig.front, 0);
		assert_int_equal(stopped, (__u16)todo);
		frontend_close(&rig.front);
		memset(&rig.front, 0, sizeof(rig.front));
		rig.front.socket = -1;
	}
	vhost_rig_close(&rig);
}

/* Every size up to the largest is served, each other is refused. */
static void sizes_are_powers_of_two(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 3, RIG_DATA, SECTOR);
	const __u32 refused[] = {0, 3, 2048, 65536, 0x80000000};
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	for (__u32 size = 4; size <= 1024; size *= 2) {
		vhost_rig_run(&rig, 1, size);
		assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
		frontend_close(&rig.front);
		memset(&rig.front, 0, sizeof(rig.front));
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		const struct vhost_user_vring_state size = {0, refused[i]};

		vhost_rig_connect(&rig);
		frontend_negotiate(&rig.front, ~0ull);
		assert_int_not_equal(frontend_ask(&rig.front, VHOST_USER_SET_VRING_NUM, &size,
						  sizeof(size), NULL, 0),
				     0);
		frontend_hang_up(&rig.front);
	}
	vhost_rig_close(&rig);
}

static __u64 interrupts(struct vhost_rig *rig)
{
	__u64 count = 0;

	return read(rig->front.queue[0].call, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* Until the used ring has so many more; the driver does not say that it wants to know. */
static void wait_used(struct vhost_rig *rig, __u16 index)
{
	for (int ms = 0; ms < 60000; ms++) {
		if (__atomic_load_n(&rig->front.queue[0].ring.used->idx, __ATOMIC_ACQUIRE) == index)
			return;
		usleep(1000);
	}
	fail_msg("the used index does not come to %u", index);
}

/* A stop ends with all that there is to be told having been. */
static __u64 interrupts_of_five(struct vhost_rig *rig, __u64 features, __u16 flags, __u16 event)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 3, RIG_DATA, SECTOR);
	struct frontend_queue *q = &rig->front.queue[0];
	__u64 told;

	vhost_rig_connect(rig);
	frontend_negotiate(&rig->front, features);
	frontend_make_queue(&rig->front, 0, 64);
	q->ring.avail->flags = flags;
	vring_used_event(&q->ring) = event;
	for (int i = 0; i < 5; i++)
		assert_true(frontend_submit(&rig->front, 0, &io) >= 0);
	assert_int_equal(frontend_start_queue(&rig->front, 0, 0), 0);
	frontend_kick(&rig->front, 0);
	wait_used(rig, 5);
	assert_int_equal(frontend_stop_queue(&rig->front, 0), 5);
	/* One is for the descriptor, which is new: another's may have been signalled unseen. */
	told = interrupts(rig) - 1;
	frontend_close(&rig->front);
	memset(&rig->front, 0, sizeof(rig->front));
	rig->front.socket = -1;
	return told;
}

static void the_driver_is_told_when_it_wants(void **state)
{
	const __u64 event = FRONTEND_FEATURES,
		    plain = event & ~FRONTEND_BIT(VIRTIO_RING_F_EVENT_IDX);
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	assert_int_equal(interrupts_of_five(&rig, plain, 0, 0), 5);
	assert_int_equal(interrupts_of_five(&rig, plain, VRING_AVAIL_F_NO_INTERRUPT, 0), 0);
	/* The flag means nothing then, and the third entry is the one. */
	assert_int_equal(interrupts_of_five(&rig, event, VRING_AVAIL_F_NO_INTERRUPT, 2), 1);
	assert_int_equal(interrupts_of_five(&rig, event, 0, 5), 0);
	assert_int_equal(interrupts_of_five(&rig, event, 0, 65535), 0);
	vhost_rig_close(&rig);
}

/* The device says at which index it wants a kick: nobody kicks without need, and nobody waits for good. */
static void the_device_says_when_it_wants_a_kick(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 3, RIG_DATA, SECTOR);
	struct frontend_queue *q;
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	q = &rig.front.queue[0];
	for (__u32 i = 0; i < 2003; i++) {
		__u16 before = q->published;

		assert_true(frontend_submit(&rig.front, 0, &io) >= 0);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (vring_need_event(
			    __atomic_load_n(&vring_avail_event(&q->ring), __ATOMIC_RELAXED),
			    q->published, before))
			frontend_kick(&rig.front, 0);
		assert_true(frontend_reap(&rig.front, 0, NULL) >= 0);
	}
	vhost_rig_close(&rig);
}

/* A chain whose last descriptor is an indirect table, and a table across the regions' border that memory does not have. */
static void a_chain_may_end_in_a_table(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 3, RIG_DATA, SECTOR);
	struct vring_desc *table;
	struct frontend_queue *q;
	struct vhost_rig rig;
	__u64 own = 0x600000;
	int head;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	q = &rig.front.queue[0];
	head = frontend_submit(&rig.front, 0, &io); /* three descriptors */
	frontend_kick(&rig.front, 0);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), head);
	table = (struct vring_desc *)(rig.front.memory + own);
	table[0] = q->ring.desc[head + 1];
	table[0].next = 1;
	table[1] = q->ring.desc[head + 2];
	frontend_descriptor(&rig.front, 0, (__u16)(head + 1),
			    (struct vring_desc){own, 2 * sizeof(*table), VRING_DESC_F_INDIRECT, 0});
	q->busy[head] = q->busy[head + 1] = true;
	*frontend_status(&rig.front, 0, (__u16)head) = 0xff;
	frontend_publish(&rig.front, 0, (__u16)head);
	frontend_kick(&rig.front, 0);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), head);
	assert_int_equal(*frontend_status(&rig.front, 0, (__u16)head), VIRTIO_BLK_S_OK);
	vhost_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(sizes_are_powers_of_two),
		cmocka_unit_test(the_driver_is_told_when_it_wants),
		cmocka_unit_test(the_device_says_when_it_wants_a_kick),
		cmocka_unit_test(a_chain_may_end_in_a_table),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
