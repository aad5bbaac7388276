// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds that a DMA pays for its presence check (begin and end, reference included), and the
 * host for taking a page back. Prints "NAME VALUE UNIT [PEER PEER_VALUE]" a line; VPRI's figures
 * are those of its table 2, in a DPU's DRAM.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "injectors/emu/lookup.h"
#include "lib/base/fail.h"

#define WINDOW	(16ull << 30)
#define BATCHES 20
#define ROUNDS	2000000
#define DEVTLB	64

static __u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* DMAs of `bytes`, each `stride` behind the last; returns ns each, of the least disturbed batch. */
static double dmas(struct lookup *lookup, unsigned int rounds, __u64 bytes, __u64 stride)
{
	__u64 absent[1], iova = 0, start, taken, least = ~0ull;
	const unsigned int each = rounds / BATCHES;

	for (int batch = 0; batch < BATCHES; batch++) {
		start = clock_ns();
		for (unsigned int i = 0; i < each; i++) {
			if (lookup_begin(lookup, iova, bytes, true, absent, 1))
				return -1;
			lookup_end(lookup, iova, bytes);
			iova = (iova + stride) & (WINDOW - 1);
		}
		taken = clock_ns() - start;
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
	start = clock_ns();
	for (unsigned int i = 0; i < rounds; i++)
		lookup_invalidate(lookup, i * PAGE_BYTES, PAGE_BYTES, NULL, NULL);
	start = clock_ns() - start;
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return (double)start / rounds;
}

static int measure(enum lookup_kind kind)
{
	const struct lookup_config config = {
		.kind = kind, .iova_bytes = WINDOW, .devtlb_entries = DEVTLB};
	const char *name = kind == LOOKUP_ATS ? "ats" : "pa_bitmap";
	/* Odd in pages: visits every page of the window, none soon again. */
	const __u64 far = 1000003 * PAGE_BYTES;
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

	if (kind == LOOKUP_ATS) {
		printf("ats_hit_4k %.2f ns\n", dmas(lookup, ROUNDS, PAGE_BYTES, 0));
		printf("ats_miss_4k %.2f ns\n", dmas(lookup, ROUNDS, PAGE_BYTES, far));
	} else {
		printf("pa_bitmap_lookup_4k_hot %.2f ns VPRI_table_2 69\n",
		       dmas(lookup, ROUNDS, PAGE_BYTES, 0));
		printf("pa_bitmap_lookup_4k_random %.2f ns VPRI_table_2 69\n",
		       dmas(lookup, ROUNDS, PAGE_BYTES, far));
	}
	printf("%s_lookup_2m %.2f ns\n", name, dmas(lookup, ROUNDS / 100, HUGE_BYTES, HUGE_BYTES));
	printf("%s_invalidate_4k %.2f ns VPRI_table_2 1742\n", name,
	       invalidations(lookup, ROUNDS / 20));
	lookup_destroy(lookup);
	iommu_domain_destroy(domain);
	return 0;
}

int main(void)
{
	int error = measure(LOOKUP_PA_BITMAP);

	if (!error)
		error = measure(LOOKUP_ATS);
	if (error)
		fprintf(stderr, "faultline: %s\n", failure_text());
	return exit_code_of(error);
}
