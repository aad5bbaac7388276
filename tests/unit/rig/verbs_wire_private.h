/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAULTLINE_VERBS_WIRE_PRIVATE_H
#define FAULTLINE_VERBS_WIRE_PRIVATE_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "tests/unit/rig/verbs_wire.h"

#define WIRE_REGIONS 1024
#define WIRE_PAIRS   256
#define WIRE_DEPTH   4096
#define WIRE_EVENTS  4096
#define WIRE_WAITING 4096

struct wire_region {
	struct verbs_mr mr;
	__u32 domain;
	unsigned int rights;
};

/* A work request, and its answer. */
struct wire_message {
	struct verbs_send send;
	__u64 from_index;
	__u32 to, from;
	pid_t pid;
	__u8 answer, status;
	__u32 bytes;
};

struct wire_receives {
	struct verbs_receive entry[WIRE_DEPTH];
	__u64 posted, used;
	__u32 depth;
};

struct verbs_srq {
	struct verbs_device *device;
	struct wire_receives receives;
};

struct verbs_queue {
	struct verbs_device *device;
	struct verbs_channel *channel;
	struct verbs_completion *entries;
	__u32 depth, users;
	__u64 written, taken, armed;
	bool failed; /* and not yet told */
};

struct verbs_pair {
	struct verbs_device *device;
	struct verbs_queue *send_queue, *receive_queue;
	struct verbs_srq *srq;
	struct wire_receives own;
	__u32 number, peer, domain, send_depth;
	enum verbs_pair_state state;
	__u64 sent, freed;
	bool failed; /* likewise */
};

struct verbs_channel {
	struct verbs_device *device;
	int descriptor;
	struct verbs_queue *event[WIRE_EVENTS];
	__u64 told, taken;
};

struct verbs_device {
	struct hyv_hello hello;
	int socket, alarm;
	bool gone;
	pthread_mutex_t lock;
	pthread_t thread;
	struct wire_region regions[WIRE_REGIONS];
	struct verbs_pair *pairs[WIRE_PAIRS];
	__u32 domains;
	struct wire_message waiting[WIRE_WAITING]; /* for receives */
	__u32 waiting_count;
};

extern struct verbs_wire_counts wire_counts;
extern int wire_refuse;
void wire_count(__u64 *what, __s64 more);
/* What waits for receives or for its queue pair, in the order of its coming; under the device's lock. */
void wire_serve(struct verbs_device *device);
void *wire_main(void *argument);

#endif
