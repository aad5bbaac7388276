/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's side of control: one thread a device, which takes commands from the ring in guest memory, checks all that they
 * say, carries them out on the device by a table of functions, and answers. It alone pins and unpins what rings and pinned
 * regions need (pins.h), and it alone knows which objects there are: a device behind it is told only of what is right.
 *
 * A command is copied by DMA once and then checked: what its guest writes meanwhile is of no effect. A guest that
 * moves `written` back or further than its ring is long loses the commands in between, which are not answered.
 */
#ifndef FAULTLINE_VERBS_BACKEND_H
#define FAULTLINE_VERBS_BACKEND_H

#include "injectors/emu/verbs/verbs_control.h"

struct machine;
struct port;
struct rdma;
struct verbs_backend;

struct verbs_region_setup {
	__u64 iova; /* of its first byte */
	__u64 bytes;
	enum verbs_region kind;
	unsigned int rights;
};

struct verbs_queue_setup {
	__u64 iova; /* pinned, page aligned */
	__u32 depth;
	int eventfd; /* written 1 to as struct verbs_completion_words says; the backend's */
};

struct verbs_pair_setup {
	__u64 iova; /* pinned, page aligned */
	__u32 send_depth, receive_depth;
	__u32 send_queue, receive_queue; /* completion queues, which outlive it; may be the same */
};

/*
 * What a command may do to a device. The backend's thread alone calls, one at a time; addresses and values have been
 * checked, keys and numbers are those of objects that are there. 0, or a negative errno for the guest.
 */
struct verbs_backend_ops {
	void (*limits)(void *device, struct verbs_limits *limits);
	/* *key: index << 8 | generation. */
	int (*create_region)(void *device, const struct verbs_region_setup *setup, __u32 *key);
	/* Returns once no DMA uses it, or ever will. */
	int (*destroy_region)(void *device, __u32 key);
	/* Numbers are unlike modulo VERBS_QUEUES_MAX and VERBS_QUEUE_PAIRS_MAX. */
	int (*create_queue)(void *device, const struct verbs_queue_setup *setup, __u32 *number);
	int (*destroy_queue)(void *device, __u32 number);
	int (*create_pair)(void *device, const struct verbs_pair_setup *setup, __u32 *number);
	int (*modify_pair)(void *device, __u32 number, enum verbs_pair_state state, __u32 peer,
			   bool loopback);
	int (*query_pair)(void *device, __u32 number, enum verbs_pair_state *state, __u32 *peer);
	int (*destroy_pair)(void *device, __u32 number);
	/* To be told; NULL: is not. Advice that was followed, and its pages that are there now; bytes pinned (+) or unpinned (-); a command carried out. */
	void (*advised)(void *device, __u32 key, __u64 iova, __u64 bytes, __u32 pages,
			__u64 took_ns, int error);
	void (*pinned)(void *device, __s64 bytes);
	void (*commanded)(void *device, enum verbs_command_kind kind, int error, __u64 took_ns);
};

struct verbs_backend_config {
	struct machine *machine;
	struct port *port; /* the device's; commands are read by DMA of its queue 0 */
	const struct channel *channel;
	__u32 index;	  /* of the device in the machine */
	const char *name; /* for the thread's, and sentences */
	const struct verbs_backend_ops *ops;
	void *device;
};

/* Pins the command ring and starts the thread. -ENOMEM: the tenant's memlock has no room for it. */
int verbs_backend_create(struct verbs_backend **backend, const struct verbs_backend_config *config);
/* Of the device `rdma` (verbs_rdma.c). */
int verbs_backend_start(struct verbs_backend **backend, struct rdma *device);
/* Every wait of the guest ends with -EPIPE; destroys what it has left, unpins all. The device's engine runs on until it
 * returns. May be called twice. */
void verbs_backend_stop(struct verbs_backend *backend);
/* Stops it, if nobody has. The guest has closed its handle (verbs_close()), as its driver was stopped at the latest. */
void verbs_backend_destroy(struct verbs_backend *backend);

struct verbs_registers *verbs_backend_registers(struct verbs_backend *backend);

struct verbs_command_stats {
	__u64 commands, refused;
	__u64 time_ns, longest_ns; /* from taken to answered */
};
struct verbs_backend_stats {
	struct verbs_command_stats kind[VERBS_COMMAND_KINDS]; /* 0: those of no kind */
	__u64 broken;		      /* times that `written` made no sense */
	__u64 pinned;		      /* bytes now: regions, queues, the command ring */
	__u32 regions, queues, pairs; /* now */
};
/* Any thread. */
void verbs_backend_stats(struct verbs_backend *backend, struct verbs_backend_stats *stats);
/* The sentence of the last pin that failed, "": none has. Any thread. */
void verbs_backend_refusal(struct verbs_backend *backend, char *text, size_t size);

#endif
