// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rdma_both.h"

struct rdma_both both;

void both_begin(void)
{
	both.machine = rdma_plan_start(both.guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&both.guests[i], &both.queues[i], 64);
		guest_pair_create(&both.queues[i], &both.pairs[i], 16);
		guest_register(&both.guests[i], &both.regions[i], BOTH_BYTES, true, BOTH_RIGHTS);
	}
	guest_connect(&both.pairs[0], &both.pairs[1]);
}

void both_end(void)
{
	struct machine_totals all;

	rdma_plan_stop(both.machine, both.totals, &all);
}

struct verbs_completion both_expect(struct guest_queue *queue, enum verbs_opcode opcode,
				    enum verbs_status status)
{
	struct verbs_completion done;

	guest_wait(queue, &done);
	assert_int_equal(done.status, status);
	assert_int_equal(done.opcode, opcode);
	return done;
}

unsigned char both_byte(__u64 i, __u64 seed)
{
	return (unsigned char)((i * 2654435761u + seed * 97) >> 7);
}

void both_fill(unsigned char *at, __u64 bytes, __u64 seed)
{
	for (__u64 i = 0; i < bytes; i++)
		at[i] = both_byte(i, seed);
}
