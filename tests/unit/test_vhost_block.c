// SPDX-License-Identifier: GPL-2.0
/* The disk as a guest's virtio-blk driver sees it, over a whole machine. */
#include "tests/unit/vhost_rig.h"

#include <pthread.h>
#include <string.h>

#include "injectors/emu/machine_private.h"
#include "tests/unit/scratch.h"

#define SECTOR 512u

static void config_tells_of_the_disk(void **state)
{
	struct vhost_user_config config = {.bytes = sizeof(struct virtio_blk_config)};
	__u32 bytes = sizeof(config);
	struct virtio_blk_config blk;
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_plan.device.queues = 3;
	vhost_rig_open(&rig);
	vhost_rig_connect(&rig);
	frontend_negotiate(&rig.front, ~0ull);
	assert_int_equal(frontend_get(&rig.front, VHOST_USER_GET_QUEUE_NUM), 3);
	assert_true(frontend_send(&rig.front, VHOST_USER_GET_CONFIG, &config,
				  VHOST_USER_CONFIG_HEAD + config.bytes, NULL, 0));
	assert_true(frontend_answer(&rig.front, VHOST_USER_GET_CONFIG, &config, &bytes, NULL));
	assert_int_equal(bytes, VHOST_USER_CONFIG_HEAD + sizeof(blk));
	memcpy(&blk, config.space, sizeof(blk));
	assert_int_equal(blk.capacity, RIG_DISK / SECTOR);
	assert_int_equal(blk.num_queues, 3);
	assert_int_equal(blk.seg_max, 126);
	assert_true(rig.front.features & FRONTEND_BIT(VIRTIO_BLK_F_MQ));
	assert_false(rig.front.features & FRONTEND_BIT(VIRTIO_BLK_F_RO));
	assert_false(rig.front.features & FRONTEND_BIT(VIRTIO_F_RING_PACKED));
	vhost_rig_close(&rig);
}

/* Writes in pieces that lie in both regions of memory, direct and indirect, and reads it back as a whole. */
static void every_byte_arrives(void **state)
{
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 128);
	for (__u32 i = 0; i < 101; i++) {
		__u64 low = 0x300000 + (i % 7) * 0x3000, high = RIG_DATA + (i % 11) * 0x5000;
		struct frontend_io out = vhost_rig_io(VIRTIO_BLK_T_OUT, i * 64ull, low, 0x2000);
		struct frontend_io in =
			vhost_rig_io(VIRTIO_BLK_T_IN, i * 64ull, high + 0x100000, 0x6000);

		out.piece[1].guest_address = high;
		out.piece[1].bytes = 0x4000;
		out.pieces = 2;
		out.indirect = i % 2;
		in.indirect = i % 3;
		vhost_rig_fill(&rig, low, 0x2000, i);
		vhost_rig_fill(&rig, high, 0x4000, i + 1000);
		assert_int_equal(frontend_do(&rig.front, 0, &out), VIRTIO_BLK_S_OK);
		assert_int_equal(frontend_do(&rig.front, 0, &in), VIRTIO_BLK_S_OK);
		assert_true(vhost_rig_holds(&rig, high + 0x100000, 0x2000, i));
		assert_true(vhost_rig_holds(&rig, high + 0x102000, 0x4000, i + 1000));
	}
	assert_int_equal(frontend_stop_queue(&rig.front, 0), 202);
	assert_int_equal(vhost_rig_stats(&rig).requests, 202);
	vhost_rig_close(&rig);
}

static void other_requests_are_served(void **state)
{
	struct virtio_blk_discard_write_zeroes range = {.sector = 8, .num_sectors = 8};
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, 0x4000);
	struct vhost_rig rig;
	char *memory;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	memory = guest_memory_cpu(rig.memory, 0);
	vhost_rig_fill(&rig, RIG_DATA, 0x4000, 1);
	assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
	io = vhost_rig_io(VIRTIO_BLK_T_FLUSH, 0, 0, 0);
	assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
	io = vhost_rig_io(VIRTIO_BLK_T_GET_ID, 0, RIG_DATA + 0x10000, VIRTIO_BLK_ID_BYTES);
	assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
	assert_string_equal(memory + RIG_DATA + 0x10000, "vm/disk");
	for (__u32 type = VIRTIO_BLK_T_DISCARD; type <= VIRTIO_BLK_T_WRITE_ZEROES; type += 2) {
		memcpy(memory + RIG_DATA + 0x20000, &range, sizeof(range));
		io = vhost_rig_io(type, 0, RIG_DATA + 0x20000, sizeof(range));
		assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
		range.sector += 8;
	}
	io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA + 0x30000, 0x4000);
	assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
	for (int i = 0; i < 0x4000; i++)
		assert_int_equal(memory[RIG_DATA + 0x30000 + i],
				 i / 0x1000 == 1 || i / 0x1000 == 2 ? 0 : memory[RIG_DATA + i]);
	vhost_rig_close(&rig);
}

/* What makes no sense has an error for an answer, and the next request is served. */
static void bad_requests_fail_alone(void **state)
{
	const struct {
		struct frontend_io io;
		int status;
	} cases[] = {
		{vhost_rig_io(VIRTIO_BLK_T_IN, RIG_DISK / SECTOR, RIG_DATA, SECTOR),
		 VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_IN, RIG_DISK / SECTOR - 1, RIG_DATA, 2 * SECTOR),
		 VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_OUT, ~0ull, RIG_DATA, SECTOR), VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, SECTOR - 1), VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_MEMORY, SECTOR), VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_MEMORY - SECTOR, 2 * SECTOR),
		 VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_GET_ID, 0, RIG_DATA, 19), VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(VIRTIO_BLK_T_DISCARD, 0, RIG_DATA, 15), VIRTIO_BLK_S_IOERR},
		{vhost_rig_io(77, 0, RIG_DATA, SECTOR), VIRTIO_BLK_S_UNSUPP},
	};
	struct frontend_io good = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, SECTOR);
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(frontend_do(&rig.front, 0, &cases[i].io), cases[i].status);
		assert_int_equal(frontend_do(&rig.front, 0, &good), VIRTIO_BLK_S_OK);
	}
	assert_int_equal(vhost_rig_stats(&rig).broken, 0);
	vhost_rig_close(&rig);
}

static void a_file_that_is_only_read_is_not_written(void **state)
{
	struct frontend_io out = vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, SECTOR);
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, SECTOR);
	struct vhost_rig rig;

	vhost_rig_plan();
	strcpy(vhost_plan.block->file.path, "README.md");
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	assert_true(rig.front.features & FRONTEND_BIT(VIRTIO_BLK_F_RO));
	assert_int_equal(frontend_do(&rig.front, 0, &out), VIRTIO_BLK_S_IOERR);
	assert_int_equal(frontend_do(&rig.front, 0, &in), VIRTIO_BLK_S_OK);
	vhost_rig_close(&rig);
}

/* Requests for pages that are out wait, and those behind them do not. */
static void parked_requests_are_overtaken(void **state)
{
	struct frontend_io absent = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x4000);
	struct frontend_io present = vhost_rig_io(VIRTIO_BLK_T_IN, 8, RIG_DATA + 0x100000, 0x1000);
	struct vhost_rig rig;
	int first, second;

	vhost_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 100 * MS);
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	vhost_rig_evict(&rig, RIG_DATA, 0x4000);
	first = frontend_submit(&rig.front, 0, &absent);
	second = frontend_submit(&rig.front, 0, &present);
	frontend_kick(&rig.front, 0);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), second);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), first);
	assert_true(vhost_rig_stats(&rig).parked >= 1);
	vhost_rig_close(&rig);
}

/* With the other policy the queue waits. */
static void a_paused_queue_keeps_the_order(void **state)
{
	struct frontend_io absent = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x4000);
	struct frontend_io present = vhost_rig_io(VIRTIO_BLK_T_IN, 8, RIG_DATA + 0x100000, 0x1000);
	struct vhost_rig rig;
	int first, second;

	vhost_rig_plan();
	vhost_plan.block->vhost.on_fault = VHOST_PAUSE;
	vhost_rig_inject(INJECT_RESOLVE, 100, 50 * MS);
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	vhost_rig_evict(&rig, RIG_DATA, 0x4000);
	first = frontend_submit(&rig.front, 0, &absent);
	second = frontend_submit(&rig.front, 0, &present);
	frontend_kick(&rig.front, 0);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), first);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), second);
	assert_int_equal(vhost_rig_stats(&rig).parked, 0);
	vhost_rig_close(&rig);
}

struct evictor {
	struct vhost_rig *rig;
	atomic_bool stop;
};

static void *evict_always(void *argument)
{
	struct evictor *evictor = argument;

	for (__u64 i = 0; !atomic_load(&evictor->stop); i++) {
		__u64 page = i * 7919 % (RIG_MEMORY / PAGE_BYTES);

		(void)evict_page(evictor->rig->machine, 0, page * PAGE_BYTES,
				 i % 3 ? EVICT_MAJOR : EVICT_MINOR);
	}
	return NULL;
}

/* Rings, headers, data and states: all of memory goes as fast as it can, under two queues. */
static void nothing_is_wrong_under_evictions(enum vhost_on_fault on_fault)
{
	struct vhost_rig rig;
	struct evictor evictor = {.rig = &rig};
	pthread_t thread;

	vhost_rig_plan();
	vhost_plan.device.queues = 2;
	vhost_plan.block->vhost.on_fault = on_fault;
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 2, 32);
	pthread_create(&thread, NULL, evict_always, &evictor);
	for (__u32 i = 0; i < 499; i++) {
		__u16 q = i % 2;
		__u64 from = RIG_DATA + (i % 13) * 0x8000, to = from + 0x200000;
		struct frontend_io out =
			vhost_rig_io(VIRTIO_BLK_T_OUT, (i % 100) * 64ull, from, 0x8000);
		struct frontend_io in =
			vhost_rig_io(VIRTIO_BLK_T_IN, (i % 100) * 64ull, to, 0x8000);

		out.indirect = in.indirect = i % 2;
		vhost_rig_fill(&rig, from, 0x8000, i);
		assert_int_equal(frontend_do(&rig.front, q, &out), VIRTIO_BLK_S_OK);
		assert_int_equal(frontend_do(&rig.front, !q, &in), VIRTIO_BLK_S_OK);
		assert_true(vhost_rig_holds(&rig, to, 0x8000, i));
	}
	atomic_store(&evictor.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(frontend_stop_queue(&rig.front, 0), 499);
	assert_int_equal(frontend_stop_queue(&rig.front, 1), 499);
	assert_int_equal(vhost_rig_stats(&rig).requests, 998);
	vhost_rig_close(&rig);
}

static void nothing_is_wrong_when_parked(void **state)
{
	nothing_is_wrong_under_evictions(VHOST_PARK);
}

static void nothing_is_wrong_when_paused(void **state)
{
	nothing_is_wrong_under_evictions(VHOST_PAUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_tells_of_the_disk),
		cmocka_unit_test(every_byte_arrives),
		cmocka_unit_test(other_requests_are_served),
		cmocka_unit_test(bad_requests_fail_alone),
		cmocka_unit_test(a_file_that_is_only_read_is_not_written),
		cmocka_unit_test(parked_requests_are_overtaken),
		cmocka_unit_test(a_paused_queue_keeps_the_order),
		cmocka_unit_test(nothing_is_wrong_when_parked),
		cmocka_unit_test(nothing_is_wrong_when_paused),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
