// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/spans.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/memory.h"

#define PIECES_FIRST 16
#define PIECES_MAX   65536	 /* of one union: 1 MiB */
#define PIECES_TOTAL (1ul << 22) /* of all of an owner: 64 MiB */
/* What was folded is still told by time for live windows, which reach back a minute at most. */
#define FOLD_STEP_NS 20000000ull
#define FOLD_STEPS   3072

static __u64 rest_of_step(__u64 from, __u64 to)
{
	__u64 rest = FOLD_STEP_NS - from % FOLD_STEP_NS;

	return rest < to - from ? rest : to - from;
}

/* Enters a piece that follows all folded ones; steps that are passed over held nothing. */
static void fold_steps(struct spans *s, __u64 from, __u64 to)
{
	__u64 oldest = to / FOLD_STEP_NS >= FOLD_STEPS ? to / FOLD_STEP_NS - FOLD_STEPS + 1 : 0;
	__u64 step = s->folded_to / FOLD_STEP_NS + 1;

	if (!s->folded_steps)
		s->folded_steps = memory_calloc(FOLD_STEPS, sizeof(*s->folded_steps));
	if (!s->folded_steps)
		return;
	for (step = step > oldest ? step : oldest; step <= to / FOLD_STEP_NS; step++)
		s->folded_steps[step % FOLD_STEPS] = 0;
	from = from > oldest * FOLD_STEP_NS ? from : oldest * FOLD_STEP_NS;
	while (from < to) {
		__u64 part = rest_of_step(from, to);

		s->folded_steps[from / FOLD_STEP_NS % FOLD_STEPS] += (__u32)part;
		from += part;
	}
}

/* Of what is older than the steps tell only the sum is known: the window has its share. */
static __u64 folded_before(const struct spans *s, __u64 from, __u64 to, __u64 oldest_ns)
{
	__u64 sum = s->folded_ns;

	to = to < oldest_ns ? to : oldest_ns;
	if (oldest_ns <= s->folded_from || from >= to || !s->folded_steps)
		return 0;
	for (size_t i = 0; i < FOLD_STEPS; i++)
		sum -= sum > s->folded_steps[i] ? s->folded_steps[i] : sum;
	from = from > s->folded_from ? from : s->folded_from;
	return from < to ? (__u64)((double)sum * (double)(to - from) /
				   (double)(oldest_ns - s->folded_from))
			 : 0;
}

__u64 spans_folded_within(const struct spans *s, __u64 from, __u64 to)
{
	__u64 newest = s->folded_to / FOLD_STEP_NS, sum = 0;
	__u64 oldest = newest >= FOLD_STEPS ? newest - FOLD_STEPS + 1 : 0;

	to = to < s->folded_to ? to : s->folded_to;
	sum = folded_before(s, from, to, oldest * FOLD_STEP_NS);
	from = from > oldest * FOLD_STEP_NS ? from : oldest * FOLD_STEP_NS;
	while (s->folded_steps && from < to) {
		__u64 part = rest_of_step(from, to), step = from / FOLD_STEP_NS;
		__u64 width = step == newest ? s->folded_to % FOLD_STEP_NS : FOLD_STEP_NS;

		sum += s->folded_steps[step % FOLD_STEPS] * part / width;
		from += part;
	}
	return sum;
}

static void fold_oldest(struct spans *s, size_t count)
{
	if (!count)
		return;
	if (!s->folded_pieces)
		s->folded_from = s->pieces[0].from;
	for (size_t i = 0; i < count; i++) {
		const struct piece *piece = &s->pieces[i];
		__u64 ns = piece->to - piece->from;

		fold_steps(s, piece->from, piece->to);
		s->folded_ns += ns;
		s->folded_pieces++;
		s->folded_to = piece->to;
		if (ns > s->folded_longest)
			s->folded_longest = ns;
	}
	s->count -= count;
	memmove(s->pieces, s->pieces + count, s->count * sizeof(*s->pieces));
}

size_t spans_first_from(const struct spans *s, __u64 time_ns)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->pieces[middle].to < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool spans_grow(struct spans *s, size_t *total)
{
	size_t before = s->capacity, wanted = before ? 2 * before : PIECES_FIRST;

	if (wanted > PIECES_MAX || *total + wanted - before > PIECES_TOTAL ||
	    !array_grow(&s->pieces, &s->capacity, wanted, sizeof(*s->pieces), ARRAY_LIMITED))
		return false;
	*total += s->capacity - before;
	return true;
}

/* What no late fault reaches is folded, and if that is little more is held; else the oldest half goes. */
static bool spans_make_room(struct spans *s, size_t *total, __u64 late_ns)
{
	__u64 newest;

	if (s->count < s->capacity)
		return true;
	newest = s->count ? s->pieces[s->count - 1].to : 0;
	if (newest > late_ns)
		fold_oldest(s, spans_first_from(s, newest - late_ns));
	if (s->count <= s->capacity / 2 && s->capacity)
		return true;
	if (!spans_grow(s, total) && s->count == s->capacity)
		fold_oldest(s, (s->count + 1) / 2);
	return s->count < s->capacity;
}

bool spans_unite(struct spans *s, __u64 from, __u64 to, size_t *total, __u64 late_ns)
{
	bool room = spans_make_room(s, total, late_ns), whole = from >= s->folded_to;
	size_t first, end;

	if (!whole)
		from = s->folded_to;
	if (from >= to)
		return whole;
	first = spans_first_from(s, from);
	for (end = first; end < s->count && s->pieces[end].from <= to; end++) {
		if (s->pieces[end].from < from)
			from = s->pieces[end].from;
		if (s->pieces[end].to > to)
			to = s->pieces[end].to;
	}
	if (!room && end == first)
		return false;
	memmove(&s->pieces[first + 1], &s->pieces[end], (s->count - end) * sizeof(s->pieces[0]));
	s->pieces[first] = (struct piece){from, to};
	s->count = s->count - (end - first) + 1;
	return whole;
}

void spans_free(struct spans *s)
{
	memory_free(s->pieces);
	memory_free(s->folded_steps);
}
