// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/window.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpf/histogram.h"
#include "lib/base/array.h"

#define SLOTS_MIN 1024

/* Slot to begin the search at; the caller compares and steps on. */
static size_t first_slot(const struct window_index *index, __u64 hash)
{
	return hash & (index->room - 1);
}

static size_t next_slot(const struct window_index *index, size_t slot)
{
	return (slot + 1) & (index->room - 1);
}

static __u64 row_hash(const struct aggregate_key *key)
{
	return XXH3_64bits(key, sizeof(*key));
}

static __u64 page_hash(__u32 device, __u32 pasid, __u64 page)
{
	__u64 hash = page * 0x9e3779b97f4a7c15ull;

	hash ^= ((__u64)device << 32 | pasid) * 0xc2b2ae3d27d4eb4full;
	return hash ^ hash >> 29;
}

static void enter(struct window_index *index, __u64 hash, size_t number)
{
	size_t slot = first_slot(index, hash);

	while (index->slots[slot])
		slot = next_slot(index, slot);
	index->slots[slot] = number + 1;
}

/* Doubles an index that would get more than half full; true if it was emptied for that. */
static int make_slots(struct window_index *index, size_t count, bool *emptied)
{
	size_t room = index->room ? index->room * 2 : SLOTS_MIN;
	__u32 *slots;

	*emptied = false;
	if ((count + 1) * 2 <= index->room)
		return 0;
	slots = calloc(room, sizeof(*slots));
	if (!slots)
		return -1;
	free(index->slots);
	index->slots = slots;
	index->room = room;
	*emptied = true;
	return 0;
}

static struct window_row *new_row(struct capture_window *window, const struct aggregate_key *key)
{
	struct window_row *row;
	bool emptied;

	if (!array_grow(&window->rows, &window->row_room, window->row_count + 1, sizeof(*row),
			ARRAY_ZEROED) ||
	    make_slots(&window->row_index, window->row_count, &emptied))
		return NULL;
	for (size_t i = 0; emptied && i < window->row_count; i++)
		enter(&window->row_index, row_hash(&window->rows[i].key), i);
	row = &window->rows[window->row_count];
	if (!row->buckets)
		row->buckets = malloc(HISTOGRAM_BUCKETS * sizeof(__u32));
	if (!row->buckets)
		return NULL;
	memset(row->buckets, 0, HISTOGRAM_BUCKETS * sizeof(__u32));
	memset(&row->counts, 0, sizeof(row->counts));
	row->key = *key;
	enter(&window->row_index, row_hash(key), window->row_count++);
	return row;
}

struct window_row *window_row(struct capture_window *window, const struct aggregate_key *key,
			      size_t limit)
{
	const struct window_index *index = &window->row_index;

	if (index->room)
		for (size_t slot = first_slot(index, row_hash(key)); index->slots[slot];
		     slot = next_slot(index, slot)) {
			struct window_row *row = &window->rows[index->slots[slot] - 1];

			if (!memcmp(&row->key, key, sizeof(*key)))
				return row;
		}
	if (window->row_count >= limit) {
		window->incomplete = true;
		return NULL;
	}
	return new_row(window, key);
}

static struct aggregate_page *new_page(struct capture_window *window, __u32 device, __u32 pasid,
				       __u64 page)
{
	struct aggregate_page *pages;
	bool emptied;

	if (!array_grow(&window->pages, &window->page_room, window->page_count + 1, sizeof(*pages),
			ARRAY_PLAIN) ||
	    make_slots(&window->page_index, window->page_count, &emptied))
		return NULL;
	pages = window->pages;
	for (size_t i = 0; emptied && i < window->page_count; i++)
		enter(&window->page_index,
		      page_hash(pages[i].device, pages[i].pasid, pages[i].page), i);
	pages += window->page_count;
	*pages = (struct aggregate_page){.page = page, .device = device, .pasid = pasid};
	enter(&window->page_index, page_hash(device, pasid, page), window->page_count++);
	return pages;
}

struct aggregate_page *window_page(struct capture_window *window, __u32 device, __u32 pasid,
				   __u64 page, size_t limit)
{
	const struct window_index *index = &window->page_index;

	if (index->room)
		for (size_t slot = first_slot(index, page_hash(device, pasid, page));
		     index->slots[slot]; slot = next_slot(index, slot)) {
			struct aggregate_page *at = &window->pages[index->slots[slot] - 1];

			if (at->page == page && at->device == device && at->pasid == pasid)
				return at;
		}
	if (window->page_count >= limit) {
		window->incomplete = true;
		return NULL;
	}
	return new_page(window, device, pasid, page);
}

void window_reset(struct capture_window *window)
{
	if (window->row_count)
		memset(window->row_index.slots, 0, window->row_index.room * sizeof(__u32));
	if (window->page_count)
		memset(window->page_index.slots, 0, window->page_index.room * sizeof(__u32));
	window->row_count = 0;
	window->page_count = 0;
	window->incomplete = false;
}

void window_free(struct capture_window *window)
{
	for (size_t i = 0; i < window->row_room; i++)
		free(window->rows[i].buckets);
	free(window->rows);
	free(window->pages);
	free(window->row_index.slots);
	free(window->page_index.slots);
	memset(window, 0, sizeof(*window));
}
