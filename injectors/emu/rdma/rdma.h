/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device `rdma` as the backend of the verbs and the guest's driver see it: what a command may do to it.
 *
 * One thread, the engine's, does all of its DMA. What changes a queue pair or a completion queue is done by that thread, between
 * two of its rounds, while the caller waits (at most until the round ends: microseconds). All calls are the backend thread's alone,
 * one after the other, unless they say else. Memory that a call is given has been pinned by the caller (pins.h), and
 * is unpinned by it after the object is destroyed: the engine's DMA to it never faults.
 */
#ifndef FAULTLINE_RDMA_H
#define FAULTLINE_RDMA_H

#include "injectors/emu/channel.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/emu/rdma/regions.h"
#include "injectors/emu/rdma_totals.h"

struct machine;
struct rdma;
struct verbs_backend;

/* Where it stands in its machine; constant. */
struct rdma_place {
	struct machine *machine;
	struct channel *channel;
	__u32 index; /* of the device in it */
	const char *name;
	const struct rdma_settings *settings;
};
const struct rdma_place *rdma_place(const struct rdma *device);
/* What its class's start() made besides: the backend, by which a driver finds the registers. */
struct verbs_backend *rdma_backend(const struct rdma *device);

struct region_table *rdma_regions(struct rdma *device);
/* Returns once the engine uses no region that had been retired before the call. */
void rdma_quiesce(struct rdma *device);

/* iova: of verbs_completion_bytes(depth), page aligned, pinned. eventfd: written 1 to when there is more than `armed` says, -1: none;
 * the caller's. -EINVAL (depth), -ENOSPC. */
int rdma_queue_create(struct rdma *device, __u64 iova, __u32 depth, int eventfd, __u32 *number);
/* -ENOENT; -EBUSY: a queue pair uses it. */
int rdma_queue_destroy(struct rdma *device, __u32 number);

struct rdma_pair_setup {
	__u64 iova; /* of verbs_pair_bytes(), page aligned, pinned */
	__u32 send_depth, receive_depth;
	__u32 send_queue, receive_queue; /* completion queues; may be the same */
};
/* In VERBS_RESET. The number has 24 bits and is another at each use of a place, so that what is still on its way
 * to a former queue pair finds none. -EINVAL, -ENOENT (no such completion queue), -ENOSPC (`queue_pairs`). */
int rdma_pair_create(struct rdma *device, const struct rdma_pair_setup *setup, __u32 *number);
int rdma_pair_destroy(struct rdma *device, __u32 number);
/* peer: the other one's number, of the peer device, or of this device with loopback; counts for VERBS_RTR. -ENOENT, -EINVAL as
 * transport_modify(). */
int rdma_pair_modify(struct rdma *device, __u32 number, enum verbs_pair_state state, __u32 peer,
		     bool loopback);
int rdma_pair_query(struct rdma *device, __u32 number, enum verbs_pair_state *state, __u32 *peer);

/* Commands that the backend has carried out, for results. */
void rdma_count_command(struct rdma *device, enum verbs_command_kind kind, bool failed,
			__u64 time_ns);
/* Bytes of registered pinned regions, rings and completion queues: pinned (+) or unpinned (-). */
void rdma_count_pinned(struct rdma *device, __s64 bytes);

/* CPU time of the engine's thread, ns. Any thread. */
__u64 rdma_engine_ns(const struct rdma *device);
/* As they stand; any thread. After the device has stopped, device_setup.rdma has the last. */
void rdma_totals_now(struct rdma *device, struct rdma_totals *totals);

#endif
