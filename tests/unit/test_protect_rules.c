// SPDX-License-Identifier: GPL-2.0
/* Policies by hand: examples of their rules, keys and silences that are hostile, memory, and what they are for. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "lib/protect/page_store.h"
#include "lib/protect/protect.h"

#define HOUR (3600 * SECOND)
#define SEEN 4096

/* The sink of all tests: what was said last, and whether it keeps to the law. */
static struct {
	struct protect_action actions[SEEN];
	size_t count;
	bool pinned[1 << 16]; /* by the lower bits of a page's number */
	__u64 pins;
} told;

static void hear(void *argument, const struct protect_action *action)
{
	const __u64 cap = *(const __u64 *)argument;

	assert_int_not_equal(told.pinned[action->page & 0xffff], action->pin);
	told.pinned[action->page & 0xffff] = action->pin;
	told.pins += action->pin ? 1 : -1;
	assert_true(told.pins <= cap);
	if (told.count < SEEN)
		told.actions[told.count++] = *action;
}

static __u64 cap = UINT64_MAX;

static struct protect *make(const struct protect_keys *keys, __u64 pages)
{
	const struct protect_sink sink = {hear, &cap};
	struct protect *protect;

	memset(&told, 0, sizeof(told));
	assert_int_equal(protect_create(&protect, keys, pages, sink), 0);
	return protect;
}

static struct protect_keys keys_of(const char *policy)
{
	struct protect_keys keys;

	protect_keys_default(&keys);
	keys.policy = (__u32)protect_policy_find(policy);
	return keys;
}

/* Adp with caps of 3 active pages and 2 inactive ones. */
static struct protect *small(enum protect_overflow overflow)
{
	struct protect_keys keys = keys_of("adp");

	keys.active = 0.3;
	keys.inactive = 0.2;
	keys.overflow = overflow;
	return make(&keys, 10);
}

/* What comes next; in seconds. */
static size_t heard;

static void assert_told(__u64 seconds, __u64 page, bool pin, enum protect_reason reason)
{
	const struct protect_action *action = &told.actions[heard];

	assert_true(heard < told.count);
	heard++;
	assert_int_equal(action->time_ns, seconds * SECOND);
	assert_int_equal(action->page, page);
	assert_int_equal(action->pin, pin);
	assert_int_equal(action->reason, reason);
}

static void assert_no_more(void)
{
	assert_int_equal(heard, told.count);
	heard = 0;
}

static void idle_pages_are_pinned_until_they_are_used(void **state)
{
	struct protect *adp = small(PROTECT_OVERFLOW_DROP);

	protect_access(adp, 0, 1);
	protect_access(adp, 10 * SECOND, 2);
	protect_access(adp, 19 * SECOND, 1);
	/* 2 is idle for 180 s at 190 s, 1 at 199 s: both at the scan of 200 s, the older first. */
	protect_access(adp, 205 * SECOND, 2);
	assert_told(200, 2, true, PROTECT_IDLE);
	assert_told(200, 1, true, PROTECT_IDLE);
	/* Further accesses prolong nothing, and what is pinned and used is not pinned again. */
	protect_access(adp, 210 * SECOND, 2);
	protect_advance(adp, 234 * SECOND);
	assert_no_more();
	protect_advance(adp, 235 * SECOND);
	protect_release(adp);
	heard = 2;
	assert_told(235, 2, false, PROTECT_RETURNED);
	assert_told(235, 1, false, PROTECT_DROPPED);
	assert_no_more();
	protect_destroy(adp);
}

/* At the head of active it would keep the scan from the page behind it. */
static void a_page_that_is_back_is_as_old_as_its_last_access(void **state)
{
	struct protect *adp = small(PROTECT_OVERFLOW_DROP);

	protect_access(adp, 0, 1);
	protect_access(adp, 180 * SECOND, 1); /* it is pinned at the scan at this time */
	protect_access(adp, 200 * SECOND, 2);
	/* Back at 210 s with its last access of 180 s, it is older than 2: idle at 360 s, 2 at 380 s. */
	protect_advance(adp, 379 * SECOND);
	assert_told(180, 1, true, PROTECT_IDLE);
	assert_told(210, 1, false, PROTECT_RETURNED);
	assert_told(360, 1, true, PROTECT_IDLE);
	assert_no_more();
	protect_destroy(adp);
}

static void what_does_not_fit_is_dropped_or_refused(void **state)
{
	struct protect *adp = small(PROTECT_OVERFLOW_DROP);

	for (__u64 page = 1; page <= 6; page++)
		protect_access(adp, page * SECOND, page);
	assert_told(4, 1, true, PROTECT_OVERFLOW);
	assert_told(5, 2, true, PROTECT_OVERFLOW);
	assert_told(6, 1, false, PROTECT_DROPPED);
	assert_told(6, 3, true, PROTECT_OVERFLOW);
	assert_no_more();
	protect_destroy(adp);

	adp = small(PROTECT_OVERFLOW_REFUSE);
	for (__u64 page = 1; page <= 6; page++)
		protect_access(adp, page * SECOND, page);
	protect_advance(adp, HOUR);
	assert_told(4, 1, true, PROTECT_OVERFLOW);
	assert_told(5, 2, true, PROTECT_OVERFLOW);
	assert_no_more();
	protect_destroy(adp);
}

/* 3.6e12 scans, of which two find something. */
static void a_silence_is_no_work(void **state)
{
	static const char *const policies[] = {"adp", "tuned", "spatial"};

	for (size_t i = 0; i < COUNT(policies); i++)
		for (unsigned int overflow = 0; overflow < 2; overflow++) {
			struct protect_keys keys = keys_of(policies[i]);
			struct protect *protect;

			keys.scan_ns = 1;
			keys.overflow = overflow;
			keys.inactive = 0.2;
			keys.demote_after_ns = 100 * HOUR;
			keys.promote_after_ns = keys.fault_after_ns = SECOND;
			protect = make(&keys, 5);
			protect_access(protect, 0, 1);
			protect_access(protect, 1, 2);
			protect_advance(protect, HOUR);
			protect_access(protect, 2 * HOUR, told.actions[told.count - 1].page);
			protect_advance(protect, 3 * HOUR);
			assert_int_equal(told.count, overflow ? 1 : 3);
			protect_destroy(protect);
		}
}

/* The end of time is as far away as it can be. */
static void nothing_comes_after_the_end_of_time(void **state)
{
	struct protect_keys keys = keys_of("adp");
	struct protect *adp;

	keys.scan_ns = UINT64_MAX;
	keys.active = 1;
	adp = make(&keys, 5);
	protect_access(adp, 1, 1);
	protect_access(adp, UINT64_MAX, 2);
	assert_int_equal(told.count, 0);
	protect_destroy(adp);
}

/* Nor is a share of the most pages that there can be none. */
static void a_memory_may_be_of_any_size(void **state)
{
	struct protect_keys keys = keys_of("lru");
	struct protect *lru;

	keys.lru = 1;
	lru = make(&keys, UINT64_MAX);
	protect_access(lru, 1, UINT64_MAX);
	protect_access(lru, 1, 0);
	assert_int_equal(told.pins, 2);
	protect_destroy(lru);
	keys.lru = 0.999;
	lru = make(&keys, 2);
	protect_access(lru, 1, 1);
	protect_access(lru, 1, 2);
	assert_int_equal(told.pins, 1);
	protect_destroy(lru);
}

static void wrong_keys_are_refused_with_a_sentence(void **state)
{
	static const double wrong[] = {-0.01, 1.01, NAN, INFINITY};
	struct protect_keys keys;
	struct protect *protect = NULL;
	const struct protect_sink sink = {NULL, NULL};

#define REFUSED(change, sentence)                                                     \
	do {                                                                          \
		keys = keys_of("adp");                                                \
		change;                                                               \
		assert_int_equal(protect_create(&protect, &keys, 10, sink), -EINVAL); \
		assert_non_null(strstr(failure_text(), sentence));                    \
	} while (0)

	for (size_t i = 0; i < COUNT(wrong); i++) {
		REFUSED(keys.active = wrong[i], "active=");
		REFUSED(keys.inactive = wrong[i], "inactive=");
		REFUSED(keys.lru = wrong[i], "lru=");
	}
	REFUSED(keys.scan_ns = 0, "scan=0: accepted: 1 ns and more");
	REFUSED(keys.run = 0, "run=0: accepted: 1 to 64");
	REFUSED(keys.run = 65, "run=65");
	REFUSED(keys.ahead = 0, "ahead=0");
	REFUSED(keys.ahead = 65, "ahead=65");
	REFUSED(keys.overflow = 2, "overflow 2");
	REFUSED(keys.policy = 99, "policy 99");
	keys = keys_of("adp");
	assert_int_equal(protect_create(&protect, &keys, 0, sink), -EINVAL);
	assert_non_null(strstr(failure_text(), "no pages"));
	keys.run = keys.ahead = 64;
	keys.active = 0;
	keys.lru = 1;
	assert_int_equal(protect_create(&protect, &keys, 10, sink), 0);
	protect_access(protect, 0, 1); /* nobody asks what it says */
	protect_destroy(protect);
	protect_destroy(NULL);
}

static void policies_are_found_by_name(void **state)
{
	assert_string_equal(protect_policies[0]->name, "none");
	for (int i = 0; protect_policies[i]; i++) {
		assert_int_equal(protect_policy_find(protect_policies[i]->name), i);
		assert_true(strlen(protect_policies[i]->about) > 10);
	}
	assert_int_equal(protect_policy_find("adp2"), -ENOENT);
	assert_int_equal(protect_policy_find("ad"), -ENOENT);
}

static void without_memory_accesses_are_lost_and_counted(void **state)
{
	for (int policy = 0; protect_policies[policy]; policy++) {
		struct protect_keys keys = keys_of(protect_policies[policy]->name);
		struct protect *protect;
		struct protect_state now;

		keys.lru = keys.active = 1;
		protect = make(&keys, 1 << 20);
		protect_access(protect, 0, 7);
		memory_limit(memory_used() + (1 << 16));
		for (__u64 page = 0; page < 20011; page++)
			protect_access(protect, page, page);
		protect_access(protect, 30000, 7);
		protect_state(protect, &now);
		if (policy)
			assert_in_range(now.untracked, 18000, 20010);
		else
			assert_int_equal(now.untracked, 0);
		memory_limit(UINT64_MAX);
		protect_release(protect);
		assert_int_equal(told.pins, 0);
		protect_destroy(protect);
	}
	assert_int_equal(memory_used(), 0);
}

static void without_memory_there_is_no_policy(void **state)
{
	const struct protect_sink sink = {NULL, NULL};

	for (int policy = 0; protect_policies[policy]; policy++) {
		struct protect_keys keys = keys_of(protect_policies[policy]->name);
		struct protect *protect;
		unsigned int refused = 0;
		int error;

		do {
			memory_limit(64ull * refused);
			error = protect_create(&protect, &keys, 10, sink);
			if (error) {
				assert_int_equal(error, -ENOMEM);
				assert_int_equal(memory_used(), 0);
			}
		} while (error && ++refused);
		memory_limit(UINT64_MAX);
		assert_true(refused);
		protect_destroy(protect);
		assert_int_equal(memory_used(), 0);
	}
}

static void a_page_is_48_bytes_at_most(void **state)
{
	struct page_store store;

	page_store_init(&store);
	assert_int_equal(page_store_find(&store, 0), NO_PAGE);
	assert_int_equal(page_store_bytes(&store), 0);
	for (__u64 page = 0; page < 1000003; page++) {
		assert_int_equal(page_store_add(&store, page * 512), page);
		if (page > 63)
			assert_true(page_store_bytes(&store) <= 48 * (page + 1));
	}
	assert_true(page_store_bytes(&store) >= (sizeof(struct kept_page) + 2) * store.count);
	assert_int_equal(page_store_find(&store, 999999 * 512), 999999);
	assert_int_equal(page_store_find(&store, 1), NO_PAGE);
	/* What is removed is used again before there is more. */
	page_store_remove(&store, 5);
	assert_int_equal(page_store_find(&store, 5 * 512), NO_PAGE);
	assert_int_equal(page_store_add(&store, 1), 5);
	page_store_free(&store);
	assert_int_equal(memory_used(), 0);
}

#define ORDERED 2003

/* Whatever order they come in, and leave in. */
static void a_recency_is_in_order(void **state)
{
	struct random random = {5};
	struct page_store store;
	struct recency recency;
	__u64 last = 0;

	page_store_init(&store);
	recency_init(&recency);
	assert_int_equal(recency_oldest(&store, &recency), NO_PAGE);
	for (unsigned int round = 0; round < 5; round++) {
		for (__u32 i = 0; i < ORDERED; i++) {
			const __u32 page = page_store_add(&store, i);

			store.pages[page].last_ns = random_below(&random, ORDERED / 2);
			store.pages[page].turn = (__u32)random_below(&random, 3);
			recency_add(&store, &recency, page);
		}
		for (__u32 i = 0; i < ORDERED; i += 1 + (__u32)random_below(&random, 4)) {
			const __u32 page = page_store_find(&store, i);

			recency_remove(&store, &recency, page);
			page_store_remove(&store, page);
		}
		assert_int_equal(recency.count, store.count);
		for (last = 0; recency.count;) {
			const __u32 page = recency_oldest(&store, &recency);
			const __u64 now = store.pages[page].last_ns * 4 + store.pages[page].turn;

			assert_true(now >= last);
			last = now;
			recency_remove(&store, &recency, page);
			page_store_remove(&store, page);
		}
		assert_int_equal(recency_oldest(&store, &recency), NO_PAGE);
	}
	page_store_free(&store);
}

/* Many pages, at any keys: never above the cap, none pinned twice. */
static void caps_hold(void **state)
{
	static const char *const policies[] = {"lru", "adp", "tuned", "spatial"};
	struct random random = {11};

	for (unsigned int i = 0; i < 12; i++) {
		struct protect_keys keys = keys_of(policies[i % COUNT(policies)]);
		struct protect_state now;
		struct protect *protect;

		keys.inactive = keys.lru = 0.01 + random_unit(&random) / 10;
		keys.active = random_unit(&random) / 5;
		keys.overflow = (__u32)random_below(&random, 2);
		keys.demote_after_ns = random_below(&random, 300 * SECOND);
		keys.learn_ns = 100 * SECOND;
		cap = (__u64)(keys.inactive * 20011);
		protect = make(&keys, 20011);
		for (unsigned int access = 0; access < 100003; access++)
			protect_access(protect, access * (SECOND / 50),
				       random_below(&random, 1 + random_below(&random, 20011)));
		protect_state(protect, &now);
		assert_int_equal(now.pinned, told.pins);
		assert_in_range(now.pinned_max, 1, cap);
		assert_int_equal(now.pins - now.unpins, now.pinned);
		protect_release(protect);
		assert_int_equal(told.pins, 0);
		protect_destroy(protect);
	}
	cap = UINT64_MAX;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_pages_are_pinned_until_they_are_used),
		cmocka_unit_test(a_page_that_is_back_is_as_old_as_its_last_access),
		cmocka_unit_test(what_does_not_fit_is_dropped_or_refused),
		cmocka_unit_test(a_silence_is_no_work),
		cmocka_unit_test(nothing_comes_after_the_end_of_time),
		cmocka_unit_test(a_memory_may_be_of_any_size),
		cmocka_unit_test(wrong_keys_are_refused_with_a_sentence),
		cmocka_unit_test(policies_are_found_by_name),
		cmocka_unit_test(without_memory_accesses_are_lost_and_counted),
		cmocka_unit_test(without_memory_there_is_no_policy),
		cmocka_unit_test(a_page_is_48_bytes_at_most),
		cmocka_unit_test(a_recency_is_in_order),
		cmocka_unit_test(caps_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
