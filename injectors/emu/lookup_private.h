/* SPDX-License-Identifier: GPL-2.0 */
/* What lookup.c shares with the two mechanisms behind it, pa_bitmap.c and ats.c. */
#ifndef FAULTLINE_LOOKUP_PRIVATE_H
#define FAULTLINE_LOOKUP_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/lookup.h"

/*
 * One thread's DMAs in one lookup. Only its owner writes, with plain stores; invalidations read.
 * A held range is (page index << 28 | pages), 0: free.
 */
struct lookup_lane {
	_Alignas(64) _Atomic __u64 held[LOOKUP_DMA_MAX];
	_Atomic __u64 lookups, faults, read_only_faults;
	_Atomic __u64 devtlb_hits, devtlb_misses, iotlb_hits, iotlb_misses;
	__u64 owner;
	struct lookup_lane *next;
};

/* Pages are counted from the window's start. */
struct lookup_ops {
	int (*create)(struct lookup *lookup, const struct lookup_config *config);
	void (*destroy)(struct lookup *lookup);
	/* Writes the absent pages' addresses, returns their number; counts in the lane. */
	int (*check)(struct lookup *lookup, struct lookup_lane *lane, __u64 page, __u64 pages,
		     bool write, __u64 *absent, unsigned int limit);
	/* The IOPT grants these pages; `update` is held. */
	void (*set)(struct lookup *lookup, __u64 page, __u64 pages, __u64 permissions);
	/* Makes the pages absent; `update` is held. */
	void (*clear)(struct lookup *lookup, __u64 page, __u64 pages);
};

struct lookup {
	const struct lookup_ops *ops;
	struct iommu_domain *domain;
	__u64 base;
	__u64 bytes;
	__u64 delay_ns;
	__u64 id;   /* never reused: keys the threads' lane caches */
	bool fence; /* the kernel lacks membarrier */
	/* Keeps set() and clear(), each with the IOPT they go by, apart. */
	pthread_mutex_t update;
	_Atomic(struct lookup_lane *) lanes;
	_Atomic __u64 invalidations, order_violations;
	struct emq *emq; /* PA-BITMAP: to the PA manager; may be NULL */
	void *mechanism;
	/* PA-BITMAP without a delay and with membarrier: lookup_begin() may look for itself. */
	const _Atomic __u64 *bitmap;
};

/* The device's part of an invalidation: once withdrawn no DMA gets in, and one that did is seen to
 * use its pages until it ends. */
void lookup_withdraw(struct lookup *lookup, __u64 iova, __u64 length);
bool lookup_in_use(struct lookup *lookup, __u64 iova, __u64 length);

extern const struct lookup_ops pa_bitmap_ops;
extern const struct lookup_ops ats_ops;

/* For counters with a single writer. */
static inline void lane_count(_Atomic __u64 *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* PAEs in a word of the bitmap; bit 0 of each is present, bit 1 writable. */
#define WORD_PAES   32
#define ALL_PRESENT 0x5555555555555555ull

/* Both bits of the entries [page, page + pages) that lie in page's word; *count gets how many. */
static inline __u64 word_mask(__u64 page, __u64 pages, __u64 *count)
{
	unsigned int first = page % WORD_PAES;

	*count = pages < WORD_PAES - first ? pages : WORD_PAES - first;
	return ~0ull >> (64 - 2 * *count) << 2 * first;
}

/* The hot case: all in one word and granted. False says nothing yet. */
static inline bool pa_bitmap_grants(const _Atomic __u64 *bitmap, __u64 page, __u64 pages,
				    bool write)
{
	__u64 count, mask = word_mask(page, pages, &count);

	if (!write)
		mask &= ALL_PRESENT;
	return count == pages &&
	       !(mask & ~atomic_load_explicit(&bitmap[page / WORD_PAES], memory_order_acquire));
}

#endif
