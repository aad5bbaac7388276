/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reliable connected transport (InfiniBand Architecture Specification, volume 1, chapter 9.7): requester and responder of
 * queue pairs as state alone. No thread, no guest memory, no clock, no allocation once created: time is an argument, memory
 * and the wire are the device's. Any order of these calls is legal; a unit test makes millions of random ones.
 *
 * Packet sequence numbers have 24 bits and wrap. Go-back-N: what arrives out of order is dropped and answered with
 * one NAK (sequence error) until the expected one comes. Reads take as many numbers as they have responses. Each work request
 * completes exactly once and in order; after an error all that is left is flushed.
 *
 * A page that is absent is the fault policy's (fault_policy.h): of the four sides at which it may happen, each has its own way.
 */
#ifndef FAULTLINE_RDMA_TRANSPORT_H
#define FAULTLINE_RDMA_TRANSPORT_H

#include <linux/types.h>
#include <stdbool.h>

#include "injectors/emu/verbs/verbs_layout.h"

#define PSN_MASK	 0xffffffu
#define RDMA_MTU_MAX	 4096
#define RDMA_READS_MAX	 16 /* read requests that one queue pair may have at a responder */

enum rdma_packet_kind {
	RDMA_SEND,	    /* payload; FIRST and LAST */
	RDMA_WRITE,	    /* likewise; the FIRST has address, key, length */
	RDMA_READ_REQUEST,  /* address, key, length */
	RDMA_READ_RESPONSE, /* payload; FIRST and LAST; acknowledges */
	RDMA_ACK,	    /* all up to psn */
	RDMA_NAK,	    /* code: enum rdma_nak; timer */
	RDMA_READ_RNR,	    /* not of the specification (read_rnr): the initiator of a read is not ready; psn: the first response it wants again, timer */
};

enum rdma_nak { RDMA_NAK_SEQUENCE, RDMA_NAK_INVALID, RDMA_NAK_ACCESS, RDMA_NAK_OPERATION, RDMA_NAK_RNR };
enum rdma_packet_flags { RDMA_FIRST = 1, RDMA_LAST = 2, RDMA_ACK_REQUEST = 4 };

/* A packet as it stands in the wire's memory, payload behind it. */
struct rdma_packet {
	__u32 destination; /* queue pair */
	__u32 source;
	__u32 psn;
	__u8 kind, flags;
	__u8 code;  /* enum rdma_nak */
	__u8 timer; /* of an RNR NAK: the specification's code, rnr_timer_ns() */
	__u64 address;
	__u32 key;
	__u32 length;	/* of the whole read or write, bytes */
	__u32 bytes;	/* of payload */
	__u32 reserved;
	__u64 token;	/* of an RNR NAK or READ_RNR: numbers the waits of a machine, for who observes; no peer acts on it */
	__u64 due_ns;	/* the wire's: when it arrives */
	unsigned char payload[];
};

/* 9.7.5.2.8, table 45: the 32 timers of an RNR NAK, ns. code 0 is the longest, 655.36 ms; 1 is 10 us. */
__u64 rnr_timer_ns(__u8 code);

/* Where at a queue pair a page can be absent. */
enum rdma_side {
	RDMA_INITIATOR_READS,  /* source of a send or write: the initiator reads memory */
	RDMA_INITIATOR_WRITES, /* target of a read's responses */
	RDMA_RESPONDER_READS,  /* source of a read's responses */
	RDMA_RESPONDER_WRITES, /* target of a receive or write */
	RDMA_SIDES,
};

/* Bytes of one or several pieces; local pieces by their own keys, a remote one by the key that the packet has. */
struct rdma_transfer {
	enum rdma_side side;
	const struct verbs_sge *piece;
	__u32 pieces;
	bool remote;	 /* rights REMOTE_READ or REMOTE_WRITE are needed */
	__u64 offset;	 /* into the pieces, of the bytes to be moved */
	__u64 total;	 /* bytes of the whole request from piece[0] on: what may be asked for ahead */
};

struct queue_pair;
struct transport_event;

struct transport_ops {
	/*
	 * Moves bytes between memory and a packet. 0: done, all of them. -EAGAIN: pages are absent, none was moved, and the
	 * device sees to them: transport_memory() of this queue pair and side comes later, from outside of this call.
	 * -EINVAL (bounds), -EACCES (key or right), -EIO (a page could not be had): the request fails. Never waits.
	 */
	int (*gather)(void *device, struct queue_pair *pair, const struct rdma_transfer *from, void *to, __u32 bytes);
	int (*scatter)(void *device, struct queue_pair *pair, const struct rdma_transfer *to, const void *from, __u32 bytes);
	/* A remote range is checked as a whole when its first packet comes, also of length 0. 0, -EINVAL, -EACCES. */
	int (*check)(void *device, struct queue_pair *pair, const struct rdma_transfer *range);
	/* The next entry that the guest has posted; false: none now. Each entry is asked for once and the transport keeps it. */
	bool (*next_send)(void *device, struct queue_pair *pair, struct verbs_send *send);
	bool (*next_receive)(void *device, struct queue_pair *pair, struct verbs_receive *receive);
	/* Of this pair's send or receive queue, by completion->opcode. */
	void (*complete)(void *device, struct queue_pair *pair, const struct verbs_completion *completion);
	/* What happened, for counters, probes and the truth log. */
	void (*tell)(void *device, struct queue_pair *pair, const struct transport_event *event);
};

enum transport_event_kind {
	TRANSPORT_RNR_SENT,	/* psn, timer, token; side */
	TRANSPORT_RNR_RECEIVED, /* psn, timer, token */
	TRANSPORT_DROPPED,	/* one packet that arrived and was not taken: psn, enum rdma_drop */
	TRANSPORT_RESENT,	/* one packet that had been sent before: psn, enum rdma_resend */
	TRANSPORT_REWOUND,	/* asks again, or goes back: psn is the first, count the packets to be sent again; enum rdma_resend */
	TRANSPORT_PAUSED,	/* a side waits for memory, or for a timer (token): side */
	TRANSPORT_RESUMED,	/* ... and goes on; token of the wait, since_ns */
	TRANSPORT_ERROR,	/* the pair is in error: enum verbs_status */
};

enum rdma_drop {
	RDMA_DROP_FAULT,     /* the first, whose page was absent */
	RDMA_DROP_RNR,	     /* was in flight when the NAK was sent; before the sender went back */
	RDMA_DROP_SEQUENCE,  /* behind a lost one */
	RDMA_DROP_DUPLICATE, /* had arrived before */
	RDMA_DROP_RESPONSE,  /* a read's response whose target is, or was, absent */
	RDMA_DROP_NO_RECEIVE,/* nothing was posted */
	RDMA_DROP_STATE,     /* the pair is in no state to take it */
	RDMA_DROPS,
};

enum rdma_resend { RDMA_RESEND_RNR, RDMA_RESEND_SEQUENCE, RDMA_RESEND_TIMEOUT, RDMA_RESEND_READ, RDMA_RESENDS };

struct transport_event {
	enum transport_event_kind kind;
	enum rdma_side side;
	__u8 code, timer;
	__u32 psn, count;
	__u64 token, since_ns, now_ns;
};

struct fault_policy;

struct transport_settings {
	__u32 mtu;	     /* payload of a packet */
	__u64 timeout_ns;    /* without an acknowledgement: sends again; 0: never */
	__u8 retries;	     /* so often without progress, 0 to 7, then RETRY_EXC_ERR */
	__u8 rnr_retries;    /* likewise of RNR NAKs; 7: for ever */
	__u8 rnr_timer;	     /* code that this side's RNR NAKs carry */
	bool read_rnr;	     /* both sides know RDMA_READ_RNR */
	const struct fault_policy *policy;
	__u64 (*new_token)(void *device);
};

/* transport_private.h has its fields. */
int transport_pair_create(struct queue_pair **pair, const struct transport_settings *settings,
			  const struct transport_ops *ops, void *device, __u32 number, __u32 send_depth, __u32 receive_depth);
void transport_pair_destroy(struct queue_pair *pair);
__u32 transport_pair_number(const struct queue_pair *pair);

/* RESET to INIT, RTR (peer, first psns are 0 unless set), RTS, ERROR; -EINVAL for what ibv_modify_qp() refuses. */
int transport_modify(struct queue_pair *pair, enum verbs_pair_state state, __u32 peer, __u32 send_psn, __u32 receive_psn, __u64 now_ns);
enum verbs_pair_state transport_state(const struct queue_pair *pair);

/* A packet for this pair has arrived. */
void transport_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns);
/* Fills the next packet to send (room for header and mtu bytes); false: nothing to send now. Responses go before requests. */
bool transport_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns);
/* Pages that this side asked for have been answered (error: they could not be had; -EAGAIN: ask again). */
void transport_memory(struct queue_pair *pair, enum rdma_side side, int error, __u64 now_ns);
/* The earliest time at which transport_timeout() has something to do; 0: none. */
__u64 transport_deadline(const struct queue_pair *pair);
void transport_timeout(struct queue_pair *pair, __u64 now_ns);
/* Whether transport_transmit() may have something, without trying. The guest has posted: always true until it was tried. */
bool transport_ready(const struct queue_pair *pair);
/* A doorbell: there are new entries of the send or receive queue. */
void transport_posted(struct queue_pair *pair);

struct transport_counters {
	__u64 sent, sent_bytes;		/* packets, payload bytes, those sent again included */
	__u64 arrived, taken;		/* packets of the wire: arrived = taken + the sum of dropped */
	__u64 dropped[RDMA_DROPS];
	__u64 resent[RDMA_RESENDS];
	__u64 rnr_sent, rnr_received, rewound;
	__u64 operations[VERBS_OPCODES], useful_bytes; /* completed without error; payload that landed once */
	__u64 paused_ns;		/* of the send queue: memory, RNR */
};
const struct transport_counters *transport_counters(const struct queue_pair *pair);

#endif
