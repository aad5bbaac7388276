/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Evicting pages of another process, and saying of each page what became of it.
 *
 * Evicted means: it was in the process's page table and is not there any more, so that the next
 * access of a CPU, or of a device that shares the page table, faults. Where the content is by then
 * decides how long that fault takes. Every page that was asked for has exactly one outcome.
 */
#ifndef FAULTLINE_REAL_EVICT_H
#define FAULTLINE_REAL_EVICT_H

#include "injectors/real/pages.h"
#include "injectors/real/target.h"

enum page_outcome {
	EVICTED_SWAP,	    /* has to be read from swap */
	EVICTED_SWAP_CACHE, /* swap has a place for it, the frame is still there: a minor fault */
	EVICTED_STORAGE,    /* has to be read from its file again */
	EVICTED_CACHED,	    /* still in the page cache: the next fault is a minor one */
	EVICTED_DROPPED, /* gone for good: the process had given it up (MADV_FREE), or unmapped it */
	EVICTED_BACK,	 /* was evicted and used again before we looked */

	SKIPPED_UNMAPPED, /* no mapping at this address */
	SKIPPED_ABSENT,	  /* not in the page table to begin with */
	SKIPPED_LOCKED,	  /* mlock, or otherwise unevictable */
	SKIPPED_SHARED,	  /* mapped more than once: the kernel evicts such pages for nobody */
	SKIPPED_HUGETLB,
	SKIPPED_ZERO,	 /* the zero page: there is nothing to evict */
	SKIPPED_SPECIAL, /* device memory or the kernel's own */
	SKIPPED_NO_SWAP, /* anonymous, and no swap has room */
	SKIPPED_COLD,	 /* only marked as cold, as was asked for (EVICT_COLD without reclaim) */
	SKIPPED_REFUSED, /* process_madvise() returned an error */
	SKIPPED_HELD,	 /* could have gone but stayed: pinned by a device or a driver, or in use */
	SKIPPED_GONE,	 /* the process ended meanwhile */
	PAGE_OUTCOMES,
};

#define FIRST_SKIPPED SKIPPED_UNMAPPED

/* "7 shared": in a sentence */
extern const char *const outcome_phrases[PAGE_OUTCOMES];

enum evict_advice { EVICT_PAGEOUT, EVICT_COLD };

struct evict_counts {
	__u64 pages[PAGE_KINDS][PAGE_OUTCOMES];
	__u64 calls;	     /* of process_madvise() */
	__u64 reclaims;	     /* writes to memory.reclaim */
	__u64 reclaim_again; /* of these: the kernel reclaimed less than asked (EAGAIN) */
	int refusal;	     /* the last errno of process_madvise(), 0 if none */
};

struct evictor {
	const struct target *target;
	struct process_pages pages;
	struct process_mappings mappings;
	enum evict_advice advice;
	int reclaim;	     /* descriptor of a cgroup's memory.reclaim, -1: none */
	__u64 reclaim_bytes; /* to ask of it after each batch */
	struct evict_counts counts;
};

int evictor_open(struct evictor *evictor, const struct target *target, enum evict_advice advice);
void evictor_close(struct evictor *evictor);

#define EVICT_BATCH 512

/*
 * Evicts these pages (`addresses` is sorted on return; one that is there twice counts twice, the
 * second time as what the first left). At most EVICT_BATCH. 0 or -ESRCH once the process has ended;
 * even then each page has been counted.
 */
int evict_pages(struct evictor *evictor, __u64 *addresses, size_t count);

#endif
