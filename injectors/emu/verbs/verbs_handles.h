/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What control and data of the guest's side share: the handles. Data takes no lock of them, and calls nothing of control but to
 * sleep and where posts are forwarded.
 */
#ifndef FAULTLINE_VERBS_HANDLES_H
#define FAULTLINE_VERBS_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/verbs/verbs_data.h"
#include "injectors/emu/verbs/verbs_registers.h"

/* One of a pair's queues, as its guest sees it. */
struct verbs_ring {
	void *entries;
	__u64 *word; /* the doorbell word */
	__u32 depth;
	_Atomic __u64 posted; /* by who posts */
	_Atomic __u64 freed;  /* by who polls: entries that the device is done with */
};

/* The guest's memory of a queue, as its transport has made it ready for the device. */
struct verbs_backing {
	void *at; /* NULL: it is not the guest's to use, which the host will say */
	__u64 guest_address, bytes;
	__u32 pin;   /* the guest's own, as of struct verbs_mr */
	__u32 owned; /* pages of the host's that it lies in, of which the first is number `page`; 0: it is guest memory */
	__u32 page;
};

/* Never freed before its device: who polls may look at it as it is destroyed. */
struct verbs_pair {
	struct verbs_device *device;
	_Atomic __u32 number;
	_Atomic bool live;
	struct verbs_queue *send_queue, *receive_queue;
	struct verbs_srq *srq;
	struct verbs_ring send, receive;
	struct verbs_backing backing;
};

struct verbs_queue {
	struct verbs_device *device;
	struct verbs_queue *next; /* of its device's, under the lock */
	__u32 number;
	__u32 depth;
	struct verbs_completion_words *words;
	struct verbs_completion *entries;
	__u64 taken; /* by who polls */
	int eventfd; /* a descriptor of the guest's own; -1: its events come otherwise */
	struct verbs_backing backing;
	struct verbs_channel *channel;
	/* Of the transport's, under its lock: */
	__u64 told;   /* events */
	bool pending; /* with its channel */
	struct verbs_queue *next_pending;
};

struct verbs_srq {
	struct verbs_device *device;
	struct verbs_srq *next; /* as of struct verbs_queue */
	__u32 number;
	struct verbs_ring ring;
	struct verbs_backing backing;
};

struct verbs_channel {
	struct verbs_device *device;
	__u32 number;	/* the host's; 0: it knows of none */
	int descriptor; /* to be polled, -1: it has not been asked for */
	/* Of the transport's, under its lock: */
	int own; /* what of `descriptor` is this channel's alone, an eventfd; -1 */
	bool own_told;
	struct verbs_queue *first, **last;
};

/* A command and what goes with it. */
struct verbs_call {
	struct verbs_command command;
	const __u64 *pages; /* VERBS_REGISTER_PAGES */
	__u32 page_count;
	__u64 called_ns; /* of the verb that it is of */
};

/* How a guest reaches its host. NULL: there is nothing to do. Any thread; 0 or a negative errno. */
struct verbs_transport {
	/* -EPIPE: the device has stopped; else the answer's error, and its results. */
	int (*command)(struct verbs_device *device, struct verbs_call *call);
	/* The guest's own pin of its memory; *pin: as of struct verbs_mr. */
	int (*pin)(struct verbs_device *device, void *here, __u64 bytes, __u32 *pin);
	void (*unpin)(struct verbs_device *device, __u32 pin);
	/* Pins a queue's memory, or has the host's mapped over it; `at` is then where it is. */
	int (*back)(struct verbs_device *device, struct verbs_backing *backing);
	void (*unback)(struct verbs_device *device, struct verbs_backing *backing);
	bool (*gone)(struct verbs_device *device);
	void (*stop)(struct verbs_device *device);
	/* Frees `transport_data`, last of all. */
	void (*close)(struct verbs_device *device);
	/* Completion events: a queue that there is from now on, or no longer. */
	int (*queue_begin)(struct verbs_queue *queue);
	void (*queue_end)(struct verbs_queue *queue);
	/* Sleeps until the queue may have been told since `*seen`. False: the deadline has passed. */
	bool (*queue_wait)(struct verbs_queue *queue, __u64 *seen, __u64 deadline_ns);
	int (*channel_begin)(struct verbs_channel *channel);
	void (*channel_end)(struct verbs_channel *channel);
	void (*channel_add)(struct verbs_channel *channel, struct verbs_queue *queue);
	int (*channel_descriptor)(struct verbs_channel *channel);
	/* -ETIMEDOUT, -EPIPE. */
	int (*channel_wait)(struct verbs_channel *channel, struct verbs_queue **queue,
			    __u64 deadline_ns);
};

struct verbs_device {
	const struct verbs_transport *transport;
	void *transport_data;
	unsigned char *base;		 /* where guest address 0 is in this process */
	__u64 start, bytes, iova_offset; /* the guest's to use */
	struct verbs_registers *registers;
	/* Lines of doorbells by a pair's number, on pages of the host's; NULL: they are in the pairs' memory. */
	struct verbs_pair_words *doorbells;
	/* Posts are commands (SoftiWARP); NULL: they are stores alone. */
	int (*forward)(struct verbs_device *device, __u32 pair, bool receive);
	bool timed; /* with a mode: entries carry when they were posted and taken (verbs_layout.h), for observers */
	/* The sentence of what has been refused; NULL: nobody reads it. */
	void (*refusal)(void *of, char *text, size_t size);
	void *refusal_of;
	pthread_mutex_t lock; /* control's: of the lists and numbers that follow */
	struct verbs_queue *queues;
	struct verbs_srq *srqs;
	struct verbs_control_stats stats[VERBS_COMMAND_KINDS];
	struct verbs_pair pairs[VERBS_QUEUE_PAIRS_MAX]; /* by number modulo that */
};

/* A handle without transport; its memory is nobody else's pages. NULL. */
struct verbs_device *verbs_device_new(void);
void verbs_device_free(struct verbs_device *device);
/* Opens it at the host. On failure it is closed, with a sentence. */
int verbs_device_begin(struct verbs_device *device);
/* Where whole pages of the guest's memory are here; NULL: they are not its to use. */
void *verbs_own_memory(const struct verbs_device *device, __u64 guest_address, __u64 bytes);
/* One command, counted; `called_ns` 0: begins now. */
int verbs_call_do(struct verbs_device *device, struct verbs_call *call);
int verbs_command_do(struct verbs_device *device, struct verbs_command *command);
/* verbs_queues.c: destroys what is left of them. */
void verbs_queues_end(struct verbs_device *device);

#endif
