/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What guest and RDMA device share: queues, completions and doorbell words in guest memory, and the device's registers
 * (verbs_registers.h).
 *
 * Two paths that meet nowhere but in the device. Control: 64-byte commands through a ring, carried out by
 * the host's backend thread, one after the other. Data: work requests, completions and doorbell words, which guest and device
 * read and write by loads and stores (device: by DMA). What a queue pair or completion queue needs lies
 * where the guest has put it: page-aligned guest memory that the host pins as it is created. Of the device's share of memory
 * the first page behind the channel's rings is the command ring; all behind it is the guest's to use, for these and for data.
 *
 * Indices count from the queue's creation and never wrap in practice (64 bits); an entry is at index modulo the depth,
 * which is a power of two. All addresses in entries are IOVAs; those in commands are guest addresses.
 */
#ifndef FAULTLINE_VERBS_LAYOUT_H
#define FAULTLINE_VERBS_LAYOUT_H

#include <linux/types.h>
#include <stddef.h>

#define VERBS_SGE_MAX	      6	   /* pieces of one work request */
#define VERBS_DEPTH_MAX	      4096 /* entries of a queue */
#define VERBS_QUEUE_PAIRS_MAX 1024
#define VERBS_QUEUES_MAX      1024 /* completion queues */
#define VERBS_REGIONS_MAX     65536
#define VERBS_MESSAGE_MAX     (1u << 30)

/* As enum ibv_wr_opcode and enum ibv_wc_opcode: what is done, and what a completion was of. */
enum verbs_opcode {
	VERBS_SEND,
	VERBS_WRITE,
	VERBS_READ,
	VERBS_RECEIVE, /* of completions alone */
	VERBS_OPCODES,
};

/* The values of enum ibv_wc_status; verbs_status_name() has libibverbs' words. */
enum verbs_status {
	VERBS_SUCCESS = 0,
	VERBS_LOC_LEN_ERR = 1,
	VERBS_LOC_QP_OP_ERR = 2,
	VERBS_LOC_PROT_ERR = 4,
	VERBS_WR_FLUSH_ERR = 5,
	VERBS_BAD_RESP_ERR = 7,
	VERBS_LOC_ACCESS_ERR = 8,
	VERBS_REM_INV_REQ_ERR = 9,
	VERBS_REM_ACCESS_ERR = 10,
	VERBS_REM_OP_ERR = 11,
	VERBS_RETRY_EXC_ERR = 12,
	VERBS_RNR_RETRY_EXC_ERR = 13,
	VERBS_FATAL_ERR = 18,
	VERBS_GENERAL_ERR = 21,
	VERBS_STATUSES,
};

const char *verbs_status_name(enum verbs_status status); /* "unknown" for any other */

enum verbs_send_flags {
	VERBS_SEND_FENCE = 1 << 0,    /* begins once reads before it have come */
	VERBS_SEND_SIGNALED = 1 << 1, /* else only its failure is told */
};

struct verbs_sge {
	__u64 address; /* IOVA */
	__u32 length;
	__u32 key;
};

/* An entry of a send queue, two cache lines. */
struct verbs_send {
	__u64 id; /* the guest's own, comes back with the completion */
	__u64 remote_address;
	__u32 remote_key;
	__u8 opcode;
	__u8 flags;
	__u8 pieces;
	__u8 reserved;
	__u64 reserved2;
	struct verbs_sge piece[VERBS_SGE_MAX];
};

/* An entry of a receive queue. */
struct verbs_receive {
	__u64 id;
	__u8 pieces;
	__u8 reserved[7];
	__u64 reserved2[2];
	struct verbs_sge piece[VERBS_SGE_MAX];
};

/* An entry of a completion queue, written by one DMA of 32 bytes; `turn` last: it is valid once turn is the index + 1. */
struct verbs_completion {
	__u64 id;
	__u32 queue_pair;
	__u32 bytes;
	__u8 status; /* enum verbs_status */
	__u8 opcode; /* enum verbs_opcode */
	__u16 entry; /* of the work request: the low bits of its index in its queue; it and those before are free again */
	__u8 reserved[4];
	__u64 turn;
};

_Static_assert(sizeof(struct verbs_send) == 128, "two cache lines");
_Static_assert(sizeof(struct verbs_receive) == 128, "two cache lines");
_Static_assert(sizeof(struct verbs_completion) == 32, "two a cache line");

/* Doorbell words of a queue pair: the first cache line of its memory. The guest stores how many entries it has ever posted. */
struct verbs_pair_words {
	__u64 sent;	/* entries of the send queue */
	__u64 received; /* entries of the receive queue */
	__u64 reserved[6];
};

/* Of a completion queue. The device looks at `armed` after it has written an entry, and tells once for each value of it. */
#define VERBS_UNARMED (~0ull)
struct verbs_completion_words {
	__u64 taken; /* by the guest: entries that it has polled, so that these may be written again */
	__u64 armed; /* by the guest: wants the eventfd once there have been more entries than this; VERBS_UNARMED */
	__u64 reserved[6];
};

/* A queue pair's memory: words, send queue, receive queue; a completion queue's: words, entries. Page aligned. */
static inline __u64 verbs_pair_bytes(__u32 send_depth, __u32 receive_depth)
{
	return 64 + (__u64)send_depth * sizeof(struct verbs_send) +
	       (__u64)receive_depth * sizeof(struct verbs_receive);
}

static inline __u64 verbs_completion_bytes(__u32 depth)
{
	return 64 + (__u64)depth * sizeof(struct verbs_completion);
}

/*
 * Commands: written by the guest at index modulo VERBS_COMMANDS into the command ring in guest memory, answered in the
 * entry's place by the backend. Nothing else of the device can be reached from the guest's side. Arguments that a kind does
 * not have are 0. Addresses are guest addresses, of the share behind the command ring. Errors of all kinds: -EINVAL (a value that
 * none may have), -EOPNOTSUPP (no such kind), -EFAULT (memory that is not the device's), -ENOENT (no such object), -ENOSPC (as
 * many as there can be), -ENOMEM ([tenant] memlock does not allow the pin), -ESHUTDOWN.
 */
#define VERBS_COMMANDS 64

enum verbs_command_kind {
	VERBS_OPEN = 1,	    /* result: as verbs_pack_limits() */
	VERBS_QUERY_DEVICE, /* likewise */
	VERBS_REGISTER, /* argument: address, bytes, enum verbs_region, enum verbs_right bits; result[0]: key */
	VERBS_DEREGISTER, /* argument: key */
	VERBS_ADVISE, /* argument: key, address, bytes, 1 to write: brought in and mapped now (ibv_advise_mr) */
	VERBS_CREATE_CQ,  /* argument: address, depth; result[0]: number */
	VERBS_DESTROY_CQ, /* argument: number; -EBUSY */
	VERBS_CREATE_QP, /* argument: address, send depth, receive depth, send CQ, receive CQ; result[0]: number */
	VERBS_MODIFY_QP, /* argument: number, enum verbs_pair_state, peer's number, enum verbs_modify bits */
	VERBS_QUERY_QP,	  /* argument: number; result[0]: state, result[1]: peer's number */
	VERBS_DESTROY_QP, /* argument: number */
	VERBS_COMMAND_KINDS,
};

enum verbs_modify { VERBS_LOOPBACK = 1 }; /* the peer is a queue pair of this very device */
enum verbs_region { VERBS_PINNED, VERBS_DEMAND, VERBS_IMPLICIT, VERBS_REGIONS };
enum verbs_right { VERBS_LOCAL_WRITE = 1, VERBS_REMOTE_WRITE = 2, VERBS_REMOTE_READ = 4 };
/* As enum ibv_qp_state. */
enum verbs_pair_state {
	VERBS_RESET,
	VERBS_INIT,
	VERBS_RTR,
	VERBS_RTS,
	VERBS_SQE_UNUSED,
	VERBS_ERROR
};

struct verbs_command {
	__u16 kind; /* enum verbs_command_kind */
	__u16 reserved;
	__s32 error; /* of the answer: 0 or a negative errno */
	__u64 argument[5];
	__u64 result[2];
};

_Static_assert(sizeof(struct verbs_command) == 64, "one cache line");

#endif
