// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/ranks/guest_heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/page.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

/* All memory is in pieces, in the order of addresses; no two neighbours are free. */
struct heap_piece {
	__u64 start, bytes;
	bool taken;
};

struct guest_heap {
	struct heap_piece *pieces;
	size_t count, room;
};

int guest_heap_create(struct guest_heap **heap, __u64 start, __u64 bytes)
{
	struct guest_heap *new = calloc(1, sizeof(*new));

	if (!new || !array_grow(&new->pieces, &new->room, 1, sizeof(*new->pieces), ARRAY_PLAIN)) {
		free(new);
		return failed(-ENOMEM, "no memory for a guest's allocator");
	}
	new->pieces[0] = (struct heap_piece){.start = start, .bytes = bytes & ~(PAGE_BYTES - 1)};
	new->count = 1;
	*heap = new;
	return 0;
}

void guest_heap_destroy(struct guest_heap *heap)
{
	if (!heap)
		return;
	free(heap->pieces);
	free(heap);
}

static void insert_piece(struct guest_heap *heap, size_t at, struct heap_piece piece)
{
	memmove(&heap->pieces[at + 1], &heap->pieces[at], (heap->count - at) * sizeof(piece));
	heap->pieces[at] = piece;
	heap->count++;
}

static void merge_with_next(struct guest_heap *heap, size_t at)
{
	heap->pieces[at].bytes += heap->pieces[at + 1].bytes;
	heap->count--;
	memmove(&heap->pieces[at + 1], &heap->pieces[at + 2],
		(heap->count - at - 1) * sizeof(heap->pieces[0]));
}

int guest_heap_take(struct guest_heap *heap, __u64 bytes, __u64 *address)
{
	__u64 wanted = whole_pages(bytes);

	if (!bytes || wanted < bytes)
		return failed(-EINVAL, "%llu bytes of guest memory: accepted: 1 and more", bytes);
	if (!array_grow(&heap->pieces, &heap->room, heap->count + 1, sizeof(*heap->pieces),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for a guest's allocator");
	for (size_t i = 0; i < heap->count; i++) {
		struct heap_piece *piece = &heap->pieces[i];

		if (piece->taken || piece->bytes < wanted)
			continue;
		if (piece->bytes > wanted)
			insert_piece(heap, i + 1,
				     (struct heap_piece){.start = piece->start + wanted,
							 .bytes = piece->bytes - wanted});
		piece->bytes = wanted;
		piece->taken = true;
		*address = piece->start;
		return 0;
	}
	return failed(-ENOMEM, "a guest wants %llu bytes of its device's share; %llu are left",
		      wanted, guest_heap_largest(heap));
}

int guest_heap_give(struct guest_heap *heap, __u64 address)
{
	for (size_t i = 0; i < heap->count; i++) {
		if (heap->pieces[i].start != address || !heap->pieces[i].taken)
			continue;
		heap->pieces[i].taken = false;
		if (i + 1 < heap->count && !heap->pieces[i + 1].taken)
			merge_with_next(heap, i);
		if (i && !heap->pieces[i - 1].taken)
			merge_with_next(heap, i - 1);
		return 0;
	}
	return failed(-EINVAL, "guest memory at %#llx is given back, and was not taken", address);
}

__u64 guest_heap_free(const struct guest_heap *heap)
{
	__u64 bytes = 0;

	for (size_t i = 0; i < heap->count; i++)
		bytes += heap->pieces[i].taken ? 0 : heap->pieces[i].bytes;
	return bytes;
}

__u64 guest_heap_largest(const struct guest_heap *heap)
{
	__u64 most = 0;

	for (size_t i = 0; i < heap->count; i++)
		if (!heap->pieces[i].taken && heap->pieces[i].bytes > most)
			most = heap->pieces[i].bytes;
	return most;
}
