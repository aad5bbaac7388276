// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/event_order.h"

/* Events of one source that wait in queue[head, tail), in order of time up to `sorted`. */
struct merge_source {
	struct event *queue;
	size_t head, sorted, tail, room;
	__u64 last_ns; /* newest event ever pushed */
	__u64 low_ns;  /* promise */
};

struct merge {
	size_t count;
	__u64 released_ns; /* the merge has passed this time */
	__u64 late;
	size_t held;
	__u64 work;
	struct event *scratch; /* to put in order what waits: half the room of any source */
	size_t scratch_room;
	size_t heap_size;
	size_t *heap; /* indices of sources that wait, by the time of their first event */
	struct merge_source sources[];
};

int merge_create(struct merge **merge, size_t sources)
{
	struct merge *m = calloc(1, sizeof(*m) + sources * sizeof(m->sources[0]));

	if (m)
		m->heap = calloc(sources, sizeof(m->heap[0]));
	if (!m || !m->heap) {
		free(m);
		return failed(-ENOMEM, "no memory for a merge of %zu sources", sources);
	}
	m->count = sources;
	*merge = m;
	return 0;
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++)
		free(merge->sources[i].queue);
	free(merge->scratch);
	free(merge->heap);
	free(merge);
}

static int make_scratch(struct merge *merge, size_t room)
{
	if (room <= merge->scratch_room)
		return 0;
	free(merge->scratch);
	merge->scratch = malloc(room * sizeof(merge->scratch[0]));
	merge->scratch_room = merge->scratch ? room : 0;
	if (!merge->scratch)
		return failed(-ENOMEM, "no memory to put %zu events in order", room);
	return 0;
}

static int merge_make_room(struct merge *merge, struct merge_source *source)
{
	size_t used = source->tail - source->head;
	size_t room = source->room ? source->room * 2 : 1024;
	struct event *queue;
	int error;

	if (source->head && source->head >= source->room / 2) {
		memmove(source->queue, source->queue + source->head, used * sizeof(*queue));
	} else {
		error = make_scratch(merge, room / 2);
		if (error)
			return error;
		queue = malloc(room * sizeof(*queue));
		if (!queue)
			return failed(-ENOMEM, "no memory for %zu waiting events", room);
		if (used)
			memcpy(queue, source->queue + source->head, used * sizeof(*queue));
		free(source->queue);
		source->queue = queue;
		source->room = room;
	}
	source->sorted -= source->head;
	source->head = 0;
	source->tail = used;
	return 0;
}

/* Whether this one may stand behind what waits in order already. */
static bool goes_on(const struct merge_source *s, __u64 time_ns)
{
	return s->sorted == s->tail &&
	       (s->head == s->tail || s->queue[s->tail - 1].time_ns <= time_ns);
}

int merge_push(struct merge *merge, size_t source, const struct event *event)
{
	struct merge_source *s = &merge->sources[source];

	if (s->tail == s->room) {
		int error = merge_make_room(merge, s);

		if (error)
			return error;
	}
	s->queue[s->tail] = *event;
	if (event->time_ns < merge->released_ns) {
		s->queue[s->tail].flags |= EVENT_LATE;
		merge->late++;
	}
	if (s->last_ns < event->time_ns)
		s->last_ns = event->time_ns;
	s->sorted += goes_on(s, event->time_ns);
	s->tail++;
	merge->held++;
	return 0;
}

/* Put off until events are taken: what several machines bring one after the other is ordered once. */
static void put_in_order(struct merge *merge, struct merge_source *s)
{
	if (s->sorted == s->tail)
		return;
	merge->work += event_order(s->queue + s->head, s->sorted - s->head, s->tail - s->head,
				   merge->scratch);
	s->sorted = s->tail;
}

void merge_promise(struct merge *merge, size_t source, __u64 low_ns)
{
	struct merge_source *s = &merge->sources[source];

	if (s->low_ns < low_ns)
		s->low_ns = low_ns;
}

void merge_promise_last(struct merge *merge, size_t source)
{
	merge_promise(merge, source, merge->sources[source].last_ns);
}

__u64 merge_watermark(const struct merge *merge, __u64 now_ns)
{
	__u64 low = now_ns;

	for (size_t i = 0; i < merge->count; i++)
		if (merge->sources[i].low_ns < low)
			low = merge->sources[i].low_ns;
	if (now_ns > MERGE_HOLD_NS && low < now_ns - MERGE_HOLD_NS)
		low = now_ns - MERGE_HOLD_NS;
	return low > MERGE_SLACK_NS ? low - MERGE_SLACK_NS : 0;
}

static __u64 first_time(const struct merge *merge, size_t heap_index)
{
	const struct merge_source *s = &merge->sources[merge->heap[heap_index]];

	return s->queue[s->head].time_ns;
}

static void sift_down(struct merge *merge, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1, source;

		if (child >= merge->heap_size)
			return;
		if (child + 1 < merge->heap_size &&
		    first_time(merge, child + 1) < first_time(merge, child))
			child++;
		if (first_time(merge, at) <= first_time(merge, child))
			return;
		source = merge->heap[at];
		merge->heap[at] = merge->heap[child];
		merge->heap[child] = source;
		at = child;
	}
}

static void build_heap(struct merge *merge)
{
	merge->heap_size = 0;
	for (size_t i = 0; i < merge->count; i++) {
		put_in_order(merge, &merge->sources[i]);
		if (merge->sources[i].head < merge->sources[i].tail)
			merge->heap[merge->heap_size++] = i;
	}
	for (size_t i = merge->heap_size / 2; i-- > 0;)
		sift_down(merge, i);
}

/* The time up to which the first source may run before another one is due. */
static __u64 next_due(const struct merge *merge, __u64 watermark_ns)
{
	__u64 due = watermark_ns;

	for (size_t child = 1; child <= 2 && child < merge->heap_size; child++)
		if (first_time(merge, child) < due)
			due = first_time(merge, child);
	return due;
}

size_t merge_take(struct merge *merge, __u64 watermark_ns, struct event *events, size_t room)
{
	size_t taken = 0;

	build_heap(merge);
	while (merge->heap_size && taken < room && first_time(merge, 0) <= watermark_ns) {
		struct merge_source *s = &merge->sources[merge->heap[0]];
		__u64 due = next_due(merge, watermark_ns);

		do {
			events[taken++] = s->queue[s->head++];
		} while (taken < room && s->head < s->tail && s->queue[s->head].time_ns <= due);
		if (s->head == s->tail) {
			s->head = s->sorted = s->tail = 0;
			merge->heap[0] = merge->heap[--merge->heap_size];
		}
		sift_down(merge, 0);
	}
	merge->held -= taken;
	if (taken < room && merge->released_ns < watermark_ns)
		merge->released_ns = watermark_ns;
	else if (taken && merge->released_ns < events[taken - 1].time_ns)
		merge->released_ns = events[taken - 1].time_ns;
	return taken;
}

__u64 merge_late(const struct merge *merge)
{
	return merge->late;
}

size_t merge_held(const struct merge *merge)
{
	return merge->held;
}

__u64 merge_work(const struct merge *merge)
{
	return merge->work;
}
