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
	__u64 posted_ns; /* devices with a mode: when, CLOCK_MONOTONIC; for what is told alone */
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

/*
 * An entry of a completion queue, written by one DMA of 32 bytes; `turn` last: it is valid once turn is the index + 1. With a mode
 * the guest may write when it has taken it (CLOCK_MONOTONIC ns) into the place of `id`, once it has copied that and before it stores
 * `taken`: for what is told alone.
 */
struct verbs_completion {
	__u64 id;
	__u32 queue_pair;
	__u32 bytes;
	__u8 status; /* enum verbs_status */
	__u8 opcode; /* enum verbs_opcode */
	/* Of the work request: the low bits of its index in its queue, which of a receive may be a shared one; it and those before
	 * are free again. Completions of a shared one may come out of order: what was free stays free. */
	__u16 entry;
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

/* A shared receive queue's: a cache line whose first word is how many were ever posted, entries. */
#define VERBS_NO_SRQ   (~0u)
#define VERBS_SRQS_MAX 64
#define VERBS_OWN_LINE (~0ull)
static inline __u64 verbs_shared_bytes(__u32 depth)
{
	return 64 + (__u64)depth * sizeof(struct verbs_receive);
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
	/* argument: address, bytes, enum verbs_region, enum verbs_right bits, domain; result[0]: key */
	VERBS_REGISTER,
	VERBS_DEREGISTER, /* argument: key */
	VERBS_ADVISE, /* argument: key, address, bytes, 1 to write: brought in and mapped now (ibv_advise_mr) */
	VERBS_CREATE_CQ,  /* argument: address, depth; result[0]: number */
	VERBS_DESTROY_CQ, /* argument: number; -EBUSY */
	VERBS_CREATE_QP, /* argument: address, send depth, receive depth, send CQ, receive CQ; result[0]: number */
	VERBS_MODIFY_QP, /* argument: number, enum verbs_pair_state, peer's number, enum verbs_modify bits */
	VERBS_QUERY_QP,	  /* argument: number; result[0]: state, result[1]: peer's number */
	VERBS_DESTROY_QP, /* argument: number */
	/* Of devices with a mode (hyv_layout.h), besides. Objects of a guest are its own; protection domain 0 is always there. */
	VERBS_ALLOC_PD,	  /* result[0]: number, 1 to 65535 */
	VERBS_DEALLOC_PD, /* argument: number; -EBUSY: regions or queue pairs are of it */
	/* As VERBS_REGISTER, of pages that a list names: argument: address that work requests give (any; the list's first page
	 * holds it), bytes, enum verbs_region | rights << 8, domain. The list: one guest address a page. By the command ring,
	 * which carries no list, argument[4]: guest address of it, in the control area (hyv_layout.h). */
	VERBS_REGISTER_PAGES,
	VERBS_CREATE_SRQ, /* argument: address, depth, domain; a shared receive queue; result[0]: number */
	VERBS_DESTROY_SRQ, /* argument: number; -EBUSY */
	/* As VERBS_CREATE_QP; argument: address, send | receive depth << 32, send | receive CQ << 32, domain | SRQ or
	 * VERBS_NO_SRQ << 32 (receive depth 0 then is right, too: it has no receive queue); result[0]: number, result[1]: of its
	 * doorbell line, or VERBS_OWN_LINE: the guest has not mapped doorbells, its words are in its memory */
	VERBS_CREATE_QP_OF,
	VERBS_CREATE_CHANNEL, /* of completion events; result[0]: number, from 1 on; an account alone */
	VERBS_DESTROY_CHANNEL, /* argument: number */
	/* Bottom-up: argument: guest address of pages, bytes, enum verbs_resource, offset in it. They show the host's pages once it
	 * is answered; the guest maps the same over its own view before it uses them.
	 * -EBUSY: an object or another resource is there. As many mappings as HYV_OVERLAYS. */
	VERBS_MAP_RESOURCE,
	VERBS_UNMAP_RESOURCE, /* argument: guest address, bytes of one mapping; -EBUSY: objects are in it, or have lines of it */
	VERBS_POST, /* forwarded posts: argument: queue pair, 1 if receives; the rings are looked at once */
	VERBS_COMMAND_KINDS,
};

enum verbs_resource {
	VERBS_DOORBELLS, /* HYV_DOORBELL_BYTES */
	VERBS_OWNED,	 /* memory for queues that the host owns */
	VERBS_RESOURCES,
};

/* What goes into error by itself, so that no completion can say so (ibv_get_async_event). */
enum verbs_failing {
	VERBS_QUEUE_FAILED, /* a completion found it full, or its words broken: that one is lost, as all behind it */
	VERBS_PAIR_FAILED, /* by its completion queue's failure, or its doorbell words that make no sense */
	VERBS_FAILING,
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
