/* SPDX-License-Identifier: GPL-2.0 */
/* What queues.c keeps of each queue and queues_tables.c prints. */
#ifndef FAULTLINE_QUEUES_PRIVATE_H
#define FAULTLINE_QUEUES_PRIVATE_H

#include "lib/analyze/hash.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/spans.h"

struct queue_key {
	__u32 device;
	__u32 queue;
};

/* Faults that were given up, and whose end was not seen: their queue hangs until something shows that it does not. */
struct hang {
	__u64 faults;
	__u64 from;	/* what is before is in the union */
	__u64 given_up; /* the last of them */
	__u64 until;	/* the last end of those that ended after all, 0: none did */
};

/* Of the window that queues_blocked_part() is asked about. */
struct queue_cover {
	struct spans open; /* pieces of open faults and of the queue, clipped to the window */
	size_t capacity;
	__u64 watched; /* since when; 0: what began before cannot be told */
};

struct queue {
	struct queue_key key;
	struct spans blocked;
	__u64 faults;
	__u64 cut_to;	 /* the last end of those that had begun before their device was watched */
	__u64 open_from; /* the first beginning of those open at the recording's end */
	struct hang hang;
	__u64 alive_ns;	  /* when something showed that its hang is over */
	__u64 assumed_ns; /* of the hangs that are over: without their end having been seen */
	struct queue_cover cover;
	UT_hash_handle hh;
};

struct queues {
	struct queue *queues;
	const struct session *session;
	const struct faults *faults;
	__u64 late_ns;	 /* a fault is told this long after its beginning at most */
	size_t capacity; /* pieces of all queues */
	__u64 dropped;
	size_t hanging; /* queues */
};

struct queue_blocked queues_total(const struct queues *queues, const struct queue *queue);

#endif
