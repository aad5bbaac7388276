/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long queues stood still: per queue, the union over its faults of [detect, resume].
 *
 * A device that pauses a queue on a fault (VPRI section 5.2) does no I/O on it in that time. For a
 * device that goes on out of order it is the time during which at least one fault was outstanding.
 * One that had begun before its device was watched counts from then on: from the recording's beginning, or
 * that of what was kept of it; of an emulated device not before it was met. One that is open at the end of the
 * recording counts until then. So does one that was given up as too old, unless its end comes after all, its
 * group's number is taken again, or its queue goes on: with a fault that begins or an I/O that completes after
 * that, or with the whole device gone. Once events were lost nobody knows
 * whether a beginning or an end was among them: such faults count between the timestamps that were seen
 * then, as those do whose end nobody watched. That is too little rather than too much.
 */
#ifndef FAULTLINE_QUEUES_H
#define FAULTLINE_QUEUES_H

#include "lib/analyze/session.h"

#define QUEUES_MAX 16384 /* over all devices; faults of further queues are not accounted */

struct faults;
struct queues;

struct queue_blocked {
	__u32 device;
	__u16 queue;
	__u64 faults;
	__u64 blocked_ns; /* union */
	__u64 longest_ns; /* one uninterrupted piece */
	__u64 pieces;
	__u64 assumed_ns; /* of blocked_ns: after a fault was given up, until something showed that the queue
			     went on, or to the end; the end of the fault was not seen */
};

int queues_create(struct queues **queues, const struct session *session, struct faults *faults);
/* What shows that a queue goes on. It must be fed after the faults' stream. */
struct stream queues_stream(struct queues *queues);
void queues_destroy(struct queues *queues);
/* Of the worst queue of a device: the part of [from, to) in which it was blocked, 0 to 1. Exact for
 * the newest 32768 pieces at least and what has not been handed over; of older ones a minute is held, by
 * steps of 20 ms, and the sum of what is older. `queue` may be NULL. */
double queues_blocked_part(struct queues *queues, __u32 device, __u64 from_ns, __u64 to_ns,
			   __u16 *queue);
/* Faults not accounted, or only in part: of queues beyond QUEUES_MAX, or told later than pieces are held. */
/* How long each queue was blocked until now, by faults that are still open, too. */
void queues_each(struct queues *queues, __u64 now_ns,
		 void (*each)(void *argument, __u32 device, __u64 blocked_ns), void *argument);
__u64 queues_dropped(const struct queues *queues);
/* Totals of one queue, -ENOENT if it had no fault. */
int queues_get(const struct queues *queues, __u32 device, __u16 queue,
	       struct queue_blocked *blocked);
/* The sum over a device's queues, and its worst queue's. */
void queues_device(const struct queues *queues, __u32 device, __u64 *sum_ns, __u64 *worst_ns);
/* Queues that count as blocked for longer than a fault on them was waited for. */
struct queues_hangs {
	size_t queues;
	size_t still; /* of these: as far as the recording goes */
	__u64 assumed_ns;
	struct queue_blocked worst;
};

/* False if there are none. */
bool queues_hangs(const struct queues *queues, struct queues_hangs *hangs);

#endif
