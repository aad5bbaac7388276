/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's side of control: libibverbs' names and meanings, nothing of its ABI. Each call is one command of 64 bytes, which the
 * host carries out; the calling thread waits for its answer. The guest may be threads of the machine, whose commands go by a ring
 * to a thread of the backend, or a process of its own (guest_open.h), whose commands go by a virtqueue to the hypervisor's. Any
 * thread of the guest, several at once.
 * 0 or a negative errno as verbs_layout.h has them; -EPIPE: the device has stopped; -EIO: the command ring was broken by its guest.
 */
#ifndef FAULTLINE_VERBS_CONTROL_H
#define FAULTLINE_VERBS_CONTROL_H

#include <stdbool.h>

#include "injectors/emu/verbs/verbs_layout.h"

struct verbs_device; /* the guest's handle of a device: command ring, memory, registers */
struct verbs_pair;   /* struct ibv_qp */
struct verbs_queue;  /* struct ibv_cq */

struct verbs_mr {
	__u32 key;     /* local and remote */
	__u64 address; /* IOVA of its first byte */
	__u64 bytes;
	enum verbs_region kind;
	__u32 pin; /* the guest's own, of a process of its own; 0: none */
};

struct verbs_limits {
	__u32 queue_pairs, queues, regions, depth, pieces;
	__u32 mtu;
};

struct driver_setup;
struct verbs_registers;
struct channel;
struct guest_memory;

/* The device of a guest's driver (verbs_rdma.c). */
int verbs_open(struct verbs_device **device, const struct driver_setup *setup);
/* The sentence of the last pin that this device has refused, "": it has not. Any thread. */
void verbs_refusal(const struct driver_setup *setup, char *text, size_t size);
/* Likewise, by the parts that it has; all outlives the handle. */
int verbs_attach(struct verbs_device **device, struct verbs_registers *registers,
		 const struct channel *channel, struct guest_memory *memory);
/* Every wait of this device's guest ends with -EPIPE, and later ones at once: for a driver that is stopped. Any thread. */
void verbs_shutdown(struct verbs_device *device);
/* Destroys the pairs and queues that are left, unless the device has stopped. No call of it may be under way. */
void verbs_close(struct verbs_device *device);
/* The memory that is the guest's to use, for queues and data: guest address and bytes; IOVA = guest address + iova_offset. */
void verbs_memory(const struct verbs_device *device, __u64 *guest_address, __u64 *bytes,
		  __u64 *iova_offset);

int verbs_query_device(struct verbs_device *device, struct verbs_limits *limits);
/* Guest address and bytes of the guest's memory, of any alignment; VERBS_IMPLICIT: 0 and 0, all of it. */
int verbs_reg_mr(struct verbs_device *device, struct verbs_mr *mr, __u64 guest_address, __u64 bytes,
		 enum verbs_region kind, unsigned int rights);
/* Returns once no DMA uses it. */
int verbs_dereg_mr(struct verbs_device *device, const struct verbs_mr *mr);
/* Brings pages of it in, and maps them for the device. -EACCES: `write` to a region without such a right. */
int verbs_advise_mr(struct verbs_device *device, const struct verbs_mr *mr, __u64 guest_address,
		    __u64 bytes, bool write);
/*
 * `guest_address`: verbs_completion_bytes(depth) of the guest's memory, page aligned, pinned until it is destroyed; it is
 * cleared. Depths are powers of two.
 */
int verbs_create_cq(struct verbs_device *device, struct verbs_queue **queue, __u64 guest_address,
		    __u32 depth);
int verbs_destroy_cq(struct verbs_queue *queue); /* -EBUSY: a queue pair uses it */
struct verbs_pair_attributes {
	struct verbs_queue *send_queue, *receive_queue;
	__u32 send_depth, receive_depth;
	__u64 guest_address; /* verbs_pair_bytes() of memory, as above */
};
int verbs_create_qp(struct verbs_device *device, struct verbs_pair **pair,
		    const struct verbs_pair_attributes *attributes);
int verbs_destroy_qp(struct verbs_pair *pair);
__u32 verbs_pair_number(const struct verbs_pair *pair);
/* peer: the other pair's number; loopback: it is of this very device, not of its peer. For RTR. */
int verbs_modify_qp(struct verbs_pair *pair, enum verbs_pair_state state, __u32 peer,
		    bool loopback);
int verbs_query_qp(struct verbs_pair *pair, enum verbs_pair_state *state);

/*
 * Devices with a mode (hyv_layout.h) have besides:
 */

int verbs_alloc_pd(struct verbs_device *device, __u32 *domain);
int verbs_dealloc_pd(struct verbs_device *device, __u32 domain);
/* Memory that is not in one piece of guest memory, or is known by other addresses to who registers it. */
struct verbs_range {
	__u64 address; /* that work requests give for its first byte */
	__u64 bytes;
	const __u64 *pages; /* guest addresses of the pages that it lies in, in order */
	__u32 page_count;
	void *here; /* where this process has it, for the guest's own pin */
};
int verbs_reg_range(struct verbs_device *device, struct verbs_mr *mr, __u32 domain,
		    const struct verbs_range *range, enum verbs_region kind, unsigned int rights);
/* Where the guest's process has a guest address of its share; NULL: it is none of these. */
void *verbs_memory_at(const struct verbs_device *device, __u64 guest_address);
struct verbs_srq; /* struct ibv_srq: verbs_shared_bytes(depth) of memory, as a queue pair's */
int verbs_create_srq(struct verbs_device *device, struct verbs_srq **srq, __u64 guest_address,
		     __u32 depth, __u32 domain);
int verbs_destroy_srq(struct verbs_srq *srq);
/* As verbs_create_qp(), of a domain, and taking receives from `srq` unless that is NULL. */
int verbs_create_qp_of(struct verbs_device *device, struct verbs_pair **pair,
		       const struct verbs_pair_attributes *attributes, __u32 domain,
		       struct verbs_srq *srq);
struct verbs_channel; /* struct ibv_comp_channel */
int verbs_create_channel(struct verbs_device *device, struct verbs_channel **channel);
int verbs_destroy_channel(struct verbs_channel *channel);
/* Events of this queue come by the channel from now on. Before it is armed. */
void verbs_set_channel(struct verbs_queue *queue, struct verbs_channel *channel);
/* Can be read, for poll(2), when an event may be there: then ask with a deadline that has passed. Nobody reads from it. */
int verbs_channel_descriptor(struct verbs_channel *channel);
/* Numbers as completions and the host's messages have them. */
__u32 verbs_queue_number(const struct verbs_queue *queue);

/* What has gone into error by itself (ibv_get_async_event). Told once; what is destroyed before it is asked for, not at all. */
struct verbs_failure {
	enum verbs_failing what;
	__u32 number;
	struct verbs_queue *queue; /* or ... */
	struct verbs_pair *pair;   /* ... this; the other is NULL */
};
/* Does not wait for one. -EAGAIN: there is none. */
int verbs_get_failure(struct verbs_device *device, struct verbs_failure *failure);

/* As the guest sees them: from the call to its return. Index: enum verbs_command_kind. */
struct verbs_control_stats {
	__u64 commands, refused, time_ns;
};
void verbs_control_stats(struct verbs_device *device,
			 struct verbs_control_stats stats[VERBS_COMMAND_KINDS]);

static inline void verbs_pack_limits(const struct verbs_limits *limits, __u64 result[2])
{
	result[0] =
		limits->queue_pairs | (__u64)limits->queues << 16 | (__u64)limits->regions << 32;
	result[1] = limits->depth | (__u64)limits->pieces << 16 | (__u64)limits->mtu << 32;
}

static inline struct verbs_limits verbs_unpack_limits(const __u64 result[2])
{
	return (struct verbs_limits){
		.queue_pairs = (__u16)result[0],
		.queues = (__u16)(result[0] >> 16),
		.regions = (__u32)(result[0] >> 32),
		.depth = (__u16)result[1],
		.pieces = (__u16)(result[1] >> 16),
		.mtu = (__u32)(result[1] >> 32),
	};
}

#endif
