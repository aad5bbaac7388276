/* SPDX-License-Identifier: GPL-2.0 */
/* What the backend's thread (verbs_backend.c) and what it does for a command (verbs_commands.c, verbs_objects.c) share. */
#ifndef FAULTLINE_VERBS_BACKEND_PRIVATE_H
#define FAULTLINE_VERBS_BACKEND_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/verbs/verbs_backend.h"

/* Guest memory that an object keeps; bytes 0: none. */
struct backend_range {
	__u64 address, bytes;
};

struct backend_region {
	__u64 address, bytes;
	__u32 key; /* 0: there is none; no generation is 0 */
	__u8 kind, rights;
};

struct backend_queue {
	struct backend_range memory; /* bytes 0: there is none */
	__u32 number;
	__u32 users; /* send and receive queues of pairs */
	int eventfd;
};

struct backend_pair {
	struct backend_range memory;
	__u32 number;
	__u32 send_queue, receive_queue;
};

struct verbs_backend {
	struct verbs_backend_config config;
	struct backend_range share; /* the guest's to use: what is behind the command ring */
	__u64 iova_offset;
	struct verbs_registers registers;
	pthread_t thread;
	bool running, ring_pinned;
	__u64 answered; /* commands */
	/* The thread's own, and of verbs_backend_stop() once it has ended. */
	struct backend_region *regions; /* by key >> 8 */
	struct backend_queue queues[VERBS_QUEUES_MAX];
	struct backend_pair pairs[VERBS_QUEUE_PAIRS_MAX];
	/* Descriptors of queues that are gone: none is closed while somebody may still tell it that the device stops. */
	int spare[VERBS_QUEUES_MAX + 1];
	__u32 spares;
	pthread_mutex_t lock; /* of what is told */
	struct verbs_backend_stats stats;
	char refusal[256];
};

/* verbs_commands.c: carries out what the copy of a command says, and fills its results. */
int backend_command(struct verbs_backend *backend, struct verbs_command *command);

/*
 * verbs_objects.c
 */

/* In the guest's share, all of it. */
bool backend_within(const struct backend_range *share, __u64 address, __u64 bytes);
/* Bytes of the whole pages that a range lies in. */
__u64 backend_pages(__u64 address, __u64 bytes);
/* Pins guest memory, and keeps account; a failure's sentence is kept for verbs_backend_refusal(). */
int backend_pin(struct verbs_backend *backend, __u64 address, __u64 bytes, bool write);
void backend_unpin(struct verbs_backend *backend, __u64 address, __u64 bytes);

/* Those there are; NULL. */
struct backend_region *backend_region(struct verbs_backend *backend, __u64 key);
struct backend_queue *backend_queue(struct verbs_backend *backend, __u64 number);
struct backend_pair *backend_pair(struct verbs_backend *backend, __u64 number);

int backend_region_create(struct verbs_backend *backend, const struct backend_region *region,
			  __u32 *key);
int backend_region_destroy(struct verbs_backend *backend, struct backend_region *region);
int backend_queue_create(struct verbs_backend *backend, __u64 address, __u32 depth, __u32 *number);
int backend_queue_destroy(struct verbs_backend *backend, struct backend_queue *queue);
/* setup->iova is filled in here. */
int backend_pair_create(struct verbs_backend *backend, __u64 address,
			struct verbs_pair_setup *setup, __u32 *number);
int backend_pair_destroy(struct verbs_backend *backend, struct backend_pair *pair);
/* What the guest has left, and the descriptors. */
void backend_destroy_all(struct verbs_backend *backend);

#endif
