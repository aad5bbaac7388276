// SPDX-License-Identifier: GPL-2.0
/* Reuse distances and active sets, access by access against a list that is searched from its front. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/base/random.h"
#include "lib/translate/pages.h"

#define PAGES	4999
#define TENANTS 3

struct list {
	__u32 pages[PAGES], count;
};

static struct list lists[TENANTS];
static __u64 expected[REUSE_DISTANCES], of_tenant[TENANTS][REUSE_DISTANCES];

/* Moves the page to the front of its tenant's list and counts how far back it was. */
static void use(struct pages *pages, __u16 tenant, __u32 page)
{
	struct list *list = &lists[tenant];
	struct model_packet packet = {.source = tenant, .domain = tenant, .count = 1};
	__u32 at = 0;

	packet.requests[0] = (struct model_request){(__u64)page << 12 | 0x40, CACHE_NEVER, 12};
	assert_int_equal(pages_take(pages, &packet), 0);
	while (at < list->count && list->pages[at] != page)
		at++;
	if (at == list->count) {
		list->count++;
	} else {
		__u32 bucket = at < REUSE_DISTANCES ? at : REUSE_DISTANCES - 1;

		expected[bucket]++;
		of_tenant[tenant][bucket]++;
	}
	memmove(&list->pages[1], &list->pages[0], at * sizeof(list->pages[0]));
	list->pages[0] = page;
}

/* The least cache that holds so many of a thousand reuses, from the counts of the list. */
static __u32 active(__u16 tenant, __u32 per_mille)
{
	__u64 sum = 0, hits = 0;
	__u32 size = 0;

	for (__u32 d = 0; d < REUSE_DISTANCES; d++)
		sum += of_tenant[tenant][d];
	while (hits * 1000 < sum * per_mille)
		hits += of_tenant[tenant][size++];
	return size;
}

static void compare(struct pages *pages)
{
	const struct tenant_use *tenants;
	size_t count;

	assert_int_equal(pages_finish(pages), 0);
	assert_memory_equal(pages_distances(pages), expected, sizeof(expected));
	tenants = pages_tenants(pages, &count);
	assert_int_equal(count, TENANTS);
	for (__u16 t = 0; t < TENANTS; t++) {
		assert_int_equal(tenants[t].pages, lists[t].count);
		assert_int_equal(tenants[t].cold, lists[t].count);
		assert_int_equal(tenants[t].active99, active(t, 990));
		assert_int_equal(tenants[t].active999, active(t, 999));
		assert_int_equal(tenants[t].active_all, active(t, 1000));
	}
	pages_destroy(pages);
}

static int forget(void **state)
{
	memset(lists, 0, sizeof(lists));
	memset(expected, 0, sizeof(expected));
	memset(of_tenant, 0, sizeof(of_tenant));
	return 0;
}

/* Some pages often, some rarely, new ones all the time. */
static void distances_of_random_accesses_are_exact(void **state)
{
	struct random random = {7};
	struct pages *pages;

	assert_int_equal(pages_create(&pages), 0);
	for (int i = 0; i < 60013; i++) {
		__u32 few = random_below(&random, 12), all = random_below(&random, 1009);

		use(pages, (__u16)random_below(&random, TENANTS),
		    few < 3 ? few : random_below(&random, all + 1));
	}
	compare(pages);
}

/* Around all pages: each reuse is as far as there are others, beyond what is told apart. */
static void far_reuses_are_told_as_the_last(void **state)
{
	struct pages *pages;

	assert_int_equal(pages_create(&pages), 0);
	for (__u32 i = 0; i < 3 * PAGES; i++)
		use(pages, 0, i % PAGES);
	for (__u32 i = 0; i < 3 * 4096; i++)
		use(pages, 1, i % 4096);
	for (__u32 i = 0; i < 3 * 77; i++)
		use(pages, 2, i % 77);
	compare(pages);
	assert_int_equal(expected[REUSE_DISTANCES - 1], 2 * PAGES + 2 * 4096);
	assert_int_equal(expected[76], 2 * 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(distances_of_random_accesses_are_exact, forget),
		cmocka_unit_test_setup(far_reuses_are_told_as_the_last, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
