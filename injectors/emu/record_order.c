// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/record_order.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

struct waiting {
	struct access_record record;
	__u64 number; /* in the order in which they came */
};

/* A heap: the oldest is first. */
struct record_order {
	__u64 newest, number;
	__u32 size, most;
	struct waiting heap[];
};

int record_order_create(struct record_order **order, __u32 most)
{
	struct record_order *new = calloc(1, sizeof(*new) + most * sizeof(new->heap[0]));

	if (!new)
		return failed(-ENOMEM, "no memory to put %u access records in order", most);
	new->most = most;
	*order = new;
	return 0;
}

void record_order_destroy(struct record_order *order)
{
	free(order);
}

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->record.time_ns != b->record.time_ns ? a->record.time_ns < b->record.time_ns
						      : a->number < b->number;
}

bool record_order_add(struct record_order *order, const struct access_record *record)
{
	struct waiting new = {*record, order->number};
	__u32 at = order->size;

	if (order->size == order->most)
		return false;
	order->number++;
	for (order->size++; at && is_before(&new, &order->heap[(at - 1) / 2]); at = (at - 1) / 2)
		order->heap[at] = order->heap[(at - 1) / 2];
	order->heap[at] = new;
	if (record->time_ns > order->newest)
		order->newest = record->time_ns;
	return true;
}

/* Moves the last to where the heap wants it, from the top. */
static void take_earliest(struct record_order *order)
{
	struct waiting moved = order->heap[--order->size];
	__u32 at = 0;

	for (;;) {
		__u32 child = 2 * at + 1;

		if (child >= order->size)
			break;
		if (child + 1 < order->size &&
		    is_before(&order->heap[child + 1], &order->heap[child]))
			child++;
		if (!is_before(&order->heap[child], &moved))
			break;
		order->heap[at] = order->heap[child];
		at = child;
	}
	order->heap[at] = moved;
}

bool record_order_take(struct record_order *order, bool all, struct access_record *record)
{
	const struct waiting *first = &order->heap[0];

	if (!order->size || (!all && order->newest - first->record.time_ns < RECORD_SETTLE_NS))
		return false;
	*record = first->record;
	take_earliest(order);
	return true;
}

__u64 record_order_newest(const struct record_order *order)
{
	return order->newest;
}
