/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which windows of a throughput are to be judged: the first and the last with frames are cut by who began and
 * ended to send, and before and after them nobody did. What is between them counts, and silence is a
 * window as long as it lasts.
 */
#ifndef FAULTLINE_THROUGHPUT_H
#define FAULTLINE_THROUGHPUT_H

#include "lib/analyze/rings.h"

struct throughput {
	struct ring_window last; /* with frames; judged once another comes */
	unsigned int windows;	 /* with frames: none, one, more */
};

#define THROUGHPUT_JUDGED 2

/* The next window; fills in those that are to be judged now, and returns how many. */
static inline size_t throughput_add(struct throughput *t, const struct ring_window *window,
				    struct ring_window judged[THROUGHPUT_JUDGED])
{
	size_t count = 0;

	if (!window->frames && !window->bytes)
		return 0;
	if (t->windows > 1)
		judged[count++] = t->last;
	if (t->windows && window->from_ns > t->last.to_ns)
		judged[count++] = (struct ring_window){t->last.to_ns, window->from_ns, 0, 0};
	t->last = *window;
	t->windows += t->windows < 2;
	return count;
}

static inline double throughput_of(const struct ring_window *window)
{
	return (double)window->bytes * 1e9 / (double)(window->to_ns - window->from_ns);
}

#endif
