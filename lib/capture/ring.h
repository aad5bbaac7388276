/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader of one BPF ring buffer map, over its memory-mapped pages (kernel/bpf/ringbuf.c).
 *
 * Unlike libbpf's, it tells a ring that was drained from one whose oldest record is still being
 * written: the merge needs to know which events may yet appear.
 */
#ifndef FAULTLINE_RING_H
#define FAULTLINE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/event.h"

struct ring {
	unsigned long *consumer;       /* position of the next record to read; ours to write */
	const unsigned long *producer; /* position behind the last reserved record */
	const unsigned char *data;     /* mapped twice in a row: no record is ever split */
	size_t bytes;		       /* of the data area, a power of two */
	size_t page;
};

/* Maps the ring; fd stays the caller's. */
int ring_open(struct ring *ring, int fd, size_t bytes);
void ring_close(struct ring *ring);

/* A negative errno ends the pass. */
typedef int (*ring_take_fn)(void *self, const struct event *event);

/*
 * Hands every finished record that had been reserved when the call began to `take`, oldest first.
 * *blocked tells whether a record that was still being written ended it early. Returns events, or the
 * error of `take`, whose event does not come again.
 */
long ring_drain(struct ring *ring, ring_take_fn take, void *self, bool *blocked);

#endif
