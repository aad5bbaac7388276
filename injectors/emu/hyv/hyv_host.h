/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's side of one device with a `mode` and its guest: the resource file, the hello, the thread that takes requests, and all that
 * is pinned, mapped or counted for this guest. It is made as the device starts, and outlives any guest of it.
 *
 * A guest's end: no request is taken any more, its queue pairs go (so that DMA under way ends first), then completion queues,
 * regions, pins in the order driver, remap, mappings, the view of memory, quota. Another guest may say hello afterwards.
 */
#ifndef FAULTLINE_HYV_HOST_H
#define FAULTLINE_HYV_HOST_H

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/hyv/hyv_observe.h"
#include "injectors/emu/verbs/verbs_backend.h"

struct hyv_host;

struct hyv_host_config {
	struct verbs_backend_config backend; /* machine, port, channel, index, name, ops, device */
	enum rdma_mode mode;
	const struct rdma_settings *settings;
	__u32 tenant; /* index in the machine */
};

/* Pins all of the share in mode passthrough. -EPERM, -ENOSYS with a sentence: the kernel makes no such pins. */
int hyv_host_create(struct hyv_host **host, const struct hyv_host_config *config);
/* The guest's end of a new socket, for its process; the machine's end is watched from now on. -EBUSY: there is a guest. */
int hyv_host_invite(struct hyv_host *host, int *socket);
/* Its guest has ended, or is to be treated so: returns once all of it is gone. May be called twice; by itself once the socket ends. */
void hyv_host_evict_guest(struct hyv_host *host);
/* Stops the thread, tells the guest that the device is gone. */
void hyv_host_destroy(struct hyv_host *host);

/* Its commands; mode native: by the ring, as without a mode. */
struct verbs_backend *hyv_host_backend(struct hyv_host *host);

struct hyv_stats {
	__u64 registered; /* bytes now, whole pages */
	__u64 pinned
		[PIN_ROLES]; /* bytes now; PIN_GUEST: what the guest has to have pinned, by its own requests */
	__u64 registered_most, pinned_most[PIN_ROLES];
	/* Each refusal in one of these: pins also by pin_enomem, `injected` by veto. */
	__u64 refused_quota, refused_rights, refused_pins, refused_mappings, refused_injected;
	__u64 exits[EXIT_CAUSES];
	__u64 remaps, remap_skipped,
		runs;	/* top-down: regions remapped, not remapped, mappings made */
	__u64 overlays; /* bottom-up: mappings now */
	__u32 guests;	/* that have ever said hello */
	__u32 cut_off;	/* whose ring or hello made no sense */
	__u64 events_raised, events_merged,
		events_kept; /* coalesced with one not yet taken; kept for a full ring */
	__u64 stage_ns[VERBS_COMMAND_KINDS][VERB_STAGES]; /* sums */
	__u64 verbs[VERBS_COMMAND_KINDS], refused[VERBS_COMMAND_KINDS];
	__u64 unequal; /* times that what was pinned in a role was not what was registered: 0, or there is a bug */
};
/* Any thread. */
void hyv_host_stats(struct hyv_host *host, struct hyv_stats *stats);

#endif
