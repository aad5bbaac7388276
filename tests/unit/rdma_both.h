/* SPDX-License-Identifier: GPL-2.0 */
/* Two devices of a machine (rdma_machine.h), each with a guest, a region and a pair that is connected to the other's. */
#ifndef FAULTLINE_RDMA_BOTH_H
#define FAULTLINE_RDMA_BOTH_H

#include "tests/unit/rdma_machine.h"

#define BOTH_RIGHTS (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define BOTH_BYTES  (256ull << 10) /* of a region */

struct rdma_both {
	struct machine *machine;
	struct rdma_guest guests[2];
	struct guest_queue queues[2];
	struct guest_pair pairs[2];
	struct guest_region regions[2];
	struct rdma_totals totals[2]; /* from both_end() on */
};
extern struct rdma_both both;

/* Starts what rdma_plan_begin() and the test have planned. */
void both_begin(void);
void both_end(void);
/* The next completion of a queue, which is such a one. */
struct verbs_completion both_expect(struct guest_queue *queue, enum verbs_opcode opcode,
				    enum verbs_status status);

/* What a test moves: bytes that tell their places apart, other ones for each seed. */
unsigned char both_byte(__u64 i, __u64 seed);
void both_fill(unsigned char *at, __u64 bytes, __u64 seed);

#endif
