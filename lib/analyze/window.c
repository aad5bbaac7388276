// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/window.h"

#include <string.h>

#include "lib/base/memory.h"

#define ROOM_FIRST 1024

struct window {
	struct window_sample *samples; /* a ring */
	size_t room, first, count;
	size_t fresh;		 /* of the newest: no look has seen them yet */
	__u64 forgotten_ns;	 /* seen_ns of the newest that had to make room */
	bool fresh_forgotten;	 /* one had to before any look had seen it */
	__u64 now_ns, length_ns; /* of the last look */
};

struct window *window_create(void)
{
	return memory_calloc(1, sizeof(struct window));
}

void window_destroy(struct window *window)
{
	if (window)
		memory_free(window->samples);
	memory_free(window);
}

static struct window_sample *window_slot(const struct window *w, size_t index)
{
	return &w->samples[(w->first + index) & (w->room - 1)];
}

static bool window_grow(struct window *w)
{
	size_t room = w->room ? 2 * w->room : ROOM_FIRST;
	struct window_sample *grown =
		w->room < WINDOW_MOST ? memory_calloc(1, room * sizeof(*grown)) : NULL;

	if (!grown)
		return false;
	for (size_t i = 0; i < w->count; i++)
		grown[i] = *window_slot(w, i);
	memory_free(w->samples);
	w->samples = grown;
	w->room = room;
	w->first = 0;
	return true;
}

static void forget_oldest(struct window *w)
{
	if (w->fresh == w->count) {
		w->fresh_forgotten = true;
		w->fresh--;
	} else {
		w->forgotten_ns = window_slot(w, 0)->seen_ns;
	}
	w->first++;
	w->count--;
}

struct window_sample *window_add(struct window *w)
{
	struct window_sample *sample;

	if (!w || (w->count == w->room && !window_grow(w) && !w->room))
		return NULL;
	if (w->count == w->room)
		forget_oldest(w);
	sample = window_slot(w, w->count++);
	w->fresh++;
	memset(sample, 0, sizeof(*sample));
	sample->count = 1;
	return sample;
}

void window_look(struct window *w, __u64 now_ns, __u64 length_ns)
{
	for (; w->fresh; w->fresh--)
		window_slot(w, w->count - w->fresh)->seen_ns = now_ns;
	if (w->fresh_forgotten)
		w->forgotten_ns = now_ns;
	w->fresh_forgotten = false;
	w->now_ns = now_ns;
	w->length_ns = length_ns;
	while (w->count && window_slot(w, 0)->seen_ns + length_ns <= now_ns) {
		w->first++;
		w->count--;
	}
}

size_t window_count(const struct window *w)
{
	return w->count;
}

const struct window_sample *window_at(const struct window *w, size_t index)
{
	return window_slot(w, index);
}

bool window_is_cut(const struct window *w)
{
	return w->forgotten_ns && w->forgotten_ns + w->length_ns > w->now_ns;
}
