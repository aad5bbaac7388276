// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/slow_protect.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 4096

typedef __int128 wide; /* sums of times do not end */

#define CLASSES 144
#define STREAMS 16

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

struct slow_stream {
	__u64 last, access; /* the how manieth access it took last */
	wide stride;
	__u64 steps;
};

struct slow_sums {
	wide idle[CLASSES], hits[CLASSES], faults[CLASSES], time;
};

struct slow_protect {
	const char *policy;
	struct protect_keys keys;
	__u64 memory_pages, newest_ns, accesses;
	bool started;
	wide start_ns, scan_ns;	 /* the next scan */
	wide decided_ns, window; /* -1: without an end */
	__u64 accesses_then;
	unsigned int admitted;
	struct slow_sums now, before;
	struct slow_stream streams[STREAMS];
	size_t stream_count;
	__u64 steps;
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
	slow->window = -1;
	slow->admitted = 256;
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

static bool is(const struct slow_protect *slow, const char *policy)
{
	return !strcmp(slow->policy, policy);
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

static wide promote_after(const struct slow_protect *slow)
{
	const wide after = (wide)slow->keys.fault_after_ns - slow->keys.scan_ns;

	if (!is(slow, "tuned"))
		return slow->keys.promote_after_ns;
	return after < 0 ? 0 : after;
}

static __u64 unit(const struct slow_protect *slow)
{
	return slow->keys.fault_after_ns < 256 ? 1 : slow->keys.fault_after_ns / 256;
}

static wide units_idle(const struct slow_protect *slow, const struct slow_page *page, wide time_ns)
{
	const wide idle = time_ns - page->last_ns - promote_after(slow);

	if (idle <= 0)
		return 0;
	return idle / unit(slow) < (1 << 20) ? idle / unit(slow) : (1 << 20) - 1;
}

static wide class_start(unsigned int class)
{
	return class < 8 ? class : (wide)(8 + class % 8) << (class / 8 - 1);
}

/* From the last decision on. */
static void count_idle(struct slow_protect *slow, struct slow_page *page, wide time_ns)
{
	const wide from = page->counted, until = units_idle(slow, page, time_ns);

	for (unsigned int i = 0; i < CLASSES; i++) {
		const wide low = from > class_start(i) ? from : class_start(i);
		const wide high = until < class_start(i + 1) ? until : class_start(i + 1);

		slow->now.idle[i] += high > low ? high - low : 0;
	}
	page->counted = until;
}

static void count_use(struct slow_protect *slow, struct slow_page *page)
{
	const wide idle = (wide)slow->newest_ns - page->last_ns;
	unsigned int class = 0;

	count_idle(slow, page, slow->newest_ns);
	while (class_start(class + 1) <= page->counted)
		class ++;
	slow->now.hits[class] += idle > promote_after(slow);
	slow->now.faults[class] += idle > promote_after(slow) && idle > slow->keys.fault_after_ns;
	page->counted = 0;
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
	return slow->window >= 0 && time_ns - page->last_ns >= promote_after(slow) + slow->window;
}

static bool is_admitted(const struct slow_protect *slow, const struct slow_page *page)
{
	return page->number * 0x9e3779b97f4a7c15ull / (1ull << 56) < slow->admitted;
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
		count_idle(slow, oldest, time_ns);
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

/* False if it stays active. */
static bool promote(struct slow_protect *slow, wide time_ns, __u64 number, int reason)
{
	struct slow_page *tail = find(slow, number);

	if (is_given_up(slow, tail, time_ns) || !is_admitted(slow, tail)) {
		leave(slow, time_ns, tail);
		return true;
	}
	if (count_in(slow, INACTIVE) + count_in(slow, EXPECTED) >=
	    share(slow, slow->keys.inactive)) {
		tail = oldest_in(slow, INACTIVE);
		if (slow->keys.overflow == PROTECT_OVERFLOW_REFUSE || !tail) {
			if (reason == PROTECT_OVERFLOW)
				leave(slow, time_ns, find(slow, number));
			return false;
		}
		unpin(slow, time_ns, tail, PROTECT_DROPPED);
		leave(slow, time_ns, tail);
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
		count_use(slow, page);
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

static void sum_up(struct slow_protect *slow)
{
	struct slow_sums *now = &slow->now, *before = &slow->before;

	for (size_t i = 0; i < slow->count; i++)
		count_idle(slow, &slow->pages[i], slow->newest_ns);
	now->time = (slow->newest_ns - slow->decided_ns) / unit(slow);
	for (unsigned int i = 0; i < CLASSES; i++) {
		before->idle[i] = before->idle[i] / 2 + now->idle[i];
		before->hits[i] = before->hits[i] / 2 + now->hits[i];
		before->faults[i] = before->faults[i] / 2 + now->faults[i];
	}
	before->time = before->time / 2 + now->time;
	memset(now, 0, sizeof(*now));
}

/* What a window up to the end of a class would have been worth. */
static wide worth(const struct slow_protect *slow, unsigned int class, wide *admitted)
{
	const wide room = share(slow, slow->keys.inactive) * slow->before.time;
	wide pinned = 0, faults = 0;

	for (unsigned int i = 0; i <= class; i++) {
		pinned += slow->before.idle[i];
		pinned += slow->before.hits[i] * (slow->keys.demote_after_ns / unit(slow));
		faults += slow->before.faults[i];
	}
	*admitted = pinned > room ? room * 256 / pinned : 256;
	return faults * *admitted;
}

static void decide(struct slow_protect *slow)
{
	wide best = 0, admitted;

	slow->accesses_then = slow->accesses;
	sum_up(slow);
	slow->decided_ns = slow->newest_ns;
	for (unsigned int i = 0; i < CLASSES; i++)
		if (worth(slow, i, &admitted) > best)
			best = worth(slow, i, &admitted);
	for (unsigned int i = 0; best && i < CLASSES; i++) {
		if (worth(slow, i, &admitted) * 20 < best * 19)
			continue;
		slow->window = class_start(i + 1) * unit(slow);
		slow->admitted = (unsigned int)admitted;
		if (slow->window > (slow->newest_ns - slow->start_ns) / 4) {
			slow->window = -1;
			slow->admitted = 256;
		}
		return;
	}
}

static void tuned_used(struct slow_protect *slow, __u64 number)
{
	/* `accesses` has counted this one. */
	slow->accesses--;
	if (slow->newest_ns - slow->decided_ns >= slow->keys.learn_ns &&
	    slow->accesses - slow->accesses_then >= slow->count)
		decide(slow);
	slow->accesses++;
	adp_used(slow, number);
}

/* What an access goes on with: NULL if it is nothing new. */
static struct slow_stream *stream_of(struct slow_protect *slow, __u64 page)
{
	struct slow_stream *step = NULL, *start = NULL, *oldest = NULL;

	for (size_t i = 0; i < slow->stream_count; i++) {
		struct slow_stream *stream = &slow->streams[i];
		const wide distance = (wide)page - stream->last;

		if (!distance)
			return NULL;
		if (stream->stride == distance && (!step || stream->access > step->access))
			step = stream;
		if (stream->steps < slow->keys.run && distance >= -16 && distance <= 16 &&
		    (!start || stream->access > start->access))
			start = stream;
		if (!oldest || stream->access < oldest->access)
			oldest = stream;
	}
	if (step) {
		step->steps++;
		return step;
	}
	if (start) {
		start->stride = (wide)page - start->last;
		start->steps = 1;
		return start;
	}
	if (slow->stream_count < STREAMS)
		oldest = &slow->streams[slow->stream_count++];
	*oldest = (struct slow_stream){0};
	return oldest;
}

static void spatial_used(struct slow_protect *slow, __u64 number)
{
	struct slow_stream *stream;
	struct slow_page *page;

	adp_used(slow, number);
	stream = stream_of(slow, number);
	if (!stream)
		return;
	stream->last = number;
	stream->access = slow->accesses;
	if (stream->steps < slow->keys.run)
		return;
	for (__u32 i = 1; i <= slow->keys.ahead; i++) {
		const wide next = number + i * stream->stride;

		if (next < 0 || next > UINT64_MAX ||
		    (number < slow->memory_pages && next >= slow->memory_pages))
			return;
		page = find(slow, (__u64)next);
		if (!page) {
			if (count_in(slow, INACTIVE) + count_in(slow, EXPECTED) >=
			    share(slow, slow->keys.inactive))
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
		slow->start_ns = slow->decided_ns = slow->newest_ns;
		slow->scan_ns = slow->start_ns + slow->keys.scan_ns;
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
	slow->count = slow->stream_count = 0;
	slow->started = false;
	slow->window = -1;
	slow->admitted = 256;
	memset(&slow->now, 0, sizeof(slow->now));
	memset(&slow->before, 0, sizeof(slow->before));
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
