// SPDX-License-Identifier: GPL-2.0
/*
 * The reference of a DMA on its pages is the range itself, put in a lane of the calling thread.
 *
 * lookup_begin() stores the range, then reads presence; lookup_invalidate() takes presence away, then
 * reads the ranges. Each needs its store to be seen before its load. Invalidations are rare and DMAs
 * are not, so the invalidation pays for both sides: membarrier() puts a full barrier into every
 * running thread of the process, and lookup_begin() needs none.
 */
#include "injectors/emu/lookup_private.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define HELD_BITS	 28 /* for the number of pages: 1 TiB */
#define WINDOW_PAGES_MAX (1ull << HELD_BITS)
#define LANE_CACHE	 16 /* lookups whose lane a thread finds at once, by their ids */

static _Thread_local struct {
	__u64 lookup;
	struct lookup_lane *lane;
} lane_cache[LANE_CACHE];

static bool barrier_register(void)
{
	return !syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

int lookup_create(struct lookup **lookup, const struct lookup_config *config,
		  struct iommu_domain *domain)
{
	static _Atomic __u64 last_id;
	struct lookup *created;
	int error;

	if (!config->iova_bytes || ((config->iova_base | config->iova_bytes) & (PAGE_BYTES - 1)) ||
	    config->iova_bytes >> PAGE_BITS >= WINDOW_PAGES_MAX ||
	    config->iova_base + config->iova_bytes < config->iova_base)
		return failed(-EINVAL,
			      "lookup window at 0x%llx of 0x%llx bytes: accepted: whole pages, "
			      "less than 1 TiB",
			      config->iova_base, config->iova_bytes);
	created = calloc(1, sizeof(*created));
	if (!created)
		return failed(-ENOMEM, "no memory for a lookup");
	created->ops = config->kind == LOOKUP_ATS ? &ats_ops : &pa_bitmap_ops;
	created->domain = domain;
	created->base = config->iova_base;
	created->bytes = config->iova_bytes;
	created->delay_ns = config->lookup_delay_ns;
	created->emq = config->kind == LOOKUP_PA_BITMAP ? config->emq : NULL;
	created->id = atomic_fetch_add(&last_id, 1) + 1;
	created->fence = !barrier_register();
	error = created->ops->create(created, config);
	if (error) {
		free(created);
		return error;
	}
	pthread_mutex_init(&created->update, NULL);
	*lookup = created;
	return 0;
}

void lookup_destroy(struct lookup *lookup)
{
	struct lookup_lane *lane, *next;

	if (!lookup)
		return;
	for (lane = atomic_load(&lookup->lanes); lane; lane = next) {
		next = lane->next;
		free(lane);
	}
	lookup->ops->destroy(lookup);
	pthread_mutex_destroy(&lookup->update);
	free(lookup);
}

/* The calling thread's number, never reused. */
static __u64 thread_number(void)
{
	static _Atomic __u64 last;
	static _Thread_local __u64 number;

	if (!number)
		number = atomic_fetch_add(&last, 1) + 1;
	return number;
}

/* Finds or makes this thread's lane; its first DMA here, or more than LANE_CACHE lookups in use. */
static __attribute__((noinline)) struct lookup_lane *lane_find(struct lookup *lookup)
{
	__u64 owner = thread_number();
	struct lookup_lane *lane = atomic_load(&lookup->lanes);

	while (lane && lane->owner != owner)
		lane = lane->next;
	if (!lane) {
		lane = aligned_alloc(64, sizeof(*lane));
		if (!lane)
			return NULL;
		memset(lane, 0, sizeof(*lane));
		lane->owner = owner;
		lane->next = atomic_load(&lookup->lanes);
		while (!atomic_compare_exchange_weak(&lookup->lanes, &lane->next, lane))
			;
	}
	lane_cache[lookup->id % LANE_CACHE].lookup = lookup->id;
	lane_cache[lookup->id % LANE_CACHE].lane = lane;
	return lane;
}

/* NULL if this thread has to look for its lane. */
static inline struct lookup_lane *lane_cached(const struct lookup *lookup)
{
	if (lane_cache[lookup->id % LANE_CACHE].lookup == lookup->id)
		return lane_cache[lookup->id % LANE_CACHE].lane;
	return NULL;
}

static struct lookup_lane *lane_of(struct lookup *lookup)
{
	struct lookup_lane *lane = lane_cached(lookup);

	return lane ? lane : lane_find(lookup);
}

static _Atomic __u64 *lane_slot(struct lookup_lane *lane, __u64 value)
{
	for (unsigned int i = 0; i < LOOKUP_DMA_MAX; i++) {
		if (atomic_load_explicit(&lane->held[i], memory_order_relaxed) == value)
			return &lane->held[i];
	}
	return NULL;
}

static void busy_wait(__u64 ns)
{
	__u64 end = monotonic_ns() + ns;

	while (monotonic_ns() < end)
		;
}

/* The pages that [iova, iova + length) touches, false if it leaves the window. */
static inline bool range_pages(const struct lookup *lookup, __u64 iova, __u64 length, __u64 *page,
			       __u64 *pages)
{
	__u64 offset = iova - lookup->base; /* below the base it wraps around and is too large */

	if (offset >= lookup->bytes || length - 1 >= lookup->bytes - offset)
		return false;
	*page = offset >> PAGE_BITS;
	*pages = ((offset + length - 1) >> PAGE_BITS) - *page + 1;
	return true;
}

/* Every case; the hot ones are tried before, in lookup_begin(). */
static __attribute__((noinline)) int lookup_begin_any(struct lookup *lookup, __u64 iova,
						      __u64 length, bool write, __u64 *absent,
						      unsigned int limit)
{
	struct lookup_lane *lane = lane_of(lookup);
	_Atomic __u64 *slot = lane ? lane_slot(lane, 0) : NULL;
	__u64 page, pages;
	int missing;

	if (!range_pages(lookup, iova, length, &page, &pages))
		return -EINVAL;
	if (!slot)
		return lane ? -ENOBUFS : -ENOMEM;
	lane_count(&lane->lookups);
	atomic_store_explicit(slot, page << HELD_BITS | pages, memory_order_relaxed);
	/* Where membarrier() holds the CPU, this holds the compiler; else a barrier for each DMA. */
	if (lookup->fence)
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	if (lookup->delay_ns)
		busy_wait(lookup->delay_ns);
	missing = lookup->ops->check(lookup, lane, page, pages, write, absent, limit);
	if (missing) {
		atomic_store_explicit(slot, 0, memory_order_release);
		lane_count(&lane->faults);
	}
	return missing;
}

/* A thread's only DMA, of present pages in one word of a PA-BITMAP: nothing needs a second look. */
int lookup_begin(struct lookup *lookup, __u64 iova, __u64 length, bool write, __u64 *absent,
		 unsigned int limit)
{
	struct lookup_lane *lane = lane_cached(lookup);
	__u64 page, pages;

	if (!lane || !lookup->bitmap || !range_pages(lookup, iova, length, &page, &pages) ||
	    atomic_load_explicit(&lane->held[0], memory_order_relaxed))
		return lookup_begin_any(lookup, iova, length, write, absent, limit);
	atomic_store_explicit(&lane->held[0], page << HELD_BITS | pages, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (!pa_bitmap_grants(lookup->bitmap, page, pages, write)) {
		atomic_store_explicit(&lane->held[0], 0, memory_order_release);
		return lookup_begin_any(lookup, iova, length, write, absent, limit);
	}
	lane_count(&lane->lookups);
	return 0;
}

static __attribute__((noinline)) void lookup_end_any(struct lookup *lookup, __u64 iova,
						     __u64 length)
{
	struct lookup_lane *lane = lane_of(lookup);
	_Atomic __u64 *slot = NULL;
	__u64 page, pages;

	if (lane && range_pages(lookup, iova, length, &page, &pages))
		slot = lane_slot(lane, page << HELD_BITS | pages);
	/* Release, for the acquire of range_held(): who finds the range free finds the DMA done. */
	if (slot)
		atomic_store_explicit(slot, 0, memory_order_release);
	else
		atomic_fetch_add(&lookup->order_violations, 1);
}

void lookup_end(struct lookup *lookup, __u64 iova, __u64 length)
{
	struct lookup_lane *lane = lane_cached(lookup);
	__u64 page, pages;

	if (lane && range_pages(lookup, iova, length, &page, &pages) &&
	    atomic_load_explicit(&lane->held[0], memory_order_relaxed) ==
		    (page << HELD_BITS | pages))
		atomic_store_explicit(&lane->held[0], 0, memory_order_release);
	else
		lookup_end_any(lookup, iova, length);
}

/*
 * By the IOPT for both mechanisms: the DevTLB entry that let the DMA pass may have made way for
 * another, but the reference keeps the IOPT entry, withdrawn or not.
 */
__u64 lookup_physical(struct lookup *lookup, __u64 iova)
{
	struct iommu_translation translation;

	iommu_use(lookup->domain, iova, &translation);
	if (translation.permissions)
		return translation.physical;
	atomic_fetch_add(&lookup->order_violations, 1);
	return LOOKUP_NOWHERE;
}

void lookup_mapped(struct lookup *lookup, __u64 iova, __u64 length)
{
	struct iommu_translation translation;
	__u64 page, pages, step;
	int error;

	if (!range_pages(lookup, iova, length, &page, &pages))
		return;
	pthread_mutex_lock(&lookup->update);
	for (__u64 end = page + pages; page < end; page += step) {
		error = iommu_walk(lookup->domain, lookup->base + (page << PAGE_BITS), 0,
				   &translation);
		step = error ? 1 : translation.bytes >> PAGE_BITS;
		step = step < end - page ? step : end - page;
		if (!error)
			lookup->ops->set(lookup, page, step, translation.permissions);
		else if (error == -ENOENT)
			atomic_fetch_add(&lookup->order_violations, 1);
	}
	pthread_mutex_unlock(&lookup->update);
}

static bool range_held(struct lookup *lookup, __u64 page, __u64 pages)
{
	for (struct lookup_lane *lane = atomic_load(&lookup->lanes); lane; lane = lane->next) {
		for (unsigned int i = 0; i < LOOKUP_DMA_MAX; i++) {
			__u64 held = atomic_load_explicit(&lane->held[i], memory_order_acquire);
			__u64 first = held >> HELD_BITS;

			if (first < page + pages && page < first + (held & (WINDOW_PAGES_MAX - 1)))
				return true;
		}
	}
	return false;
}

void lookup_withdraw(struct lookup *lookup, __u64 iova, __u64 length)
{
	__u64 page, pages;

	if (!range_pages(lookup, iova, length, &page, &pages))
		return;
	pthread_mutex_lock(&lookup->update);
	iommu_withdraw(lookup->domain, lookup->base + (page << PAGE_BITS), pages << PAGE_BITS);
	lookup->ops->clear(lookup, page, pages);
	pthread_mutex_unlock(&lookup->update);
	if (!lookup->fence)
		syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	else
		atomic_thread_fence(memory_order_seq_cst);
}

bool lookup_in_use(struct lookup *lookup, __u64 iova, __u64 length)
{
	__u64 page, pages;

	return range_pages(lookup, iova, length, &page, &pages) && range_held(lookup, page, pages);
}

/* The device's part in the caller's thread: for ATS, and for a bitmap without a PA manager. */
static void invalidate_here(struct lookup *lookup, __u64 iova, __u64 length,
			    void (*told)(void *argument), void *argument)
{
	const struct timespec nap = {.tv_nsec = 20000};

	lookup_withdraw(lookup, iova, length);
	if (told)
		told(argument);
	/* A DMA lasts from a copy to a disk access: look a few times, then leave it the CPU. */
	for (unsigned int tries = 0; lookup_in_use(lookup, iova, length); tries++) {
		if (tries < 100)
			__builtin_ia32_pause();
		else
			nanosleep(&nap, NULL);
	}
}

/* -ESHUTDOWN without a PA manager, or no longer one. */
static int ask_manager(struct lookup *lookup, const struct emq_request *request)
{
	return lookup->emq ? emq_post(lookup->emq, request) : -ESHUTDOWN;
}

void lookup_invalidate(struct lookup *lookup, __u64 iova, __u64 length,
		       void (*told)(void *argument), void *argument)
{
	const struct emq_request request = {EMQ_INVALIDATE, lookup, iova, length, told, argument};
	__u64 page, pages;

	if (!range_pages(lookup, iova, length, &page, &pages))
		return;
	if (ask_manager(lookup, &request))
		invalidate_here(lookup, iova, length, told, argument);
	atomic_fetch_add(&lookup->invalidations, 1);
}

void lookup_map_ahead(struct lookup *lookup, __u64 iova, __u64 length)
{
	const struct emq_request request = {EMQ_MAP, lookup, iova, length, NULL, NULL};

	if (ask_manager(lookup, &request))
		lookup_mapped(lookup, iova, length);
}

static __u64 lane_read(const _Atomic __u64 *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void lookup_stats(const struct lookup *lookup, struct lookup_stats *stats)
{
	*stats = (struct lookup_stats){
		.invalidations = atomic_load(&lookup->invalidations),
		.order_violations = atomic_load(&lookup->order_violations),
	};
	for (struct lookup_lane *lane = atomic_load(&lookup->lanes); lane; lane = lane->next) {
		stats->lookups += lane_read(&lane->lookups);
		stats->faults += lane_read(&lane->faults);
		stats->read_only_faults += lane_read(&lane->read_only_faults);
		stats->devtlb_hits += lane_read(&lane->devtlb_hits);
		stats->devtlb_misses += lane_read(&lane->devtlb_misses);
		stats->iotlb_hits += lane_read(&lane->iotlb_hits);
		stats->iotlb_misses += lane_read(&lane->iotlb_misses);
	}
}
