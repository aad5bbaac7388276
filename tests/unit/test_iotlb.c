// SPDX-License-Identifier: GPL-2.0
/* The IOTLB that devices share: whose entries serve whom, and what an invalidation leaves of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/lookup.h"
#include "lib/base/fail.h"

#define BASE	     0x10000000ull
#define PAGES	     29ull
#define PAGE(number) (BASE + (__u64)(number)*PAGE_BYTES)
#define WINDOW	     (4 * HUGE_BYTES)
#define BOTH	     (IOMMU_READ | IOMMU_WRITE)
#define DEVICES	     3 /* the first two share a domain */
#define DOMAINS	     2

static struct iotlb *iotlb;
static struct iommu_domain *domains[DOMAINS];
static struct lookup *lookups[DEVICES];

static struct iommu_domain *domain_of(unsigned int device)
{
	return domains[device / 2];
}

static void create(__u32 iotlb_entries)
{
	const struct cache_config config = {iotlb_entries, 4, REPLACE_LRU, 0};
	const struct lookup_config window = {.kind = LOOKUP_ATS,
					     .iova_base = BASE,
					     .iova_bytes = WINDOW,
					     .devtlb = {.entries = 8, .ways = 4}};

	if (iotlb_entries)
		assert_int_equal(iotlb_create(&iotlb, &config), 0);
	for (int i = 0; i < DOMAINS; i++) {
		assert_int_equal(iommu_domain_create(&domains[i]), 0);
		if (iotlb)
			assert_int_equal(iotlb_attach(iotlb, domains[i]), 0);
	}
	for (unsigned int i = 0; i < DEVICES; i++)
		assert_int_equal(lookup_create(&lookups[i], &window, domain_of(i)), 0);
}

static const __u32 none = 0, small = 16, large = 64;

/* *state: entries of the IOTLB. */
static int setup(void **state)
{
	create(*(const __u32 *)*state);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < DEVICES; i++)
		lookup_destroy(lookups[i]);
	for (int i = 0; i < DOMAINS; i++)
		iommu_domain_destroy(domains[i]);
	iotlb_destroy(iotlb);
	iotlb = NULL;
	return 0;
}

/* One DMA; true if it may be. */
static bool dma(unsigned int device, __u64 iova, bool write)
{
	__u64 absent[1];

	if (lookup_begin(lookups[device], iova, 1, write, absent, 1))
		return false;
	lookup_end(lookups[device], iova, 1);
	return true;
}

#define COUNTED(device, devtlb_hit, devtlb_miss, iotlb_hit, iotlb_miss) \
	do {                                                            \
		struct lookup_stats counted;                            \
		lookup_stats(lookups[device], &counted);                \
		assert_int_equal(counted.devtlb_hits, devtlb_hit);      \
		assert_int_equal(counted.devtlb_misses, devtlb_miss);   \
		assert_int_equal(counted.iotlb_hits, iotlb_hit);        \
		assert_int_equal(counted.iotlb_misses, iotlb_miss);     \
	} while (0)

static void devices_of_a_domain_share_what_one_learnt(void **state)
{
	(void)state;
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(
		iommu_map(domains[0], BASE + HUGE_BYTES, HUGE_BYTES, HUGE_BYTES, BOTH, true), 0);
	assert_true(dma(0, PAGE(0), true) && dma(0, BASE + HUGE_BYTES, false));
	COUNTED(0, 0, 2, 0, 2);
	assert_true(dma(1, PAGE(0), true) && dma(1, BASE + 2 * HUGE_BYTES - 1, true));
	COUNTED(1, 0, 2, 2, 0);
	/* From its DevTLB the IOMMU is not asked. */
	assert_true(dma(1, PAGE(0), false) && dma(1, BASE + HUGE_BYTES + 5, false));
	COUNTED(1, 2, 2, 2, 0);
	/* Another domain has this page elsewhere, and that one not at all. */
	assert_int_equal(iommu_map(domains[1], PAGE(0), 1ull << 40, PAGE_BYTES, BOTH, false), 0);
	assert_true(dma(2, PAGE(0), true));
	assert_false(dma(2, BASE + HUGE_BYTES, true));
	COUNTED(2, 0, 2, 0, 2);
}

static void translations_are_those_of_the_tables(void **state)
{
	struct tlb_translation page;
	enum iotlb_answer answer;

	(void)state;
	for (__u64 i = 0; i < DOMAINS; i++)
		assert_int_equal(iommu_map(domains[i], BASE, i << 40, HUGE_BYTES, BOTH, true), 0);
	for (int again = 0; again < 2; again++) {
		for (__u64 i = 0; i < DOMAINS; i++) {
			assert_int_equal(
				iommu_translate(domains[i], PAGE(3) + 7, BOTH, &page, &answer), 0);
			assert_int_equal(answer, again ? IOTLB_HIT : IOTLB_MISS);
			assert_int_equal(page.physical, i << 40);
			assert_int_equal(page.page, TLB_2M);
			assert_int_equal(page.permissions, BOTH);
		}
	}
	/* A piece is mapped elsewhere: neither it nor its neighbours are what the huge page was. */
	assert_int_equal(iommu_map(domains[1], PAGE(3), 77 * PAGE_BYTES, PAGE_BYTES, BOTH, false),
			 0);
	for (int again = 0; again < 2; again++) {
		iommu_translate(domains[1], PAGE(3), BOTH, &page, &answer);
		assert_int_equal(answer, again ? IOTLB_HIT : IOTLB_MISS);
		assert_int_equal(page.physical, 77 * PAGE_BYTES);
		assert_int_equal(page.page, TLB_4K);
	}
	iommu_translate(domains[1], PAGE(4), BOTH, &page, &answer);
	assert_int_equal(page.physical, (1ull << 40) + 4 * PAGE_BYTES);
}

static void an_invalidation_reaches_every_tlb(void **state)
{
	struct tlb_translation page;
	enum iotlb_answer answer;

	(void)state;
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, 4 * PAGE_BYTES, BOTH, false), 0);
	for (unsigned int device = 0; device < 2; device++)
		for (int i = 0; i < 4; i++)
			assert_true(dma(device, PAGE(i), true));
	lookup_invalidate(lookups[0], PAGE(1), PAGE_BYTES, NULL, NULL);
	assert_int_equal(iommu_translate(domains[0], PAGE(1), IOMMU_READ, &page, &answer), -ESTALE);
	assert_int_equal(answer, IOTLB_MISS);
	assert_false(dma(0, PAGE(1), false));
	lookup_invalidate(lookups[1], PAGE(1), PAGE_BYTES, NULL, NULL);
	assert_false(dma(1, PAGE(1), false));
	/* The neighbours stayed in both. */
	iommu_translate(domains[0], PAGE(2), BOTH, &page, &answer);
	assert_int_equal(answer, IOTLB_HIT);
	assert_true(dma(0, PAGE(2), true));
	COUNTED(0, 1, 5, 0, 5);
	/* Unmapped without a withdrawal, as a host may do that knows of no DMA. */
	iommu_unmap(domains[0], PAGE(2), PAGE_BYTES);
	assert_int_equal(iommu_translate(domains[0], PAGE(2), 0, &page, &answer), -ENOENT);
}

static void a_write_needs_the_permission(void **state)
{
	struct tlb_translation page;
	struct lookup_stats stats;
	enum iotlb_answer answer;

	(void)state;
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_true(dma(0, PAGE(0), false));
	assert_int_equal(iommu_translate(domains[0], PAGE(0), IOMMU_WRITE, &page, &answer),
			 -EACCES);
	assert_int_equal(answer, IOTLB_MISS);
	assert_false(dma(1, PAGE(0), true));
	lookup_stats(lookups[1], &stats);
	assert_int_equal(stats.read_only_faults, 1);
	assert_true(dma(1, PAGE(0), false));
	COUNTED(1, 0, 2, 1, 1);
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_true(dma(0, PAGE(0), true) && dma(1, PAGE(0), true));
	/* Write-protected again: the devices are told, then the tables say so. */
	for (int i = 0; i < 2; i++)
		lookup_invalidate(lookups[i], PAGE(0), PAGE_BYTES, NULL, NULL);
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_true(dma(0, PAGE(0), false) && dma(1, PAGE(0), false));
	assert_false(dma(0, PAGE(0), true) || dma(1, PAGE(0), true));
	/* Without telling: the IOTLB at least knows no more than the tables. */
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_int_equal(iommu_translate(domains[0], PAGE(0), BOTH, &page, &answer), 0);
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, IOMMU_READ, false), 0);
	assert_int_equal(iommu_translate(domains[0], PAGE(0), BOTH, &page, &answer), -EACCES);
}

static void without_one_nothing_is_counted(void **state)
{
	(void)state;
	assert_int_equal(iommu_map(domains[0], PAGE(0), 0, PAGE_BYTES, BOTH, false), 0);
	assert_true(dma(0, PAGE(0), true) && dma(1, PAGE(0), true));
	COUNTED(0, 0, 1, 0, 0);
	COUNTED(1, 0, 1, 0, 0);
}

static void what_cannot_be_is_named(void **state)
{
	const struct cache_config wrong = {48, 8, REPLACE_LRU, 0};
	struct iotlb *created;

	(void)state;
	assert_int_equal(iotlb_create(&created, &wrong), -EINVAL);
	assert_non_null(strstr(failure_text(), "IOTLB: TLB of 48 entries"));
}

/*
 * Pages leave and come back to their other frame while devices use them. What a page does next is
 * the lowest two bits of its `steps`; even: it rests.
 */
enum { HERE, LEAVING, AWAY, COMING, STEPS };

#define QUEUES	    2 /* of a device, which share its DevTLB */
#define USERS	    (DEVICES * QUEUES)
#define LEFT_BEHIND 0xdeadbeefull

static struct {
	_Atomic __u64 steps[DOMAINS][PAGES];
	/* A user counts in a word of its own in each page; what is left behind is overwritten. */
	_Atomic __u64 frames[DOMAINS][PAGES][2][USERS];
	atomic_bool stop;
} memory;

struct user {
	pthread_t thread;
	unsigned int number, device, domain;
	__u64 counts[PAGES], wrong;
	_Atomic __u64 granted, refused;
};

static __u64 frame_address(unsigned int domain, __u64 page, __u64 steps)
{
	return ((domain * PAGES + page) * 2 + (steps / STEPS & 1)) * PAGE_BYTES;
}

static void map_page(unsigned int domain, __u64 page, __u64 steps)
{
	assert_int_equal(iommu_map(domains[domain], PAGE(page), frame_address(domain, page, steps),
				   PAGE_BYTES, BOTH, false),
			 0);
}

/* As a host does; the same thread maps, so no fault comes in between. */
static void take_from_devices(unsigned int domain, __u64 page, __u64 steps)
{
	_Atomic __u64(*frames)[USERS] = memory.frames[domain][page];
	__u64 from = steps / STEPS & 1;

	for (unsigned int device = 0; device < DEVICES; device++)
		if (domain_of(device) == domains[domain])
			lookup_invalidate(lookups[device], PAGE(page), PAGE_BYTES, NULL, NULL);
	iommu_unmap(domains[domain], PAGE(page), PAGE_BYTES);
	/* What was counted goes along; what is counted now is lost. */
	for (int i = 0; i < USERS; i++) {
		frames[!from][i] = frames[from][i];
		frames[from][i] = LEFT_BEHIND;
	}
}

/* The IOMMU's part only, one half of it or both. */
static void take_from_tables(unsigned int domain, __u64 page, __u64 steps)
{
	if (steps / STEPS % 3 != 0)
		iommu_withdraw(domains[domain], PAGE(page), PAGE_BYTES);
	if (steps / STEPS % 3 != 1)
		iommu_unmap(domains[domain], PAGE(page), PAGE_BYTES);
}

/* Most of what all of them do is about a few pages: there they meet. */
static __u64 random_page(unsigned int *seed)
{
	return rand_r(seed) % (rand_r(seed) % 4 ? 3 : PAGES);
}

typedef void taking(unsigned int domain, __u64 page, __u64 steps);
typedef bool had_enough(const struct user users[USERS]);

/* A busy host may not let each run at once. */
static bool all_had_their_share(const struct user users[USERS])
{
	for (int i = 0; i < USERS; i++)
		if (users[i].granted < 1000 || users[i].refused < 1000)
			return false;
	return true;
}

/* Every TLB answered, too. */
static bool tlbs_had_their_share(const struct user users[USERS])
{
	struct lookup_stats stats;

	for (unsigned int i = 0; i < DEVICES; i++) {
		lookup_stats(lookups[i], &stats);
		if (stats.devtlb_hits < 100 || stats.iotlb_hits < 100 || stats.iotlb_misses < 100)
			return false;
	}
	return all_had_their_share(users);
}

static void move_pages(const struct user users[USERS], taking *take, had_enough *enough,
		       unsigned int rounds)
{
	unsigned int seed = 11;

	for (unsigned int i = 0; i < rounds || !enough(users); i++) {
		unsigned int domain = rand_r(&seed) % DOMAINS;
		__u64 page = random_page(&seed), steps = memory.steps[domain][page]++;

		if (steps % STEPS == HERE)
			take(domain, page, steps);
		else
			map_page(domain, page, steps + STEPS);
		memory.steps[domain][page]++;
	}
	memory.stop = true;
}

static void count_by_dma(struct user *user, __u64 page)
{
	__u64 physical = lookup_physical(lookups[user->device], PAGE(page));
	__u64 first = frame_address(user->domain, page, 0);
	_Atomic __u64 *word;

	user->granted++;
	if (physical != first && physical != first + PAGE_BYTES) {
		user->wrong++;
		return;
	}
	word = &memory.frames[user->domain][page][physical != first][user->number];
	user->wrong += *word != user->counts[page];
	user->counts[page]++;
	*word = user->counts[page];
}

static void *run_queue(void *argument)
{
	struct user *user = argument;
	unsigned int seed = user->number;
	__u64 absent[1];

	while (!memory.stop) {
		__u64 page = random_page(&seed);

		if (!lookup_begin(lookups[user->device], PAGE(page), 1, true, absent, 1)) {
			count_by_dma(user, page);
			lookup_end(lookups[user->device], PAGE(page), 1);
		} else {
			user->refused++;
			sched_yield(); /* to who maps it: it learns no more by asking on */
		}
	}
	return NULL;
}

/* While a page rests, where it is, or that it is not, is what a request must be told. */
static void *run_requests(void *argument)
{
	struct user *user = argument;
	unsigned int seed = user->number;
	struct tlb_translation found;
	enum iotlb_answer answer;

	while (!memory.stop) {
		__u64 page = random_page(&seed), steps = memory.steps[user->domain][page];
		int error =
			iommu_translate(domains[user->domain], PAGE(page), BOTH, &found, &answer);

		if (steps % 2 || memory.steps[user->domain][page] != steps)
			continue;
		if (error)
			sched_yield();
		user->granted += !error;
		user->refused += error != 0;
		if (steps % STEPS == AWAY)
			user->wrong += !error;
		else
			user->wrong +=
				error || found.physical != frame_address(user->domain, page, steps);
	}
	return NULL;
}

static void run(struct user users[USERS], void *(*use)(void *user), taking *take,
		had_enough *enough, unsigned int rounds)
{
	memset(&memory, 0, sizeof(memory));
	for (unsigned int domain = 0; domain < DOMAINS; domain++)
		for (__u64 page = 0; page < PAGES; page++)
			map_page(domain, page, HERE);
	for (unsigned int i = 0; i < USERS; i++) {
		users[i].number = i;
		users[i].device = i / QUEUES;
		users[i].domain = users[i].device / 2;
		assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
	}
	move_pages(users, take, enough, rounds);
	for (int i = 0; i < USERS; i++)
		pthread_join(users[i].thread, NULL);
	for (int i = 0; i < USERS; i++)
		assert_int_equal(users[i].wrong, 0);
}

static void no_dma_uses_a_page_that_leaves(void **state)
{
	struct user users[USERS] = {0};
	struct lookup_stats stats;

	(void)state;
	run(users, run_queue, take_from_devices, tlbs_had_their_share, 10007);
	for (unsigned int i = 0; i < DEVICES; i++) {
		lookup_stats(lookups[i], &stats);
		assert_int_equal(stats.order_violations, 0);
	}
	for (unsigned int i = 0; i < USERS; i++) {
		for (__u64 page = 0; page < PAGES; page++) {
			__u64 frame = (memory.steps[users[i].domain][page] + AWAY) / STEPS & 1;

			assert_int_equal(memory.frames[users[i].domain][page][frame][i],
					 users[i].counts[page]);
		}
	}
}

static void requests_are_told_where_the_page_is(void **state)
{
	struct user users[USERS] = {0};

	(void)state;
	run(users, run_requests, take_from_tables, all_had_their_share, 200003);
}

#define WITH(entries, test)                                      \
	{                                                        \
#test, test, setup, teardown, (void *)&(entries) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(large, devices_of_a_domain_share_what_one_learnt),
		WITH(large, translations_are_those_of_the_tables),
		WITH(large, an_invalidation_reaches_every_tlb),
		WITH(large, a_write_needs_the_permission),
		WITH(none, without_one_nothing_is_counted),
		cmocka_unit_test(what_cannot_be_is_named),
		WITH(small, no_dma_uses_a_page_that_leaves),
		WITH(large, no_dma_uses_a_page_that_leaves),
		WITH(small, requests_are_told_where_the_page_is),
		WITH(large, requests_are_told_where_the_page_is),
	};

	return cmocka_run_group_tests_name("iotlb", tests, NULL, NULL);
}
