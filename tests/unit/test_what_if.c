// SPDX-License-Identifier: GPL-2.0
/* What a policy would have done: hand-made accesses whose faults and pins are counted by eye. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/protect/what_if.h"

#define SECOND 1000000000ull
#define PAGES  1000

struct seen {
	size_t faults, avoided, acts;
	__u64 gap_ns; /* of the last */
	__u32 domain; /* of the last action */
};

static void see_fault(void *argument, const struct what_if_access *access, __u64 gap_ns,
		      bool avoided)
{
	struct seen *seen = argument;

	(void)access;
	if (avoided)
		seen->avoided++;
	else
		seen->faults++;
	seen->gap_ns = gap_ns;
}

static void see_act(void *argument, __u32 domain, const struct protect_action *action)
{
	struct seen *seen = argument;

	(void)action;
	seen->acts++;
	seen->domain = domain;
}

static struct what_if_config config_of(const char *policy)
{
	struct what_if_config config = {.memory_pages = PAGES, .idle_ns = 300 * SECOND};

	protect_keys_default(&config.keys);
	config.keys.policy = (__u32)protect_policy_find(policy);
	return config;
}

static struct what_if *make(const struct what_if_config *config, size_t domains)
{
	struct what_if *what_if;

	assert_int_equal(what_if_create(&what_if, config), 0);
	for (size_t i = 0; i < domains; i++)
		assert_int_equal(what_if_add_domain(what_if, PAGES), i);
	return what_if;
}

static void touch(struct what_if *what_if, __u64 time_ns, __u32 domain, __u64 page)
{
	what_if_access(what_if, &(struct what_if_access){time_ns, page, domain, 1, false});
}

static struct what_if_counts counts_of(const struct what_if *what_if, __u32 domain)
{
	struct what_if_counts counts;

	what_if_counts(what_if, domain, &counts);
	return counts;
}

static void an_access_after_exactly_the_interval_is_no_fault(void **state)
{
	struct seen seen = {0};
	struct what_if_config config = config_of("none");
	struct what_if *what_if;

	(void)state;
	config.fault = see_fault;
	config.argument = &seen;
	what_if = make(&config, 2);
	touch(what_if, 7, 0, 5);
	touch(what_if, 7 + 300 * SECOND, 0, 5);
	/* Another domain's access is none of this one's. */
	touch(what_if, 7 + 500 * SECOND, 1, 5);
	assert_int_equal(seen.faults, 0);
	touch(what_if, 7 + 600 * SECOND + 1, 0, 5);
	assert_int_equal(seen.faults, 1);
	assert_int_equal(seen.gap_ns, 300 * SECOND + 1);
	assert_int_equal(counts_of(what_if, 0).faults, 1);
	assert_int_equal(counts_of(what_if, 0).first_accesses, 1);
	assert_int_equal(counts_of(what_if, 0).accesses, 3);
	assert_int_equal(counts_of(what_if, 1).first_accesses, 1);
	assert_int_equal(counts_of(what_if, 1).faults, 0);
	what_if_destroy(what_if);
}

/* One page of adp, idle since 0: it is pinned by the scan at that many ns. */
static struct what_if_counts pinned_by_a_scan_at(__u64 scan_ns, __u64 back_ns)
{
	struct what_if_config config = config_of("adp");
	struct what_if_counts counts;
	struct what_if *what_if;

	config.keys.scan_ns = scan_ns;
	config.keys.promote_after_ns = 290 * SECOND;
	what_if = make(&config, 1);
	touch(what_if, 0, 0, 5);
	touch(what_if, back_ns, 0, 5);
	what_if_end(what_if, back_ns);
	counts = counts_of(what_if, 0);
	what_if_destroy(what_if);
	return counts;
}

static void a_pin_at_the_end_of_the_interval_avoids_and_one_later_does_not(void **state)
{
	struct what_if_counts counts = pinned_by_a_scan_at(300 * SECOND, 400 * SECOND);

	(void)state;
	assert_int_equal(counts.avoided, 1);
	assert_int_equal(counts.faults, 0);
	assert_true(counts.pinned_time == (unsigned __int128)100 * SECOND);
	assert_true(counts.pinned_mean == 0.25);
	counts = pinned_by_a_scan_at(300 * SECOND + 1, 400 * SECOND);
	assert_int_equal(counts.avoided, 0);
	assert_int_equal(counts.faults, 1);
	assert_true(counts.pinned_time == (unsigned __int128)100 * SECOND - 1);
	/* Nothing to avoid: it came back in time. */
	counts = pinned_by_a_scan_at(300 * SECOND - 1, 300 * SECOND);
	assert_int_equal(counts.avoided + counts.faults, 0);
	assert_int_equal(counts.policy.pins, 1);
}

static void a_page_that_was_let_go_and_pinned_too_late_again_faults(void **state)
{
	struct what_if_config config = config_of("lru");
	struct what_if *what_if;

	(void)state;
	config.keys.lru = 0.001; /* a page */
	what_if = make(&config, 1);
	touch(what_if, 0, 0, 5);
	touch(what_if, 100 * SECOND, 0, 6);
	touch(what_if, 301 * SECOND, 0, 5);
	assert_int_equal(counts_of(what_if, 0).faults, 1);
	/* Pinned ever since. */
	touch(what_if, 700 * SECOND, 0, 5);
	assert_int_equal(counts_of(what_if, 0).avoided, 1);
	what_if_end(what_if, 1000 * SECOND);
	assert_true(counts_of(what_if, 0).pinned_mean == 1);
	assert_int_equal(counts_of(what_if, 0).policy.pins, 3);
	what_if_destroy(what_if);
}

static void what_the_log_lost_is_judged_but_not_told(void **state)
{
	struct seen seen = {0};
	struct what_if_config config = config_of("static");
	struct what_if *what_if;

	(void)state;
	config.fault = see_fault;
	config.act = see_act;
	config.argument = &seen;
	what_if = make(&config, 2);
	what_if_access(what_if, &(struct what_if_access){0, 5, 1, 3, true});
	assert_int_equal(seen.acts, 0);
	what_if_access(what_if, &(struct what_if_access){301 * SECOND, 5, 1, 2, false});
	assert_int_equal(seen.faults, 1);
	assert_int_equal(seen.acts, 1);
	assert_int_equal(seen.domain, 1);
	what_if_access(what_if, &(struct what_if_access){602 * SECOND, 5, 1, 1, true});
	assert_int_equal(seen.avoided, 1);
	what_if_access(what_if, &(struct what_if_access){602 * SECOND, 6, 1, 1, true});
	touch(what_if, 602 * SECOND, 1, 5);
	assert_int_equal(counts_of(what_if, 1).accesses, 8);
	assert_int_equal(counts_of(what_if, 1).pages, 2);
	assert_int_equal(counts_of(what_if, 1).pages_told, 1);
	what_if_destroy(what_if);
}

static void an_earlier_time_counts_as_the_newest(void **state)
{
	struct what_if_config config = config_of("none");
	struct what_if *what_if = make(&config, 1);

	(void)state;
	touch(what_if, 400 * SECOND, 0, 5);
	touch(what_if, 0, 0, 6);
	touch(what_if, 700 * SECOND, 0, 6);
	assert_int_equal(counts_of(what_if, 0).faults, 0);
	touch(what_if, ~0ull, 0, 6);
	assert_int_equal(counts_of(what_if, 0).faults, 1);
	what_if_end(what_if, 0);
	what_if_destroy(what_if);
}

static void samples_are_taken_at_the_end_of_each_interval(void **state)
{
	struct what_if_config config = config_of("adp");
	const struct what_if_sample *sample;
	struct what_if *what_if;

	(void)state;
	config.sample_ns = 100 * SECOND;
	what_if = make(&config, 1);
	touch(what_if, 50 * SECOND, 0, 5);
	/* Exactly at the end: of the next one. */
	touch(what_if, 150 * SECOND, 0, 6);
	touch(what_if, 500 * SECOND, 0, 5);
	what_if_end(what_if, 560 * SECOND);
	sample = what_if_sample(what_if, 0, 0);
	assert_int_equal(sample->time_ns, 150 * SECOND);
	assert_int_equal(sample->pages, 1);
	assert_int_equal(sample->active, 1);
	sample = what_if_sample(what_if, 0, 1);
	assert_int_equal(sample->pages, 2);
	/* The scan at 230 s has pinned the first. */
	assert_int_equal(sample->active, 1);
	assert_int_equal(sample->pinned, 1);
	sample = what_if_sample(what_if, 0, 4);
	assert_int_equal(sample->time_ns, 550 * SECOND);
	assert_int_equal(sample->avoided, 1);
	assert_null(what_if_sample(what_if, 0, 5));
	what_if_destroy(what_if);
}

static void a_curve_of_any_length_is_bounded(void **state)
{
	struct what_if_config config = config_of("none");
	const struct what_if_sample *sample, *before = NULL;
	struct what_if *what_if;
	__u64 step_ns = 0;
	size_t count = 0;

	(void)state;
	config.sample_ns = 1;
	what_if = make(&config, 2);
	touch(what_if, 3, 0, 5);
	what_if_end(what_if, ~0ull);
	for (; (sample = what_if_sample(what_if, 1, count)); count++, before = sample) {
		if (count == 1)
			step_ns = sample->time_ns - before->time_ns;
		if (count)
			assert_int_equal(sample->time_ns - before->time_ns, step_ns);
	}
	assert_in_range(count, WHAT_IF_SAMPLES / 2 - 1, WHAT_IF_SAMPLES);
	what_if_destroy(what_if);
}

static struct what_if_config reclaiming(const char *policy, double share)
{
	struct what_if_config config = config_of(policy);

	config.rule = WHAT_IF_RECLAIM;
	config.share_low = config.share_high = share;
	return config;
}

static void reclaim_takes_what_was_idle_longest(void **state)
{
	struct what_if_config config = reclaiming("none", 0.5);
	struct what_if *what_if = make(&config, 2);

	(void)state;
	for (__u64 page = 0; page < 4; page++)
		touch(what_if, page, (__u32)page % 2, page);
	/* Page 0 is another's too; for that domain it is a first access, which is no fault. */
	touch(what_if, 10, 1, 0);
	/* At 1 s pages 1 and 2 go. */
	touch(what_if, SECOND, 0, 0);
	touch(what_if, SECOND, 1, 3);
	assert_int_equal(counts_of(what_if, 0).faults + counts_of(what_if, 1).faults, 0);
	touch(what_if, SECOND, 1, 1);
	assert_int_equal(counts_of(what_if, 1).faults, 1);
	touch(what_if, SECOND + 1, 1, 1);
	assert_int_equal(counts_of(what_if, 1).faults, 1);
	/* For one that had not touched it, bringing it back is no fault. */
	touch(what_if, SECOND + 2, 1, 2);
	touch(what_if, SECOND + 3, 0, 2);
	assert_int_equal(counts_of(what_if, 0).faults, 0);
	what_if_destroy(what_if);
}

static void pins_move_reclaim_to_others(void **state)
{
	struct what_if_config config = reclaiming("lru", 0.5);
	struct what_if *what_if;

	(void)state;
	config.keys.lru = 0.001;
	what_if = make(&config, 2);
	/* Domain 0 keeps page 2 pinned, domain 1 page 1: of four pages 0 and 3 are left. */
	touch(what_if, 0, 0, 2);
	touch(what_if, 1, 1, 3);
	touch(what_if, 2, 1, 0);
	touch(what_if, 3, 1, 1);
	touch(what_if, SECOND, 0, 2);
	assert_int_equal(counts_of(what_if, 0).faults, 0);
	touch(what_if, SECOND, 1, 3);
	touch(what_if, SECOND, 1, 0);
	assert_int_equal(counts_of(what_if, 1).faults, 2);
	what_if_destroy(what_if);
}

static void a_pin_brings_a_page_back(void **state)
{
	struct what_if_config config = reclaiming("adp", 1);
	struct what_if *what_if = make(&config, 1);
	struct what_if_counts counts;

	(void)state;
	touch(what_if, 0, 0, 5);
	/* Out at 1 s, pinned by the scan at 180 s. */
	touch(what_if, 200 * SECOND, 0, 5);
	counts = counts_of(what_if, 0);
	assert_int_equal(counts.brought, 1);
	assert_int_equal(counts.faults, 0);
	/* Unpinned at 230 s, and out by 231 s. */
	touch(what_if, 240 * SECOND, 0, 5);
	assert_int_equal(counts_of(what_if, 0).faults, 1);
	what_if_destroy(what_if);
}

static void a_page_is_let_go_when_its_last_domain_does(void **state)
{
	struct what_if_config config = reclaiming("lru", 1);
	struct what_if *what_if;

	(void)state;
	config.keys.lru = 0.001;
	what_if = make(&config, 2);
	touch(what_if, 0, 0, 5);
	touch(what_if, 0, 1, 5);
	touch(what_if, 1, 0, 6);
	touch(what_if, SECOND, 1, 5);
	assert_int_equal(counts_of(what_if, 1).faults, 0);
	touch(what_if, SECOND + 1, 1, 7);
	touch(what_if, 2 * SECOND, 1, 5);
	assert_int_equal(counts_of(what_if, 1).faults, 1);
	what_if_destroy(what_if);
}

static void what_one_domain_pins_is_there_for_another(void **state)
{
	struct what_if_config config = reclaiming("adp", 1);
	struct what_if *what_if;

	(void)state;
	config.keys.scan_ns = 180 * SECOND + SECOND / 2;
	what_if = make(&config, 2);
	/* A scan of the second is a moment later. */
	touch(what_if, 0, 0, 5);
	touch(what_if, SECOND / 4, 1, 5);
	touch(what_if, 180 * SECOND + SECOND / 2, 1, 5);
	assert_int_equal(counts_of(what_if, 0).brought, 1);
	assert_int_equal(counts_of(what_if, 1).brought, 0);
	assert_int_equal(counts_of(what_if, 1).faults, 0);
	what_if_destroy(what_if);
}

static void pages_ahead_of_a_run_are_pinned_before_their_first_access(void **state)
{
	struct what_if_config config = config_of("spatial");
	struct what_if *what_if = make(&config, 1);

	(void)state;
	for (__u64 page = 0; page < 10; page++)
		touch(what_if, page * SECOND, 0, page);
	assert_int_equal(counts_of(what_if, 0).first_accesses, 10);
	assert_int_equal(counts_of(what_if, 0).first_pinned, 6);
	what_if_destroy(what_if);
}

static void a_falling_share_takes_nothing_more(void **state)
{
	struct what_if_config config = reclaiming("none", 0);
	struct what_if *what_if;

	(void)state;
	config.share_high = 0.5;
	config.share_period_ns = 100 * SECOND;
	what_if = make(&config, 1);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 0, 0, page);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 98 * SECOND, 0, page);
	assert_int_equal(counts_of(what_if, 0).faults, 50);
	what_if_destroy(what_if);
}

static void the_share_goes_up_and_down(void **state)
{
	struct what_if_config config = reclaiming("none", 0);
	struct what_if *what_if;
	__u64 faults = 0;

	(void)state;
	config.share_high = 1;
	config.share_period_ns = 100 * SECOND;
	what_if = make(&config, 1);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 0, 0, page);
	/* A quarter of the period: half of them, none of which comes back by itself. */
	touch(what_if, 25 * SECOND, 0, 99);
	for (__u64 page = 0; page < 100; page++) {
		touch(what_if, 25 * SECOND, 0, page);
		faults = counts_of(what_if, 0).faults;
	}
	assert_int_equal(faults, 50);
	/* All went at its half. */
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 99 * SECOND, 0, page);
	assert_int_equal(counts_of(what_if, 0).faults, 150);
	what_if_destroy(what_if);
}

static void a_pause_of_years_costs_a_cycle(void **state)
{
	struct what_if_config config = reclaiming("adp", 0.5);
	struct what_if *what_if = make(&config, 1);

	(void)state;
	config.share_period_ns = 3600 * SECOND;
	for (__u64 year = 0; year < 500; year++)
		for (__u64 page = 0; page < 7; page++)
			touch(what_if, year * 365 * 86400 * SECOND, 0, page);
	/* Pinned by then: nothing is out. */
	assert_int_equal(counts_of(what_if, 0).faults, 0);
	assert_int_equal(counts_of(what_if, 0).brought, 3 * 499);
	what_if_destroy(what_if);
}

static void what_is_out_of_range_is_refused(void **state)
{
	struct what_if *what_if = NULL;
	struct what_if_config config = config_of("none");

	(void)state;
	config.memory_pages = 0;
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
	config = config_of("none");
	config.rule = 2;
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
	config = reclaiming("none", 1.5);
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
	config = reclaiming("none", 0.5);
	config.share_low = 0.6;
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "share_low=0.6"));
	config = config_of("none");
	config.keys.lru = 2;
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
	assert_null(what_if);
}

/* Of 1000 pages of memory 70 are wanted, though only 100 were touched. */
static void a_share_may_be_one_of_all_memory(void **state)
{
	struct what_if_config config = reclaiming("none", 0.07);
	struct what_if *what_if;

	(void)state;
	config.share_of_memory = true;
	what_if = make(&config, 1);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, page, 0, page);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, SECOND + page, 0, page);
	assert_int_equal(counts_of(what_if, 0).faults, 70);
	what_if_destroy(what_if);
}

static void what_is_young_is_not_taken(void **state)
{
	struct what_if_config config = reclaiming("none", 1);
	struct what_if *what_if;

	(void)state;
	config.young_ns = 10 * SECOND;
	what_if = make(&config, 1);
	touch(what_if, 0, 0, 1);
	touch(what_if, 1, 0, 2);
	/* The look at 10 s finds both of them used within 10 s, the first exactly; that at 11 s none. */
	touch(what_if, 10 * SECOND, 0, 1);
	assert_int_equal(counts_of(what_if, 0).faults, 0);
	touch(what_if, 11 * SECOND, 0, 2);
	assert_int_equal(counts_of(what_if, 0).faults, 1);
	/* A page used now and then stays for ever. */
	for (__u64 time = 20; time < 100; time += 9)
		touch(what_if, time * SECOND, 0, 1);
	assert_int_equal(counts_of(what_if, 0).faults, 1);
	/* However long nothing happens, in the end it is taken. */
	touch(what_if, 100000 * SECOND, 0, 1);
	assert_int_equal(counts_of(what_if, 0).faults, 2);
	what_if_destroy(what_if);
}

/* From -1 to 1 in 50 s: until the 25th nothing is taken, at 37.5 s half of all. */
static void a_share_below_0_is_none(void **state)
{
	struct what_if_config config = reclaiming("none", 0);
	struct what_if *what_if;

	(void)state;
	config.share_low = -1;
	config.share_high = 1;
	config.share_period_ns = 100 * SECOND;
	what_if = make(&config, 1);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 0, 0, page);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 25 * SECOND, 0, page);
	assert_int_equal(counts_of(what_if, 0).faults, 0);
	for (__u64 page = 0; page < 100; page++)
		touch(what_if, 37 * SECOND + SECOND / 2, 0, page);
	assert_in_range(counts_of(what_if, 0).faults, 46, 50);
	what_if_destroy(what_if);
	config.share_low = -1001;
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "share_low=-1001"));
	config.share_low = -1000;
	config.share_high = -999;
	assert_int_equal(what_if_create(&what_if, &config), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_access_after_exactly_the_interval_is_no_fault),
		cmocka_unit_test(a_pin_at_the_end_of_the_interval_avoids_and_one_later_does_not),
		cmocka_unit_test(a_page_that_was_let_go_and_pinned_too_late_again_faults),
		cmocka_unit_test(what_the_log_lost_is_judged_but_not_told),
		cmocka_unit_test(an_earlier_time_counts_as_the_newest),
		cmocka_unit_test(samples_are_taken_at_the_end_of_each_interval),
		cmocka_unit_test(a_curve_of_any_length_is_bounded),
		cmocka_unit_test(reclaim_takes_what_was_idle_longest),
		cmocka_unit_test(pins_move_reclaim_to_others),
		cmocka_unit_test(a_pin_brings_a_page_back),
		cmocka_unit_test(a_page_is_let_go_when_its_last_domain_does),
		cmocka_unit_test(what_one_domain_pins_is_there_for_another),
		cmocka_unit_test(pages_ahead_of_a_run_are_pinned_before_their_first_access),
		cmocka_unit_test(the_share_goes_up_and_down),
		cmocka_unit_test(a_falling_share_takes_nothing_more),
		cmocka_unit_test(a_share_may_be_one_of_all_memory),
		cmocka_unit_test(what_is_young_is_not_taken),
		cmocka_unit_test(a_share_below_0_is_none),
		cmocka_unit_test(a_pause_of_years_costs_a_cycle),
		cmocka_unit_test(what_is_out_of_range_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
