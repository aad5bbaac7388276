/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: the segments of a ring, and which of them go for a new one. */
#ifndef FAULTLINE_TRACE_ROOM_H
#define FAULTLINE_TRACE_ROOM_H

#include "lib/trace/store.h"

/* Bounds of segments and frames that follow from those of the ring and of a file. */
int trace_room_plan(struct trace_store *store);
/* Deletes what is too old, and the oldest until `size` more bytes fit into the bound on size. */
int trace_room_make(struct trace_store *store, size_t size, __u64 now_ns);
/* The disk is full: deletes the oldest. False if there is none but the one that is being written. */
bool trace_room_give_up(struct trace_store *store);
/* A segment begins: after a ring of them for which there was room they become larger again. */
void trace_room_grow(struct trace_store *store);
/* Takes over what recorders that died have left under the name of rings set aside. */
int trace_room_take_over(struct trace_store *store);
void trace_room_free(struct trace_store *store);

#endif
