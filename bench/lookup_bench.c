// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that a DMA pays for its presence check (begin and end, reference included), and the
 * host for taking a page back: through the event message queue, which is the way of every machine, and
 * what of that is the change of the tables themselves (bare: in the caller's thread, no queue).
 * Prints "NAME VALUE UNIT [PEER PEER_VALUE]" a line. Peers: the test of a bit in an array of the same
 * size, which is the least that a bitmap can cost and protects nothing; the ATS lookup; and VPRI's
 * table 2, in a DPU's DRAM and over PCIe.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "injectors/emu/lookup.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define WINDOW	(16ull << 30)
#define BATCHES 20
#define ROUNDS	2000000
#define DEVTLB	64
#define FAR	(1000003 * PAGE_BYTES) /* odd in pages: visits every page, none soon again */

/* DMAs of `bytes`, each `stride` behind the last; returns ns each, of the least disturbed batch. */
static double dmas(struct lookup *lookup, unsigned int rounds, __u64 bytes, __u64 stride)
{
	__u64 absent[1], iova = 0, start, taken, least = ~0ull;
	const unsigned int each = rounds / BATCHES;

	for (int batch = 0; batch < BATCHES; batch++) {
		start = monotonic_ns();
		for (unsigned int i = 0; i < each; i++) {
			if (lookup_begin(lookup, iova, bytes, true, absent, 1))
				return -1;
			lookup_end(lookup, iova, bytes);
			iova = (iova + stride) & (WINDOW - 1);
		}
		taken = monotonic_ns() - start;
		least = taken < least ? taken : least;
	}
	return (double)least / each;
}

/* What dmas() does, with a bare bitmap in place of the lookup. */
static double bit_tests(const _Atomic __u64 *bits, unsigned int rounds, __u64 stride)
{
	__u64 iova = 0, start, taken, least = ~0ull;
	const unsigned int each = rounds / BATCHES;

	for (int batch = 0; batch < BATCHES; batch++) {
		start = monotonic_ns();
		for (unsigned int i = 0; i < each; i++) {
			__u64 page = iova / PAGE_BYTES;

			if (!(atomic_load_explicit(&bits[page / 64], memory_order_acquire) >>
				      (page % 64) &
			      1))
				return -1;
			iova = (iova + stride) & (WINDOW - 1);
		}
		taken = monotonic_ns() - start;
		least = taken < least ? taken : least;
	}
	return (double)least / each;
}

/* Without another thread an invalidation's barrier would have nobody to reach. */
static void *run_beside(void *argument)
{
	atomic_bool *stop = argument;

	while (!atomic_load_explicit(stop, memory_order_relaxed))
		__builtin_ia32_pause();
	return NULL;
}

/* Mean of all: the barrier costs as much as whoever is interrupted makes it. */
static double invalidations(struct lookup *lookup, unsigned int rounds)
{
	atomic_bool stop = false;
	pthread_t thread;
	__u64 start;

	if (pthread_create(&thread, NULL, run_beside, &stop))
		return -1;
	start = monotonic_ns();
	for (unsigned int i = 0; i < rounds; i++)
		lookup_invalidate(lookup, i * PAGE_BYTES, PAGE_BYTES, NULL, NULL);
	start = monotonic_ns() - start;
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return (double)start / rounds;
}

struct lookup_measured {
	double hot, far, huge, invalidation;
	struct histogram round_trip; /* ns */
};

/* The same by the PA manager's thread, as the queue itself measured it. */
static int round_trips(struct iommu_domain *domain, struct histogram *found)
{
	struct lookup_config config = {.kind = LOOKUP_PA_BITMAP, .iova_bytes = WINDOW};
	struct emq_stats stats;
	struct lookup *lookup;
	int error = emq_create(&config.emq, 0);

	if (error)
		return error;
	error = lookup_create(&lookup, &config, domain);
	if (!error) {
		for (unsigned int i = 0; i < ROUNDS / 20; i++)
			lookup_invalidate(lookup, i * PAGE_BYTES, PAGE_BYTES, NULL, NULL);
		emq_stats(config.emq, &stats);
		*found = stats.round_trip;
	}
	emq_destroy(config.emq);
	if (!error)
		lookup_destroy(lookup);
	return error;
}

static int lookup_measure(enum lookup_kind kind, struct lookup_measured *m)
{
	const struct lookup_config config = {
		.kind = kind, .iova_bytes = WINDOW, .devtlb = {.entries = DEVTLB}};
	struct iommu_domain *domain;
	struct lookup *lookup;
	int error;

	error = iommu_domain_create(&domain);
	if (!error)
		error = lookup_create(&lookup, &config, domain);
	if (!error)
		error = iommu_map(domain, 0, 0, WINDOW, IOMMU_READ | IOMMU_WRITE, false);
	if (error)
		return error;
	lookup_mapped(lookup, 0, WINDOW);
	m->hot = dmas(lookup, ROUNDS, PAGE_BYTES, 0);
	m->far = dmas(lookup, ROUNDS, PAGE_BYTES, FAR);
	m->huge = dmas(lookup, ROUNDS / 100, HUGE_BYTES, HUGE_BYTES);
	m->invalidation = invalidations(lookup, ROUNDS / 20);
	if (kind == LOOKUP_PA_BITMAP)
		error = round_trips(domain, &m->round_trip);
	lookup_destroy(lookup);
	iommu_domain_destroy(domain);
	return error;
}

static void print(const struct lookup_measured *bitmap, const struct lookup_measured *ats,
		  double hot_bit, double far_bit)
{
	printf("pa_bitmap_lookup_4k_hot %.2f ns bare_bit_test %.2f\n", bitmap->hot, hot_bit);
	printf("pa_bitmap_lookup_4k_hot %.2f ns ATS_hit %.2f\n", bitmap->hot, ats->hot);
	printf("pa_bitmap_lookup_4k_hot %.2f ns VPRI_table_2 69\n", bitmap->hot);
	printf("pa_bitmap_lookup_4k_far %.2f ns bare_bit_test %.2f\n", bitmap->far, far_bit);
	printf("pa_bitmap_lookup_4k_far %.2f ns ATS_miss %.2f\n", bitmap->far, ats->far);
	printf("pa_bitmap_lookup_2m %.2f ns ATS %.2f\n", bitmap->huge, ats->huge);
	printf("pa_bitmap_invalidate_4k_bare %.2f ns ATS %.2f\n", bitmap->invalidation,
	       ats->invalidation);
	printf("pa_bitmap_invalidate_4k_emq_mean %.2f ns bare %.2f\n",
	       histogram_mean(&bitmap->round_trip), bitmap->invalidation);
	printf("pa_bitmap_invalidate_4k_emq_mean %.2f ns VPRI_table_2 1742\n",
	       histogram_mean(&bitmap->round_trip));
	printf("pa_bitmap_invalidate_4k_emq_p50 %llu ns\n",
	       histogram_percentile(&bitmap->round_trip, 50));
	printf("pa_bitmap_invalidate_4k_emq_p99 %llu ns VPRI_table_2 2341\n",
	       histogram_percentile(&bitmap->round_trip, 99));
}

int main(void)
{
	static _Atomic __u64 bits[WINDOW / PAGE_BYTES / 64];
	struct lookup_measured bitmap, ats;
	int error;

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		atomic_store(&bits[i], ~0ull);
	error = lookup_measure(LOOKUP_PA_BITMAP, &bitmap);
	if (!error)
		error = lookup_measure(LOOKUP_ATS, &ats);
	if (error)
		fprintf(stderr, "faultline: %s\n", failure_text());
	else
		print(&bitmap, &ats, bit_tests(bits, ROUNDS, 0), bit_tests(bits, ROUNDS, FAR));
	return exit_code_of(error);
}
