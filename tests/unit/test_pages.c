// SPDX-License-Identifier: GPL-2.0
/* What a trace needs, by hand. */
#include "tests/unit/test.h"

#include "lib/translate/pages.h"

/* Each letter a page: small ones of 4 KiB, large ones of 2 MiB. */
static void take(struct pages *pages, __u16 tenant, const char *letters)
{
	for (const char *letter = letters; *letter; letter++) {
		__u32 shift = *letter >= 'a' ? 12 : 21;
		const struct model_packet packet = {
			.source = tenant,
			.domain = tenant,
			.count = 1,
			.requests = {{.iova = ((__u64)(*letter & 0x1f) << shift) + 5,
				      .page_shift = shift}},
		};

		assert_int_equal(pages_take(pages, &packet), 0);
	}
}

static void tenants_needs_are_those_counted_by_hand(void **state)
{
	const struct tenant_use *uses;
	struct pages *pages;
	size_t count;

	assert_int_equal(pages_create(&pages), 0);
	/* Ring, data, mailbox: data pages in runs of 3, 2 and 1; D comes back after m, r and E. */
	take(pages, 3, "rDmrDmrDmrEmrEmrDm");
	/* Runs of 1, 1, 1, 1 and 2; reuse distances 1, 1, 1, 0. */
	take(pages, 7, "ababaa");
	/* Distances 0, 0, 0, then 2. */
	take(pages, 9, "aaaabca");
	take(pages, 11, "A");
	assert_int_equal(pages_finish(pages), 0);
	uses = pages_tenants(pages, &count);
	assert_int_equal(count, 4);

	assert_int_equal(uses[0].tenant, 3);
	assert_int_equal(uses[0].accesses, 18);
	assert_int_equal(uses[0].pages, 4);
	assert_int_equal(uses[0].run, 2000);
	assert_int_equal(uses[0].reuse_median, 2);
	assert_int_equal(uses[0].active99, 4); /* 13 of 14 reuses take 3 */
	assert_int_equal(uses[0].active_all, 4);

	assert_int_equal(uses[1].tenant, 7);
	assert_int_equal(uses[1].run, 1200);
	assert_int_equal(uses[1].reuse_median, 1);
	assert_int_equal(uses[1].active_all, 2);

	assert_int_equal(uses[2].run, 1750);
	assert_int_equal(uses[2].reuse_median, 0);
	assert_int_equal(uses[2].active_all, 3);

	assert_int_equal(uses[3].run, 1000);
	assert_int_equal(uses[3].reuse_median, 0);
	assert_int_equal(uses[3].active_all, 0);
	pages_destroy(pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tenants_needs_are_those_counted_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
