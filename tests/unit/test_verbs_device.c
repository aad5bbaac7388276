// SPDX-License-Identifier: GPL-2.0
/* Verbs over the device `rdma`: two guests with nothing but control and data. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_backend.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "tests/unit/rdma_machine.h"

enum { BYTES = 3 * 4096 + 17, PAGES = 5, DEPTH = 16, ROUNDS = 101 };

#define ALL_RIGHTS (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

/* One of the two programs. */
struct side {
	struct verbs_device *device;
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	struct verbs_mr mr;
	__u64 buffer; /* guest address */
	unsigned char *bytes;
};

static struct machine *machine;
static struct side sides[2];

static void begin(struct side *side, struct rdma *device)
{
	const struct rdma_place *place = rdma_place(device);
	__u32 tenant = machine->devices[place->index].config.tenant;
	struct guest_memory *memory = machine->tenants[tenant].memory;
	const struct driver_setup setup = {
		.model = device, .channel = place->channel, .memory = memory};
	struct verbs_pair_attributes attributes = {.send_depth = DEPTH, .receive_depth = DEPTH};
	__u64 start, bytes, offset;

	assert_int_equal(verbs_open(&side->device, &setup), 0);
	verbs_memory(side->device, &start, &bytes, &offset);
	assert_int_equal(verbs_create_cq(side->device, &side->queue, start, 2 * DEPTH), 0);
	attributes.guest_address = start + PAGE_BYTES;
	attributes.send_queue = attributes.receive_queue = side->queue;
	assert_int_equal(verbs_create_qp(side->device, &side->pair, &attributes), 0);
	side->buffer = start + 16 * PAGE_BYTES;
	side->bytes = guest_memory_cpu(memory, side->buffer);
	assert_int_equal(verbs_reg_mr(side->device, &side->mr, side->buffer, PAGES * PAGE_BYTES,
				      VERBS_DEMAND, ALL_RIGHTS),
			 0);
}

static void connect_sides(void)
{
	for (int i = 0; i < 2; i++) {
		struct verbs_pair *pair = sides[i].pair;

		assert_int_equal(verbs_modify_qp(pair, VERBS_RTS, 0, false), -EINVAL);
		assert_int_equal(verbs_modify_qp(pair, VERBS_INIT, 0, false), 0);
		assert_int_equal(verbs_modify_qp(pair, VERBS_RTR,
						 verbs_pair_number(sides[1 - i].pair), false),
				 0);
		assert_int_equal(verbs_modify_qp(pair, VERBS_RTS, 0, false), 0);
	}
}

static int start(void **state)
{
	struct rdma_guest guests[2];

	rdma_plan_begin();
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++)
		begin(&sides[i], guests[i].device);
	connect_sides();
	return 0;
}

static void finish(void)
{
	struct rdma_totals totals[2];
	struct machine_totals all;

	for (int i = 0; i < 2; i++)
		verbs_shutdown(sides[i].device);
	for (int i = 0; i < 2; i++)
		verbs_close(sides[i].device);
	rdma_plan_stop(machine, totals, &all);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(totals[i].commands[VERBS_CREATE_QP], 1);
		assert_int_equal(totals[i].commands_failed[VERBS_MODIFY_QP], 1);
		/* The queues, the pair and the command ring; all was left behind. */
		assert_true(totals[i].pinned_most >= 4 * PAGE_BYTES);
		assert_int_equal(totals[i].pinned, 0);
		assert_int_equal(totals[i].registered, 0);
	}
}

static struct verbs_completion next(struct side *side)
{
	struct verbs_completion completion;

	assert_int_equal(verbs_wait_cq(side->queue, monotonic_ns() + 60 * SECOND), 0);
	assert_int_equal(verbs_poll_cq(side->queue, 1, &completion), 1);
	return completion;
}

static void post(struct side *side, enum verbs_opcode opcode, const struct verbs_mr *to)
{
	const struct verbs_send send = {
		.id = 7,
		.opcode = opcode,
		.flags = VERBS_SEND_SIGNALED,
		.pieces = 1,
		.piece = {{side->mr.address, BYTES, side->mr.key}},
		.remote_address = to ? to->address : 0,
		.remote_key = to ? to->key : 0,
	};

	assert_int_equal(verbs_post_send(side->pair, &send), 0);
}

static void what_is_posted_arrives_from_absent_memory_to_absent_memory(void **state)
{
	const struct verbs_receive receive = {
		.id = 9,
		.pieces = 1,
		.piece = {{sides[1].mr.address + 3, BYTES, sides[1].mr.key}},
	};

	for (int round = 0; round < ROUNDS; round++) {
		struct verbs_completion completion;

		for (int i = 0; i < BYTES; i++)
			sides[0].bytes[i] = (unsigned char)(i * 7 + round);
		for (__u64 page = 0; page < PAGES; page++)
			for (__u32 i = 0; i < 2; i++)
				(void)evict_page(machine, i, sides[i].buffer + page * PAGE_BYTES,
						 EVICT_MINOR);
		assert_int_equal(verbs_post_recv(sides[1].pair, &receive), 0);
		post(&sides[0], VERBS_SEND, NULL);
		completion = next(&sides[1]);
		assert_int_equal(completion.status, VERBS_SUCCESS);
		assert_int_equal(completion.bytes, BYTES);
		assert_int_equal(completion.id, 9);
		completion = next(&sides[0]);
		assert_int_equal(completion.status, VERBS_SUCCESS);
		assert_int_equal(completion.id, 7);
		assert_memory_equal(sides[0].bytes, sides[1].bytes + 3, BYTES);
	}
	finish();
}

static void a_key_that_is_gone_reaches_nothing(void **state)
{
	struct verbs_mr gone = sides[1].mr;

	post(&sides[0], VERBS_WRITE, &gone);
	assert_int_equal(next(&sides[0]).status, VERBS_SUCCESS);
	assert_memory_equal(sides[0].bytes, sides[1].bytes, BYTES);
	assert_int_equal(verbs_dereg_mr(sides[1].device, &gone), 0);
	assert_int_equal(verbs_reg_mr(sides[1].device, &sides[1].mr, sides[1].buffer,
				      PAGES * PAGE_BYTES, VERBS_DEMAND, ALL_RIGHTS),
			 0);
	assert_int_not_equal(sides[1].mr.key, gone.key);
	sides[0].bytes[0] ^= 1;
	post(&sides[0], VERBS_WRITE, &gone);
	assert_int_equal(next(&sides[0]).status, VERBS_REM_ACCESS_ERR);
	assert_int_not_equal(sides[0].bytes[0], sides[1].bytes[0]);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_posted_arrives_from_absent_memory_to_absent_memory,
				       start),
		cmocka_unit_test_setup(a_key_that_is_gone_reaches_nothing, start),
	};

	return cmocka_run_group_tests_name("verbs on a device", tests, NULL, NULL);
}
