/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reliable connected transport (InfiniBand Architecture Specification, volume 1, chapter 9.7):
 * requester and responder of queue pairs as state alone. No thread, no guest memory, no clock, no
 * allocation once created: time is an argument, memory and the wire are the device's. Any order of
 * these calls is legal, but none may be made from within one of transport_ops.
 *
 * Packet sequence numbers have 24 bits and wrap. Go-back-N: what arrives out of order is dropped
 * and answered with one NAK (sequence error) until the expected one comes. Reads take as many
 * numbers as they have responses. Each work request completes exactly once and in order; after an
 * error all that is left is flushed.
 *
 * A page that is absent is the fault policy's (fault_policy.h): of the four sides at which it may
 * happen, each has its own way. docs/rdma-device.md has the tables.
 */
#ifndef FAULTLINE_RDMA_TRANSPORT_H
#define FAULTLINE_RDMA_TRANSPORT_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/event.h"
#include "injectors/emu/rdma/packets.h"
#include "injectors/emu/verbs/verbs_layout.h"

/* Bytes of one or several pieces; local pieces by their own keys, a remote one by the packet's. */
struct rdma_transfer {
	enum rdma_side side;
	const struct verbs_sge *piece;
	__u32 pieces;
	bool remote;  /* rights REMOTE_READ or REMOTE_WRITE are needed */
	__u64 offset; /* into the pieces, of the bytes to be moved */
	__u64 total;  /* bytes of the whole request from piece[0] on: what may be asked for ahead */
	__u64 entry;  /* of an initiator's: which of those that next_send() gave, from 0 on */
};

enum transport_event_kind {
	TRANSPORT_RNR_SENT, /* psn, timer, side; code: enum rdma_drop, of what it was sent for */
	TRANSPORT_RNR_RECEIVED, /* psn, timer, side that waits now */
	/* One packet that arrived and was not taken: psn, enum rdma_drop; FAULT, RESPONSE: side whose page was absent. */
	TRANSPORT_DROPPED,
	TRANSPORT_RESENT, /* one packet that had been sent before: psn, enum rdma_resend */
	/* Goes back, or asks for responses again: psn is the first, count packets will be sent
	 * again; enum rdma_resend, READ of responses. since_ns: of a timeout, when its timer was
	 * started. */
	TRANSPORT_REWOUND,
	TRANSPORT_PAUSED,  /* a side waits: enum rdma_wait */
	TRANSPORT_RESUMED, /* ... no more; since_ns; count 1: its pair ends, it does not go on */
	TRANSPORT_ERROR,   /* the pair is in error: enum verbs_status of what failed */
};

/*
 * token ties what belongs to one wait, on both sides: RNR_SENT, RNR_RECEIVED, PAUSED, RESUMED, and
 * DROPPED, RESENT and REWOUND because of it; each timeout has one, too. 0: of no wait.
 */
struct transport_event {
	enum transport_event_kind kind;
	enum rdma_side side;
	__u8 code, timer;
	__u32 psn, count;
	__u64 token, since_ns, now_ns;
};

struct queue_pair;

struct transport_ops {
	/*
	 * Moves bytes between memory and a packet, 1 to mtu. 0: done, all of them. -EAGAIN: pages
	 * are absent, none was moved, and the device sees to them: transport_memory() of this queue
	 * pair and side comes later, from outside of this call. -EINVAL (bounds), -EACCES (key or
	 * right), -EIO (a page could not be had): the request fails. Never waits.
	 */
	int (*gather)(void *device, struct queue_pair *pair, const struct rdma_transfer *from,
		      void *to, __u32 bytes);
	int (*scatter)(void *device, struct queue_pair *pair, const struct rdma_transfer *to,
		       const void *from, __u32 bytes);
	/* A remote range is checked as a whole when its first packet comes, also of length 0.
	 * 0, -EINVAL, -EACCES. */
	int (*check)(void *device, struct queue_pair *pair, const struct rdma_transfer *range);
	/* The next entry that the guest has posted; false: none now. Each entry is asked for once
	 * and the transport keeps it: it is copied out of the guest's reach, checked by nobody. */
	bool (*next_send)(void *device, struct queue_pair *pair, struct verbs_send *send);
	bool (*next_receive)(void *device, struct queue_pair *pair, struct verbs_receive *receive);
	/* Of this pair's send or receive queue, by completion->opcode; `turn` is not filled. */
	void (*complete)(void *device, struct queue_pair *pair,
			 const struct verbs_completion *completion);
	/* A send has succeeded and was to leave no completion: what that would have said. */
	void (*retire)(void *device, struct queue_pair *pair,
		       const struct verbs_completion *completion);
	/* What happened, for counters, probes and the truth log. */
	void (*tell)(void *device, struct queue_pair *pair, const struct transport_event *event);
	/* Numbers a wait, machine-wide, never 0. */
	__u64 (*new_token)(void *device);
};

struct fault_policy;

struct transport_settings {
	__u32 mtu;	  /* payload of a packet, TRANSPORT_MTU_MIN to RDMA_MTU_MAX */
	__u64 timeout_ns; /* without an acknowledgement: sends again; 0: never */
	__u8 retries;	  /* so often without progress, 0 to 7, then RETRY_EXC_ERR */
	__u8 rnr_retries; /* likewise of RNR NAKs, then RNR_RETRY_EXC_ERR; 7: for ever */
	__u8 rnr_timer;	  /* code that this side's RNR NAKs carry, 0 to 31 */
	bool read_rnr;	  /* both sides know RDMA_READ_RNR */
	const struct fault_policy *policy;
};

#define TRANSPORT_MTU_MIN     256
#define TRANSPORT_RETRIES_MAX 7 /* of rnr_retries: for ever */

/*
 * Depths are powers of two, up to VERBS_DEPTH_MAX: so many entries can be under way. -EINVAL with a
 * sentence, -ENOMEM. What it points to must outlive it.
 */
int transport_pair_create(struct queue_pair **pair, const struct transport_settings *settings,
			  const struct transport_ops *ops, void *device, __u32 number,
			  __u32 send_depth, __u32 receive_depth);
void transport_pair_destroy(struct queue_pair *pair);
/* Before it is destroyed: what waits is told to do so no more. */
void transport_give_up(struct queue_pair *pair, __u64 now_ns);
__u32 transport_pair_number(const struct queue_pair *pair);

/*
 * RESET to INIT, RTR (takes peer and receive_psn), RTS (takes send_psn); any to ERROR, which flushes
 * both queues, and to RESET, which forgets what is under way. -EINVAL for what ibv_modify_qp()
 * refuses.
 */
int transport_modify(struct queue_pair *pair, enum verbs_pair_state state, __u32 peer,
		     __u32 send_psn, __u32 receive_psn, __u64 now_ns);
enum verbs_pair_state transport_state(const struct queue_pair *pair);

/* A packet for this pair has arrived; packet->bytes of payload are behind it, RDMA_MTU_MAX at most. */
void transport_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns);
/* Fills the next packet to send (room for header and mtu bytes); false: nothing to send now.
 * Responses go before requests. */
bool transport_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns);
/* Pages that this side asked for have been answered. 0: try now; -EAGAIN: try, and ask, again;
 * another error: they could not be had, and what waits for them fails. */
void transport_memory(struct queue_pair *pair, enum rdma_side side, int error, __u64 now_ns);
/* The earliest time at which transport_timeout() has something to do; 0: none. */
__u64 transport_deadline(const struct queue_pair *pair);
void transport_timeout(struct queue_pair *pair, __u64 now_ns);
/* Whether transport_transmit() may have something, without trying. */
bool transport_ready(const struct queue_pair *pair);
/* A doorbell: there are new entries of the send or receive queue. */
void transport_posted(struct queue_pair *pair);

struct transport_counters {
	__u64 sent, sent_bytes; /* packets, payload bytes, those sent again included */
	__u64 arrived, taken;	/* packets of the wire: arrived = taken + the sum of dropped */
	__u64 dropped[RDMA_DROPS];
	__u64 resent[RDMA_RESENDS];
	/* Read requests for responses that had been asked for before: sent, and of taken. */
	__u64 asked_again, replayed;
	__u64 rnr_sent, rnr_received, rewound;
	/* Completed without error; payload that landed here, once each. */
	__u64 operations[VERBS_OPCODES], useful_bytes;
	__u64 paused_ns; /* of the send queue: memory, RNR */
};
const struct transport_counters *transport_counters(const struct queue_pair *pair);

#endif
