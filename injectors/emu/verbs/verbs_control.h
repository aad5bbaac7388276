/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's side of control: libibverbs' names and meanings, nothing of its ABI. Each call is one command of 64 bytes, which the
 * host's backend thread carries out; the calling thread waits for its answer. Any thread of the guest, several at once.
 * 0 or a negative errno as libibverbs has it.
 */
#ifndef FAULTLINE_VERBS_CONTROL_H
#define FAULTLINE_VERBS_CONTROL_H

#include "injectors/emu/verbs/verbs_layout.h"

struct verbs_device;  /* the guest's handle of a device: command ring, memory, registers (verbs_data.h uses it too) */
struct verbs_pair;    /* struct ibv_qp */
struct verbs_queue;   /* struct ibv_cq */

struct verbs_mr {
	__u32 key;     /* local and remote */
	__u64 address; /* IOVA of its first byte */
	__u64 bytes;
	enum verbs_region kind;
};

struct verbs_limits {
	__u32 queue_pairs, queues, regions, depth, pieces;
	__u32 mtu;
};

int verbs_query_device(struct verbs_device *device, struct verbs_limits *limits);
/* Guest address and bytes of the guest's share. -ENOMEM: memlock of the tenant would be exceeded. */
int verbs_reg_mr(struct verbs_device *device, struct verbs_mr *mr, __u64 guest_address, __u64 bytes, enum verbs_region kind, unsigned int rights);
/* Returns once no DMA uses it. */
int verbs_dereg_mr(struct verbs_device *device, const struct verbs_mr *mr);
int verbs_advise_mr(struct verbs_device *device, const struct verbs_mr *mr, __u64 guest_address, __u64 bytes, bool write);
/* `guest_address`: verbs_completion_bytes(depth) of the guest's memory, page aligned, pinned until it is destroyed. */
int verbs_create_cq(struct verbs_device *device, struct verbs_queue **queue, __u64 guest_address, __u32 depth);
int verbs_destroy_cq(struct verbs_queue *queue); /* -EBUSY: a queue pair uses it */
struct verbs_pair_attributes {
	struct verbs_queue *send_queue, *receive_queue;
	__u32 send_depth, receive_depth;
	__u64 guest_address; /* verbs_pair_bytes() of memory, as above */
};
int verbs_create_qp(struct verbs_device *device, struct verbs_pair **pair, const struct verbs_pair_attributes *attributes);
int verbs_destroy_qp(struct verbs_pair *pair);
__u32 verbs_pair_number(const struct verbs_pair *pair);
/* peer: the other pair's number; loopback: it is of this very device, not of its peer. For RTR. */
int verbs_modify_qp(struct verbs_pair *pair, enum verbs_pair_state state, __u32 peer, bool loopback);
int verbs_query_qp(struct verbs_pair *pair, enum verbs_pair_state *state);

#endif
