/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's half of the control virtqueue (hyv_layout.h): one chain a command, a kick for each, and of the threads that wait for
 * answers one that sleeps for all. A kick of which nothing comes for 100 ms is sent again.
 */
#ifndef FAULTLINE_GUEST_VIRTQUEUE_H
#define FAULTLINE_GUEST_VIRTQUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "injectors/emu/hyv/virtqueue.h"

#define VIRTQUEUE_SLOTS	  16 /* commands at once; each has three descriptors */
#define VIRTQUEUE_KICK_NS 100000000ull

struct verbs_call;

struct virtqueue_guest_config {
	void *control; /* where HYV_CONTROL_BYTES are here */
	__u64 control_address;
	int kick, inject;     /* eventfds that do not block */
	int socket;	      /* whose end is the host's */
	_Atomic __u64 *kicks; /* counted here */
};

struct virtqueue_guest {
	struct virtqueue_guest_config config;
	struct vring ring;
	struct verbs_request *requests;
	struct verbs_answer *answers;
	__u64 *list;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool busy[VIRTQUEUE_SLOTS], done[VIRTQUEUE_SLOTS];
	bool listing;  /* the room for lists is taken */
	bool sleeping; /* somebody does, for all */
	bool gone;
	__u16 published, reaped;
	__u64 token;
	/* Of the command that had its answer last, until the next goes. */
	__u64 last_token, last_woken_ns;
	__u32 last_kind;
};

void virtqueue_guest_init(struct virtqueue_guest *queue,
			  const struct virtqueue_guest_config *config);
void virtqueue_guest_destroy(struct virtqueue_guest *queue);
/* 0 or the answer's error; -EPIPE: the host has gone; -E2BIG: more pages than there is room to list. Any thread. */
int virtqueue_guest_call(struct virtqueue_guest *queue, struct verbs_call *call);
/* All that wait, and will, get -EPIPE. */
void virtqueue_guest_end(struct virtqueue_guest *queue);

#endif
