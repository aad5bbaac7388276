/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the host's side share: hyv_host.c (life, thread), host_guest.c (hello and end of a guest), host_requests.c
 * (its virtqueue), host_pins.c (what is done for memory), host_overlays.c (bottom-up mappings).
 */
#ifndef FAULTLINE_HYV_HOST_PRIVATE_H
#define FAULTLINE_HYV_HOST_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/hyv/event_ring.h"
#include "injectors/emu/hyv/hyv_host.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/emu/hyv/scratch.h"
#include "injectors/emu/hyv/virtqueue_host.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/emu/verbs/verbs_backend_objects.h"
#include "lib/base/clock.h"

struct memory_view;

enum guest_state { GUEST_NONE, GUEST_INVITED, GUEST_READY };

struct hyv_overlay {
	__u64 address, bytes; /* bytes 0: none */
	enum verbs_resource resource;
	__u64 offset; /* in the resource file */
};

/* Verbs that were answered and whose callers have not said when they woke. */
struct hyv_answered {
	__u64 token, injected_ns;
	enum verbs_command_kind kind;
};

struct hyv_guest {
	enum guest_state state;
	int socket;					   /* the machine's end */
	int resources, kick, inject, event, alarm, faults; /* as of enum hyv_descriptor */
	int process;					   /* pidfd */
	struct hyv_shared *shared;			   /* the whole resource file */
	struct memory_view *view;
	pid_t pid;
	struct virtqueue_host queue;
	struct hyv_answered answered[HYV_QUEUE_ENTRIES];
	__u32 next_answered;
};

static inline struct hyv_guest host_no_guest(void)
{
	return (struct hyv_guest){.socket = -1,
				  .resources = -1,
				  .kick = -1,
				  .inject = -1,
				  .event = -1,
				  .alarm = -1,
				  .faults = -1,
				  .process = -1};
}

/* The request that is being carried out. */
struct hyv_current {
	__u64 mark_ns;	/* the last stage's end */
	__u64 start_ns; /* of a command of the ring's: when it was taken */
	__u64 stage_ns[VERB_STAGES];
	__u64 bytes;
	__u32 runs;
};

struct hyv_host {
	struct hyv_host_config config;
	struct tenant *tenant;
	struct guest_memory *memory;
	struct inject_table *injections;
	struct verbs_backend *backend;
	struct pinner *remap, *driver;
	struct scratch scratch;
	struct verbs_memory all; /* mode passthrough: the share, pinned */
	struct event_sender events;
	struct hyv_overlay overlays[HYV_OVERLAYS];
	__u32 *holds; /* objects that a page of the share is of */

	pthread_t thread;
	bool running;
	int epoll, wake, timer, exits_timer;
	__u32 exits_told;
	_Atomic bool stopping;
	/* Under `lock`: what other threads ask for, and are told. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic bool evict;
	__u64 invited;		/* guests so far */
	struct hyv_guest guest; /* the thread's own but for `state`, and what an invitation makes */
	struct hyv_stats stats;

	struct hyv_current current;
	__u64 *list; /* entries of HYV_CONTROL_BYTES */
};

/* hyv_host.c */
static inline bool host_has_guests(const struct hyv_host *host)
{
	return host->config.mode != RDMA_MODE_NATIVE;
}
static inline bool host_has_queue(const struct hyv_host *host)
{
	return host->config.mode == RDMA_MODE_HYBRID || host->config.mode == RDMA_MODE_ODP;
}
/* Time since the last stage's end was this stage's. */
void host_stage(struct hyv_host *host, enum verb_stage stage);
void host_count(struct hyv_host *host, __u64 *counter, __u64 more);
int host_watch(struct hyv_host *host, int descriptor);

/* host_guest.c; the thread */
int host_make_guest(struct hyv_host *host, int *socket);
/* Something has come by its socket. */
void host_hear(struct hyv_host *host);
/* INJECT_GUEST_KILL: at each of its verbs, and every 100 ms. */
void host_may_kill(struct hyv_host *host);
/* What it says makes no sense. */
void host_cut_off(struct hyv_host *host);
/* All that there is of it goes. */
void host_end_guest(struct hyv_host *host);

/* host_requests.c: answers what there is. -EPROTO: what the guest writes makes no sense. */
void host_stepped(void *argument, enum verbs_ring_step step, const struct verbs_command *command,
		  __u32 token);
int requests_serve(struct hyv_host *host);
void host_tell_exits(struct hyv_host *host);

/* host_pins.c */
extern const struct verbs_host_ops hyv_host_ops, hyv_native_ops, hyv_passthrough_ops;
/* As it is, for who has not heard how it came to that. The thread: nothing is being pinned. */
void host_tell_pins(struct hyv_host *host);
int host_pin_all(struct hyv_host *host);
void host_unpin_all(struct hyv_host *host);

/* host_overlays.c */
int overlay_find(void *host, const struct verbs_memory *memory, unsigned char **owned);
struct verbs_pair_words *overlay_doorbells(void *host);
int overlay_map(void *host, __u64 address, __u64 bytes, enum verbs_resource resource, __u64 offset);
int overlay_unmap(void *host, __u64 address, __u64 bytes);
void overlays_end(struct hyv_host *host);
/* Pages of an object: counted, so that nothing is mapped over them. `more`: 1 or -1. */
void overlay_hold(struct hyv_host *host, const struct verbs_memory *memory, __u32 more);

#endif
