/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets between queue pairs, as they stand in the wire's memory, and the arithmetic of their
 * numbers. Fields are those of InfiniBand's headers (BTH, RETH, AETH), not their layout.
 */
#ifndef FAULTLINE_RDMA_PACKETS_H
#define FAULTLINE_RDMA_PACKETS_H

#include <linux/types.h>

#define RDMA_PSN_MASK  0xffffffu
#define RDMA_MTU_MAX   4096
#define RDMA_READS_MAX 16 /* reads of one queue pair whose responses have not all come */

enum rdma_packet_kind {
	RDMA_SEND,	    /* payload; FIRST and LAST */
	RDMA_WRITE,	    /* likewise; the FIRST has address, key, length */
	RDMA_READ_REQUEST,  /* address, key, length, generation */
	RDMA_READ_RESPONSE, /* payload; FIRST and LAST; generation; acknowledges all before */
	RDMA_ACK,	    /* all up to psn; generation */
	RDMA_NAK,	    /* psn was not taken, all before was; code; timer */
	/* Not of the specification (read_rnr): the initiator of a read is not ready. psn: the first
	 * response that it wants again, and under which generation; timer. */
	RDMA_READ_RNR,
	RDMA_PACKET_KINDS,
};

enum rdma_nak {
	RDMA_NAK_SEQUENCE,  /* psn is missing */
	RDMA_NAK_INVALID,   /* psn is none that may come there */
	RDMA_NAK_ACCESS,    /* bounds or rights of its range */
	RDMA_NAK_OPERATION, /* the responder failed itself */
	RDMA_NAK_RNR,	    /* not ready: again after timer */
	RDMA_NAKS,
};

enum rdma_packet_flags { RDMA_FIRST = 1, RDMA_LAST = 2, RDMA_ACK_REQUEST = 4 };

/* Payload behind it. */
struct rdma_packet {
	__u32 destination; /* queue pair */
	__u32 source;
	__u32 psn;
	__u8 kind, flags;
	__u8 code;  /* enum rdma_nak */
	__u8 timer; /* of an RNR NAK or READ_RNR: the specification's code, rnr_timer_ns() */
	__u64 address;
	__u32 key;
	__u32 length; /* of the whole read or write, bytes */
	__u32 bytes;  /* of payload */
	/*
	 * How often the initiator has asked for its reads' responses again; of responses and
	 * acknowledgements: the last that has been answered up to there. Not of the specification: it tells responses that were on
	 * their way from those that were asked for again, so that each is asked for again once.
	 */
	__u32 generation;
	__u64 token;  /* numbers the waits of a machine, for observers; no peer acts on it */
	__u64 due_ns; /* the wire's: when it arrives */
	unsigned char payload[];
};

/* 9.7.5.2.8, table 45: the 32 timers of an RNR NAK, ns. Code 0 is the longest, 655.36 ms; 1 is
 * 10 us. Of a higher code the low five bits count. */
__u64 rnr_timer_ns(__u8 code);

/*
 * Inside, numbers are positions of 64 bits, which never wrap; they begin far enough from 0 to look
 * back. A position is that of a psn which is the nearest: less than 2^23 away.
 */
#define RDMA_POSITION_FIRST (1ull << 32)

static inline __u64 rdma_position(__u32 psn, __u64 near)
{
	__s32 ahead = (__s32)((psn - (__u32)near) << 8) >> 8;

	return near + (__u64)(__s64)ahead;
}

static inline __u32 rdma_psn(__u64 position)
{
	return (__u32)position & RDMA_PSN_MASK;
}

#endif
