// SPDX-License-Identifier: GPL-2.0
/* Two RDMA devices and their link: what is sent arrives, is counted, and completes once. */
#include "tests/unit/rdma_machine.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define BOTH (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

/* A pair of queue pairs, and a region at each end. */
struct ends {
	struct machine *machine;
	struct rdma_guest guests[2];
	struct guest_queue queues[2];
	struct guest_pair pairs[2];
	struct guest_region regions[2];
	struct rdma_totals totals[2];
	struct machine_totals all;
};

static void ends_begin(struct ends *ends, __u32 depth, __u64 bytes, bool pinned)
{
	ends->machine = rdma_plan_start(ends->guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&ends->guests[i], &ends->queues[i], 4 * depth);
		guest_pair_create(&ends->queues[i], &ends->pairs[i], depth);
		guest_register(&ends->guests[i], &ends->regions[i], bytes, pinned, BOTH);
	}
	guest_connect(&ends->pairs[0], &ends->pairs[1]);
}

static void ends_stop(struct ends *ends)
{
	rdma_plan_stop(ends->machine, ends->totals, &ends->all);
}

static void fill(const struct guest_region *region, __u64 offset, __u64 bytes, __u64 seed)
{
	unsigned char *at = region->guest->memory + region->at + offset;

	for (__u64 i = 0; i < bytes; i++)
		at[i] = (unsigned char)((i * 2654435761u + seed * 97) >> 7);
}

static void check_filled(const struct guest_region *region, __u64 offset, __u64 bytes, __u64 seed)
{
	const unsigned char *at = region->guest->memory + region->at + offset;

	for (__u64 i = 0; i < bytes; i++)
		if (at[i] != (unsigned char)((i * 2654435761u + seed * 97) >> 7))
			fail_msg("byte %llu of %llu is wrong", i, bytes);
}

static void expect(struct guest_queue *queue, enum verbs_opcode opcode, enum verbs_status status)
{
	struct verbs_completion done;

	guest_wait(queue, &done);
	assert_int_equal(done.status, status);
	assert_int_equal(done.opcode, opcode);
}

/* Each operation once, of so many bytes: they land where they should. */
static void move(struct ends *ends, __u32 bytes, __u64 seed)
{
	struct guest_region *a = &ends->regions[0], *b = &ends->regions[1];
	struct verbs_receive receive = guest_receive(b, 0, bytes);
	struct verbs_send send = guest_send(VERBS_SEND, a, 0, bytes, NULL, 0);

	fill(a, 0, bytes, seed);
	guest_post_receive(&ends->pairs[1], &receive);
	guest_post_send(&ends->pairs[0], &send);
	expect(&ends->queues[0], VERBS_SEND, VERBS_SUCCESS);
	expect(&ends->queues[1], VERBS_RECEIVE, VERBS_SUCCESS);
	check_filled(b, 0, bytes, seed);
	fill(a, 0, bytes, seed + 1);
	send = guest_send(VERBS_WRITE, a, 0, bytes, b, 0);
	guest_post_send(&ends->pairs[0], &send);
	expect(&ends->queues[0], VERBS_WRITE, VERBS_SUCCESS);
	check_filled(b, 0, bytes, seed + 1);
	fill(b, 0, bytes, seed + 2);
	send = guest_send(VERBS_READ, a, 0, bytes, b, 0);
	guest_post_send(&ends->pairs[0], &send);
	expect(&ends->queues[0], VERBS_READ, VERBS_SUCCESS);
	check_filled(a, 0, bytes, seed + 2);
}

static const __u32 lengths[] = {1, 64, 4095, 4096, 4097, 65537, 1000003};

static void what_is_sent_arrives(void **state)
{
	const __u32 mtus[] = {1024, 4096};
	struct ends ends;

	for (int m = 0; m < 2; m++) {
		rdma_plan_begin();
		rdma_plan.settings[0]->mtu = rdma_plan.settings[1]->mtu = mtus[m];
		ends_begin(&ends, 16, 1 << 20, true);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			move(&ends, lengths[i], i);
		ends_stop(&ends);
		assert_int_equal(ends.totals[0].faults, 0);
		assert_int_equal(ends.totals[0].transport.operations[VERBS_READ], 7);
		assert_int_equal(ends.totals[1].transport.operations[VERBS_RECEIVE], 7);
		assert_int_equal(ends.totals[0].transport.resent[RDMA_RESEND_TIMEOUT], 0);
	}
}

static void what_is_absent_is_faulted_in(void **state)
{
	struct ends ends;

	for (int prefault = RDMA_PREFAULT_PAGE; prefault <= RDMA_PREFAULT_REQUEST; prefault++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++)
			rdma_plan.settings[i]->prefault = (enum rdma_prefault)prefault;
		ends_begin(&ends, 16, 1 << 20, false);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			move(&ends, lengths[i], i);
		ends_stop(&ends);
		assert_true(ends.totals[0].faults > 0);
		assert_true(ends.totals[1].faults > 0);
		/* Nothing was taken away: each of 245 pages faulted at each end, no more than twice (read, then write). */
		assert_in_range(ends.totals[0].fault_pages, 245, 2 * 245);
		assert_in_range(ends.totals[1].fault_pages, 245, 2 * 245);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_arrives),
		cmocka_unit_test(what_is_absent_is_faulted_in),
	};

	return cmocka_run_group_tests_name("rdma_device", tests, NULL, NULL);
}
