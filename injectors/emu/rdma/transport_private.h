/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair's state, and what the transport's files and the fault policies call of each other.
 *
 * Requester: entries of the send queue by index modulo depth,
 *
 *	head		 read		  cursor		tail
 *	| not completed	 | oldest read	  | the next packet's	| not taken from the guest yet
 *			   asked for
 *
 * and positions of packets: acked (all before were taken by the peer, also read requests), next (of
 * the next packet to send), sent (behind the last that was ever sent). acked never lies within a
 * read. next goes back to acked to send again; reads before that are asked for by `again`.
 */
#ifndef FAULTLINE_RDMA_TRANSPORT_PRIVATE_H
#define FAULTLINE_RDMA_TRANSPORT_PRIVATE_H

#include <string.h>

#include "injectors/emu/rdma/fault_policy.h"
#include "injectors/emu/rdma/transport.h"

/* An acknowledgement is asked for behind each message and so many packets of one. */
#define TRANSPORT_ACK_EVERY 32
/* Positions under way at most, so that a psn has one meaning. */
#define TRANSPORT_POSITIONS (1u << 22)

struct send_entry {
	struct verbs_send send;
	__u64 first, end; /* positions */
	__u64 total;	  /* bytes */
	__u64 received;	  /* responses of a read that have come, in order */
	__u8 failed;	  /* enum verbs_status that it will complete with, once it is the head */
	bool asked;	  /* a read that has been sent, and some of whose responses are missing */
};

/* Of one kind, until memory or a time comes. */
struct transport_wait {
	bool on;
	__u64 token, since_ns;
	__u64 until_ns; /* 0: for memory */
};

enum transport_waits {
	WAIT_SEND_MEMORY,     /* the send queue, for what it sends */
	WAIT_SEND_RNR,	      /* the send queue, for the peer */
	WAIT_READ_MEMORY,     /* the send queue's reads, for where their responses go */
	WAIT_RESPONSE_MEMORY, /* responses, for what they send */
	WAIT_RESPONSE_RNR,    /* responses, for the peer */
	TRANSPORT_WAITS,
};

struct requester {
	struct send_entry *entries;
	__u32 depth;
	__u64 head, cursor, tail, read;
	__u64 absent; /* the entry that WAIT_SEND_MEMORY is for */
	__u64 acked, next, sent;
	__u64 assigned; /* behind the last entry that was taken */
	__u32 reads;	/* entries that are `asked` */

	bool again; /* what is missing of `read`, and all reads behind it, are asked for again */
	__u32 generation;
	bool target_absent; /* of the response that is missing */
	bool responses_lost; /* a response was dropped without a word: no gap is told until a timeout */
	__u8 stale;	     /* enum rdma_drop of responses that an older generation brings */
	__u64 stale_token;
	bool read_rnr_due;

	enum rdma_resend why; /* what was sent is sent again */
	__u64 why_token;
	__u8 retries_left, rnr_left;
	bool timer_on, broken; /* broken: an entry has failed, no new one begins */
	__u64 timer_ns;	       /* when it was started */
	__u64 timer_extra_ns;  /* the peer may be silent for so long beyond the timeout, until a
				* response is taken */
	bool stopped;	       /* the send queue stands still */
	__u64 stopped_ns;      /* ... since then */
};

struct responder_read {
	__u64 first, next, end; /* positions */
	struct verbs_sge from;
};

struct responder {
	__u64 expected;
	__u64 acked; /* all before has been acknowledged, maybe in vain */
	bool ack_due;
	bool in_message;
	__u8 kind; /* of the message */
	__u64 offset;
	struct verbs_sge target; /* of a write */

	bool receive_held; /* taken from the guest, not completed */
	__u32 receive_depth;
	struct verbs_receive receive;
	__u64 receive_total, receives;

	/* What comes behind `expected` is dropped for this reason, until that comes. */
	bool refusing;
	enum rdma_drop behind;
	__u64 behind_token;
	bool target_absent; /* of `expected` */
	int memory_error;   /* of its pages */

	bool nak_due;
	enum rdma_nak nak;
	__u64 nak_position, nak_token;
	enum rdma_drop nak_for;
	bool failing; /* the NAK is the last word: the pair is in error once it was said */
	enum verbs_status failed;

	/* The last reads, also if all responses have been sent; [head, tail) have some to be sent. */
	struct responder_read reads[RDMA_READS_MAX];
	__u32 read_head, read_tail;
	__u32 generation;
	__u64 responded; /* behind the last that was ever sent */
	__u64 replay_token;
};

struct queue_pair {
	const struct transport_ops *ops;
	void *device;
	const struct fault_policy *policy;
	__u64 timeout_ns;
	__u32 mtu, mtu_shift; /* shift: mtu is 1 << shift; 0: it is no power of two */
	__u32 number, peer;
	__u8 retries, rnr_retries, rnr_timer;
	bool read_rnr;
	bool ready; /* transport_transmit() may have something */
	enum verbs_pair_state state;
	struct requester requester;
	struct responder responder;
	struct transport_wait waits[TRANSPORT_WAITS];
	struct transport_counters counters;
};

static inline struct send_entry *send_entry_at(struct queue_pair *pair, __u64 index)
{
	return &pair->requester.entries[index & (pair->requester.depth - 1)];
}

static inline __u64 rdma_packets_of(const struct queue_pair *pair, __u64 bytes)
{
	if (!bytes)
		return 1;
	return pair->mtu_shift ? (bytes + pair->mtu - 1) >> pair->mtu_shift
			       : (bytes + pair->mtu - 1) / pair->mtu;
}

static inline __u32 payload_at(const struct queue_pair *pair, __u64 offset, __u64 total)
{
	return total - offset < pair->mtu ? (__u32)(total - offset) : pair->mtu;
}

static inline bool pair_waits(const struct queue_pair *pair, enum transport_waits wait)
{
	return pair->waits[wait].on;
}

/* transport.c */
bool transport_drop(struct queue_pair *pair, enum rdma_drop reason, __u64 position, __u64 token,
		    __u64 now_ns); /* returns false: not taken */
void transport_count_resent(struct queue_pair *pair, enum rdma_resend why, __u64 position,
			    __u64 token, __u64 now_ns);
void transport_tell(struct queue_pair *pair, const struct transport_event *event);
/* The pair is in error because of `status`: flushes all. */
void transport_fail(struct queue_pair *pair, enum verbs_status status, __u64 now_ns);
void transport_wait_begin(struct queue_pair *pair, enum transport_waits wait, __u64 token,
			  __u64 until_ns, __u64 now_ns);
void transport_wait_end(struct queue_pair *pair, enum transport_waits wait, __u64 now_ns);
void transport_begin_packet(struct queue_pair *pair, struct rdma_packet *packet,
			    enum rdma_packet_kind kind, __u64 position);

/* transport_request.c */
void requester_begin(struct queue_pair *pair, __u64 position);
bool requester_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns);
/* What completes, and fails, from the head on. */
void requester_settle(struct queue_pair *pair, __u64 now_ns);
void requester_fail(struct queue_pair *pair, struct send_entry *entry, enum verbs_status status,
		    __u64 now_ns);
void requester_flush(struct queue_pair *pair);
__u64 requester_deadline(const struct queue_pair *pair);
void requester_timeout(struct queue_pair *pair, __u64 now_ns);
void requester_timer_restart(struct queue_pair *pair, __u64 now_ns);
/* Goes back to what the peer lacks; reads that are not complete are asked for again, too. */
void requester_go_back(struct queue_pair *pair, enum rdma_resend why, __u64 token, __u64 now_ns);
/* Asks again for the responses that are missing. */
void requester_read_again(struct queue_pair *pair, enum rdma_resend why, __u64 token, __u64 now_ns);
/* Behind a loss that the peer, or a gap, has told. False: there were too many. */
bool requester_retry(struct queue_pair *pair, __u64 now_ns);
struct send_entry *requester_find(struct queue_pair *pair, __u64 position); /* NULL: none */

/* transport_answer.c: packets to the requester; false: dropped */
bool requester_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns);

/* transport_response.c: the responder's packets */
void responder_begin(struct queue_pair *pair, __u64 position);
bool responder_transmit(struct queue_pair *pair, struct rdma_packet *packet, __u64 now_ns);
void responder_nak(struct queue_pair *pair, enum rdma_nak nak, __u64 position);
/* The last NAK; the pair is in error behind it. */
void responder_refuse(struct queue_pair *pair, enum rdma_nak nak, enum verbs_status status,
		      __u64 position);

/* transport_respond.c: requests that arrive; false: dropped */
bool responder_receive(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns);
void responder_flush(struct queue_pair *pair);

/* transport_reads.c: what the responder knows of reads */
bool responder_read(struct queue_pair *pair, const struct rdma_packet *packet, __u64 position,
		    __u64 now_ns);
bool responder_read_rnr(struct queue_pair *pair, const struct rdma_packet *packet, __u64 now_ns);

static inline bool responder_owes(const struct responder *responder)
{
	return responder->read_head != responder->read_tail;
}

/* transport_absent.c: what fault policies are made of */
void absent_pause_sends(struct queue_pair *pair, __u64 position, __u64 now_ns);
void absent_pause_responses(struct queue_pair *pair, __u64 position, __u64 now_ns);
void absent_drop_responses(struct queue_pair *pair, __u64 position, __u64 now_ns);
void absent_read_rnr(struct queue_pair *pair, __u64 position, __u64 now_ns);
void absent_lose_response(struct queue_pair *pair, __u64 position, __u64 now_ns);
void absent_not_ready(struct queue_pair *pair, __u64 position, __u64 now_ns);
void absent_lose_request(struct queue_pair *pair, __u64 position, __u64 now_ns);
/* No receive was posted: the same of the specification, whatever the policy. */
void absent_no_receive(struct queue_pair *pair, __u64 position, __u64 now_ns);

#endif
