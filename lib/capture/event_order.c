// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/event_order.h"

#include <stdbool.h>
#include <string.h>

#define LEVELS 64 /* of merged runs: more than a size_t can count */

struct event_ordering {
	struct event *events;
	struct event *scratch;
	__u64 work;
};

/* The first of events[from, to), in order, that is younger than time_ns, or, `as_old`, not older. */
static size_t search(struct event_ordering *o, size_t from, size_t to, __u64 time_ns, bool as_old)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		__u64 there_ns = o->events[middle].time_ns;

		o->work++;
		if (there_ns > time_ns || (as_old && there_ns == time_ns))
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* The left side is the shorter one: it makes way, and both are filled in from the front. */
static void merge_forward(struct event_ordering *o, size_t left, size_t right, size_t end)
{
	size_t count = right - left, at = 0;

	memcpy(o->scratch, o->events + left, count * sizeof(o->scratch[0]));
	while (at < count && right < end) {
		if (o->events[right].time_ns < o->scratch[at].time_ns)
			o->events[left++] = o->events[right++];
		else
			o->events[left++] = o->scratch[at++];
	}
	memcpy(o->events + left, o->scratch + at, (count - at) * sizeof(o->scratch[0]));
}

/* The right side is: from the back. */
static void merge_backward(struct event_ordering *o, size_t left, size_t right, size_t end)
{
	size_t at = end - right;

	memcpy(o->scratch, o->events + right, at * sizeof(o->scratch[0]));
	while (at && right > left) {
		if (o->events[right - 1].time_ns > o->scratch[at - 1].time_ns)
			o->events[--end] = o->events[--right];
		else
			o->events[--end] = o->scratch[--at];
	}
	memcpy(o->events + end - at, o->scratch, at * sizeof(o->scratch[0]));
}

/* Two runs side by side become one. Where they do not overlap nothing is moved. */
static void merge_runs(struct event_ordering *o, size_t left, size_t right, size_t end)
{
	left = search(o, left, right, o->events[right].time_ns, false);
	if (left == right)
		return;
	end = search(o, right, end, o->events[right - 1].time_ns, true);
	o->work += end - left;
	if (right - left <= end - right)
		merge_forward(o, left, right, end);
	else
		merge_backward(o, left, right, end);
}

static size_t run_end(struct event_ordering *o, size_t from, size_t count)
{
	size_t end = from + 1;

	while (end < count && o->events[end - 1].time_ns <= o->events[end].time_ns)
		end++;
	o->work += end - from;
	return end;
}

/* starts[n] is where a run begins that 2^n natural ones were merged into; a binary counter of them. */
static void merge_all(struct event_ordering *o, size_t from, size_t count)
{
	size_t starts[LEVELS], depth = 0;
	__u64 runs = 0;

	while (from < count) {
		size_t end = run_end(o, from, count);

		starts[depth++] = from;
		for (__u64 bits = runs++; bits & 1; bits >>= 1) {
			depth--;
			merge_runs(o, starts[depth - 1], starts[depth], end);
		}
		from = end;
	}
	while (depth-- > 1)
		merge_runs(o, starts[depth - 1], starts[depth], count);
}

__u64 event_order(struct event *events, size_t sorted, size_t count, struct event *scratch)
{
	struct event_ordering order = {.events = events, .scratch = scratch};

	/* What waits in order already is long and mostly older: it is looked at once. */
	merge_all(&order, sorted, count);
	if (sorted && sorted < count)
		merge_runs(&order, 0, sorted, count);
	return order.work;
}
