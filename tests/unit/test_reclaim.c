// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, IOPT and lookups together: devices, a guest CPU and reclaimers on the same few pages.
 *
 * Every actor counts in a word of its own of each page. A DMA that hits a frame already copied out
 * or given away loses its count; one that hits an absent page is refused by the devices' view.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/lookup.h"
#include "injectors/emu/memory.h"
#include "lib/base/fail.h"

#define PAGES	     61 /* few, so that all meet */
#define PHYSICAL     (1ull << 30)
#define IOVA_BASE    0x7f0000000000ull
#define DEVICES	     2
#define QUEUES	     2 /* per device */
#define GUEST_CPUS   2
#define ACTORS	     (DEVICES * QUEUES + GUEST_CPUS)
#define SECONDS	     2
#define PAGE(number) ((__u64)(number)*PAGE_BYTES)
#define BOTH	     (IOMMU_READ | IOMMU_WRITE)

static struct guest_memory *memory;
static struct iommu_domain *domains[DEVICES];
static struct lookup *lookups[DEVICES];
static struct iotlb *iotlb;
static struct emq *emq;
static pthread_mutex_t page_locks[PAGES], evict_locks[PAGES];
static atomic_bool stop;
static _Atomic __u64 refused, misplaced, failures, resolved, evicted, busy;

struct actor {
	pthread_t thread;
	unsigned int number; /* its word in each page; queues: also device * QUEUES + queue */
	__u64 counts[PAGES];
};

static void resolve(unsigned int device, unsigned int page)
{
	bool major;

	pthread_mutex_lock(&page_locks[page]);
	if (guest_memory_resolve(memory, PAGE(page), device, true, &major) ||
	    iommu_map(domains[device], IOVA_BASE + PAGE(page), PHYSICAL + PAGE(page), PAGE_BYTES,
		      BOTH, false))
		atomic_fetch_add(&failures, 1);
	pthread_mutex_unlock(&page_locks[page]);
	atomic_fetch_add(&resolved, 1);
	/* The response takes its time; the page may be gone again when it arrives. */
	if (page % 3 == 0)
		sched_yield();
	lookup_mapped(lookups[device], IOVA_BASE + PAGE(page), PAGE_BYTES);
}

/* Adds one to the actor's word by DMA. */
static void count_by_dma(struct lookup *lookup, struct actor *actor, unsigned int page)
{
	__u64 physical = lookup_physical(lookup, IOVA_BASE + PAGE(page));
	__u64 offset = (actor->number + 1) * sizeof(__u64), word;

	if (physical - PHYSICAL != PAGE(page))
		atomic_fetch_add(&misplaced, 1);
	if (guest_memory_dma_copy(memory, PAGE(page) + offset, &word, sizeof(word), false)) {
		atomic_fetch_add(&refused, 1);
		return;
	}
	if (word != actor->counts[page])
		atomic_fetch_add(&misplaced, 1);
	word++;
	if (guest_memory_dma_copy(memory, PAGE(page) + offset, &word, sizeof(word), true))
		atomic_fetch_add(&refused, 1);
	else
		actor->counts[page] = word;
}

static void *run_queue(void *argument)
{
	struct actor *actor = argument;
	unsigned int device = actor->number / QUEUES, seed = actor->number;
	struct lookup *lookup = lookups[device];

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned int pages = 1 + rand_r(&seed) % 3;
		unsigned int first = rand_r(&seed) % (PAGES - pages + 1);
		__u64 absent[3];
		int missing =
			lookup_begin(lookup, IOVA_BASE + PAGE(first), PAGE(pages), true, absent, 3);

		for (int i = 0; i < missing; i++)
			resolve(device, (absent[i] - IOVA_BASE) >> PAGE_BITS);
		if (missing)
			continue;
		for (unsigned int page = first; page < first + pages; page++)
			count_by_dma(lookup, actor, page);
		lookup_end(lookup, IOVA_BASE + PAGE(first), PAGE(pages));
	}
	return NULL;
}

static void *run_guest_cpu(void *argument)
{
	struct actor *actor = argument;
	unsigned int seed = actor->number;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned int page = rand_r(&seed) % PAGES;
		volatile __u64 *words = guest_memory_cpu(memory, PAGE(page));

		words[actor->number + 1]++;
		actor->counts[page]++;
	}
	return NULL;
}

static bool any_grants(unsigned int page)
{
	struct iommu_translation found;
	bool grants = false;

	for (int i = 0; i < DEVICES; i++)
		grants |= !iommu_walk(domains[i], IOVA_BASE + PAGE(page), 0, &found);
	return grants;
}

/* The order that lookup.h asks for. */
static void evict(unsigned int page, enum evict_kind kind)
{
	int error;

	pthread_mutex_lock(&evict_locks[page]);
	for (;;) {
		for (int i = 0; i < DEVICES; i++)
			lookup_invalidate(lookups[i], IOVA_BASE + PAGE(page), PAGE_BYTES, NULL,
					  NULL);
		pthread_mutex_lock(&page_locks[page]);
		if (!any_grants(page))
			break;
		pthread_mutex_unlock(&page_locks[page]);
	}
	for (int i = 0; i < DEVICES; i++)
		iommu_unmap(domains[i], IOVA_BASE + PAGE(page), PAGE_BYTES);
	error = guest_memory_evict(memory, PAGE(page), kind);
	pthread_mutex_unlock(&page_locks[page]);
	pthread_mutex_unlock(&evict_locks[page]);
	atomic_fetch_add(error ? &busy : &evicted, 1);
	if (error && error != -EBUSY)
		atomic_fetch_add(&failures, 1);
}

static void *run_reclaimer(void *argument)
{
	enum evict_kind kind = (uintptr_t)argument;
	unsigned int seed = 100 + kind;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		evict(rand_r(&seed) % PAGES, kind);
	return NULL;
}

static void build(void)
{
	const struct guest_memory_config config = {.bytes = HUGE_BYTES, .physical = PHYSICAL};
	struct lookup_config window = {
		.iova_base = IOVA_BASE, .iova_bytes = HUGE_BYTES, .devtlb = {.entries = 8}};

	const struct cache_config shared = {16, 4, REPLACE_LRU, 0}; /* fewer than pages */

	assert_int_equal(dma_guard_install(), 0);
	assert_int_equal(iotlb_create(&iotlb, &shared), 0);
	assert_int_equal(emq_create(&emq, 0), 0);
	window.emq = emq; /* of the PA-BITMAP; ATS has no use for it */
	assert_int_equal(guest_memory_create(&memory, &config), 0);
	for (int i = 0; i < DEVICES; i++) {
		window.kind = i ? LOOKUP_ATS : LOOKUP_PA_BITMAP;
		assert_int_equal(iommu_domain_create(&domains[i]), 0);
		assert_int_equal(iotlb_attach(iotlb, domains[i]), 0);
		assert_int_equal(lookup_create(&lookups[i], &window, domains[i]), 0);
	}
	for (int i = 0; i < PAGES; i++) {
		pthread_mutex_init(&page_locks[i], NULL);
		pthread_mutex_init(&evict_locks[i], NULL);
	}
}

/* A busy machine may not let all of them run in that time. */
static bool all_had_their_share(void)
{
	struct guest_memory_stats stats;
	struct lookup_stats looked = {0};

	for (int i = 0; i < DEVICES; i++) {
		lookup_stats(lookups[i], &looked);
		if (looked.faults <= 100)
			return false;
	}
	guest_memory_stats(memory, &stats);
	/* The last device is the ATS one. */
	return looked.iotlb_hits > 100 && looked.iotlb_misses > 100 && stats.evicted_minor > 100 &&
	       stats.evicted_major > 100;
}

static void no_dma_touches_a_reclaimed_frame(void **state)
{
	static struct actor actors[ACTORS];
	const struct timespec run = {.tv_sec = SECONDS};
	pthread_t reclaimers[2];
	struct guest_memory_stats stats;
	struct lookup_stats looked;

	build();
	for (unsigned int i = 0; i < ACTORS; i++) {
		actors[i].number = i;
		pthread_create(&actors[i].thread, NULL,
			       i < DEVICES * QUEUES ? run_queue : run_guest_cpu, &actors[i]);
	}
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&reclaimers[i], NULL, run_reclaimer, (void *)i);
	do
		nanosleep(&run, NULL);
	while (!all_had_their_share());
	atomic_store(&stop, true);
	for (int i = 0; i < ACTORS; i++)
		pthread_join(actors[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(reclaimers[i], NULL);

	guest_memory_stats(memory, &stats);
	print_message("resolved %llu, evicted %llu minor %llu major, back at once %llu\n",
		      atomic_load(&resolved), stats.evicted_minor, stats.evicted_major,
		      atomic_load(&busy));
	assert_int_equal(refused, 0);
	for (int i = 0; i < DEVICES; i++) {
		lookup_stats(lookups[i], &looked);
		assert_int_equal(looked.order_violations, 0);
	}
	assert_int_equal(misplaced, 0);
	assert_int_equal(failures, 0);
	assert_int_equal(stats.dma_violations, 0);
	for (int i = 0; i < ACTORS; i++) {
		for (int page = 0; page < PAGES; page++)
			assert_int_equal(((__u64 *)guest_memory_cpu(memory, PAGE(page)))[i + 1],
					 actors[i].counts[page]);
	}
	emq_destroy(emq);
	for (int i = 0; i < DEVICES; i++) {
		lookup_destroy(lookups[i]);
		iommu_domain_destroy(domains[i]);
	}
	iotlb_destroy(iotlb);
	guest_memory_destroy(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_dma_touches_a_reclaimed_frame),
	};

	return cmocka_run_group_tests_name("reclaim", tests, NULL, NULL);
}
