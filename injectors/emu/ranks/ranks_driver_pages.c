// SPDX-License-Identifier: GPL-2.0
/* Which pages hold what ranks have posted, for those who take them away. */
#include <errno.h>
#include <stdlib.h>

#include "bpf/page.h"
#include "injectors/emu/ranks/ranks_driver_private.h"

struct posted_pages {
	__u64 *pages;
	__u32 limit;
	long count;
	__u64 start; /* of the buffers of all ranks */
	bool *seen;  /* by page from there on */
};

static void add_message(struct posted_pages *list, const struct rank_message *message)
{
	__u64 first, end;

	if (!__atomic_load_n(&message->posted, __ATOMIC_RELAXED))
		return;
	first = message->address & ~(PAGE_BYTES - 1);
	end = message->address + message->bytes;
	for (__u64 page = first; page < end; page += PAGE_BYTES) {
		bool *seen = &list->seen[(page - list->start) >> PAGE_BITS];

		if (*seen)
			continue;
		*seen = true;
		if (list->count < list->limit)
			list->pages[list->count] = page;
		list->count++;
	}
}

static void add_direction(struct posted_pages *list, const struct rank *rank,
			  const struct rank_direction *direction)
{
	for (__u32 i = 0; i < rank->layout.window; i++)
		add_message(list, &direction->message[i]);
}

/* Ranks go on meanwhile: what is listed was posted a moment ago, as with any device's ring. */
long ranks_ring_pages(void *argument, unsigned int sides, __u64 *pages, __u32 limit)
{
	const struct ranks_driver *driver = argument;
	struct posted_pages list = {
		.pages = pages,
		.limit = limit,
		.start = driver->memory.start,
		.seen = calloc((driver->memory.bytes >> PAGE_BITS) + 1, sizeof(bool)),
	};

	if (!list.seen)
		return -ENOMEM;
	for (__u32 i = 0; i < driver->created; i++) {
		const struct rank *rank = &driver->rank[i];

		for (__u32 peer = 0; peer < rank->config->count; peer++) {
			const struct rank_channel *channel = rank->channel[peer];

			if (channel && sides & RING_SIDE(RING_RX))
				add_direction(&list, rank, &channel->in);
			if (channel && sides & RING_SIDE(RING_TX))
				add_direction(&list, rank, &channel->out);
		}
	}
	free(list.seen);
	return list.count;
}

/* Queues lie behind. Ranks that did not start have none. */
__u64 ranks_buffer_bytes(void *argument)
{
	const struct ranks_driver *driver = argument;

	return driver->created
		       ? driver->memory.start + driver->memory.bytes - driver->channel->data_address
		       : 0;
}
