// SPDX-License-Identifier: GPL-2.0
/* Pages move under devices that share an IOTLB: no DMA and no request is told where they were. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/iotlb_devices.h"

#define PAGES 29ull

static const __u32 small = 16, large = 64;

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

/*
 * A DMA that lasts until its page is wanted, and on: who takes the page has the time to have taken it,
 * unless it waits for us.
 */
static void last_long(const struct user *user, __u64 page)
{
	const _Atomic __u64 *steps = &memory.steps[user->domain][page];

	for (int i = 0; i < 100 && *steps % STEPS != LEAVING; i++)
		sched_yield();
	for (int i = 0; i < 100 && *steps % STEPS == LEAVING; i++)
		sched_yield();
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
	if (user->granted % 97 == 0)
		last_long(user, page);
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

	run(users, run_requests, take_from_tables, all_had_their_share, 200003);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(small, no_dma_uses_a_page_that_leaves),
		WITH(large, no_dma_uses_a_page_that_leaves),
		WITH(small, requests_are_told_where_the_page_is),
		WITH(large, requests_are_told_where_the_page_is),
	};

	return cmocka_run_group_tests_name("iotlb_moves", tests, NULL, NULL);
}
