// SPDX-License-Identifier: GPL-2.0
/* Ranges of IOVAs, held to a model that knows each page by itself. */
#include "tests/unit/test.h"

#include "bpf/page.h"
#include "injectors/emu/vhost/iova_table.h"
#include "lib/base/random.h"

#define PAGES	64
#define BASE	(0 - PAGES * PAGE_BYTES) /* up to the last address that there is */
#define NOTHING (~0ull)

static struct iova_range range_of(__u64 page, __u64 pages, __u64 guest_address, __u32 permissions)
{
	return (struct iova_range){BASE + page * PAGE_BYTES, BASE + (page + pages) * PAGE_BYTES - 1,
				   guest_address, permissions};
}

static void ranges_reach_the_last_address(void **state)
{
	struct iova_table *table = iova_table_create(4);
	const struct iova_range all = {0, ~0ull, 0, IOVA_READ}, last = range_of(63, 1, 4096, 3);
	struct iova_range found;

	assert_false(iova_table_add(table, &all));
	assert_true(iova_table_find(table, ~0ull, IOVA_READ, &found));
	assert_false(iova_table_find(table, ~0ull, IOVA_WRITE, &found));
	assert_true(iova_table_find(table, 0, 0, &found));
	assert_true(iova_table_contradicts(table, &last));
	iova_table_add(table, &last);
	assert_int_equal(iova_table_count(table), 1);
	assert_true(iova_table_find(table, ~0ull, IOVA_WRITE, &found));
	assert_int_equal(found.guest_address, 4096);
	assert_false(iova_table_contradicts(table, &last));
	assert_int_equal(iova_table_drop(table, 0, ~0ull), 1);
	assert_false(iova_table_find(table, ~0ull, 0, &found));
	iova_table_destroy(table);
}

static void the_longest_unused_makes_way(void **state)
{
	struct iova_table *table = iova_table_create(8);
	struct iova_range range, found;

	for (__u64 i = 0; i < 8; i++) {
		range = range_of(i, 1, i, IOVA_READ);
		assert_false(iova_table_add(table, &range));
	}
	assert_true(iova_table_find(table, BASE, IOVA_READ, &found));
	range = range_of(20, 4, 20, IOVA_READ);
	assert_true(iova_table_add(table, &range));
	assert_int_equal(iova_table_count(table), 8);
	assert_true(iova_table_find(table, BASE, IOVA_READ, &found));
	assert_false(iova_table_find(table, BASE + PAGE_BYTES, IOVA_READ, &found));
	assert_true(iova_table_find(table, BASE + 23 * PAGE_BYTES, IOVA_READ, &found));
	iova_table_destroy(table);
}

struct page_model {
	__u64 address[PAGES], range[PAGES];
	__u32 permissions[PAGES];
};

/* A range goes as a whole, with any of its pages. */
static void model_drop(struct page_model *model, __u64 page, __u64 pages)
{
	for (__u64 i = page; i < page + pages; i++) {
		__u64 range = model->range[i];

		for (__u64 k = 0; range && k < PAGES; k++)
			if (model->range[k] == range) {
				model->range[k] = 0;
				model->address[k] = NOTHING;
			}
	}
}

static void a_random_walk_equals_the_model(void **state)
{
	struct iova_table *table = iova_table_create(PAGES);
	struct page_model model = {0};
	struct random random;

	random.state = 7;
	for (int i = 0; i < PAGES; i++)
		model.address[i] = NOTHING;
	for (__u64 step = 1; step < 20000; step++) {
		__u64 page = random_below(&random, PAGES);
		__u64 pages = 1 + random_below(&random, PAGES - page);
		__u32 permissions = 1 + (__u32)random_below(&random, 3);
		struct iova_range range =
			range_of(page, pages, step * PAGE_BYTES * PAGES, permissions);

		pages = step % 4 ? (pages < 5 ? pages : 5) : pages;
		range.last = range.first + pages * PAGE_BYTES - 1;
		model_drop(&model, page, pages);
		if (random_below(&random, 3)) {
			iova_table_add(table, &range);
			for (__u64 k = 0; k < pages; k++) {
				model.address[page + k] = range.guest_address + k * PAGE_BYTES;
				model.permissions[page + k] = permissions;
				model.range[page + k] = step;
			}
		} else {
			iova_table_drop(table, range.first, range.last);
		}
		for (__u64 k = 0; k < PAGES; k++) {
			__u64 iova = BASE + k * PAGE_BYTES + 17;
			bool there =
				model.address[k] != NOTHING && model.permissions[k] & IOVA_WRITE;

			assert_int_equal(iova_table_find(table, iova, IOVA_WRITE, &range), there);
			if (there)
				assert_int_equal(range.guest_address + (iova - range.first),
						 model.address[k] + 17);
		}
	}
	iova_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_reach_the_last_address),
		cmocka_unit_test(the_longest_unused_makes_way),
		cmocka_unit_test(a_random_walk_equals_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
