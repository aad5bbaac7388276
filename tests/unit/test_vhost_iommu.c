// SPDX-License-Identifier: GPL-2.0
/* The disk behind a virtual machine's IOMMU: descriptors and rings have IOVAs, which the front-end translates and takes back. */
#include "tests/unit/iommu_rig.h"

#include <pthread.h>
#include <string.h>

#include "injectors/emu/machine_private.h"
#include "lib/base/clock.h"
#include "tests/unit/scratch.h"

static void scattered_pages_are_one_piece(void **state)
{
	struct frontend_io out = vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, 0x10000);
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA + 0x100000, 0x10000);
	struct iommu_rig r;
	char *memory;

	vhost_rig_plan();
	iommu_rig_open(&r, 1, 128);
	memory = guest_memory_cpu(r.rig.memory, 0);
	for (__u64 i = 0; i < 16; i++)
		frontend_iommu_map(&r.iommu, RIG_DATA + i * PAGE_BYTES,
				   RIG_DATA + (15 - i) * PAGE_BYTES, IOVA_READ);
	for (__u32 round = 0; round < 40; round++) {
		vhost_rig_fill(&r.rig, RIG_DATA, 0x10000, round);
		out.indirect = in.indirect = round % 2;
		assert_int_equal(frontend_do(&r.rig.front, 0, &out), VIRTIO_BLK_S_OK);
		assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
		for (__u64 i = 0; i < 16; i++)
			assert_memory_equal(memory + RIG_DATA + i * PAGE_BYTES,
					    memory + RIG_DATA + 0x100000 + (15 - i) * PAGE_BYTES,
					    PAGE_BYTES);
	}
	assert_true(iommu_rig_stats(&r).misses >= 32);
	assert_int_equal(iommu_rig_stats(&r).refused, 0);
	assert_int_equal(iommu_rig_stop(&r, 0), 80);
	iommu_rig_close(&r);
}

/* No mapping, or none for that: the driver sees an error, the next request is served, and nothing has been touched. */
static void what_is_not_mapped_is_an_error(void **state)
{
	struct frontend_io out = vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, 0x3000);
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x3000);
	struct frontend_io good = vhost_rig_io(VIRTIO_BLK_T_IN, 8, RIG_DATA + 0x100000, 0x3000);
	struct iommu_rig r;

	vhost_rig_plan();
	iommu_rig_open(&r, 1, 16);
	vhost_rig_fill(&r.rig, RIG_DATA, 0x3000, 5);
	frontend_iommu_map(&r.iommu, RIG_DATA + PAGE_BYTES, RIG_DATA + PAGE_BYTES, IOVA_READ);
	assert_int_equal(frontend_do(&r.rig.front, 0, &out), VIRTIO_BLK_S_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_IOERR);
		assert_int_equal(frontend_do(&r.rig.front, 0, &good), VIRTIO_BLK_S_OK);
	}
	assert_true(vhost_rig_holds(&r.rig, RIG_DATA, 0x3000, 5));
	frontend_iommu_map(&r.iommu, RIG_DATA + PAGE_BYTES, IOMMU_NOTHING, 0);
	assert_int_equal(frontend_do(&r.rig.front, 0, &out), VIRTIO_BLK_S_IOERR);
	frontend_iommu_map(&r.iommu, RIG_DATA + PAGE_BYTES, RIG_DATA + PAGE_BYTES, 3);
	assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	assert_true(iommu_rig_stats(&r).refused >= 2);
	assert_int_equal(vhost_rig_stats(&r.rig).broken, 0);
	iommu_rig_close(&r);
}

static void a_ring_that_is_mapped_nowhere_breaks_the_queue(void **state)
{
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x1000);
	struct iommu_rig r;

	vhost_rig_plan();
	iommu_rig_open(&r, 2, 16);
	assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	frontend_iommu_map(&r.iommu, FRONTEND_RINGS, IOMMU_NOTHING, 0);
	assert_true(frontend_submit(&r.rig.front, 0, &in) >= 0);
	frontend_kick(&r.rig.front, 0);
	assert_true(frontend_broken(&r.rig.front, 0));
	assert_int_equal(frontend_do(&r.rig.front, 1, &in), VIRTIO_BLK_S_OK);
	iommu_rig_close(&r);
}

/* Once it has been answered, what was taken back is the driver's: reads that are under way reach it no more. */
static void what_is_taken_back_is_not_touched(enum vhost_on_fault on_fault)
{
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x8000);
	struct iommu_rig r;

	vhost_rig_plan();
	vhost_plan.block->vhost.on_fault = on_fault;
	iommu_rig_open(&r, 1, 128);
	for (__u32 round = 0; round < 300; round++) {
		__u64 page = RIG_DATA + (round % 8) * PAGE_BYTES;
		__u64 before = r.iommu.page[page / PAGE_BYTES];
		__u64 after = RIG_DATA + 0x200000 + (round % 100) * PAGE_BYTES;
		int sent = 0;

		while (sent < 8 && frontend_submit(&r.rig.front, 0, &in) >= 0)
			sent++;
		frontend_kick(&r.rig.front, 0);
		frontend_iommu_map(&r.iommu, page, after, 3);
		vhost_rig_fill(&r.rig, before, PAGE_BYTES, round);
		while (sent--)
			assert_true(frontend_reap(&r.rig.front, 0, NULL) >= 0);
		assert_true(vhost_rig_holds(&r.rig, before, PAGE_BYTES, round));
	}
	iommu_rig_close(&r);
}

static void what_is_taken_back_is_not_touched_when_parked(void **state)
{
	what_is_taken_back_is_not_touched(VHOST_PARK);
}

static void what_is_taken_back_is_not_touched_when_paused(void **state)
{
	what_is_taken_back_is_not_touched(VHOST_PAUSE);
}

/* Answers that tell nothing: of data, then of a ring. It is asked for again after 1 ms, 2 ms, ... 64 ms. */
static void empty_answers_are_asked_for_again_slowly(void **state)
{
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x1000);
	struct iommu_rig r;

	vhost_rig_plan();
	iommu_rig_open(&r, 1, 16);
	assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	for (int round = 0; round < 2; round++) {
		__u64 page = round ? FRONTEND_RINGS : RIG_DATA;
		__u64 before = atomic_load(&r.iommu.misses), start = monotonic_ns();

		atomic_store(&r.iommu.empty, true);
		frontend_iommu_map(&r.iommu, page, page, 3);
		assert_true(frontend_submit(&r.rig.front, 0, &in) >= 0);
		frontend_kick(&r.rig.front, 0);
		while (atomic_load(&r.iommu.misses) < before + 20)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		/* Two pages of it at most, each at once, then after 1 + 2 + ... + 64 ms and more. */
		assert_true(monotonic_ns() - start > 127 * NSEC_PER_MSEC);
		atomic_store(&r.iommu.empty, false);
		assert_true(frontend_reap(&r.rig.front, 0, NULL) >= 0);
	}
	iommu_rig_close(&r);
}

static void answers_that_are_taken_back_are_asked_for_again(void **state)
{
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x8000);
	struct iommu_rig r;

	vhost_rig_plan();
	iommu_rig_open(&r, 1, 16);
	atomic_store(&r.iommu.fickle, true);
	for (__u64 i = 0; i < 50; i++) {
		in.piece[0].guest_address = RIG_DATA + i * 0x9000;
		assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	}
	assert_true(atomic_load(&r.iommu.misses) > 50 * 8);
	iommu_rig_close(&r);
}

/* The front-end that waits for the queue to stop answers nothing meanwhile: what was begun is done after the next start. */
static void a_queue_that_waits_for_an_answer_stops(void **state)
{
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x8000);
	struct iommu_rig r;
	__u64 start;
	int head;

	vhost_rig_plan();
	iommu_rig_open(&r, 1, 16);
	vhost_rig_fill(&r.rig, RIG_DATA, 0x8000, 9);
	assert_int_equal(frontend_do(&r.rig.front, 0,
				     &(struct frontend_io){.type = VIRTIO_BLK_T_OUT,
							   .piece = {{RIG_DATA, 0x8000}},
							   .pieces = 1}),
			 VIRTIO_BLK_S_OK);
	in.piece[0].guest_address = RIG_DATA + 0x100000;
	atomic_store(&r.iommu.silent, true);
	head = frontend_submit(&r.rig.front, 0, &in);
	frontend_kick(&r.rig.front, 0);
	while (!iommu_rig_stats(&r).misses || !vhost_rig_stats(&r.rig).requests)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	start = monotonic_ns();
	assert_true(iommu_rig_stop(&r, 0) >= 0);
	assert_true(monotonic_ns() - start < VHOST_DRAIN_NS);
	/* A channel anew, whose other end answers. */
	frontend_iommu_close(&r.iommu);
	r.rig.front.iommu = &r.iommu;
	pthread_mutex_init(&r.iommu.lock, NULL);
	atomic_store(&r.iommu.silent, false);
	frontend_iommu_start(&r.iommu);
	pthread_mutex_lock(&r.iommu.lock);
	assert_int_equal(frontend_start_queue(&r.rig.front, 0, 1), 0);
	pthread_mutex_unlock(&r.iommu.lock);
	assert_int_equal(frontend_reap(&r.rig.front, 0, NULL), head);
	assert_true(vhost_rig_holds(&r.rig, RIG_DATA + 0x100000, 0x8000, 9));
	iommu_rig_close(&r);
}

struct iommu_evictor {
	struct vhost_rig *rig;
	struct frontend_iommu *iommu;
	atomic_bool stop;
};

/* As a guest's kernel does with unmaps that it has collected: all there is. */
static void *take_back_always(void *argument)
{
	struct iommu_evictor *evictor = argument;

	while (!atomic_load(&evictor->stop)) {
		assert_int_equal(
			frontend_iotlb(evictor->iommu, VHOST_USER_IOTLB_INVALIDATE, 0, 0, 0, 0), 0);
		nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
	}
	return NULL;
}

static void *evict_beside(void *argument)
{
	struct iommu_evictor *evictor = argument;

	for (__u64 i = 0; !atomic_load(&evictor->stop); i++)
		(void)evict_page(evictor->rig->machine, 0,
				 i * 7919 % (RIG_MEMORY / PAGE_BYTES) * PAGE_BYTES,
				 i % 3 ? EVICT_MAJOR : EVICT_MINOR);
	return NULL;
}

/* Pages go, translations go, pages behind them change, and the memory table is said again, under two queues. */
static void nothing_is_wrong_under_evictions(enum vhost_on_fault on_fault)
{
	struct iommu_rig r;
	struct iommu_evictor evictor = {.rig = &r.rig, .iommu = &r.iommu};
	pthread_t thread, other;

	vhost_rig_plan();
	vhost_plan.block->vhost.on_fault = on_fault;
	iommu_rig_open(&r, 2, 32);
	pthread_create(&thread, NULL, evict_beside, &evictor);
	pthread_create(&other, NULL, take_back_always, &evictor);
	for (__u32 i = 0; i < 299; i++) {
		__u64 from = RIG_DATA + (i % 13) * 0x8000, to = from + 0x200000;
		__u64 page = to + (i % 8) * PAGE_BYTES, other = RIG_DATA + 0x400000;
		struct frontend_io out =
			vhost_rig_io(VIRTIO_BLK_T_OUT, (i % 100) * 64ull, from, 0x8000);
		struct frontend_io in =
			vhost_rig_io(VIRTIO_BLK_T_IN, (i % 100) * 64ull, to, 0x8000);

		out.indirect = in.indirect = i % 2;
		vhost_rig_fill(&r.rig, from, 0x8000, i);
		assert_int_equal(frontend_do(&r.rig.front, i % 2, &out), VIRTIO_BLK_S_OK);
		if (i % 20 == 7) {
			pthread_mutex_lock(&r.iommu.lock);
			assert_int_equal(frontend_set_memory(&r.rig.front), 0);
			pthread_mutex_unlock(&r.iommu.lock);
		}
		frontend_iommu_map(&r.iommu, page, i % 3 ? page : other, 3);
		assert_int_equal(frontend_do(&r.rig.front, !(i % 2), &in), VIRTIO_BLK_S_OK);
		if (i % 3 == 0) {
			memcpy(guest_memory_cpu(r.rig.memory, page),
			       guest_memory_cpu(r.rig.memory, other), PAGE_BYTES);
			frontend_iommu_map(&r.iommu, page, page, 3);
		}
		assert_true(vhost_rig_holds(&r.rig, to, 0x8000, i));
	}
	atomic_store(&evictor.stop, true);
	pthread_join(thread, NULL);
	pthread_join(other, NULL);
	assert_int_equal(iommu_rig_stop(&r, 0), 299);
	assert_int_equal(iommu_rig_stop(&r, 1), 299);
	iommu_rig_close(&r);
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
		cmocka_unit_test(scattered_pages_are_one_piece),
		cmocka_unit_test(what_is_not_mapped_is_an_error),
		cmocka_unit_test(a_ring_that_is_mapped_nowhere_breaks_the_queue),
		cmocka_unit_test(what_is_taken_back_is_not_touched_when_parked),
		cmocka_unit_test(what_is_taken_back_is_not_touched_when_paused),
		cmocka_unit_test(empty_answers_are_asked_for_again_slowly),
		cmocka_unit_test(answers_that_are_taken_back_are_asked_for_again),
		cmocka_unit_test(a_queue_that_waits_for_an_answer_stops),
		cmocka_unit_test(nothing_is_wrong_when_parked),
		cmocka_unit_test(nothing_is_wrong_when_paused),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
