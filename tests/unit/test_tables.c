// SPDX-License-Identifier: GPL-2.0
/* Page tables: what a walk finds and how many entries it reads, in one dimension and in two. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/translate/tables.h"
#include "tests/reference/slow_tables.h"

static const __u32 shifts[] = {12, 21, 30};

static struct tables *tables_of(bool nested, __u32 host_shift)
{
	struct tables *tables;

	assert_int_equal(tables_create(&tables, &(struct tables_config){nested, host_shift}), 0);
	return tables;
}

/* Intel SDM volume 3, section 4.5 and VT-d specification, chapter 9: one entry a level down to the
 * leaf; in two dimensions each of them, and the result, behind a walk of the second one. */
static void a_walk_reads_what_the_specification_says(void **state)
{
	for (int host = 0; host < 2; host++)
		for (int i = 0; i < 3; i++) {
			__u32 leaf = (shifts[i] - 3) / 9, nested = host ? 3 : 4;
			struct tables *one = tables_of(false, 12);
			struct tables *two = tables_of(true, host ? 21 : 12);
			struct tables_walk walk;

			assert_int_equal(tables_map(one, 3, 0xbbe00000, shifts[i]), 0);
			assert_int_equal(tables_map(two, 3, 0xbbe00000, shifts[i]), 0);
			for (__u32 level = 4; level >= leaf; level--) {
				__u32 steps = level - leaf + 1;

				assert_true(tables_walk(one, 3, 0xbbe00123, level, &walk));
				assert_int_equal(walk.reads, steps);
				assert_int_equal(walk.nested_reads, 0);
				assert_true(tables_walk(two, 3, 0xbbe00123, level, &walk));
				/* Tables of the guest lie on 4 KiB pages of the host. */
				assert_int_equal(walk.reads, steps * 5 + nested);
				assert_int_equal(walk.nested_reads, steps * 4 + nested);
				assert_int_equal(walk.shift, shifts[i]);
			}
			tables_destroy(one);
			tables_destroy(two);
		}
}

static void the_literal_walk_has_24_accesses(void **state)
{
	struct tables *tables = tables_of(true, 12);
	struct tables_walk walk;

	assert_int_equal(tables_map(tables, 0, 0x34800000, 12), 0);
	assert_true(tables_walk(tables, 0, 0x34800000, 4, &walk));
	assert_int_equal(walk.reads, 24);
	tables_destroy(tables);
}

/* Every byte of every page leads to one host address, pages are whole, and no two share a byte. */
static void pages_are_apart_and_whole(void **state)
{
	enum { PAGES = 300 };
	static __u64 found[2][PAGES];

	for (int nested = 0; nested < 2; nested++) {
		struct tables *tables = tables_of(nested, 21);
		struct tables_walk walk;

		for (__u32 n = 0; n < PAGES; n++) {
			__u16 domain = n % 7;
			__u64 iova = (__u64)(n / 7) << 21;
			__u32 shift = n % 2 ? 21 : 12;

			iova += (__u64)(n % 2) << 40;
			assert_int_equal(tables_map(tables, domain, iova, shift), 0);
			assert_int_equal(tables_map(tables, domain, iova, shift), 0);
			assert_true(tables_walk(tables, domain, iova, 4, &walk));
			assert_int_equal(walk.shift, shift);
			found[nested][n] = walk.address;
			assert_int_equal(walk.address & ((1ull << shift) - 1), 0);
			assert_true(
				tables_walk(tables, domain, iova + (1ull << shift) - 1, 4, &walk));
			assert_int_equal(walk.address, found[nested][n] + (1ull << shift) - 1);
		}
		for (__u32 a = 0; a < PAGES; a++)
			for (__u32 b = 0; b < PAGES; b++)
				assert_true(a == b ||
					    found[nested][a] >=
						    found[nested][b] + (b % 2 ? 2u << 20 : 4096) ||
					    found[nested][a] < found[nested][b]);
		tables_destroy(tables);
	}
}

static void what_is_not_mapped_is_not_found(void **state)
{
	struct tables *tables = tables_of(true, 12);
	struct tables_walk walk;

	assert_false(tables_walk(tables, 1, 0x1000, 4, &walk));
	assert_int_equal(tables_map(tables, 1, 0x200000, 21), 0);
	assert_false(tables_walk(tables, 1, 0x1000, 4, &walk));
	assert_int_equal(walk.reads, 3 * 5);
	assert_false(tables_walk(tables, 2, 0x200000, 4, &walk));
	assert_false(tables_walk(tables, 1, 1ull << 48, 4, &walk));
	assert_int_equal(tables_map(tables, 1, 0x200000, 12), -EEXIST);
	assert_int_equal(tables_map(tables, 1, 0, 30), -EEXIST);
	assert_int_equal(tables_map(tables, 1, 1ull << 48, 12), -EINVAL);
	assert_int_equal(tables_map(tables, 1, 0, 13), -EINVAL);
	tables_destroy(tables);
	assert_int_equal(tables_create(&tables, &(struct tables_config){true, 30}), -EINVAL);
}

static uint64_t state;

static uint32_t below(uint32_t bound)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * bound >> 32);
}

/* A few entries of each level, so that pages are neighbours, overlap and share tables. */
static uint64_t draw_address(void)
{
	static const uint32_t first[] = {0, 0, 255, 511};

	return (uint64_t)first[below(4)] << 39 | (uint64_t)(below(3) * 250) << 30 |
	       (uint64_t)(below(5) * 127) << 21 | below(512) << 12 | below(4096);
}

/* From every level, of what is mapped and what is not; each page keeps its address. */
static void compare_walks(struct tables *tables, const struct slow_tables *slow,
			  uint64_t *addresses)
{
	uint32_t domain = below(4);
	uint64_t iova = draw_address();

	if (below(2) && slow->count) { /* surely mapped */
		const struct slow_page *page = &slow->pages[below(slow->count)];

		domain = page->domain;
		iova = page->iova + below(1u << (3 + 9 * page->level));
	}
	for (__u32 level = 4; level > 0; level--) {
		struct slow_tables_walk expected = slow_tables_walk(slow, domain, iova, level);
		struct tables_walk walk;
		uint64_t piece;

		assert_int_equal(tables_walk(tables, domain * 1000, iova, level, &walk),
				 expected.page != -1);
		assert_int_equal(walk.reads, expected.reads);
		assert_int_equal(walk.nested_reads, expected.nested_reads);
		if (expected.page == -1)
			continue;
		assert_int_equal(walk.shift, 3 + 9 * slow->pages[expected.page].level);
		/* Whole pieces of host memory, as large as both dimensions' pages allow. */
		piece = 1ull << (slow->nested && slow->host_level < slow->pages[expected.page].level
					 ? 3 + 9 * slow->host_level
					 : walk.shift);
		assert_int_equal(walk.address % piece, iova % piece);
		/* One byte of each page is looked at again and again. */
		assert_true(tables_walk(tables, domain * 1000, slow->pages[expected.page].iova,
					level, &walk));
		if (!addresses[expected.page])
			addresses[expected.page] = walk.address;
		assert_int_equal(addresses[expected.page], walk.address);
	}
}

static void compare_tables(bool nested, __u32 host_shift)
{
	enum { STEPS = 6000 };
	static struct slow_tables slow;
	static uint64_t addresses[SLOW_PAGES];
	struct tables *tables = tables_of(nested, host_shift);
	unsigned int huge = 0, refused = 0;

	slow = (struct slow_tables){.nested = nested, .host_level = (host_shift - 3) / 9};
	for (size_t i = 0; i < SLOW_PAGES; i++)
		addresses[i] = 0;
	for (int step = 0; step < STEPS; step++) {
		__u32 domain = below(4), size = below(40);
		uint64_t iova = draw_address();
		/* Few pages of 1 GiB: each is a quarter of a million host pages of 4 KiB. */
		unsigned int level = size == 0 && huge < 8 ? 3 : size < 10 ? 2 : 1;

		huge += level == 3;
		if (step % 8 == 0) {
			bool fits = slow_tables_map(&slow, domain, iova, level);

			assert_int_equal(tables_map(tables, domain * 1000, iova, shifts[level - 1]),
					 fits ? 0 : -EEXIST);
			refused += !fits;
		}
		compare_walks(tables, &slow, addresses);
	}
	for (unsigned int a = 0; a < slow.count; a++)
		for (unsigned int b = 0; b < slow.count; b++)
			assert_true(a == b || !addresses[a] || addresses[a] != addresses[b]);
	assert_true(refused > 20 && slow.count > 100);
	if (!nested)
		assert_int_equal(tables_bytes(tables), slow_tables_count(&slow) * 4096ull);
	tables_destroy(tables);
}

static void random_walks_read_what_arithmetic_says(void **unused)
{
	(void)unused;
	state = 7;
	for (int round = 0; round < 10; round++) {
		compare_tables(false, 12);
		compare_tables(true, 12);
		compare_tables(true, 21);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_reads_what_the_specification_says),
		cmocka_unit_test(the_literal_walk_has_24_accesses),
		cmocka_unit_test(pages_are_apart_and_whole),
		cmocka_unit_test(what_is_not_mapped_is_not_found),
		cmocka_unit_test(random_walks_read_what_arithmetic_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
