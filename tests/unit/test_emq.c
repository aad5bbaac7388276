// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "injectors/emu/lookup.h"
#include "lib/base/fail.h"

#define BASE	     0x40000000ull
#define PAGES	     2048ull
#define PAGE(number) (BASE + (__u64)(number)*PAGE_BYTES)
#define BOTH	     (IOMMU_READ | IOMMU_WRITE)
#define POSTERS	     11
#define EACH	     101

static struct iommu_domain *domain;
static struct lookup *lookup;
static struct emq *emq;

static void create(__u32 entries)
{
	struct lookup_config config = {
		.kind = LOOKUP_PA_BITMAP, .iova_base = BASE, .iova_bytes = PAGES * PAGE_BYTES};

	assert_int_equal(emq_create(&emq, entries), 0);
	config.emq = emq;
	assert_int_equal(iommu_domain_create(&domain), 0);
	assert_int_equal(lookup_create(&lookup, &config, domain), 0);
	assert_int_equal(iommu_map(domain, BASE, 1ull << 30, PAGES * PAGE_BYTES, BOTH, true), 0);
	lookup_map_ahead(lookup, BASE, PAGES * PAGE_BYTES);
}

static int setup(void **state)
{
	create(0);
	return 0;
}

static int setup_small(void **state)
{
	create(2);
	return 0;
}

static int teardown(void **state)
{
	emq_destroy(emq);
	lookup_destroy(lookup);
	iommu_domain_destroy(domain);
	return 0;
}

static struct emq_stats stats(void)
{
	struct emq_stats now;

	emq_stats(emq, &now);
	return now;
}

static bool present(__u64 page)
{
	__u64 absent[1];

	if (lookup_begin(lookup, PAGE(page), 1, true, absent, 1))
		return false;
	lookup_end(lookup, PAGE(page), 1);
	return true;
}

static void hold(__u64 page, __u64 pages)
{
	__u64 absent[1];

	assert_int_equal(lookup_begin(lookup, PAGE(page), pages * PAGE_BYTES, true, absent, 1), 0);
}

static void release(__u64 page, __u64 pages)
{
	lookup_end(lookup, PAGE(page), pages * PAGE_BYTES);
}

static void sleep_ms(long ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

/* One invalidation by a thread of its own. */
struct eviction {
	pthread_t thread;
	__u64 page, pages;
	int told_as;	   /* in the order told, from 1; 0: not yet */
	bool present_then; /* when told: would a DMA get in? */
	pthread_t told_by;
	atomic_bool told, acknowledged;
};

static atomic_int told_count;

static void on_told(void *argument)
{
	struct eviction *e = argument;

	e->told_as = atomic_fetch_add(&told_count, 1) + 1;
	e->present_then = present(e->page) || present(e->page + e->pages - 1);
	e->told_by = pthread_self();
	atomic_store(&e->told, true);
}

static void *evict(void *argument)
{
	struct eviction *e = argument;

	lookup_invalidate(lookup, PAGE(e->page), e->pages * PAGE_BYTES, on_told, e);
	atomic_store(&e->acknowledged, true);
	return NULL;
}

static void start(struct eviction *e, __u64 page, __u64 pages)
{
	*e = (struct eviction){.page = page, .pages = pages};
	assert_int_equal(pthread_create(&e->thread, NULL, evict, e), 0);
}

static void until(const atomic_bool *flag)
{
	while (!atomic_load(flag))
		sched_yield();
}

static void until_depth(__u32 depth)
{
	while (stats().depth < depth)
		sched_yield();
}

static void a_map_sets_what_the_iopt_grants(void **state)
{
	struct lookup_stats looked;

	assert_true(present(0));
	assert_true(present(PAGES - 1));
	assert_int_equal(stats().maps, 1);
	/* R2: a map of what the host took back sets nothing, until the IOPT has it again. */
	lookup_invalidate(lookup, PAGE(7), PAGE_BYTES, NULL, NULL);
	assert_int_equal(iommu_unmap(domain, PAGE(7), PAGE_BYTES), PAGE_BYTES);
	lookup_map_ahead(lookup, PAGE(7), PAGE_BYTES);
	assert_false(present(7));
	assert_int_equal(iommu_map(domain, PAGE(7), 0, PAGE_BYTES, BOTH, false), 0);
	assert_false(present(7));
	lookup_map_ahead(lookup, PAGE(7), PAGE_BYTES);
	assert_true(present(7));
	assert_int_equal(stats().maps, 3);
	lookup_stats(lookup, &looked);
	assert_int_equal(looked.order_violations, 0);
}

static void two_megabytes_are_512_entries(void **state)
{
	struct eviction e;

	start(&e, 512, 512);
	pthread_join(e.thread, NULL);
	assert_false(e.present_then);
	assert_false(pthread_equal(e.told_by, e.thread));
	for (__u64 page = 512; page < 1024; page++)
		assert_false(present(page));
	assert_true(present(511));
	assert_true(present(1024));
	assert_int_equal(stats().invalidations, 1);
	assert_int_equal(stats().round_trip.count, 1);
}

static void the_acknowledgement_waits_for_dmas_under_way(void **state)
{
	struct eviction e;

	hold(19, 5);
	start(&e, 21, 1);
	until(&e.told);
	assert_false(e.present_then);
	assert_false(present(21));
	sleep_ms(20);
	assert_false(atomic_load(&e.acknowledged));
	/* The frame is still there for the one that got in before. */
	assert_int_equal(lookup_physical(lookup, PAGE(21)), (1ull << 30) + 21 * PAGE_BYTES);
	release(19, 5);
	pthread_join(e.thread, NULL);
	assert_true(e.acknowledged);
	assert_true(stats().round_trip.max >= 20000000);
}

static void a_long_dma_holds_up_nobody_else(void **state)
{
	struct eviction slow, quick;

	hold(3, 1);
	start(&slow, 3, 1);
	until(&slow.told);
	start(&quick, 5, 1);
	pthread_join(quick.thread, NULL);
	assert_false(atomic_load(&slow.acknowledged));
	assert_int_equal(slow.told_as + 1, quick.told_as);
	release(3, 1);
	pthread_join(slow.thread, NULL);
}

/* Two the device keeps, two the ring: the fifth finds no room. */
static void a_full_ring_makes_the_host_wait(void **state)
{
	struct eviction e[7];

	told_count = 0;
	hold(100, 7);
	for (int i = 0; i < 2; i++) {
		start(&e[i], 100 + i, 1);
		until(&e[i].told);
	}
	for (int i = 2; i < 4; i++) {
		start(&e[i], 100 + i, 1);
		until_depth(i - 1);
	}
	for (int i = 4; i < 7; i++)
		start(&e[i], 100 + i, 1);
	while (stats().full_waits < 3)
		sched_yield();
	sleep_ms(20);
	for (int i = 2; i < 7; i++)
		assert_false(atomic_load(&e[i].told));
	release(100, 7);
	for (int i = 0; i < 7; i++) {
		pthread_join(e[i].thread, NULL);
		assert_false(e[i].present_then);
		assert_false(present(100 + i));
	}
	/* Taken in the order of the ring. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(e[i].told_as, i + 1);
	assert_int_equal(told_count, 7);
	assert_int_equal(stats().invalidations, 7);
	assert_int_equal(stats().full_waits, 3);
	assert_int_equal(stats().depth_max, 2);
}

static _Atomic unsigned int dmas_after_acknowledgement;
static _Atomic __u64 next_page;
static atomic_bool frame_gone[PAGES];
static atomic_bool dmas_stop;

/* DMAs until stopped: one that uses a page whose invalidation was acknowledged is a failure. */
static void *dma(void *argument)
{
	__u64 absent[1], page = (uintptr_t)argument;

	while (!atomic_load(&dmas_stop)) {
		page = (page + 1) % (POSTERS * EACH);
		if (lookup_begin(lookup, PAGE(page), PAGE_BYTES, true, absent, 1))
			continue;
		for (int i = 0; i < 13; i++) {
			if (atomic_load(&frame_gone[page]))
				atomic_fetch_add(&dmas_after_acknowledgement, 1);
			__builtin_ia32_pause();
		}
		lookup_end(lookup, PAGE(page), PAGE_BYTES);
	}
	return NULL;
}

static void *post_many(void *argument)
{
	(void)argument;
	for (int i = 0; i < EACH; i++) {
		__u64 page = atomic_fetch_add(&next_page, 1);

		lookup_invalidate(lookup, PAGE(page), PAGE_BYTES, NULL, NULL);
		atomic_store(&frame_gone[page], true);
	}
	return NULL;
}

static void many_posters_lose_nothing_and_no_dma_outlives_its_page(void **state)
{
	pthread_t posters[POSTERS], dmas[2];
	struct lookup_stats looked;

	atomic_store(&next_page, 0);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&dmas[i], NULL, dma, (void *)(i * 501));
	for (int i = 0; i < POSTERS; i++)
		pthread_create(&posters[i], NULL, post_many, NULL);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(posters[i], NULL);
	atomic_store(&dmas_stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(dmas[i], NULL);
	assert_int_equal(dmas_after_acknowledgement, 0);
	assert_int_equal(stats().invalidations, POSTERS * EACH);
	assert_int_equal(stats().round_trip.count, POSTERS * EACH);
	lookup_stats(lookup, &looked);
	assert_int_equal(looked.invalidations, POSTERS * EACH);
	assert_int_equal(looked.order_violations, 0);
	for (__u64 page = 0; page < POSTERS * EACH; page++)
		assert_false(present(page));
}

static void *stop(void *argument)
{
	(void)argument;
	emq_stop(emq);
	return NULL;
}

/* What was posted is served, what found no room is done by the host itself: nobody hangs. */
static void a_stop_in_the_middle_serves_what_was_posted(void **state)
{
	struct eviction e[7];
	pthread_t stopper;

	told_count = 0;
	hold(200, 7);
	for (int i = 0; i < 7; i++)
		start(&e[i], 200 + i, 1);
	/* Two with the device, two in the ring, three without room. */
	while (told_count < 2 || stats().depth < 2 || stats().full_waits < 3)
		sched_yield();
	pthread_create(&stopper, NULL, stop, NULL);
	sleep_ms(20);
	for (int i = 0; i < 7; i++)
		assert_false(atomic_load(&e[i].acknowledged));
	release(200, 7);
	pthread_join(stopper, NULL);
	for (int i = 0; i < 7; i++) {
		pthread_join(e[i].thread, NULL);
		assert_false(e[i].present_then);
		assert_false(present(200 + i));
	}
	assert_int_equal(stats().invalidations, 4);
	/* Without a PA manager the host does it all. */
	start(&e[0], 300, 1);
	pthread_join(e[0].thread, NULL);
	assert_false(present(300));
	emq_stop(emq);
}

static void sizes_are_checked(void **state)
{
	struct emq *none;

	assert_int_equal(emq_create(&none, 1), -EINVAL);
	assert_non_null(strstr(failure_text(), "accepted: a power of two"));
	assert_int_equal(emq_create(&none, 24), -EINVAL);
	assert_int_equal(emq_create(&none, 131072), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_map_sets_what_the_iopt_grants, setup, teardown),
		cmocka_unit_test_setup_teardown(two_megabytes_are_512_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(the_acknowledgement_waits_for_dmas_under_way, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_long_dma_holds_up_nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_ring_makes_the_host_wait, setup_small,
						teardown),
		cmocka_unit_test_setup_teardown(
			many_posters_lose_nothing_and_no_dma_outlives_its_page, setup_small,
			teardown),
		cmocka_unit_test_setup_teardown(a_stop_in_the_middle_serves_what_was_posted,
						setup_small, teardown),
		cmocka_unit_test(sizes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
