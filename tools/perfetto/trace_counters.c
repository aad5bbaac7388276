// SPDX-License-Identifier: GPL-2.0
/* Counters of devices: faults and I/Os a second, faults open at once, how long the worst queue was blocked. */
#include <string.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/queues.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "tools/perfetto/trace_private.h"

/* Of the faults open at once the most of each such time are told, so that none is missing and memory is bounded. */
#define OPEN_WINDOW_NS 10000000ull
/* A long silence is told in so many steps. */
#define BLOCKED_STEPS 64

static void counter_put(struct perfetto *p, struct device_tracks *device, enum device_counter which,
			__u64 time_ns, double value)
{
	static const struct {
		const char *name, *unit;
	} counters[DEVICE_COUNTERS] = {
		[COUNTER_FAULTS] = {"faults", "faults/s"},
		[COUNTER_IOS] = {"IOPS", "I/Os/s"},
		[COUNTER_OPEN] = {"open faults, most in 10 ms", "faults"},
		[COUNTER_BLOCKED] = {"blocked, worst queue", "% of a second"},
	};
	__u64 *track = &device->counters[which];

	if (!*track)
		*track = packets_track(p->packets, device->track, counters[which].name,
				       counters[which].unit);
	packets_put(p->packets, &(struct packet){.type = PACKET_COUNTER,
						 .time_ns = time_ns,
						 .track = *track,
						 .value = value});
}

static bool is_earlier(const struct open_change *a, const struct open_change *b)
{
	/* What begins as another ends is open beside it, so that a fault without length is seen. */
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->begins > b->begins;
}

static void change_swap(struct open_change *a, struct open_change *b)
{
	struct open_change swapped = *a;

	*a = *b;
	*b = swapped;
}

void perfetto_open(struct perfetto *p, __u32 device, __u64 time_ns, bool begins)
{
	struct open_change *heap;
	size_t i = p->change_count;

	if (!array_grow(&p->changes, &p->change_room, i + 1, sizeof(*heap), ARRAY_LIMITED)) {
		p->left_out++;
		return;
	}
	heap = p->changes;
	/* What is told later than it is waited for counts from then on. */
	time_ns = time_ns > p->change_ns ? time_ns : p->change_ns;
	heap[p->change_count++] = (struct open_change){time_ns, device, begins};
	for (; i && is_earlier(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		change_swap(&heap[i], &heap[(i - 1) / 2]);
}

static struct open_change change_take(struct perfetto *p)
{
	struct open_change *heap = p->changes, first = heap[0];
	size_t i = 0;

	heap[0] = heap[--p->change_count];
	for (;;) {
		size_t least = i, left = 2 * i + 1;

		if (left < p->change_count && is_earlier(&heap[left], &heap[least]))
			least = left;
		if (left + 1 < p->change_count && is_earlier(&heap[left + 1], &heap[least]))
			least = left + 1;
		if (least == i)
			return first;
		change_swap(&heap[i], &heap[least]);
		i = least;
	}
}

/* The window of the last change is over, and so may be some without any. */
static void open_window_over(struct perfetto *p, struct device_tracks *device, __u64 window)
{
	if (device->most != device->told)
		counter_put(p, device, COUNTER_OPEN, device->window * OPEN_WINDOW_NS,
			    (double)device->most);
	device->told = device->most;
	if (device->window + 1 < window && device->open != device->told) {
		counter_put(p, device, COUNTER_OPEN, (device->window + 1) * OPEN_WINDOW_NS,
			    (double)device->open);
		device->told = device->open;
	}
	device->window = window;
	device->most = device->open;
}

static void flush_open(struct perfetto *p, __u64 time_ns)
{
	while (p->change_count && p->changes[0].time_ns <= time_ns) {
		struct open_change change = change_take(p);
		struct device_tracks *device = perfetto_device(p, change.device);
		__u64 window = change.time_ns / OPEN_WINDOW_NS;

		if (!device)
			continue;
		if (window != device->window)
			open_window_over(p, device, window);
		if (change.begins)
			device->open++;
		else
			device->open -= device->open > 0;
		device->most = device->open > device->most ? device->open : device->most;
	}
	p->change_ns = time_ns > p->change_ns ? time_ns : p->change_ns;
}

static void put_blocked(struct perfetto *p, __u64 from_ns, __u64 to_ns)
{
	for (struct device_tracks *device = p->devices; device; device = device->hh.next) {
		double part = device->faulted
				      ? queues_blocked_part(p->analysis->queues, device->device,
							    from_ns, to_ns, NULL)
				      : 0;

		if (part == device->blocked)
			continue;
		counter_put(p, device, COUNTER_BLOCKED, from_ns, 100 * part);
		device->blocked = part;
	}
}

static void flush_blocked(struct perfetto *p, __u64 time_ns)
{
	__u64 step;

	if (!p->blocked_to_ns)
		p->blocked_to_ns =
			session_first_ns(p->analysis->session) / NSEC_PER_SEC * NSEC_PER_SEC;
	/* Times of a recording may be anything up to 2^64 - 1: no sum of them. */
	if (time_ns < p->blocked_to_ns || time_ns - p->blocked_to_ns < NSEC_PER_SEC)
		return;
	step = ((time_ns - p->blocked_to_ns) / BLOCKED_STEPS / NSEC_PER_SEC + 1) * NSEC_PER_SEC;
	for (; time_ns - p->blocked_to_ns >= step; p->blocked_to_ns += step)
		put_blocked(p, p->blocked_to_ns, p->blocked_to_ns + step);
}

void perfetto_flush_counters(struct perfetto *p, __u64 time_ns)
{
	flush_open(p, time_ns);
	flush_blocked(p, time_ns);
}

/* A point a second; after the last of a run it is 0. */
static void put_points(struct perfetto *p, struct device_tracks *device, enum device_counter which,
		       const struct counts_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		__u64 next = points[i].window + 1;

		counter_put(p, device, which, points[i].window * AGGREGATE_WINDOW_NS,
			    (double)points[i].count);
		if (i + 1 == count || points[i + 1].window != next)
			counter_put(p, device, which, next * AGGREGATE_WINDOW_NS, 0);
	}
}

void perfetto_finish_counters(struct perfetto *p)
{
	static const unsigned int io_kinds[] = {EVENT_IO_COMPLETE, EVENT_BLOCK_COMPLETE};
	const struct session *session = p->analysis->session;
	__u64 last_ns = session_last_ns(session);

	flush_open(p, UINT64_MAX);
	flush_blocked(p, last_ns);
	if (p->blocked_to_ns && last_ns > p->blocked_to_ns)
		put_blocked(p, p->blocked_to_ns, last_ns);
	put_blocked(p, last_ns, last_ns);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct counts_point *points;
		struct device_tracks *device;
		size_t count;

		points = counts_points(p->analysis->counts, EVENT_FAULT_DETECT, h, &count);
		device = count ? perfetto_device(p, h) : NULL;
		if (device)
			put_points(p, device, COUNTER_FAULTS, points, count);
		for (size_t k = 0; k < sizeof(io_kinds) / sizeof(io_kinds[0]); k++) {
			points = counts_points(p->analysis->counts, io_kinds[k], h, &count);
			device = count ? perfetto_device(p, h) : NULL;
			if (device)
				put_points(p, device, COUNTER_IOS, points, count);
		}
	}
	for (struct device_tracks *device = p->devices; device; device = device->hh.next)
		open_window_over(p, device, UINT64_MAX / OPEN_WINDOW_NS);
}
