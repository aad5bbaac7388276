/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two connected queue pairs over memory, whose packets a test moves one by one: what directed tests
 * of the transport stand on.
 */
#ifndef FAULTLINE_RDMA_TWO_H
#define FAULTLINE_RDMA_TWO_H

#include "tests/unit/test.h"

#include "injectors/emu/rdma/fault_policy.h"
#include "injectors/emu/rdma/transport.h"

#define TWO_MTU	   256
#define TWO_BYTES  16384     /* of memory each */
#define TWO_BEGIN  0xfffffeu /* psns wrap behind the second packet */
#define TWO_EVENTS 256

struct two_end {
	struct queue_pair *pair;
	unsigned char memory[TWO_BYTES];
	struct verbs_send sends[16];
	struct verbs_receive receives[16];
	__u32 posted, fetched, receives_posted, receives_fetched;
	struct verbs_completion done[32];
	__u32 done_count;
	struct transport_event events[TWO_EVENTS];
	__u32 event_count;
	int fault[RDMA_SIDES]; /* what a try of this side is answered */
	int refused;	       /* what check() answers */
	__u64 *tokens;
};

struct two {
	struct two_end a, b;
	__u64 now_ns, tokens;
	struct {
		struct rdma_packet header;
		unsigned char payload[RDMA_MTU_MAX];
	} packet; /* the last that was sent */
};

/* RTS, with an RNR timer of 10 us, a timeout of 1 ms and 7 retries of both kinds. */
struct transport_settings two_settings(const char *policy);
void two_create(struct two *two, const struct transport_settings *settings);
void two_destroy(struct two *two);

void two_send(struct two_end *end, enum verbs_opcode opcode, __u32 local, __u32 remote, __u32 bytes,
	      unsigned int flags);
void two_receive(struct two_end *end, __u32 local, __u32 bytes);

/* Takes the next packet of an end into two->packet; false: it has none. */
bool two_take(struct two *two, struct two_end *from);
/* ... which is of this kind and psn (relative to TWO_BEGIN). */
void two_expect(struct two *two, struct two_end *from, enum rdma_packet_kind kind, __u32 psn);
void two_give(struct two *two, struct two_end *to); /* two->packet */
/* Moves packets both ways until there are none. */
void two_run(struct two *two);
/* Time passes, to the next deadline of both, if there is one. */
bool two_wait(struct two *two);

/* The completions of an end are these, in order: id, status. Ends with -1. */
void two_done(struct two_end *end, const int *ids_and_statuses);
__u32 two_count(const struct two_end *end, enum transport_event_kind kind);
const struct transport_event *two_last(const struct two_end *end, enum transport_event_kind kind);

#endif
