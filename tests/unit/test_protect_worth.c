// SPDX-License-Identifier: GPL-2.0
/*
 * What policies are for, by VPRI's simulated faults: an access to a page that was idle for over 300 s, unless the page
 * is pinned since it was idle for 300 s at the latest.
 */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/protect/protect.h"

#define MEMORY	    4096 /* pages of 2 MiB: 8 GiB */
#define FAULT_AFTER (300 * SECOND)
#define ACCESSES    250000

struct one_access {
	__u64 time_ns, page;
};

static struct one_access accesses[ACCESSES];
static size_t access_count;

struct outcome {
	double avoided, pinned; /* percent of faults, of memory */
	__u64 first, first_pinned, faults;
	__u64 unused; /* expected pages */
};

static struct {
	__u64 last_ns[MEMORY], since_ns[MEMORY]; /* UINT64_MAX: never; not pinned */
	__u64 pinned, changed_ns, unused;
	double page_ns;
} now;

static void pin_or_unpin(void *argument, const struct protect_action *action)
{
	now.page_ns += (double)now.pinned * (double)(action->time_ns - now.changed_ns);
	now.changed_ns = action->time_ns;
	now.pinned += action->pin ? 1 : -1;
	now.unused += action->reason == PROTECT_UNUSED;
	now.since_ns[action->page] = action->pin ? action->time_ns : UINT64_MAX;
}

static struct outcome outcome_of(const struct protect_keys *keys)
{
	const struct protect_sink sink = {pin_or_unpin, NULL};
	const __u64 end_ns = accesses[access_count - 1].time_ns;
	struct outcome outcome = {0};
	struct protect *protect;
	__u64 avoided = 0;

	memset(&now, 0, sizeof(now));
	memset(now.last_ns, 0xff, sizeof(now.last_ns));
	memset(now.since_ns, 0xff, sizeof(now.since_ns));
	assert_int_equal(protect_create(&protect, keys, MEMORY, sink), 0);
	for (size_t i = 0; i < access_count; i++) {
		const __u64 time_ns = accesses[i].time_ns, page = accesses[i].page;

		protect_advance(protect, time_ns);
		if (now.last_ns[page] == UINT64_MAX) {
			outcome.first++;
			outcome.first_pinned += now.since_ns[page] != UINT64_MAX;
		} else if (time_ns - now.last_ns[page] > FAULT_AFTER) {
			outcome.faults++;
			avoided += now.since_ns[page] <= now.last_ns[page] + FAULT_AFTER;
		}
		now.last_ns[page] = time_ns;
		protect_access(protect, time_ns, page);
	}
	now.page_ns += (double)now.pinned * (double)(end_ns - now.changed_ns);
	outcome.avoided = outcome.faults ? 100.0 * (double)avoided / (double)outcome.faults : 0;
	outcome.pinned = 100 * now.page_ns / (double)(end_ns - accesses[0].time_ns) / MEMORY;
	outcome.unused = now.unused;
	protect_destroy(protect);
	return outcome;
}

static struct random random_state;

static void touch(double seconds, __u64 page)
{
	assert_true(access_count < ACCESSES);
	accesses[access_count++] = (struct one_access){(__u64)(seconds * 1e9), page};
}

static int by_time(const void *one, const void *other)
{
	const struct one_access *a = one, *b = other;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->page < b->page ? -1 : a->page > b->page;
}

static double between(double low, double high)
{
	return low + (high - low) * random_unit(&random_state);
}

/* A block device: ever new pages, of which 15% come back, some to be faults; the rest soon or never. */
static void block_device(double seconds)
{
	const double new_each = 1800 / (0.14 * MEMORY);
	__u64 page = 0;

	for (double begin = 0; begin < seconds; begin += between(0, 2 * new_each), page++) {
		double at = begin;

		if (random_below(&random_state, 100) < 15)
			for (; at < seconds; at += between(150, 700))
				touch(at, page % MEMORY);
		else
			for (int soon = 0; soon < 3 && at < seconds; soon++, at += between(0, 60))
				touch(at, page % MEMORY);
	}
}

/* Pages that come back in turn, three times as many as there is room for: each pushes out the one that is next. */
static void in_turn(double seconds)
{
	for (double round = 0; round < seconds; round += 600)
		for (__u64 page = 0; page < 600; page++)
			touch(round + (double)page, page);
}

/* The longer a page was idle, the longer it will be. */
static void ever_longer(double seconds)
{
	for (__u64 page = 0; page < 800; page++)
		for (double at = between(0, 1000); at < seconds;
		     at += 100 * pow(random_unit_above_0(&random_state), -1 / 1.5))
			touch(at, page);
}

/* Of all with the caps and delays of a grid: what avoids most without pinning more, and most at all. */
static void best_of_grid(double pinned, double *at_no_more, double *at_all)
{
	static const __u64 after[] = {60, 120, 180, 240, 280};
	static const double inactive[] = {0.01, 0.02, 0.03, 0.04, 0.05};
	struct protect_keys keys;

	protect_keys_default(&keys);
	keys.policy = (__u32)protect_policy_find("adp");
	*at_no_more = *at_all = 0;
	for (size_t i = 0; i < COUNT(after) * COUNT(inactive) * 2; i++) {
		struct outcome outcome;

		keys.promote_after_ns = after[i / 2 % COUNT(after)] * SECOND;
		keys.inactive = inactive[i / 2 / COUNT(after)];
		keys.overflow = i % 2;
		outcome = outcome_of(&keys);
		if (outcome.pinned <= pinned && outcome.avoided > *at_no_more)
			*at_no_more = outcome.avoided;
		if (outcome.avoided > *at_all)
			*at_all = outcome.avoided;
	}
}

static void tuned_finds_what_a_grid_finds(void **state)
{
	void (*const workloads[])(double) = {block_device, in_turn, ever_longer};
	struct protect_keys keys;
	struct outcome tuned;
	double at_no_more, at_all;

	protect_keys_default(&keys);
	keys.policy = (__u32)protect_policy_find("tuned");
	for (size_t i = 0; i < COUNT(workloads); i++) {
		random_state = (struct random){i};
		access_count = 0;
		workloads[i](4 * 3600);
		qsort(accesses, access_count, sizeof(*accesses), by_time);
		tuned = outcome_of(&keys);
		best_of_grid(tuned.pinned, &at_no_more, &at_all);
		print_message("%zu: of %llu faults tuned avoids %.1f%% with %.2f%% pinned, the "
			      "best of the grid %.1f%% with no more, %.1f%% with more\n",
			      i, tuned.faults, tuned.avoided, tuned.pinned, at_no_more, at_all);
		assert_true(tuned.faults > 1000);
		assert_true(tuned.avoided > 10);
		assert_true(tuned.avoided >= at_no_more);
		assert_true(tuned.avoided >= 0.9 * at_all);
	}
}

/* Two files that are read once, among accesses without an order. */
static void spatial_pins_what_was_never_used(void **state)
{
	struct protect_keys keys;
	struct outcome spatial, adp;

	random_state = (struct random){3};
	access_count = 0;
	for (__u64 i = 0; i < 499; i++) {
		touch((double)i, i);
		touch((double)i + 0.3, 2000 - 2 * i);
		touch((double)i + 0.6, 3000 + random_below(&random_state, 1000));
	}
	protect_keys_default(&keys);
	keys.policy = (__u32)protect_policy_find("spatial");
	spatial = outcome_of(&keys);
	keys.policy = (__u32)protect_policy_find("adp");
	adp = outcome_of(&keys);
	assert_int_equal(adp.first_pinned, 0);
	assert_in_range(spatial.first_pinned, 2 * 499 - 8, 2 * 499 - 8 + 40);
	/* What they end before, and little by chance. */
	assert_in_range(spatial.unused, 0, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tuned_finds_what_a_grid_finds),
		cmocka_unit_test(spatial_pins_what_was_never_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
