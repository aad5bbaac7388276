/* SPDX-License-Identifier: GPL-2.0 */
/* What the backend's thread (verbs_backend.c) and what it does for a command (verbs_commands.c, verbs_objects.c) share. */
#ifndef FAULTLINE_VERBS_BACKEND_OBJECTS_H
#define FAULTLINE_VERBS_BACKEND_OBJECTS_H

#include <pthread.h>

#include "injectors/emu/verbs/verbs_backend.h"

/* Guest addresses. */
struct backend_range {
	__u64 address, bytes;
};

struct backend_region {
	__u64 address,
		bytes; /* that work requests give for its first byte, without iova_offset unless `memory` has a list */
	struct verbs_memory memory; /* bytes 0: nothing is pinned, none of it is kept */
	__u32 key;		    /* 0: there is none; no generation is 0 */
	__u16 domain;
	__u8 kind, rights;
};

struct backend_queue {
	struct verbs_memory memory; /* bytes 0: there is none */
	__u32 number;
	__u32 users; /* send and receive queues of pairs */
	int eventfd; /* -1: the host is told */
};

struct backend_pair {
	struct verbs_memory memory;
	__u32 number;
	__u32 send_queue, receive_queue;
	__u32 domain, shared;	       /* VERBS_NO_SRQ */
	struct verbs_pair_words *line; /* its doorbells, if these are not in its memory */
};

struct backend_shared {
	struct verbs_memory memory;
	__u32 number, domain;
	__u32 users;
};

#define BACKEND_DOMAINS	 65536
#define BACKEND_CHANNELS VERBS_QUEUES_MAX

struct backend_domain {
	bool used;
	__u32 users; /* regions, pairs and shared receive queues */
};

struct verbs_backend {
	struct verbs_backend_config config;
	struct backend_range share; /* the guest's to use: what is behind the command ring */
	__u64 iova_offset;
	struct verbs_registers own_registers, *registers;
	pthread_t thread;
	bool running, ring_pinned;
	_Atomic bool stopping; /* what others write to the registers is of no effect on this */
	__u64 answered;	       /* commands */
	/* The thread's own, and of verbs_backend_stop() once it has ended. */
	struct backend_region *regions; /* by key >> 8 */
	struct backend_queue queues[VERBS_QUEUES_MAX];
	struct backend_pair pairs[VERBS_QUEUE_PAIRS_MAX];
	struct backend_shared shared[VERBS_SRQS_MAX];
	struct backend_domain *domains; /* by number */
	__u32 next_domain;
	bool channels[BACKEND_CHANNELS];
	/* The command that is being carried out came with a list of so many guest pages; the host's copy. */
	const __u64 *list;
	__u32 listed;
	/* Descriptors of queues that are gone: none is closed while somebody may still tell it that the device stops. */
	int spare[VERBS_QUEUES_MAX + 1];
	__u32 spares;
	pthread_mutex_t lock; /* of what is told */
	struct verbs_backend_stats stats;
	char refusal[256];
};

/* A backend that takes commands of its owner alone, by backend_command(). */
int backend_make(struct verbs_backend **backend, const struct verbs_backend_config *config);
/* The thread that takes commands from the ring; pins that, unless all is pinned. Stopped: what it made is as before. */
int backend_ring_start(struct verbs_backend *backend);
void backend_ring_stop(struct verbs_backend *backend);

/* A command was carried out. */
void backend_count(struct verbs_backend *backend, __u16 kind, int error, __u64 took_ns);

/* verbs_commands.c: carries out what the copy of a command says, and fills its results. */
int backend_command(struct verbs_backend *backend, struct verbs_command *command);
bool backend_depth_valid(__u64 depth);
/* -EFAULT unless all of it is the guest's to use; fills memory->owned in. Lists have been looked through before. */
int backend_find(const struct verbs_backend *backend, struct verbs_memory *memory);
/* Rings at a guest address; fills the memory in. */
int backend_rings(const struct verbs_backend *backend, __u64 address, __u64 bytes,
		  struct verbs_memory *memory);
int backend_rights_valid(__u64 rights);

/* verbs_extended.c: the kinds of devices with a mode */
int command_alloc_domain(struct verbs_backend *backend, struct verbs_command *command);
int command_dealloc_domain(struct verbs_backend *backend, struct verbs_command *command);
int command_register_pages(struct verbs_backend *backend, struct verbs_command *command);
int command_create_shared(struct verbs_backend *backend, struct verbs_command *command);
int command_destroy_shared(struct verbs_backend *backend, struct verbs_command *command);
int command_create_pair_of(struct verbs_backend *backend, struct verbs_command *command);
int command_create_channel(struct verbs_backend *backend, struct verbs_command *command);
int command_destroy_channel(struct verbs_backend *backend, struct verbs_command *command);
int command_map(struct verbs_backend *backend, struct verbs_command *command);
int command_unmap(struct verbs_backend *backend, struct verbs_command *command);
int command_post(struct verbs_backend *backend, struct verbs_command *command);
/* An object lies in the host's pages that are there; a pair has its doorbells in a line of the host's. */
bool backend_owned_used(const struct verbs_backend *backend, const struct backend_range *range);
bool backend_lines_used(const struct verbs_backend *backend);

/*
 * verbs_pins.c
 */

/* In the guest's share, all of it. */
bool backend_within(const struct backend_range *share, __u64 address, __u64 bytes);
/* Bytes of the whole pages that a range lies in. */
__u64 backend_pages(__u64 address, __u64 bytes);
/* machine_pin() of it, page list or one piece; all or none. */
int backend_machine_pin(struct machine *machine, __u32 device, const struct verbs_memory *memory,
			bool write);
int backend_machine_unpin(struct machine *machine, __u32 device, const struct verbs_memory *memory);
/* Admits an object and pins its memory, and keeps account; a failure's sentence is kept for verbs_backend_refusal(). memory->bytes 0:
 * it has none that is pinned. */
int backend_keep(struct verbs_backend *backend, enum verbs_object object,
		 struct verbs_memory *memory, bool write);
/* The device has done, or refused, what it was asked for with that memory. Returns `error`; if not 0, all is undone. */
int backend_kept(struct verbs_backend *backend, enum verbs_object object,
		 struct verbs_memory *memory, int error);
/* After its object has gone from the device; frees the list, too. */
void backend_release(struct verbs_backend *backend, enum verbs_object object,
		     struct verbs_memory *memory);

/*
 * verbs_objects.c
 */

/* Those there are; NULL. */
struct backend_region *backend_region(struct verbs_backend *backend, __u64 key);
struct backend_queue *backend_queue(struct verbs_backend *backend, __u64 number);
struct backend_pair *backend_pair(struct verbs_backend *backend, __u64 number);
struct backend_shared *backend_shared(struct verbs_backend *backend, __u64 number);
/* Of a domain that there is; 0 always is. */
bool backend_domain_valid(const struct verbs_backend *backend, __u64 number);

int backend_region_create(struct verbs_backend *backend, struct backend_region *region, __u32 *key);
int backend_region_destroy(struct verbs_backend *backend, struct backend_region *region);
int backend_queue_create(struct verbs_backend *backend, struct verbs_memory *memory, __u32 depth,
			 __u32 *number);
int backend_queue_destroy(struct verbs_backend *backend, struct backend_queue *queue);
/* setup->iova and setup->host are filled in here; `doorbells`: it may have a line of these. */
int backend_pair_create(struct verbs_backend *backend, struct verbs_memory *memory,
			struct verbs_pair_setup *setup, __u32 *number);
int backend_pair_destroy(struct verbs_backend *backend, struct backend_pair *pair);
int backend_shared_create(struct verbs_backend *backend, struct verbs_memory *memory,
			  struct verbs_shared_setup *setup, __u32 *number);
int backend_shared_destroy(struct verbs_backend *backend, struct backend_shared *shared);
/* What the guest has left: pairs, completion queues, shared receive queues, regions, domains, channels. */
void backend_destroy_all(struct verbs_backend *backend);
/* Descriptors of queues that are gone. */
void backend_close_spares(struct verbs_backend *backend);

#endif
