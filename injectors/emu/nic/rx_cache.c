// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/rx_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

/* A frame is known by its first cell, which has what there is to say of it. */
struct cache_cell {
	__u32 next_cell; /* of the frame, or of the free ones */
	__u32 next_frame;
	__u32 length;
	__u64 arrived_ns, number;
};

struct rx_cache {
	struct cache_cell *cells;
	char *bytes;
	char *out; /* the frame that was popped last, in one piece */
	__u32 count, free_count, free;
};

int rx_cache_create(struct rx_cache **cache, __u64 bytes, __u32 frame_bytes)
{
	struct rx_cache *new;
	__u32 count = (__u32)(bytes / RX_CACHE_CELL);

	if (bytes < RX_CACHE_CELL || bytes > RX_CACHE_BYTES_MAX)
		return failed(-EINVAL, "a frame cache of %llu bytes: accepted: %u to %u", bytes,
			      RX_CACHE_CELL, RX_CACHE_BYTES_MAX);
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for a frame cache");
	new->cells = calloc(count, sizeof(*new->cells));
	new->bytes = calloc(count, RX_CACHE_CELL);
	new->out = calloc(1, (size_t)frame_bytes + RX_CACHE_CELL);
	if (!new->cells || !new->bytes || !new->out) {
		rx_cache_destroy(new);
		return failed(-ENOMEM, "no memory for a frame cache of %llu bytes", bytes);
	}
	new->count = new->free_count = count;
	for (__u32 i = 0; i + 1 < count; i++)
		new->cells[i].next_cell = i + 1;
	*cache = new;
	return 0;
}

void rx_cache_destroy(struct rx_cache *cache)
{
	if (!cache)
		return;
	free(cache->cells);
	free(cache->bytes);
	free(cache->out);
	free(cache);
}

static __u32 cells_of(__u32 length)
{
	return length > RX_CACHE_CELL ? (length + RX_CACHE_CELL - 1) / RX_CACHE_CELL : 1;
}

__u64 rx_cache_used(const struct rx_cache *cache)
{
	return (__u64)(cache->count - cache->free_count) * RX_CACHE_CELL;
}

bool rx_cache_fits(const struct rx_cache *cache, __u32 length)
{
	return cells_of(length) <= cache->free_count;
}

void rx_cache_push(struct rx_cache *cache, struct rx_cached_frames *frames,
		   const struct rx_frame *frame)
{
	const char *from = frame->bytes;
	__u32 left = frame->length, first = cache->free;

	cache->cells[first].length = frame->length;
	cache->cells[first].arrived_ns = frame->arrived_ns;
	cache->cells[first].number = frame->number;
	for (__u32 cells = cells_of(left); cells; cells--) {
		__u32 some = left < RX_CACHE_CELL ? left : RX_CACHE_CELL;

		memcpy(cache->bytes + (size_t)cache->free * RX_CACHE_CELL, from, some);
		from += some;
		left -= some;
		cache->free = cache->cells[cache->free].next_cell;
		cache->free_count--;
	}
	if (frames->count++)
		cache->cells[frames->last].next_frame = first;
	else
		frames->first = first;
	frames->last = first;
}

__u32 rx_cache_first_length(const struct rx_cache *cache, const struct rx_cached_frames *frames)
{
	return cache->cells[frames->first].length;
}

void rx_cache_pop(struct rx_cache *cache, struct rx_cached_frames *frames, struct rx_frame *frame)
{
	const struct cache_cell *first = &cache->cells[frames->first];
	__u32 count = cells_of(first->length), cell = frames->first, last = cell;

	*frame = (struct rx_frame){
		.bytes = cache->out,
		.length = first->length,
		.arrived_ns = first->arrived_ns,
		.number = first->number,
	};
	for (__u32 i = 0; i < count; i++) {
		memcpy(cache->out + (size_t)i * RX_CACHE_CELL,
		       cache->bytes + (size_t)cell * RX_CACHE_CELL, RX_CACHE_CELL);
		last = cell;
		cell = cache->cells[cell].next_cell;
	}
	cache->cells[last].next_cell = cache->free;
	cache->free = frames->first;
	cache->free_count += count;
	frames->first = first->next_frame;
	frames->count--;
}
