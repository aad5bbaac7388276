// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/slow_protect.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 4096

typedef __int128 wide; /* sums of times do not end */

enum where { ACTIVE, INACTIVE };

struct slow_page {
	__u64 number;
	__u64 access; /* the how manieth of all accesses was its last */
	__u64 last_ns;
	enum where where;
	bool used;	/* since its pin */
	bool returning; /* on its way back */
	__u64 hit;	/* the access that sent it back */
	wide due_ns;	/* when it is back */
};

struct slow_protect {
	const char *policy;
	struct protect_keys keys;
	__u64 memory_pages, newest_ns, accesses;
	bool started;
	wide scan_ns; /* the next */
	struct slow_page pages[PAGES];
	size_t count;
	struct protect_action *actions;
	size_t action_count, action_room;
	struct protect_state state;
};

struct slow_protect *slow_protect_new(const char *policy, const struct protect_keys *keys,
				      __u64 memory_pages)
{
	struct slow_protect *slow = calloc(1, sizeof(*slow));

	assert(slow);
	slow->policy = policy;
	slow->keys = *keys;
	slow->memory_pages = memory_pages;
	return slow;
}

void slow_protect_free(struct slow_protect *slow)
{
	free(slow->actions);
	free(slow);
}

static size_t share(const struct slow_protect *slow, double part)
{
	size_t pages = (size_t)(part * (double)slow->memory_pages);

	return pages < 1 ? 1 : pages;
}

static void say(struct slow_protect *slow, wide time_ns, __u64 page, bool pin, int reason)
{
	if (slow->action_count == slow->action_room) {
		slow->action_room = slow->action_room * 2 + 64;
		slow->actions = realloc(slow->actions,
					slow->action_room * sizeof(*slow->actions));
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

/* Whether it is pinned now. */
static bool promote(struct slow_protect *slow, wide time_ns, __u64 number, int reason)
{
	struct slow_page *tail;

	if (count_in(slow, INACTIVE) >= share(slow, slow->keys.inactive)) {
		tail = oldest_in(slow, INACTIVE);
		if (slow->keys.overflow == PROTECT_OVERFLOW_REFUSE || !tail) {
			if (reason == PROTECT_OVERFLOW)
				forget(slow, find(slow, number));
			return false;
		}
		unpin(slow, time_ns, tail, PROTECT_DROPPED);
		forget(slow, tail);
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
	struct slow_page *tail = oldest_in(slow, ACTIVE);

	while (tail && time_ns - tail->last_ns >= slow->keys.promote_after_ns &&
	       promote(slow, time_ns, tail->number, PROTECT_IDLE))
		tail = oldest_in(slow, ACTIVE);
}

static void adp_until(struct slow_protect *slow, wide time_ns)
{
	for (;;) {
		struct slow_page *back = next_back(slow);

		if (back && back->due_ns <= time_ns && back->due_ns <= slow->scan_ns) {
			wide due_ns = back->due_ns;

			unpin(slow, due_ns, back, PROTECT_RETURNED);
			keep_active(slow, due_ns);
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
	const bool is_new = !page;

	if (is_new)
		page = enter(slow, number);
	page->access = slow->accesses;
	page->last_ns = slow->newest_ns;
	page->used = true;
	if (page->where == INACTIVE && !page->returning) {
		page->returning = true;
		page->hit = slow->accesses;
		page->due_ns = (wide)slow->newest_ns + slow->keys.demote_after_ns;
	}
	if (is_new)
		keep_active(slow, slow->newest_ns);
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
	if (slow->started && !strcmp(slow->policy, "adp"))
		adp_until(slow, slow->newest_ns);
}

void slow_protect_access(struct slow_protect *slow, __u64 time_ns, __u64 page)
{
	slow_protect_advance(slow, time_ns);
	if (!slow->started)
		slow->scan_ns = (wide)slow->newest_ns + slow->keys.scan_ns;
	slow->started = true;
	slow->accesses++;
	if (!strcmp(slow->policy, "adp"))
		adp_used(slow, page);
	else if (!strcmp(slow->policy, "lru"))
		lru_used(slow, page, share(slow, slow->keys.lru));
	else if (!strcmp(slow->policy, "static"))
		lru_used(slow, page, PAGES);
}

void slow_protect_release(struct slow_protect *slow)
{
	for (;;) {
		struct slow_page *lowest = NULL;

		for (size_t i = 0; i < slow->count; i++) {
			struct slow_page *page = &slow->pages[i];

			if (page->where == INACTIVE && (!lowest || page->number < lowest->number))
				lowest = page;
		}
		if (!lowest)
			break;
		unpin(slow, slow->newest_ns, lowest, PROTECT_DROPPED);
	}
	slow->count = 0;
	slow->started = false;
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
