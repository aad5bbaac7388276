/* SPDX-License-Identifier: GPL-2.0 */
/* What control and data of the guest's side share: the handles. Data takes no lock of them, and calls nothing of control. */
#ifndef FAULTLINE_VERBS_PRIVATE_H
#define FAULTLINE_VERBS_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/verbs/verbs_control.h"

/* One of a pair's queues, as its guest sees it. */
struct verbs_ring {
	void *entries;
	__u64 *word; /* the doorbell word */
	__u32 depth;
	_Atomic __u64 posted; /* by who posts */
	_Atomic __u64 freed;  /* by who polls: entries that the device is done with */
};

/* Never freed before its device: who polls may look at it as it is destroyed. */
struct verbs_pair {
	struct verbs_device *device;
	_Atomic __u32 number;
	_Atomic bool live;
	struct verbs_queue *send_queue, *receive_queue;
	struct verbs_ring send, receive;
};

struct verbs_queue {
	struct verbs_device *device;
	struct verbs_queue *next; /* of its device's, under the lock */
	__u32 number;
	__u32 depth;
	struct verbs_completion_words *words;
	struct verbs_completion *entries;
	__u64 taken; /* by who polls */
	int eventfd; /* a descriptor of the guest's own */
};

struct verbs_device {
	struct verbs_registers *registers;
	const struct channel *channel;
	struct guest_memory *memory;
	struct verbs_command *commands;
	struct verbs_backend *backend; /* of which the run's sentences are; NULL: there are none */
	pthread_mutex_t lock;	       /* control's: of all but `pairs` */
	pthread_cond_t freed;	       /* an entry of the command ring */
	__u64 next;		       /* command */
	bool busy[VERBS_COMMANDS];
	struct verbs_queue *queues;
	struct verbs_control_stats stats[VERBS_COMMAND_KINDS];
	struct verbs_pair pairs[VERBS_QUEUE_PAIRS_MAX]; /* by number modulo that */
};

#endif
