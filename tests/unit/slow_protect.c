// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/slow_protect.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/slow_learn.h"
#include "tests/unit/slow_streams.h"

#define PAGES 4096

enum where { ACTIVE, INACTIVE, EXPECTED, GHOST };

struct slow_page {
	__u64 number;
	__u64 access; /* the how manieth of all accesses was its last */
	__u64 last_ns;
	enum where where;
	bool used;	/* since its pin */
	bool returning; /* on its way back */
	__u64 hit;	/* the access that sent it back */
	wide due_ns;	/* when it is back */
	wide counted;	/* units of idle time at the last decision */
	__u64 step;	/* the how manieth of all expectations was its last */
};

struct slow_protect {
	const char *policy;
	struct protect_keys keys;
	__u64 memory_pages, newest_ns, accesses;
	bool started;
	wide scan_ns;	     /* the next */
	__u64 accesses_then; /* at the last decision */
	struct slow_learn learn;
	struct slow_streams streams;
	__u64 steps;
	struct slow_page pages[PAGES];
	size_t count;
	struct protect_action *actions;
	size_t action_count, action_room;
	struct protect_state state;
};

static bool is(const struct slow_protect *slow, const char *policy)
{
	return !strcmp(slow->policy, policy);
}

static wide promote_after(const struct slow_protect *slow)
{
	const wide after = (wide)slow->keys.fault_after_ns - slow->keys.scan_ns;

	if (!is(slow, "tuned"))
		return slow->keys.promote_after_ns;
	return after < 0 ? 0 : after;
}

struct slow_protect *slow_protect_new(const char *policy, const struct protect_keys *keys,
				      __u64 memory_pages)
{
	struct slow_protect *slow = calloc(1, sizeof(*slow));

	assert(slow);
	slow->policy = policy;
	slow->keys = *keys;
	slow->memory_pages = memory_pages;
	slow_learn_begin(&slow->learn, promote_after(slow), keys->fault_after_ns);
	return slow;
}

void slow_protect_free(struct slow_protect *slow)
{
	free(slow->actions);
	free(slow);
}

static size_t share(const struct slow_protect *slow, double part)
{
	size_t pages = (size_t)(part * (double)slow->memory_pages * (1 + 1e-12));

	return pages < 1 ? 1 : pages;
}

static void say(struct slow_protect *slow, wide time_ns, __u64 page, bool pin, int reason)
{
	if (slow->action_count == slow->action_room) {
		slow->action_room = slow->action_room * 2 + 64;
		slow->actions = realloc(slow->actions, slow->action_room * sizeof(*slow->actions));
		assert(slow->actions);
	}
	slow->actions[slow->action_count++] = (struct protect_action){
		.time_ns = (__u64)time_ns, .page = page, .pin = pin, .reason = (__u8)reason};
}

static void pin(struct slow_protect *slow, wide time_ns, struct slow_page *page, int reason)
{
	page->where = INACTIVE;
	page->used = false;
	slow->state.pins++;
	if (++slow->state.pinned > slow->state.pinned_max)
		slow->state.pinned_max = slow->state.pinned;
	say(slow, time_ns, page->number, true, reason);
}

static void unpin(struct slow_protect *slow, wide time_ns, struct slow_page *page, int reason)
{
	page->where = ACTIVE;
	page->returning = false;
	slow->state.unpins++;
	slow->state.pinned--;
	slow->state.useless += !page->used;
	say(slow, time_ns, page->number, false, reason);
}

static void forget(struct slow_protect *slow, struct slow_page *page)
{
	*page = slow->pages[--slow->count];
}

static struct slow_page *find(struct slow_protect *slow, __u64 number)
{
	for (size_t i = 0; i < slow->count; i++)
		if (slow->pages[i].number == number)
			return &slow->pages[i];
	return NULL;
}

static struct slow_page *enter(struct slow_protect *slow, __u64 number)
{
	struct slow_page *page = &slow->pages[slow->count++];

	assert(slow->count <= PAGES);
	*page = (struct slow_page){.number = number, .where = ACTIVE};
	return page;
}

static size_t count_in(const struct slow_protect *slow, enum where where)
{
	size_t count = 0;

	for (size_t i = 0; i < slow->count; i++)
		count += slow->pages[i].where == where;
	return count;
}

/* Of a block, but for those on their way back. */
static struct slow_page *oldest_in(struct slow_protect *slow, enum where where)
{
	struct slow_page *oldest = NULL;

	for (size_t i = 0; i < slow->count; i++) {
		struct slow_page *page = &slow->pages[i];

		if (page->where == where && !page->returning &&
		    (!oldest || page->access < oldest->access))
			oldest = page;
	}
	return oldest;
}

static bool is_given_up(const struct slow_protect *slow, const struct slow_page *page, wide time_ns)
{
	return slow->learn.window_ns >= 0 &&
	       time_ns - page->last_ns >= promote_after(slow) + slow->learn.window_ns;
}

static bool is_admitted(const struct slow_protect *slow, const struct slow_page *page)
{
	return page->number * 0x9e3779b97f4a7c15ull / (1ull << 56) < slow->learn.admitted;
}

/* What is not pinned and of no block any more. */
static void leave(struct slow_protect *slow, wide time_ns, struct slow_page *page)
{
	struct slow_page *oldest;

	if (!is(slow, "tuned")) {
		forget(slow, page);
		return;
	}
	page->where = GHOST;
	if (count_in(slow, GHOST) > share(slow, slow->keys.active)) {
		oldest = oldest_in(slow, GHOST);
		slow_learn_idle(&slow->learn, &oldest->counted, time_ns - oldest->last_ns);
		forget(slow, oldest);
	}
}

/* The page that is back first. */
static struct slow_page *next_back(struct slow_protect *slow)
{
	struct slow_page *next = NULL;

	for (size_t i = 0; i < slow->count; i++) {
		struct slow_page *page = &slow->pages[i];

		if (page->returning && (!next || page->hit < next->hit))
			next = page;
	}
	return next;
}

/* For one more that is pinned. */
static bool make_room(struct slow_protect *slow, wide time_ns)
{
	struct slow_page *tail = oldest_in(slow, INACTIVE);

	if (count_in(slow, INACTIVE) + count_in(slow, EXPECTED) < share(slow, slow->keys.inactive))
		return true;
	if (slow->keys.overflow == PROTECT_OVERFLOW_REFUSE || !tail)
		return false;
	unpin(slow, time_ns, tail, PROTECT_DROPPED);
	leave(slow, time_ns, tail);
	return true;
}

/* False if it stays active. */
static bool promote(struct slow_protect *slow, wide time_ns, __u64 number, int reason)
{
	struct slow_page *tail = find(slow, number);

	if (is_given_up(slow, tail, time_ns) || !is_admitted(slow, tail)) {
		leave(slow, time_ns, tail);
		return true;
	}
	if (!make_room(slow, time_ns)) {
		if (reason == PROTECT_OVERFLOW)
			leave(slow, time_ns, find(slow, number));
		return false;
	}
	pin(slow, time_ns, find(slow, number), reason);
	return true;
}

static void keep_active(struct slow_protect *slow, wide time_ns)
{
	if (count_in(slow, ACTIVE) > share(slow, slow->keys.active))
		promote(slow, time_ns, oldest_in(slow, ACTIVE)->number, PROTECT_OVERFLOW);
}

static void scan(struct slow_protect *slow, wide time_ns)
{
	struct slow_page *tail = oldest_in(slow, INACTIVE);

	while (tail && is_given_up(slow, tail, time_ns)) {
		unpin(slow, time_ns, tail, PROTECT_SHRUNK);
		leave(slow, time_ns, tail);
		tail = oldest_in(slow, INACTIVE);
	}
	tail = oldest_in(slow, ACTIVE);
	while (tail && time_ns - tail->last_ns >= promote_after(slow) &&
	       promote(slow, time_ns, tail->number, PROTECT_IDLE))
		tail = oldest_in(slow, ACTIVE);
}

/* The page that has been expected for longest. */
static struct slow_page *first_expected(struct slow_protect *slow)
{
	struct slow_page *first = NULL;

	for (size_t i = 0; i < slow->count; i++) {
		struct slow_page *page = &slow->pages[i];

		if (page->where == EXPECTED && (!first || page->step < first->step))
			first = page;
	}
	return first;
}

static void adp_until(struct slow_protect *slow, wide time_ns)
{
	for (;;) {
		struct slow_page *back = next_back(slow), *expected = first_expected(slow);
		const wide never = (wide)UINT64_MAX * 4;
		wide due_ns = back ? back->due_ns : never;
		wide unused_ns = expected ? (wide)expected->last_ns + slow->keys.expect_ns : never;

		if (due_ns <= time_ns && due_ns <= unused_ns && due_ns <= slow->scan_ns) {
			unpin(slow, due_ns, back, PROTECT_RETURNED);
			keep_active(slow, due_ns);
		} else if (unused_ns <= time_ns && unused_ns <= slow->scan_ns) {
			unpin(slow, unused_ns, expected, PROTECT_UNUSED);
			forget(slow, expected);
		} else if (slow->scan_ns <= time_ns) {
			scan(slow, slow->scan_ns);
			slow->scan_ns += slow->keys.scan_ns;
		} else {
			return;
		}
	}
}

static void adp_used(struct slow_protect *slow, __u64 number)
{
	struct slow_page *page = find(slow, number);
	const bool is_new = !page || page->where == GHOST;

	if (page && page->where != EXPECTED)
		slow_learn_use(&slow->learn, &page->counted, (wide)slow->newest_ns - page->last_ns);
	if (!page)
		page = enter(slow, number);
	page->access = slow->accesses;
	page->last_ns = slow->newest_ns;
	page->used = true;
	if (page->where == EXPECTED)
		page->where = INACTIVE;
	if (page->where == GHOST)
		page->where = ACTIVE;
	if (page->where == INACTIVE && !page->returning) {
		page->returning = true;
		page->hit = slow->accesses;
		page->due_ns = (wide)slow->newest_ns + slow->keys.demote_after_ns;
	}
	if (is_new)
		keep_active(slow, slow->newest_ns);
}

static void decide(struct slow_protect *slow)
{
	for (size_t i = 0; i < slow->count; i++)
		slow_learn_idle(&slow->learn, &slow->pages[i].counted,
				(wide)slow->newest_ns - slow->pages[i].last_ns);
	slow_learn_decide(&slow->learn, slow->newest_ns, share(slow, slow->keys.inactive),
			  slow->keys.demote_after_ns);
}

static void tuned_used(struct slow_protect *slow, __u64 number)
{
	/* This one does not count. */
	const __u64 accesses = slow->accesses - 1;

	if (slow->newest_ns - slow->learn.decided_ns >= slow->keys.learn_ns &&
	    accesses - slow->accesses_then >= slow->count) {
		slow->accesses_then = accesses;
		decide(slow);
	}
	adp_used(slow, number);
}

static void spatial_used(struct slow_protect *slow, __u64 number)
{
	struct slow_stream *stream;
	struct slow_page *page;

	adp_used(slow, number);
	stream = slow_streams_access(&slow->streams, slow->keys.run, slow->accesses, number);
	if (!stream || stream->steps < slow->keys.run)
		return;
	for (__u32 i = 1; i <= slow->keys.ahead; i++) {
		const wide next = number + i * stream->stride;

		if (next < 0 || next > UINT64_MAX ||
		    (number < slow->memory_pages && next >= slow->memory_pages))
			return;
		page = find(slow, (__u64)next);
		if (!page) {
			if (!make_room(slow, slow->newest_ns))
				return;
			page = enter(slow, (__u64)next);
			pin(slow, slow->newest_ns, page, PROTECT_EXPECTED);
			page->where = EXPECTED;
		}
		if (page->where == EXPECTED) {
			page->last_ns = slow->newest_ns;
			page->step = slow->steps++;
		}
	}
}

/* static is lru without an end. */
static void lru_used(struct slow_protect *slow, __u64 number, size_t most)
{
	struct slow_page *page = find(slow, number), *tail;

	if (page) {
		page->access = slow->accesses;
		page->used = true;
		return;
	}
	if (slow->count == most) {
		tail = oldest_in(slow, INACTIVE);
		unpin(slow, slow->newest_ns, tail, PROTECT_DROPPED);
		forget(slow, tail);
	}
	page = enter(slow, number);
	page->access = slow->accesses;
	pin(slow, slow->newest_ns, page, PROTECT_TOUCHED);
}

void slow_protect_advance(struct slow_protect *slow, __u64 time_ns)
{
	if (time_ns == UINT64_MAX)
		time_ns--;
	if (time_ns > slow->newest_ns)
		slow->newest_ns = time_ns;
	if (slow->started && (is(slow, "adp") || is(slow, "tuned") || is(slow, "spatial")))
		adp_until(slow, slow->newest_ns);
}

void slow_protect_access(struct slow_protect *slow, __u64 time_ns, __u64 page)
{
	slow_protect_advance(slow, time_ns);
	if (!slow->started) {
		slow->learn.start_ns = slow->learn.decided_ns = slow->newest_ns;
		slow->scan_ns = (wide)slow->newest_ns + slow->keys.scan_ns;
		slow->accesses_then = slow->accesses;
	}
	slow->started = true;
	slow->accesses++;
	if (is(slow, "adp"))
		adp_used(slow, page);
	else if (is(slow, "tuned"))
		tuned_used(slow, page);
	else if (is(slow, "spatial"))
		spatial_used(slow, page);
	else if (is(slow, "lru"))
		lru_used(slow, page, share(slow, slow->keys.lru));
	else if (is(slow, "static"))
		lru_used(slow, page, PAGES);
}

void slow_protect_release(struct slow_protect *slow)
{
	for (;;) {
		struct slow_page *lowest = NULL;

		for (size_t i = 0; i < slow->count; i++) {
			struct slow_page *page = &slow->pages[i];

			if ((page->where == INACTIVE || page->where == EXPECTED) &&
			    (!lowest || page->number < lowest->number))
				lowest = page;
		}
		if (!lowest)
			break;
		unpin(slow, slow->newest_ns, lowest, PROTECT_DROPPED);
	}
	slow->count = slow->streams.count = 0;
	slow->started = false;
	slow_learn_begin(&slow->learn, promote_after(slow), slow->keys.fault_after_ns);
}

const struct protect_action *slow_protect_actions(const struct slow_protect *slow, size_t *count)
{
	*count = slow->action_count;
	return slow->actions;
}

void slow_protect_state(const struct slow_protect *slow, struct protect_state *state)
{
	*state = slow->state;
	state->active = count_in(slow, ACTIVE);
}
