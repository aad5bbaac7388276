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
#include "injectors/emu/verbs/verbs_backend.h"

struct hyv_host;
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
/* Of a device with a mode (hyv_host.h); NULL: it has none. */
struct hyv_host *rdma_host(const struct rdma *device);

struct region_table *rdma_regions(struct rdma *device);
/* Returns once the engine uses no region that had been retired before the call. */
void rdma_quiesce(struct rdma *device);

/* As verbs_backend.h says of setup and number. -EINVAL (depth, alignment), -ENOSPC, -EFAULT (not pinned), -ENOMEM. */
int rdma_queue_create(struct rdma *device, const struct verbs_queue_setup *setup, __u32 *number);
/* -ENOENT; -EBUSY: a queue pair uses it. */
int rdma_queue_destroy(struct rdma *device, __u32 number);

/* Likewise. Its entries are taken in order, by whichever of its queue pairs needs one: when an entry has completed,
 * it and all before it are free, though some of these have not completed yet. */
int rdma_shared_create(struct rdma *device, const struct verbs_shared_setup *setup, __u32 *number);
/* -ENOENT; -EBUSY: a queue pair takes from it. */
int rdma_shared_destroy(struct rdma *device, __u32 number);

/* In VERBS_RESET. The number has 24 bits and is another at each use of a place, so that what is still on its way
 * to a former queue pair finds none. A line of doorbells is zeroed. With a shared receive queue receive_depth may be 0. -EINVAL,
 * -ENOENT (no such completion or shared receive queue), -ENOSPC (`queue_pairs`). */
int rdma_pair_create(struct rdma *device, const struct verbs_pair_setup *setup, __u32 *number);
int rdma_pair_destroy(struct rdma *device, __u32 number);
/* A forwarded post: looks at its doorbell words once. With forward_posts nothing else does. -ENOENT. */
int rdma_pair_posted(struct rdma *device, __u32 number);
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
/*
 * The least that a work request of the device's own has taken from its being written to its doorbell's being seen, from there to its
 * completion's being written, and until the guest has taken that: what each takes where both who are in it run at
 * once, however busy the machine is. UINT64_MAX: there was none, or the device has no mode. Any thread.
 */
enum rdma_step { RDMA_STEP_POST, RDMA_STEP_DEVICE, RDMA_STEP_REAP, RDMA_STEPS };
void rdma_least(const struct rdma *device, __u64 least_ns[RDMA_STEPS]);
/* As they stand; any thread. After the device has stopped, device_setup.rdma has the last. */
void rdma_totals_now(struct rdma *device, struct rdma_totals *totals);

#endif
