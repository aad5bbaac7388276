// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/slow_streams.h"

static struct slow_stream *stream_of(struct slow_streams *all, __u64 run, __u64 page)
{
	struct slow_stream *step = NULL, *start = NULL, *oldest = NULL;

	for (size_t i = 0; i < all->count; i++) {
		struct slow_stream *stream = &all->streams[i];
		const __int128 distance = (__int128)page - stream->last;

		if (!distance)
			return NULL;
		if (stream->stride == distance && (!step || stream->access > step->access))
			step = stream;
		if (stream->steps < run && distance >= -16 && distance <= 16 &&
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
		start->stride = (__int128)page - start->last;
		start->steps = 1;
		return start;
	}
	if (all->count < SLOW_STREAMS)
		oldest = &all->streams[all->count++];
	*oldest = (struct slow_stream){0};
	return oldest;
}

struct slow_stream *slow_streams_access(struct slow_streams *all, __u64 run, __u64 access,
					__u64 page)
{
	struct slow_stream *stream = stream_of(all, run, page);

	if (stream) {
		stream->last = page;
		stream->access = access;
	}
	return stream;
}
