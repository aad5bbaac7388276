// SPDX-License-Identifier: GPL-2.0
/*
 * Who comes next: exactly in turn, else by how often in many draws, judged by chi-square against what
 * floating point says the chances are. Draws are seeded: a bound holds always or never.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/turns.h"

#define TENANTS 64
#define DRAWS	640009

static struct turns begin(const struct turns_config *config)
{
	struct turns turns;

	assert_int_equal(turns_begin(&turns, config), 0);
	return turns;
}

/* With so many degrees of freedom a fair draw is above this once in a million (Wilson, Hilferty). */
static double chi_square_bound(unsigned int degrees)
{
	double part = 2.0 / (9.0 * degrees), root = 1 - part + 4.7534 * sqrt(part);

	return degrees * root * root * root;
}

static double chi_square(const __u64 *counts, const double *chances, unsigned int categories)
{
	double sum = 0, chi = 0, expected;
	__u64 draws = 0;

	for (unsigned int i = 0; i < categories; i++) {
		draws += counts[i];
		sum += chances[i];
	}
	for (unsigned int i = 0; i < categories; i++) {
		expected = (double)draws * chances[i] / sum;
		assert_true(expected > 5);
		chi += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
	}
	return chi;
}

static void count_tenants(const struct turns_config *config, __u64 *counts)
{
	struct turns turns = begin(config);

	memset(counts, 0, config->tenants * sizeof(counts[0]));
	for (int i = 0; i < DRAWS; i++) {
		__u32 tenant = turns_next(&turns);

		assert_true(tenant < config->tenants);
		counts[tenant]++;
	}
	turns_end(&turns);
}

static void round_robin_is_exact(void **state)
{
	for (__u32 turn = 1; turn <= 7; turn += 3) {
		const struct turns_config config = {
			.order = ORDER_ROUND_ROBIN, .tenants = 13, .turn = turn, .seed = turn};
		struct turns turns = begin(&config);

		for (__u32 i = 0; i < 13 * 7 * 11; i++)
			assert_int_equal(turns_next(&turns), i / turn % 13);
		turns_end(&turns);
	}
}

static void draws_are_uniform_and_independent(void **state)
{
	double alike[TENANTS];
	__u64 counts[TENANTS], pairs[TENANTS] = {0};
	struct turns_config config = {.order = ORDER_RANDOM, .tenants = TENANTS, .turn = 1};
	struct turns turns;
	__u32 last = 0;

	for (int i = 0; i < TENANTS; i++)
		alike[i] = 1;
	for (config.seed = 1; config.seed <= 5; config.seed++) {
		count_tenants(&config, counts);
		assert_true(chi_square(counts, alike, TENANTS) < chi_square_bound(TENANTS - 1));
	}
	/* Who came last says nothing of who is next. */
	config.tenants = 8;
	turns = begin(&config);
	for (int i = 0; i < DRAWS; i++) {
		__u32 next = turns_next(&turns);

		pairs[last * 8 + next]++;
		last = next;
	}
	turns_end(&turns);
	assert_true(chi_square(pairs, alike, TENANTS) < chi_square_bound(TENANTS - 1));
}

/* RANDn: whole turns, each of one tenant, drawn as RAND1 draws them. */
static void longer_turns_are_the_same_draws(void **state)
{
	struct turns_config one = {
		.order = ORDER_RANDOM, .tenants = 61, .turn = 1, .zipf_exponent = 90, .seed = 7};

	for (int order = ORDER_RANDOM; order < ORDER_COUNT; order++) {
		struct turns_config five = one;
		struct turns of_one, of_five;

		if (order == ORDER_BURSTY)
			continue;
		one.order = five.order = order;
		five.turn = 5;
		of_one = begin(&one);
		of_five = begin(&five);
		for (int i = 0; i < 10007; i++) {
			__u32 tenant = turns_next(&of_one);

			for (int j = 0; j < 5; j++)
				assert_int_equal(turns_next(&of_five), tenant);
		}
		turns_end(&of_one);
		turns_end(&of_five);
	}
}

/* Lengths of bursts, 3 packets with chance 1/2, 6 with 1/4 ... 96 with the 1/32 that are left. */
static void bursts_double_with_half_the_chance(void **state)
{
	static const double chances[] = {1 / 2.0, 1 / 4.0, 1 / 8.0, 1 / 16.0, 1 / 32.0, 1 / 32.0};
	const struct turns_config config = {
		.order = ORDER_BURSTY, .tenants = TURNS_TENANTS, .turn = 3, .seed = 5};
	__u64 lengths[COUNT(chances)] = {0};
	struct turns turns = begin(&config);
	__u32 last = turns_next(&turns), length = 1, others = 0;

	for (int i = 0; i < DRAWS; i++) {
		__u32 next = turns_next(&turns), known = 0;

		if (next == last) {
			length++;
			continue;
		}
		while (known < COUNT(chances) && length != 3u << known)
			known++;
		if (known < COUNT(chances))
			lengths[known]++;
		else
			others++;
		last = next;
		length = 1;
	}
	turns_end(&turns);
	/* Two bursts of one tenant look like one: once in 65536. */
	assert_true(others < 8);
	assert_true(chi_square(lengths, chances, COUNT(chances)) <
		    chi_square_bound(COUNT(chances) - 1));
}

static void ranks_come_by_their_power(void **state)
{
	static const __u32 exponents[] = {0, 37, 100, 150, 250};
	struct turns_config config = {.order = ORDER_ZIPF, .tenants = 23, .turn = 1, .seed = 11};
	double chances[TENANTS];
	__u64 counts[TENANTS];

	for (size_t e = 0; e < COUNT(exponents); e++) {
		config.zipf_exponent = exponents[e];
		for (__u32 i = 0; i < config.tenants; i++)
			chances[i] = pow(i + 1, -(double)exponents[e] / 100);
		count_tenants(&config, counts);
		assert_true(chi_square(counts, chances, config.tenants) <
			    chi_square_bound(config.tenants - 1));
	}
}

static const __u8 shares[] = {3, 7, 1, 5};

/* Rounds of 11 tenants. Tenant 1 has the largest share, 7: he is in every round. */
static void shares_of_rounds_are_exact_and_even(void **state)
{
	struct turns_config config = {
		.order = ORDER_ROUND_ROBIN, .tenants = 11, .turn = 2, .share_count = 4};
	__u32 counts[11] = {0}, last_round[11], rounds = 0;
	struct turns turns;

	memcpy(config.shares, shares, sizeof(shares));
	turns = begin(&config);
	/* 13 periods of 7 rounds: 3 tenants of share 3, 3 of 7, 3 of 1, 2 of 5 */
	for (__u32 i = 0; i < 13 * (3 * 3 + 3 * 7 + 3 * 1 + 2 * 5); i++) {
		__u32 tenant = turns_next(&turns), share = shares[tenant % 4];
		__u32 round = tenant > 1 ? rounds - 1 : rounds;

		assert_int_equal(turns_next(&turns), tenant);
		if (counts[tenant]++)
			assert_in_range(round - last_round[tenant], 7 / share,
					(7 + share - 1) / share);
		last_round[tenant] = round;
		rounds += tenant == 1;
	}
	for (__u32 i = 0; i < 11; i++)
		assert_int_equal(counts[i], 13 * shares[i % 4]);
	turns_end(&turns);
}

/* Tenant 1 has all rounds and tenant 0 every second one, when his half has become a whole turn. */
static void the_first_turn_begins_a_round(void **state)
{
	static const __u32 expected[] = {1, 0, 1, 1, 0, 1};
	const struct turns_config config = {.order = ORDER_ROUND_ROBIN,
					    .tenants = 2,
					    .turn = 1,
					    .share_count = 2,
					    .shares = {1, 2}};
	struct turns turns = begin(&config);

	for (size_t i = 0; i < COUNT(expected); i++)
		assert_int_equal(turns_next(&turns), expected[i]);
	turns_end(&turns);
}

static void drawn_shares_are_chances(void **state)
{
	struct turns_config config = {.tenants = 23,
				      .turn = 1,
				      .zipf_exponent = 100,
				      .share_count = sizeof(shares),
				      .seed = 3};
	double chances[TENANTS];
	__u64 counts[TENANTS];

	memcpy(config.shares, shares, sizeof(shares));
	for (int order = ORDER_RANDOM; order < ORDER_COUNT; order++) {
		config.order = order;
		for (__u32 i = 0; i < config.tenants; i++)
			chances[i] = shares[i % 4] / (order == ORDER_ZIPF ? i + 1.0 : 1.0);
		count_tenants(&config, counts);
		if (order != ORDER_BURSTY) /* packets come in clusters there */
			assert_true(chi_square(counts, chances, config.tenants) <
				    chi_square_bound(config.tenants - 1));
		else
			for (__u32 i = 0; i < config.tenants; i++)
				assert_true(fabs((double)counts[i] / DRAWS - chances[i] / 91) <
					    0.1 * chances[i] / 91);
	}
}

static void equal_shares_are_none(void **state)
{
	for (int order = 0; order < ORDER_COUNT; order++) {
		struct turns_config none = {
			.order = order, .tenants = 17, .turn = 3, .zipf_exponent = 100, .seed = 9};
		struct turns_config equal = none;
		struct turns of_none, of_equal;

		equal.share_count = 2;
		equal.shares[0] = equal.shares[1] = 6;
		of_none = begin(&none);
		of_equal = begin(&equal);
		for (int i = 0; i < 10007; i++)
			assert_int_equal(turns_next(&of_none), turns_next(&of_equal));
		turns_end(&of_none);
		turns_end(&of_equal);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	const struct turns_config good = {.tenants = 2, .turn = 1, .share_count = 1, .shares = {1}};
	struct turns turns;

#define REFUSED(change)                                                  \
	do {                                                             \
		struct turns_config config = good;                       \
		change;                                                  \
		assert_int_equal(turns_begin(&turns, &config), -EINVAL); \
		assert_non_null(strstr(failure_text(), "accepted: "));   \
	} while (0)
	assert_int_equal(turns_check(&good), 0);
	REFUSED(config.tenants = 0);
	REFUSED(config.tenants = TURNS_TENANTS + 1);
	REFUSED(config.turn = 0);
	REFUSED(config.turn = (1 << 20) + 1);
	REFUSED(config.zipf_exponent = 401);
	REFUSED(config.share_count = TURNS_SHARES + 1);
	REFUSED(config.shares[0] = 0);
	REFUSED(config.shares[0] = TURNS_SHARE_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_robin_is_exact),
		cmocka_unit_test(draws_are_uniform_and_independent),
		cmocka_unit_test(longer_turns_are_the_same_draws),
		cmocka_unit_test(bursts_double_with_half_the_chance),
		cmocka_unit_test(ranks_come_by_their_power),
		cmocka_unit_test(shares_of_rounds_are_exact_and_even),
		cmocka_unit_test(the_first_turn_begins_a_round),
		cmocka_unit_test(drawn_shares_are_chances),
		cmocka_unit_test(equal_shares_are_none),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
