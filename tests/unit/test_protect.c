// SPDX-License-Identifier: GPL-2.0
/* Policies against a slow reference, action by action, and laws that hold whatever the keys. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/protect/learner.h"
#include "lib/protect/protect.h"
#include "tests/unit/slow_learn.h"
#include "tests/unit/slow_protect.h"

struct told {
	struct protect_action *actions;
	size_t count, room;
};

static void remember(void *argument, const struct protect_action *action)
{
	struct told *told = argument;

	if (told->count == told->room) {
		told->room = told->room * 2 + 64;
		told->actions = realloc(told->actions, told->room * sizeof(*told->actions));
		assert_non_null(told->actions);
	}
	told->actions[told->count++] = *action;
}

static struct protect *make(const struct protect_keys *keys, __u64 memory_pages, struct told *told)
{
	const struct protect_sink sink = {remember, told};
	struct protect *protect;

	assert_int_equal(protect_create(&protect, keys, memory_pages, sink), 0);
	return protect;
}

static __u64 random_from(struct random *random, const __u64 *values, size_t count)
{
	return values[random_below(random, count)];
}

static double random_share(struct random *random)
{
	switch (random_below(random, 5)) {
	case 0:
		return 0;
	case 1:
		return random_below(random, 4) ? 0.5 : 1;
	default:
		return random_unit(random) * 0.4;
	}
}

static struct protect_keys random_keys(struct random *random, const char *policy)
{
	static const __u64 scans[] = {1, 2, 7, 20, 50}, idle[] = {0, 1, 9, 60, 180, 500};
	static const __u64 faults[] = {0, 1, 20, 60, 255, 1000, 2000}, learns[] = {0, 1, 100, 1000};
	struct protect_keys keys;

	protect_keys_default(&keys);
	keys.policy = (__u32)protect_policy_find(policy);
	keys.overflow = random_below(random, 2) ? PROTECT_OVERFLOW_DROP : PROTECT_OVERFLOW_REFUSE;
	keys.active = random_share(random);
	keys.inactive = random_share(random);
	keys.lru = random_share(random);
	keys.scan_ns = random_from(random, scans, COUNT(scans));
	keys.promote_after_ns = random_from(random, idle, COUNT(idle));
	keys.demote_after_ns = random_from(random, idle, COUNT(idle));
	keys.fault_after_ns = random_from(random, faults, COUNT(faults));
	keys.learn_ns = random_from(random, learns, COUNT(learns));
	keys.run = 1 + (__u32)random_below(random, 4);
	keys.ahead = 1 + (__u32)random_below(random, 6);
	keys.expect_ns = random_from(random, idle, COUNT(idle));
	if (!random_below(random, 20))
		keys.demote_after_ns = UINT64_MAX - random_below(random, 2);
	if (!random_below(random, 20))
		keys.promote_after_ns = UINT64_MAX - random_below(random, 2);
	return keys;
}

/* Most steps are none or small; some are long, some go back. */
static __u64 random_step(struct random *random, __u64 now, __u64 pace)
{
	switch (random_below(random, 64)) {
	case 0:
		return now - random_below(random, now < 100 ? now + 1 : 100);
	case 1:
		return now + random_below(random, 700);
	default:
		return now + (random_below(random, 4) ? random_below(random, pace) : 0);
	}
}

static void assert_same_state(const struct protect *protect, const struct slow_protect *slow)
{
	struct protect_state state, expected;

	protect_state(protect, &state);
	slow_protect_state(slow, &expected);
	assert_memory_equal(&state, &expected, sizeof(state));
}

/* From `seen` on. */
static void assert_same_actions(const struct told *told, const struct slow_protect *slow,
				size_t seen)
{
	size_t count;
	const struct protect_action *expected = slow_protect_actions(slow, &count);

	for (size_t i = seen; i < told->count && i < count; i++) {
		assert_int_equal(told->actions[i].time_ns, expected[i].time_ns);
		assert_int_equal(told->actions[i].page, expected[i].page);
		assert_int_equal(told->actions[i].pin, expected[i].pin);
		assert_int_equal(told->actions[i].reason, expected[i].reason);
	}
	assert_int_equal(told->count, count);
}

struct duel {
	struct random random;
	struct protect_keys keys;
	__u64 memory_pages;
	struct told told, told_often;
	struct protect *fast, *often; /* the second is advanced at random times in between */
	struct slow_protect *slow;
	__u64 now;
};

static void duel_begin(struct duel *duel, const char *policy, __u64 seed)
{
	*duel = (struct duel){.random = {seed}};
	duel->keys = random_keys(&duel->random, policy);
	duel->memory_pages = 1 + random_below(&duel->random, 80);
	duel->fast = make(&duel->keys, duel->memory_pages, &duel->told);
	duel->often = make(&duel->keys, duel->memory_pages, &duel->told_often);
	duel->slow = slow_protect_new(policy, &duel->keys, duel->memory_pages);
	if (!random_below(&duel->random, 8))
		duel->now = UINT64_MAX - random_below(&duel->random, 5000);
}

static void duel_end(struct duel *duel)
{
	protect_release(duel->fast);
	protect_release(duel->often);
	slow_protect_release(duel->slow);
	assert_same_state(duel->fast, duel->slow);
	assert_same_actions(&duel->told, duel->slow, 0);
	assert_same_actions(&duel->told_often, duel->slow, 0);
	protect_destroy(duel->fast);
	protect_destroy(duel->often);
	slow_protect_free(duel->slow);
	free(duel->told.actions);
	free(duel->told_often.actions);
}

static void duel_advance_often(struct duel *duel, __u64 until)
{
	for (__u64 k = random_below(&duel->random, 3); k; k--)
		if (until > duel->now)
			protect_advance(duel->often,
					duel->now + random_below(&duel->random, until - duel->now));
}

struct walk {
	__u64 page, stride;
};

/* A third by chance, a third to few pages, so that there are old ones, and a third at strides that change. */
static __u64 duel_page(struct duel *duel, __u64 pages, struct walk *walk)
{
	struct random *random = &duel->random;

	switch (random_below(random, 3)) {
	case 0:
		return random_below(random, pages);
	case 1:
		return random_below(random, 1 + pages / 8);
	}
	if (!random_below(random, 12)) {
		walk->stride = random_below(random, 7) - 3;
		walk->page = random_below(random, 2 * pages) - random_below(random, 8);
	}
	return walk->page += walk->stride;
}

static void duel_run(struct duel *duel, unsigned int accesses)
{
	const __u64 pages = 1 + random_below(&duel->random, 100);
	struct walk walk = {0};
	const __u64 pace = 1 + random_below(&duel->random, 12);

	for (unsigned int i = 0; i < accesses; i++) {
		const size_t seen = duel->told.count;
		const __u64 time = random_step(&duel->random, duel->now, pace);
		const __u64 page = duel_page(duel, pages, &walk);

		duel_advance_often(duel, time);
		protect_access(duel->fast, time, page);
		protect_access(duel->often, time, page);
		slow_protect_access(duel->slow, time, page);
		assert_same_actions(&duel->told, duel->slow, seen);
		assert_same_state(duel->fast, duel->slow);
		if (time > duel->now)
			duel->now = time;
	}
}

static void agree(const char *policy, unsigned int duels, unsigned int accesses)
{
	struct duel duel;

	for (unsigned int seed = 0; seed < duels; seed++) {
		duel_begin(&duel, policy, seed);
		duel_run(&duel, accesses);
		if (!random_below(&duel.random, 4)) {
			protect_release(duel.fast);
			protect_release(duel.often);
			slow_protect_release(duel.slow);
			duel_run(&duel, accesses / 4);
		}
		duel_end(&duel);
	}
}

static void adp_is_as_documented(void **state)
{
	agree("adp", 1301, 997);
}

static void tuned_is_as_documented(void **state)
{
	agree("tuned", 251, 997);
}

/* Alone, so that idle times are near to what parts them. */
static void learning_is_as_documented(void **state)
{
	const struct page_store none = {0};
	struct random random = {17};

	for (unsigned int i = 0; i < 499; i++) {
		const __u64 from = random_below(&random, 3000);
		const __u64 fault_after = from + random_below(&random, 20);
		struct slow_learn slow;
		struct learner fast;
		__u64 now = 0;

		learner_init(&fast, from, fault_after);
		learner_start(&fast, 0);
		slow_learn_begin(&slow, from, fault_after);
		slow.start_ns = -((wide)1 << 80); /* long enough for any window */
		for (unsigned int decision = 0; decision < 5; decision++) {
			const __u64 room = random_below(&random, 30);
			const __u64 stay = random_below(&random, 100);
			struct learner_choice choice;

			for (__u64 k = random_below(&random, 12); k; k--) {
				const __u64 idle = from + random_below(&random, 1ull << (2 * k));
				wide counted = 0;

				learner_used(&fast, idle);
				slow_learn_use(&slow, &counted, idle);
			}
			now += random_below(&random, 5000);
			choice = learner_decide(&fast, &none, now, room, stay);
			slow.admitted = 0;
			slow_learn_decide(&slow, now, room, stay);
			assert_int_equal(choice.admitted, slow.admitted);
			if (choice.admitted)
				assert_int_equal(choice.window_ns, slow.window_ns);
		}
	}
}

static void a_window_ends_with_time(void **state)
{
	const struct page_store none = {0};
	struct learner learner;

	learner_init(&learner, 0, 1ull << 52);
	learner_used(&learner, UINT64_MAX - 1);
	assert_int_equal(learner_decide(&learner, &none, UINT64_MAX, 1000, 0).window_ns,
			 UINT64_MAX);
}

static void spatial_is_as_documented(void **state)
{
	agree("spatial", 251, 997);
}

static void lru_is_as_documented(void **state)
{
	agree("lru", 199, 499);
}

static void static_is_as_documented(void **state)
{
	agree("static", 97, 499);
}

static void none_says_nothing(void **state)
{
	agree("none", 11, 499);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adp_is_as_documented),
		cmocka_unit_test(tuned_is_as_documented),
		cmocka_unit_test(learning_is_as_documented),
		cmocka_unit_test(a_window_ends_with_time),
		cmocka_unit_test(spatial_is_as_documented),
		cmocka_unit_test(lru_is_as_documented),
		cmocka_unit_test(static_is_as_documented),
		cmocka_unit_test(none_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
