// SPDX-License-Identifier: GPL-2.0
/* adp, and runs of accesses at one stride, of which some may be going on at a time: what they reach next is pinned ahead. */
#include "lib/protect/adp.h"

#include <string.h>

#define STREAMS 16 /* that are remembered */
#define NEAR_BY 16 /* pages from one access to the next that may begin a run */

struct stride_stream {
	__u64 last;
	__s64 stride; /* 0: there was one access only */
	__u32 steps;  /* of that stride, one after the other */
};

struct spatial {
	struct adp adp;
	struct stride_stream streams[STREAMS]; /* the one that went on last is first */
	unsigned int count;
};

/* So many steps on; false beyond the numbers that there are. */
static bool stream_ahead(const struct stride_stream *stream, __u32 steps, __u64 *page)
{
	const __s64 far = stream->stride * (__s64)steps;

	*page = stream->last + (__u64)far;
	return far < 0 ? *page < stream->last : *page > stream->last;
}

static bool is_a_step(const struct stride_stream *stream, __u64 page)
{
	__u64 next;

	return stream_ahead(stream, 1, &next) && next == page;
}

/* May a run of another stride begin with the two? */
static bool is_a_start(const struct stride_stream *stream, __u64 page, __u32 run)
{
	const __u64 distance = page > stream->last ? page - stream->last : stream->last - page;

	return stream->steps < run && distance <= NEAR_BY;
}

/* The stream that the access goes on with, now the first; NULL if it goes nowhere. */
static struct stride_stream *stream_follow(struct spatial *spatial, __u64 page, __u32 run)
{
	struct stride_stream *streams = spatial->streams, found = {.last = page};
	unsigned int step = STREAMS, start = STREAMS, moved;

	for (unsigned int i = spatial->count; i--;) {
		if (streams[i].last == page)
			return NULL;
		if (is_a_step(&streams[i], page))
			step = i;
		else if (is_a_start(&streams[i], page, run))
			start = i;
	}
	if (step < STREAMS) {
		moved = step;
		found.stride = streams[step].stride;
		found.steps = streams[step].steps + (streams[step].steps < run);
	} else if (start < STREAMS) {
		moved = start;
		found.stride = (__s64)(page - streams[start].last);
		found.steps = 1;
	} else if (spatial->count < STREAMS) {
		moved = spatial->count++;
	} else {
		moved = STREAMS - 1;
	}
	memmove(streams + 1, streams, moved * sizeof(*streams));
	streams[0] = found;
	return streams;
}

static void spatial_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	struct spatial *spatial = protect->own;
	const struct stride_stream *stream;
	const bool is_inside = page < protect->memory_pages;
	__u64 next;

	adp_access(protect, &spatial->adp, time_ns, page);
	stream = stream_follow(spatial, page, protect->keys.run);
	if (!stream || stream->steps < protect->keys.run)
		return;
	for (__u32 step = 1; step <= protect->keys.ahead; step++)
		if (!stream_ahead(stream, step, &next) ||
		    (is_inside && next >= protect->memory_pages) ||
		    !adp_expect(protect, &spatial->adp, time_ns, next))
			return;
}

static void spatial_begin(struct protect *protect)
{
	struct spatial *spatial = protect->own;

	adp_init(&spatial->adp, protect);
	spatial->count = 0;
}

static void spatial_start(struct protect *protect, __u64 time_ns)
{
	struct spatial *spatial = protect->own;

	adp_start(&spatial->adp, protect, time_ns);
}

static void spatial_advance(struct protect *protect, __u64 time_ns)
{
	struct spatial *spatial = protect->own;

	adp_advance(protect, &spatial->adp, time_ns);
}

static __u64 spatial_active(const struct protect *protect)
{
	const struct spatial *spatial = protect->own;

	return spatial->adp.active.count;
}

const struct policy protect_policy_spatial = {
	.told = {"spatial", "adp, and what runs of one stride are about to reach."},
	.own_bytes = sizeof(struct spatial),
	.begin = spatial_begin,
	.start = spatial_start,
	.access = spatial_access,
	.advance = spatial_advance,
	.is_pinned = adp_is_pinned,
	.active = spatial_active,
};
