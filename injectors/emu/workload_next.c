// SPDX-License-Identifier: GPL-2.0
/*
 * Which I/O comes next, and which pages the next ones will touch, for an injector that wants these
 * absent. The I/Os it was told of are sent when it is done: neither their latency nor anybody
 * else's contains the time that taking a page away takes.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/workload_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define PLACE_TRIES 64 /* verify: other places tried before waiting for a completion */

static __u32 pick_length(struct workload *w)
{
	__u64 pick;

	if (w->config.size_count == 1)
		return (__u32)w->config.sizes[0];
	pick = random_below(&w->random, w->weight_sum);
	for (__u32 i = 0; i + 1 < w->config.size_count; i++) {
		if (pick < w->config.size_weights[i])
			return (__u32)w->config.sizes[i];
		pick -= w->config.size_weights[i];
	}
	return (__u32)w->config.sizes[w->config.size_count - 1];
}

/* Chooses what the next I/O does and where. false: verify found no free place for it now. */
static bool io_compose(struct workload *w, struct workload_io *io)
{
	io->length = pick_length(w);
	if (w->channel->config.io == DEVICE_IO_COPY)
		io->opcode = RING_COPY;
	else
		io->opcode = random_below(&w->random, 100) < w->config.read_percent ? RING_READ
										    : RING_WRITE;
	for (int i = 0; i < PLACE_TRIES; i++) {
		io->memory =
			w->channel->data_address + pattern_next(&w->memory_pattern, io->length);
		io->target = w->target_base + pattern_next(&w->target_pattern, io->length);
		if (!w->verify || verify_begin(w->verify, io))
			return true;
	}
	return false;
}

/* The lock's holder tells who waits for its turn. */
static void set_state(struct workload *w, enum ahead_state state)
{
	__atomic_store_n(&w->ahead.state, state, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&w->ahead_changed);
}

/* Calls what(w, page) for each page of the data that the I/O touches, until it says true. */
static bool any_page(struct workload *w, const struct workload_io *io,
		     bool (*what)(struct workload *w, __u64 page))
{
	const __u64 starts[] = {io->memory, io->target};
	int ranges = io->opcode == RING_COPY ? 2 : 1;

	for (int i = 0; i < ranges; i++) {
		__u64 start = starts[i] - w->channel->data_address;

		for (__u64 page = start >> PAGE_BITS; page <= (start + io->length - 1) >> PAGE_BITS;
		     page++)
			if (what(w, page))
				return true;
	}
	return false;
}

static bool is_listed(struct workload *w, __u64 page)
{
	return w->ahead.listed[page / 64] >> page % 64 & 1;
}

static bool ahead_mark(struct workload *w, __u64 page)
{
	w->ahead.listed[page / 64] |= 1ull << page % 64;
	return false;
}

static bool ahead_unmark(struct workload *w, __u64 page)
{
	w->ahead.listed[page / 64] &= ~(1ull << page % 64);
	return false;
}

/* True once the list is full. */
static bool ahead_list(struct workload *w, __u64 page)
{
	struct ahead *ahead = &w->ahead;

	if (!is_listed(w, page)) {
		ahead_mark(w, page);
		ahead->pages[ahead->count++] = w->channel->data_address + (page << PAGE_BITS);
	}
	return ahead->count == ahead->limit;
}

/* Those that the device has now: their pages do not come next. */
static void each_in_flight(struct workload *w, bool (*what)(struct workload *w, __u64 page))
{
	for (__u16 q = 0; q < w->channel->config.queues; q++)
		for (__u32 id = 0; id < w->channel->config.queue_depth; id++)
			if (w->queue[q].driver.io[id].busy)
				any_page(w, &w->queue[q].driver.io[id], what);
}

/* The next of those that were listed; with the last of them all is as it was before. */
static void next_ahead(struct workload *w, struct workload_io *io)
{
	struct ahead *ahead = &w->ahead;
	__u64 due_ns = io->due_ns;

	*io = ahead->io[ahead->first++];
	io->due_ns = due_ns;
	if (ahead->first < ahead->end)
		return;
	for (__u32 i = 0; i < ahead->end; i++)
		any_page(w, &ahead->io[i], ahead_unmark);
	pthread_mutex_lock(&w->lock);
	set_state(w, AHEAD_NONE);
	pthread_mutex_unlock(&w->lock);
}

/* Another I/O while pages are being taken away: one that touches these waits with the listed. */
static bool next_beside(struct workload *w, struct workload_io *io)
{
	struct ahead *ahead = &w->ahead;

	for (;;) {
		/* What is listed is part of the count. */
		if (ahead->end == AHEAD_IOS ||
		    (w->config.count &&
		     w->issued + (ahead->end - ahead->first) >= w->config.count) ||
		    !io_compose(w, io))
			return false;
		if (!any_page(w, io, is_listed))
			return true;
		ahead->io[ahead->end++] = *io;
	}
}

bool workload_next_io(struct workload *w, struct workload_io *io)
{
	switch (ahead_state(w)) {
	case AHEAD_READY:
		next_ahead(w, io);
		return true;
	case AHEAD_LISTED:
		return next_beside(w, io);
	default:
		return io_compose(w, io);
	}
}

/* With the lock. */
static void compose_ahead(struct workload *w)
{
	struct ahead *ahead = &w->ahead;
	__u64 left = w->config.count ? w->config.count - w->issued : AHEAD_IOS;

	ahead->first = ahead->end = 0;
	each_in_flight(w, ahead_mark);
	while (ahead->count < ahead->limit && ahead->end < AHEAD_IOS && ahead->end < left) {
		struct workload_io *io = &ahead->io[ahead->end];

		*io = (struct workload_io){0};
		if (!io_compose(w, io))
			break;
		ahead->end++;
		any_page(w, io, ahead_list);
	}
	each_in_flight(w, ahead_unmark);
}

void workload_list_ahead(struct workload *w)
{
	struct ahead *ahead = &w->ahead;

	pthread_mutex_lock(&w->lock);
	if (ahead_state(w) == AHEAD_ASKED) { /* else who asked has given up */
		compose_ahead(w);
		set_state(w, ahead->count ? AHEAD_LISTED : ahead->end ? AHEAD_READY : AHEAD_NONE);
	}
	pthread_mutex_unlock(&w->lock);
}

/* Waits until the state is another one; false: the deadline or the workload's end came first. */
static bool wait_while(struct workload *w, enum ahead_state state, __u64 deadline_ns)
{
	while (ahead_state(w) == state && !w->done)
		if (!monotonic_cond_wait_until(&w->ahead_changed, &w->lock, deadline_ns))
			break;
	return ahead_state(w) != state;
}

static int ahead_allocate(struct workload *w)
{
	struct ahead *ahead = &w->ahead;

	if (!ahead->io)
		ahead->io = calloc(AHEAD_IOS, sizeof(*ahead->io));
	if (!ahead->listed)
		ahead->listed = calloc((w->channel->data_bytes >> PAGE_BITS) / 64 + 1,
				       sizeof(*ahead->listed));
	return ahead->io && ahead->listed
		       ? 0
		       : failed(-ENOMEM, "no memory for the next I/Os of workload %s",
				w->config.name);
}

/* With the lock, in state AHEAD_NONE. */
static long ahead_ask(struct workload *w, __u64 *pages, __u32 limit, __u64 deadline_ns)
{
	struct ahead *ahead = &w->ahead;

	ahead->pages = pages;
	ahead->limit = limit;
	ahead->count = 0;
	set_state(w, AHEAD_ASKED);
	doorbell_ring(&w->channel->interrupt);
	if (!wait_while(w, AHEAD_ASKED, deadline_ns)) {
		set_state(w, AHEAD_NONE);
		return 0;
	}
	return ahead->count;
}

long workload_next_pages(struct workload *w, __u64 *pages, __u32 limit, __u64 wait_ns)
{
	__u64 deadline_ns = monotonic_ns() + wait_ns;
	long count;

	pthread_mutex_lock(&w->lock);
	count = ahead_allocate(w);
	/* The ones before are to be on their way: these come next, not in a while. */
	while (!count && ahead_state(w) != AHEAD_NONE && !w->done &&
	       monotonic_cond_wait_until(&w->ahead_changed, &w->lock, deadline_ns))
		;
	if (!count && ahead_state(w) == AHEAD_NONE && w->started && !w->done && limit)
		count = ahead_ask(w, pages, limit, deadline_ns);
	pthread_mutex_unlock(&w->lock);
	return count;
}

void workload_send_next(struct workload *w)
{
	pthread_mutex_lock(&w->lock);
	if (ahead_state(w) == AHEAD_LISTED)
		set_state(w, AHEAD_READY);
	pthread_mutex_unlock(&w->lock);
	doorbell_ring(&w->channel->interrupt);
}
