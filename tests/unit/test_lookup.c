// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/lookup.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define BASE	     0x10000000ull
#define PAGES	     2048ull
#define PAGE(number) (BASE + (__u64)(number)*PAGE_BYTES)
#define BOTH	     (IOMMU_READ | IOMMU_WRITE)

static struct iommu_domain *domain;
static struct lookup *lookup;
static struct iotlb *iotlb; /* NULL: requests walk */
static struct emq *emq;	    /* NULL: the caller does the device's part */

static void create(enum lookup_kind kind, __u64 delay_ns)
{
	const struct lookup_config config = {.kind = kind,
					     .iova_base = BASE,
					     .iova_bytes = PAGES * PAGE_BYTES,
					     .devtlb = {.entries = 16, .ways = 4},
					     .emq = emq,
					     .lookup_delay_ns = delay_ns};

	assert_int_equal(iommu_domain_create(&domain), 0);
	if (iotlb)
		assert_int_equal(iotlb_attach(iotlb, domain), 0);
	assert_int_equal(lookup_create(&lookup, &config, domain), 0);
}

static void destroy(void)
{
	lookup_destroy(lookup);
	iommu_domain_destroy(domain);
}

static int setup_bitmap(void **state)
{
	create(LOOKUP_PA_BITMAP, 0);
	return 0;
}

static int setup_emq(void **state)
{
	assert_int_equal(emq_create(&emq, 0), 0);
	return setup_bitmap(state);
}

static int setup_ats(void **state)
{
	create(LOOKUP_ATS, 0);
	return 0;
}

static int setup_iotlb(void **state)
{
	const struct cache_config config = {256, 4, REPLACE_LRU, 0};

	assert_int_equal(iotlb_create(&iotlb, &config), 0);
	return setup_ats(state);
}

static int teardown(void **state)
{
	emq_destroy(emq);
	emq = NULL;
	destroy();
	iotlb_destroy(iotlb);
	iotlb = NULL;
	return 0;
}

/* What service and device do at the end of a fault. */
static void grant(__u64 first, __u64 pages, __u64 permissions)
{
	assert_int_equal(iommu_map(domain, PAGE(first), (1ull << 30) + first * PAGE_BYTES,
				   pages * PAGE_BYTES, permissions, true),
			 0);
	lookup_mapped(lookup, PAGE(first), pages * PAGE_BYTES);
}

static __u64 violations(void)
{
	struct lookup_stats stats;

	lookup_stats(lookup, &stats);
	return stats.order_violations;
}

static void absent_pages_are_listed_in_order(void **state)
{
	__u64 absent[8];

	grant(1, 2, BOTH);
	grant(70, 1, BOTH);
	/* 31 and 32 lie on both sides of a word of the bitmap. */
	grant(32, 1, BOTH);
	assert_int_equal(lookup_begin(lookup, PAGE(0) + 9, 5 * PAGE_BYTES - 9, false, absent, 8),
			 3);
	assert_int_equal(absent[0], PAGE(0));
	assert_int_equal(absent[1], PAGE(3));
	assert_int_equal(absent[2], PAGE(4));
	assert_int_equal(lookup_begin(lookup, PAGE(30), 4 * PAGE_BYTES, true, absent, 8), 3);
	assert_int_equal(absent[0], PAGE(30));
	assert_int_equal(absent[1], PAGE(31));
	assert_int_equal(absent[2], PAGE(33));
	/* Only as many as asked for, and then nothing beyond. */
	absent[2] = 7;
	assert_int_equal(lookup_begin(lookup, PAGE(100), 512 * PAGE_BYTES, true, absent, 2), 2);
	assert_int_equal(absent[1], PAGE(101));
	assert_int_equal(absent[2], 7);
	assert_int_equal(violations(), 0);
}

static void granted_ranges_pass_and_translate(void **state)
{
	__u64 absent[1];

	grant(3, 700, BOTH);
	assert_int_equal(lookup_begin(lookup, PAGE(3), 700 * PAGE_BYTES, true, absent, 1), 0);
	for (int i = 3; i < 703; i++)
		assert_int_equal(lookup_physical(lookup, PAGE(i) + 8),
				 (1ull << 30) + i * PAGE_BYTES + 8);
	lookup_end(lookup, PAGE(3), 700 * PAGE_BYTES);
	assert_int_equal(lookup_begin(lookup, PAGE(2) + 4095, 2, true, absent, 1), 1);
	assert_int_equal(absent[0], PAGE(2));
	assert_int_equal(violations(), 0);
}

static void a_write_to_a_read_only_page_faults(void **state)
{
	struct lookup_stats stats;
	__u64 absent[4];

	grant(5, 3, IOMMU_READ);
	assert_int_equal(lookup_begin(lookup, PAGE(5), 3 * PAGE_BYTES, false, absent, 4), 0);
	lookup_end(lookup, PAGE(5), 3 * PAGE_BYTES);
	assert_int_equal(lookup_begin(lookup, PAGE(5), 2 * PAGE_BYTES, true, absent, 4), 2);
	grant(5, 2, BOTH);
	assert_int_equal(lookup_begin(lookup, PAGE(5), 2 * PAGE_BYTES, true, absent, 4), 0);
	lookup_end(lookup, PAGE(5), 2 * PAGE_BYTES);
	/* A page that is not there at all is no read-only fault. */
	assert_int_equal(lookup_begin(lookup, PAGE(9), PAGE_BYTES, true, absent, 4), 1);
	lookup_stats(lookup, &stats);
	assert_int_equal(stats.lookups, 4);
	assert_int_equal(stats.faults, 2);
	assert_int_equal(stats.read_only_faults, 1);
}

static void ranges_outside_are_refused(void **state)
{
	__u64 absent[1];

	assert_int_equal(lookup_begin(lookup, BASE - 1, 2, false, absent, 1), -EINVAL);
	assert_int_equal(lookup_begin(lookup, PAGE(PAGES) - 1, 2, false, absent, 1), -EINVAL);
	assert_int_equal(lookup_begin(lookup, BASE, 0, false, absent, 1), -EINVAL);
	assert_int_equal(lookup_begin(lookup, PAGE(1), ~0ull, false, absent, 1), -EINVAL);
	assert_int_equal(lookup_begin(lookup, PAGE(PAGES) - 1, 1, false, absent, 1), 1);
}

static void a_thread_holds_a_bounded_number_of_dmas(void **state)
{
	__u64 absent[1];

	grant(0, 8, BOTH);
	for (int i = 0; i < LOOKUP_DMA_MAX; i++)
		assert_int_equal(lookup_begin(lookup, PAGE(i % 3), 1, false, absent, 1), 0);
	assert_int_equal(lookup_begin(lookup, PAGE(7), 1, false, absent, 1), -ENOBUFS);
	for (int i = 0; i < LOOKUP_DMA_MAX; i++)
		lookup_end(lookup, PAGE(i % 3), 1);
	assert_int_equal(lookup_begin(lookup, PAGE(7), 1, false, absent, 1), 0);
	lookup_end(lookup, PAGE(7), 1);
	assert_int_equal(violations(), 0);
	lookup_end(lookup, PAGE(7), 1); /* ended, but never begun */
	assert_int_equal(violations(), 1);
}

static void mapped_ahead_of_the_iopt_is_a_violation(void **state)
{
	__u64 absent[1];

	lookup_mapped(lookup, PAGE(11), 3 * PAGE_BYTES);
	assert_int_equal(violations(), 3);
	assert_int_equal(lookup_begin(lookup, PAGE(11), 1, false, absent, 1), 1);
}

/* The response was on its way when the host took the page back. */
static void a_late_response_grants_nothing(void **state)
{
	__u64 absent[1];

	grant(11, 1, BOTH);
	lookup_invalidate(lookup, PAGE(11), PAGE_BYTES, NULL, NULL);
	lookup_mapped(lookup, PAGE(11), PAGE_BYTES);
	assert_int_equal(lookup_begin(lookup, PAGE(11), 1, false, absent, 1), 1);
	iommu_unmap(domain, PAGE(11), PAGE_BYTES);
	lookup_mapped(lookup, PAGE(11), PAGE_BYTES);
	assert_int_equal(lookup_begin(lookup, PAGE(11), 1, false, absent, 1), 1);
	assert_int_equal(violations(), 0);
	grant(11, 1, BOTH);
	assert_int_equal(lookup_begin(lookup, PAGE(11), 1, false, absent, 1), 0);
	lookup_end(lookup, PAGE(11), 1);
}

static void invalidation_takes_exactly_its_range(void **state)
{
	__u64 absent[8];

	grant(0, 1024, BOTH);
	for (int i = 0; i < 1024; i += 37) { /* fills the DevTLB */
		assert_int_equal(lookup_begin(lookup, PAGE(i), 1, true, absent, 1), 0);
		lookup_end(lookup, PAGE(i), 1);
	}
	lookup_invalidate(lookup, PAGE(62) + 5, 4 * PAGE_BYTES, NULL, NULL);
	assert_int_equal(lookup_begin(lookup, PAGE(0), 1024 * PAGE_BYTES, false, absent, 8), 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(absent[i], PAGE(62 + i));
	/* An unmap that did not wait for the drain is seen by the DMA under way. */
	assert_int_equal(lookup_begin(lookup, PAGE(1), 1, false, absent, 1), 0);
	iommu_unmap(domain, PAGE(1), PAGE_BYTES);
	assert_true(lookup_physical(lookup, PAGE(1)) == LOOKUP_NOWHERE);
	assert_int_equal(violations(), 1);
	lookup_end(lookup, PAGE(1), 1);
}

struct held_dma {
	atomic_int step; /* 1: DMA under way, 2: device told, 3: DMA ended */
	bool told_during_dma;
};

static void *hold_a_dma(void *argument)
{
	struct held_dma *held = argument;
	const struct timespec while_dma = {.tv_nsec = 30000000};
	__u64 absent[1];

	if (lookup_begin(lookup, PAGE(20), 3 * PAGE_BYTES, true, absent, 1))
		return (void *)1;
	atomic_store(&held->step, 1);
	while (atomic_load(&held->step) < 2)
		sched_yield();
	nanosleep(&while_dma, NULL);
	atomic_store(&held->step, 3);
	lookup_end(lookup, PAGE(20), 3 * PAGE_BYTES);
	return NULL;
}

static void on_told(void *argument)
{
	struct held_dma *held = argument;
	__u64 absent[1];

	held->told_during_dma = atomic_load(&held->step) == 1;
	/* From here on no new DMA gets in. */
	assert_int_equal(lookup_begin(lookup, PAGE(21), 1, false, absent, 1), 1);
	atomic_store(&held->step, 2);
}

static void invalidation_waits_for_dmas_under_way(void **state)
{
	struct held_dma held = {0};
	pthread_t thread;
	void *result;

	grant(20, 4, BOTH);
	pthread_create(&thread, NULL, hold_a_dma, &held);
	while (atomic_load(&held.step) < 1)
		sched_yield();
	lookup_invalidate(lookup, PAGE(23), PAGE_BYTES, NULL, NULL); /* a neighbour: no wait */
	assert_int_equal(held.step, 1);
	lookup_invalidate(lookup, PAGE(21), PAGE_BYTES, on_told, &held);
	assert_int_equal(held.step, 3);
	assert_true(held.told_during_dma);
	pthread_join(thread, &result);
	assert_null(result);
}

struct race {
	_Atomic int in_dma;
	atomic_bool stop;
	_Atomic __u64 dmas;
	/* Lines that both want: a processor's stores leave in order, so they hold up the next one. */
	struct {
		_Alignas(64) _Atomic unsigned int value;
	} contended[24];
};

static void spin(unsigned int rounds)
{
	while (rounds--)
		__builtin_ia32_pause();
}

static void *dma_all_the_time(void *argument)
{
	struct race *race = argument;
	__u64 absent[1];

	while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
		for (int i = 0; i < 24; i++)
			atomic_store_explicit(&race->contended[i].value, 1, memory_order_relaxed);
		if (lookup_begin(lookup, PAGE(20), PAGE_BYTES, true, absent, 1))
			continue;
		atomic_store_explicit(&race->in_dma, 1, memory_order_relaxed);
		spin(5);
		atomic_store_explicit(&race->in_dma, 0, memory_order_relaxed);
		lookup_end(lookup, PAGE(20), PAGE_BYTES);
		atomic_fetch_add_explicit(&race->dmas, 1, memory_order_relaxed);
	}
	return NULL;
}

/* The order of begin's store and load, which only the invalidation's barrier keeps. */
static void no_dma_outlives_an_invalidation(void **state)
{
	const __u64 end_ns = monotonic_ns() + 2 * NSEC_PER_SEC;
	struct race race = {0};
	pthread_t thread;
	__u64 seen = 0;

	pthread_create(&thread, NULL, dma_all_the_time, &race);
	/* Where both fight for one lock, rounds are slow and their order is the lock's: time ends them. */
	for (unsigned int i = 0; i < 200003 && (i < 1009 || monotonic_ns() < end_ns); i++) {
		grant(20, 1, BOTH);
		/* On a busy machine the other thread may not run for long: now and then it is waited for. */
		if (i % 101 == 0)
			for (const __u64 before = race.dmas; race.dmas == before;)
				sched_yield();
		spin(i % 67);
		for (int line = 0; line < 24; line++)
			atomic_store_explicit(&race.contended[line].value, 2, memory_order_relaxed);
		lookup_invalidate(lookup, PAGE(20), PAGE_BYTES, NULL, NULL);
		for (int look = 0; look < 20; look++)
			seen += atomic_load_explicit(&race.in_dma, memory_order_relaxed);
	}
	race.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(seen, 0);
	assert_true(race.dmas >= 10);
}

static void the_devtlb_is_used_and_counted(void **state)
{
	struct lookup_stats stats;
	__u64 absent[1];

	grant(512, 513, BOTH); /* BASE is aligned: one huge page and a small one */
	for (int i = 0; i < 10; i++) {
		lookup_begin(lookup, PAGE(512), 513 * PAGE_BYTES, true, absent, 1);
		lookup_end(lookup, PAGE(512), 513 * PAGE_BYTES);
	}
	lookup_stats(lookup, &stats);
	assert_int_equal(stats.devtlb_misses, 2);
	assert_int_equal(stats.devtlb_hits, 18);
}

static void a_slower_lookup_takes_longer(void **state)
{
	struct timespec start, end;
	__u64 absent[1];

	create(LOOKUP_PA_BITMAP, 50000);
	grant(0, 1, BOTH);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < 101; i++) {
		assert_int_equal(lookup_begin(lookup, PAGE(0), 1, false, absent, 1), 0);
		lookup_end(lookup, PAGE(0), 1);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true((end.tv_sec - start.tv_sec) * 1000000000ll + end.tv_nsec - start.tv_nsec >=
		    101 * 50000);
	destroy();
}

static void wrong_windows_are_named(void **state)
{
	struct lookup_config config = {.iova_base = 1, .iova_bytes = PAGE_BYTES};
	struct lookup *created;

	assert_int_equal(lookup_create(&created, &config, NULL), -EINVAL);
	config.iova_base = 0;
	config.iova_bytes = 1ull << 40;
	assert_int_equal(lookup_create(&created, &config, NULL), -EINVAL);
	assert_non_null(strstr(failure_text(), "less than 1 TiB"));
	config.iova_bytes = PAGE_BYTES;
	config.kind = LOOKUP_ATS;
	config.devtlb.entries = 3;
	assert_int_equal(lookup_create(&created, &config, NULL), -EINVAL);
	assert_non_null(strstr(failure_text(), "powers of two"));
}

#define BITMAP(test)                                                    \
	{                                                               \
		"pa_bitmap: " #test, test, setup_bitmap, teardown, NULL \
	}
#define EMQ(test)                                              \
	{                                                      \
		"emq: " #test, test, setup_emq, teardown, NULL \
	}
#define ATS(test)                                              \
	{                                                      \
		"ats: " #test, test, setup_ats, teardown, NULL \
	}
#define IOTLB(test)                                                \
	{                                                          \
		"iotlb: " #test, test, setup_iotlb, teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BITMAP(absent_pages_are_listed_in_order),
		ATS(absent_pages_are_listed_in_order),
		IOTLB(absent_pages_are_listed_in_order),
		BITMAP(granted_ranges_pass_and_translate),
		ATS(granted_ranges_pass_and_translate),
		IOTLB(granted_ranges_pass_and_translate),
		BITMAP(a_write_to_a_read_only_page_faults),
		ATS(a_write_to_a_read_only_page_faults),
		IOTLB(a_write_to_a_read_only_page_faults),
		BITMAP(ranges_outside_are_refused),
		ATS(ranges_outside_are_refused),
		IOTLB(ranges_outside_are_refused),
		BITMAP(a_thread_holds_a_bounded_number_of_dmas),
		BITMAP(mapped_ahead_of_the_iopt_is_a_violation),
		ATS(mapped_ahead_of_the_iopt_is_a_violation),
		IOTLB(mapped_ahead_of_the_iopt_is_a_violation),
		BITMAP(a_late_response_grants_nothing),
		EMQ(a_late_response_grants_nothing),
		ATS(a_late_response_grants_nothing),
		IOTLB(a_late_response_grants_nothing),
		BITMAP(invalidation_takes_exactly_its_range),
		EMQ(invalidation_takes_exactly_its_range),
		ATS(invalidation_takes_exactly_its_range),
		IOTLB(invalidation_takes_exactly_its_range),
		BITMAP(invalidation_waits_for_dmas_under_way),
		EMQ(invalidation_waits_for_dmas_under_way),
		ATS(invalidation_waits_for_dmas_under_way),
		IOTLB(invalidation_waits_for_dmas_under_way),
		BITMAP(no_dma_outlives_an_invalidation),
		EMQ(no_dma_outlives_an_invalidation),
		ATS(no_dma_outlives_an_invalidation),
		IOTLB(no_dma_outlives_an_invalidation),
		ATS(the_devtlb_is_used_and_counted),
		IOTLB(the_devtlb_is_used_and_counted),
		cmocka_unit_test(a_slower_lookup_takes_longer),
		cmocka_unit_test(wrong_windows_are_named),
	};

	return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
