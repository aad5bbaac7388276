/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two connected queue pairs, the wire between them, their guests and what becomes of their pages:
 * steps that somebody draws. Beside them goes a naive model that knows where each packet of each
 * request lies, and what each side has taken. Any step that is not as it says ends the program.
 *
 * There is no memory: an address says whose operation's bytes are there (RDMA_WORLD_ADDRESS), and
 * these follow from its number and the offset.
 */
#ifndef FAULTLINE_RDMA_WORLD_H
#define FAULTLINE_RDMA_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/rdma/fault_policy.h"
#include "injectors/emu/rdma/transport.h"

#define RDMA_WORLD_DEPTH   16
#define RDMA_WORLD_KEPT	   128 /* entries, of which the last may be under way */
#define RDMA_WORLD_PACKETS 8   /* of an operation, at most */
#define RDMA_WORLD_WIRE	   24
#define RDMA_WORLD_ADDRESS 20 /* bits of an offset */

#define RDMA_CHECK(condition)                                                           \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* A request, as its guest has posted it, at index modulo RDMA_WORLD_KEPT. */
struct rdma_operation {
	__u64 number;	      /* its bytes are of this */
	__u64 first, packets; /* relative to the first psn */
	__u64 bytes;
	__u8 opcode, flags, pieces;
	bool refused;  /* it cannot succeed */
	bool done;     /* as completed */
	bool answered; /* a read, by one response at least */
	__u64 message; /* a send's receive */
	__u8 landed[RDMA_WORLD_PACKETS];
};

/* A receive likewise. */
struct rdma_posted {
	__u64 room, bytes;
	__u8 pieces;
	bool done, received;
};

struct rdma_page {
	bool asked;   /* an answer will come */
	bool present; /* the next try finds it */
	__u64 due_ns;
	int error;
};

struct rdma_end {
	struct rdma_world *world;
	struct rdma_end *peer;
	struct queue_pair *pair;
	struct transport_settings settings;
	__u32 start; /* psn of what it sends */

	struct rdma_operation operations[RDMA_WORLD_KEPT];
	struct rdma_posted receives[RDMA_WORLD_KEPT];
	__u64 posted, fetched, completed; /* of the send queue */
	__u64 told; /* ... completed as the guest knows: up to what was signalled last */
	__u64 receives_posted, receives_fetched, receives_completed;
	__u64 sends;		  /* send operations ever posted */
	__u64 assigned;		  /* packets of all posted operations */
	__u64 sent;		  /* positions behind the last request that was ever sent */
	__u64 taken;		  /* of the peer's requests, in order */
	__u64 acked;		  /* what it has heard of its own */
	__u64 fresh[2], again[2]; /* packets sent first, and again: requests, responses */
	__u64 responded, asked_again;
	const struct rdma_operation *hearing; /* a response of */
	__u64 tries;			      /* since something was acknowledged */
	bool tried;			      /* within this call */
	bool send_failed, receive_failed;
	struct rdma_page pages[RDMA_SIDES];

	struct rdma_packet *wire[RDMA_WORLD_WIRE]; /* on their way to the peer */
	__u32 wire_head, wire_count;
	__u64 lost, doubled, sent_packets, delivered;
};

struct rdma_world {
	__u64 (*draw)(void *self, __u64 bound); /* 0 to bound - 1 */
	void *self;
	const struct fault_policy *policy;
	bool read_rnr, lossless;
	__u32 mtu;
	__u32 fault_odds[RDMA_SIDES]; /* one of so many; 0: never */
	__u32 loss_odds, double_odds, error_odds;
	__u64 allowed; /* bits of enum verbs_status */
	struct rdma_end ends[2];
	__u64 now_ns, tokens, numbers;
	bool calm; /* nothing is lost or absent any more */

	/* Of all worlds of a walk: what has occurred. */
	__u64 seen_status[VERBS_STATUSES];
	struct transport_counters seen;
	__u64 seen_operations, exact;
};

/* Draws all but the policy and read_rnr. */
void rdma_world_create(struct rdma_world *world, const struct fault_policy *policy, bool read_rnr);
void rdma_world_step(struct rdma_world *world);
/* Lets everything come to its end, and holds the sums together. */
void rdma_world_finish(struct rdma_world *world);
void rdma_world_destroy(struct rdma_world *world);

#endif
