/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's half of the completion events (struct hyv_event_ring): put by the engine's thread, under the host's own lock. An event of
 * a queue whose last one the guest has not yet taken is merged with that; what does not fit, or is late by injection, is
 * kept here and put by event_ring_run(). The ring's indices are the guest's to scribble on: what it says of `consumed`
 * is believed only between what it has said before and what was produced.
 *
 * The guest stores `consumed` sequentially consistently before it looks at what the event is of, so that what is merged with
 * an event is seen by whoever takes that.
 */
#ifndef FAULTLINE_HYV_EVENT_RING_H
#define FAULTLINE_HYV_EVENT_RING_H

#include <pthread.h>
#include <stdbool.h>

#include "injectors/emu/hyv/hyv_layout.h"

struct inject_table;

struct event_ring_stats {
	__u64 raised, merged, kept, injections;
};

struct event_sender {
	pthread_mutex_t lock;		   /* host-private */
	struct hyv_event_ring *shared;	   /* NULL: there is no guest */
	struct verbs_registers *registers; /* the guest's, likewise */
	_Atomic __u64 *injections;	   /* the shared count */
	int interrupt, alarm;		   /* eventfds */
	int timer;			   /* timerfd of who calls event_ring_run() */
	struct inject_table *table;
	__u32 device;
	__u64 produced, consumed;
	__u64 last[VERBS_QUEUES_MAX]; /* produced behind the queue's last event; 0: none */
	__u32 number[VERBS_QUEUES_MAX];
	__u64 due_ns[VERBS_QUEUES_MAX]; /* of what is kept; 0: nothing */
	__u32 pending;
	struct event_ring_stats stats;
};

void event_ring_init(struct event_sender *ring, int timer, struct inject_table *table,
		     __u32 device);
void event_ring_destroy(struct event_sender *ring);
/* Of a new guest, whose memory is zero; and of none. */
void event_ring_open(struct event_sender *ring, struct hyv_shared *shared, int interrupt,
		     int alarm);
void event_ring_close(struct event_sender *ring);
/* A completion queue has an event. Any thread; never waits for the guest. */
void event_ring_raise(struct event_sender *ring, __u32 number);
/* No event of it is put any more. */
void event_ring_forget(struct event_sender *ring, __u32 number);
/* Any other event: without merging; dropped if the ring is full. */
void event_ring_tell(struct event_sender *ring, enum hyv_event_kind kind, __u32 number);
/* A completion queue or a pair has gone into error by itself: past the ring, so that there is room for it. */
void event_ring_alarm(struct event_sender *ring, enum verbs_failing what, __u32 number);
/* The timer has come: what is due. */
void event_ring_run(struct event_sender *ring);
void event_ring_stats(struct event_sender *ring, struct event_ring_stats *stats);

#endif
