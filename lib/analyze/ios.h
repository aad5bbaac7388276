/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The I/Os that came one by one because they were slow or met a fault.
 *
 * How many there were and how long the faulted ones took, per device; and the slowest, kept up to
 * IOS_KEPT. All I/Os together are counted in counts.h.
 */
#ifndef FAULTLINE_IOS_H
#define FAULTLINE_IOS_H

#include "lib/analyze/session.h"

#define IOS_KEPT 10000

/* Whether the event stands for an I/O, and not for a part of one that another event stands for. */
static inline bool event_is_io(const struct event *event)
{
	return event->kind == EVENT_BLOCK_COMPLETE ||
	       (event->kind == EVENT_IO_COMPLETE && !(event->code & IO_PART));
}

struct ios;

__u64 ios_events(const struct ios *ios);
/* Completed I/Os of a device, and those that met a fault. */
struct io_totals {
	__u64 count, bytes, faulted;
};
struct io_totals ios_of_device(const struct analysis *analysis, __u32 device);
/* Completed I/Os of the aggregate windows that were over at time_ns, as far as their frames have come. */
__u64 ios_before(const struct analysis *analysis, __u32 device, __u64 time_ns);

#endif
