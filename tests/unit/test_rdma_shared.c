// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues of an RDMA device: who takes what, what is free when, and what becomes of it if a pair ends. */
#include "tests/unit/rdma_machine.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/pins.h"
#include "injectors/emu/thread.h"
#include "lib/base/clock.h"

#define BOTH  (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define PAIRS 3
#define DEPTH 16
#define SLOT  4096ull /* of a region, for one receive */

static struct machine *machine;
static struct rdma_guest guests[2];
static struct guest_queue queues[2];
static struct guest_pair pairs[2][PAIRS];
static struct guest_region regions[2];
static struct rdma_totals totals[2];
static struct {
	__u64 at, posted;
	__u32 number;
} shared;

static int create_shared(__u32 domain, __u32 *number)
{
	const struct verbs_shared_setup setup = {
		.iova = shared.at, .depth = DEPTH, .domain = domain};

	return rdma_shared_create(guests[1].device, &setup, number);
}

/* Each of the second guest's pairs takes from the queue that they share. */
static int shared_pair(struct guest_pair *pair, __u32 number)
{
	struct verbs_pair_setup setup = {
		.send_depth = DEPTH,
		.send_queue = queues[1].number,
		.receive_queue = queues[1].number,
		.shared = number,
	};

	*pair = (struct guest_pair){.guest = &guests[1], .queue = &queues[1], .depth = DEPTH};
	pair->at = setup.iova = guest_take(&guests[1], verbs_pair_bytes(DEPTH, 0));
	assert_int_equal(machine_pin(machine, 1, pair->at, verbs_pair_bytes(DEPTH, 0), true), 0);
	return rdma_pair_create(guests[1].device, &setup, &pair->number);
}

static void begin(void)
{
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&guests[i], &queues[i], 256);
		guest_register(&guests[i], &regions[i], 64 * SLOT, true, BOTH);
	}
	shared.posted = 0;
	shared.at = guest_take(&guests[1], verbs_shared_bytes(DEPTH));
	assert_int_equal(machine_pin(machine, 1, shared.at, verbs_shared_bytes(DEPTH), true), 0);
	assert_int_equal(create_shared(0, &shared.number), 0);
	for (int p = 0; p < PAIRS; p++) {
		guest_pair_create(&queues[0], &pairs[0][p], DEPTH);
		assert_int_equal(shared_pair(&pairs[1][p], shared.number), 0);
		guest_connect(&pairs[0][p], &pairs[1][p]);
	}
}

static void end(void)
{
	struct machine_totals all;

	rdma_plan_stop(machine, totals, &all);
}

static void post_shared(__u32 bytes)
{
	unsigned char *memory = guests[1].memory + shared.at;
	__u64 slot = shared.posted % DEPTH;
	struct verbs_receive receive = guest_receive(&regions[1], slot * SLOT, bytes);

	receive.id = shared.posted;
	((struct verbs_receive *)(memory + 64))[slot] = receive;
	__atomic_store_n((__u64 *)memory, ++shared.posted, __ATOMIC_RELEASE);
}

static void send(int pair, unsigned char value, __u32 bytes)
{
	struct verbs_send send = guest_send(VERBS_SEND, &regions[0], 0, bytes, NULL, 0);

	memset(guests[0].memory + regions[0].at, value, bytes);
	guest_post_send(&pairs[0][pair], &send);
}

static struct verbs_completion expect(int guest, enum verbs_status status)
{
	struct verbs_completion done;

	guest_wait(&queues[guest], &done);
	assert_int_equal(done.status, status);
	return done;
}

/* Whichever pair a message comes to: the oldest receive is taken, and its slot may be posted to again. */
static void pairs_take_in_order(void **state)
{
	struct verbs_completion done;

	rdma_plan_begin();
	begin();
	for (int i = 0; i < DEPTH; i++)
		post_shared(SLOT);
	for (__u64 i = 0; i < 500; i++) {
		int pair = (int)(i * i % PAIRS);

		send(pair, (unsigned char)i, 100);
		(void)expect(0, VERBS_SUCCESS);
		done = expect(1, VERBS_SUCCESS);
		assert_int_equal(done.opcode, VERBS_RECEIVE);
		assert_int_equal(done.queue_pair, pairs[1][pair].number);
		assert_int_equal(done.id, i);
		assert_int_equal(done.entry, (__u16)i);
		assert_int_equal(done.bytes, 100);
		for (int b = 0; b < 100; b++)
			assert_int_equal(
				guests[1].memory[regions[1].at + i % DEPTH * SLOT + (__u64)b],
				(unsigned char)i);
		post_shared(SLOT);
	}
	end();
	assert_int_equal(totals[1].transport.operations[VERBS_RECEIVE], 500);
	assert_int_equal(totals[1].hostile, 0);
}

/* All at once, with many packets each: every receive completes once, and what completed is free though older ones are not. */
static void many_at_once(void **state)
{
	bool seen[3 * DEPTH] = {false};
	__u64 freed = 0;

	rdma_plan_begin();
	rdma_plan.settings[0]->mtu = rdma_plan.settings[1]->mtu = 1024;
	begin();
	for (int i = 0; i < DEPTH; i++)
		post_shared(SLOT);
	for (int i = 0; i < DEPTH; i++)
		for (int pair = 0; pair < PAIRS; pair++)
			send(pair, 1, i % 2 ? 10 : 4096);
	for (int i = 0; i < PAIRS * DEPTH; i++) {
		struct verbs_completion done = expect(1, VERBS_SUCCESS);
		__u16 ahead = (__u16)(done.entry - (__u16)freed);

		assert_true(done.id < 3 * DEPTH);
		assert_false(seen[done.id]);
		seen[done.id] = true;
		if (ahead < shared.posted - freed)
			freed += ahead + 1u;
		while (shared.posted - freed < DEPTH && shared.posted < 3 * DEPTH)
			post_shared(SLOT);
	}
	for (int i = 0; i < PAIRS * DEPTH; i++)
		(void)expect(0, VERBS_SUCCESS);
	end();
	assert_int_equal(totals[1].hostile, 0);
}

static void an_empty_one_says_not_ready(void **state)
{
	__u64 deadline = monotonic_ns() + 60 * NSEC_PER_SEC;

	rdma_plan_begin();
	begin();
	for (int pair = 0; pair < PAIRS; pair++)
		send(pair, 7, 64);
	do {
		rdma_totals_now(guests[1].device, &totals[1]);
		assert_true(monotonic_ns() < deadline);
	} while (totals[1].transport.rnr_sent < PAIRS);
	assert_int_equal(totals[1].transport.operations[VERBS_RECEIVE], 0);
	for (int pair = 0; pair < PAIRS; pair++)
		post_shared(SLOT);
	for (int pair = 0; pair < PAIRS; pair++) {
		(void)expect(1, VERBS_SUCCESS);
		(void)expect(0, VERBS_SUCCESS);
	}
	end();
}

/* A pair in error has what it holds flushed, no more: the others go on with what is left. */
static void the_end_of_a_pair_is_its_own(void **state)
{
	struct verbs_completion done;

	rdma_plan_begin();
	begin();
	for (int i = 0; i < 4; i++)
		post_shared(SLOT);
	assert_int_equal(
		rdma_pair_modify(guests[1].device, pairs[1][0].number, VERBS_ERROR, 0, false), 0);
	for (__u64 i = 0; i < 4; i++) {
		send(1 + (int)(i % 2), 3, 64);
		done = expect(1, VERBS_SUCCESS);
		assert_int_equal(done.id, i);
		(void)expect(0, VERBS_SUCCESS);
	}
	assert_false(guest_poll(&queues[1], &done));
	assert_int_equal(rdma_pair_destroy(guests[1].device, pairs[1][0].number), 0);
	end();
}

static void one_in_use_cannot_be_destroyed(void **state)
{
	struct guest_pair more;
	__u32 numbers[VERBS_SRQS_MAX], count = 0, number;
	int error;

	rdma_plan_begin();
	begin();
	for (int p = 0; p < PAIRS; p++) {
		assert_int_equal(rdma_shared_destroy(guests[1].device, shared.number), -EBUSY);
		assert_int_equal(rdma_pair_destroy(guests[1].device, pairs[1][p].number), 0);
	}
	assert_int_equal(rdma_shared_destroy(guests[1].device, shared.number), 0);
	assert_int_equal(rdma_shared_destroy(guests[1].device, shared.number), -ENOENT);
	assert_int_equal(shared_pair(&more, shared.number), -ENOENT);
	while (!(error = create_shared(0, &number)))
		numbers[count++] = number;
	assert_int_equal(error, -ENOSPC);
	assert_int_equal(count, VERBS_SRQS_MAX);
	while (count)
		assert_int_equal(rdma_shared_destroy(guests[1].device, numbers[--count]), 0);
	shared.at += 64;
	assert_int_equal(create_shared(0, &number), -EINVAL);
	end();
}

static void pieces_are_of_its_own_domain(void **state)
{
	struct region region = {.bytes = SLOT, .rights = BOTH, .domain = 9};
	__u32 theirs;

	for (__u32 domain = 9; domain <= 10; domain++) {
		rdma_plan_begin();
		begin();
		assert_int_equal(rdma_pair_destroy(guests[1].device, pairs[1][0].number), 0);
		assert_int_equal(create_shared(domain, &theirs), 0);
		assert_int_equal(shared_pair(&pairs[1][0], theirs), 0);
		guest_pair_create(&queues[0], &pairs[0][0], DEPTH);
		guest_connect(&pairs[0][0], &pairs[1][0]);
		region.address = regions[1].at;
		assert_int_equal(
			region_register(rdma_regions(guests[1].device), &region, &regions[1].key),
			0);
		post_shared(SLOT);
		send(0, 5, 64);
		(void)expect(1, domain == 9 ? VERBS_SUCCESS : VERBS_LOC_PROT_ERR);
		(void)expect(0, domain == 9 ? VERBS_SUCCESS : VERBS_REM_OP_ERR);
		assert_int_equal(guests[1].memory[regions[1].at], domain == 9 ? 5 : 0);
		end();
	}
}

static void a_word_of_nonsense_is_an_error_of_who_takes(void **state)
{
	const __u64 nonsense[] = {DEPTH + 3, 1, 0, ~0ull};
	enum verbs_pair_state pair_state;
	__u32 peer;

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		rdma_plan_begin();
		begin();
		post_shared(SLOT);
		post_shared(SLOT);
		send(0, 1, 64);
		send(0, 1, 64);
		(void)expect(1, VERBS_SUCCESS);
		(void)expect(1, VERBS_SUCCESS);
		__atomic_store_n((__u64 *)(guests[1].memory + shared.at), nonsense[i],
				 __ATOMIC_RELEASE);
		send(1, 1, 64);
		do
			assert_int_equal(rdma_pair_query(guests[1].device, pairs[1][1].number,
							 &pair_state, &peer),
					 0);
		while (pair_state != VERBS_ERROR);
		assert_int_equal(
			rdma_pair_query(guests[1].device, pairs[1][0].number, &pair_state, &peer),
			0);
		assert_int_equal(pair_state, VERBS_RTS);
		end();
		assert_int_equal(totals[1].hostile, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_take_in_order),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(an_empty_one_says_not_ready),
		cmocka_unit_test(the_end_of_a_pair_is_its_own),
		cmocka_unit_test(one_in_use_cannot_be_destroyed),
		cmocka_unit_test(pieces_are_of_its_own_domain),
		cmocka_unit_test(a_word_of_nonsense_is_an_error_of_who_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
