// SPDX-License-Identifier: GPL-2.0
/* What is set, injected and told of an RDMA device with a mode: its times to install, stalls, dead keys, full queues, work requests. */
#include "tests/unit/rdma_machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_backend.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "lib/base/fail.h"

#define BOTH	     (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)
#define REGION_BYTES (256ull << 10)

static struct machine *machine;
static struct rdma_guest guests[2];
static struct guest_queue queues[2];
static struct guest_pair pairs[2];
static struct guest_region regions[2];
static struct rdma_totals totals[2];

static void begin(void)
{
	machine = rdma_plan_start(guests);
	for (int i = 0; i < 2; i++) {
		guest_queue_create(&guests[i], &queues[i], 64);
		guest_pair_create(&queues[i], &pairs[i], 16);
		guest_register(&guests[i], &regions[i], REGION_BYTES, true, BOTH);
	}
	guest_connect(&pairs[0], &pairs[1]);
}

static void end(void)
{
	struct machine_totals all;

	rdma_plan_stop(machine, totals, &all);
}

static void arm(enum inject_point point, __s64 times, __u64 delay_ns)
{
	const struct injection injection = {.point = point,
					    .device = 0,
					    .id = 1,
					    .probability = 100,
					    .interval = 1,
					    .times = times,
					    .delay_ns = delay_ns};

	assert_int_equal(inject_arm(machine_injections(machine), &injection), 0);
}

static void expect(struct guest_queue *queue, enum verbs_status status)
{
	struct verbs_completion done;

	guest_wait(queue, &done);
	assert_int_equal(done.status, status);
}

static void wait_error(int i)
{
	enum verbs_pair_state state = VERBS_RESET;
	__u32 peer;

	while (state != VERBS_ERROR)
		assert_int_equal(rdma_pair_query(guests[i].device, pairs[i].number, &state, &peer),
				 0);
}

static void a_dead_key_touches_nothing(void **state)
{
	static const enum verbs_opcode opcodes[] = {VERBS_SEND, VERBS_WRITE, VERBS_READ};

	for (size_t o = 0; o < sizeof(opcodes) / sizeof(opcodes[0]); o++) {
		struct verbs_send send;

		rdma_plan_begin();
		begin();
		send = guest_send(opcodes[o], &regions[0], 0, 64,
				  opcodes[o] == VERBS_SEND ? NULL : &regions[1], 0);
		memset(guests[opcodes[o] == VERBS_READ].memory +
			       regions[opcodes[o] == VERBS_READ].at,
		       7, 64);
		arm(INJECT_DEAD_KEY, 1, 0);
		guest_post_send(&pairs[0], &send);
		expect(&queues[0], VERBS_LOC_PROT_ERR);
		for (int b = 0; b < 64; b++)
			assert_int_equal(
				guests[opcodes[o] != VERBS_READ]
					.memory[regions[opcodes[o] != VERBS_READ].at + (__u64)b],
				0);
		assert_int_equal(inject_disarm(machine_injections(machine), 1), 1);
		end();
		assert_int_equal(totals[0].protection, 1);
		assert_int_equal(totals[1].protection, 0);
	}
}

/* Without bytes there is but the other side's key. */
static void a_dead_key_may_be_the_other_sides(void **state)
{
	struct verbs_send send;

	rdma_plan_begin();
	begin();
	send = guest_send(VERBS_WRITE, &regions[0], 0, 0, &regions[1], 0);
	arm(INJECT_DEAD_KEY, 1, 0);
	guest_post_send(&pairs[0], &send);
	expect(&queues[0], VERBS_REM_ACCESS_ERR);
	end();
	assert_int_equal(totals[1].protection, 1);
}

static void a_completion_may_find_its_queue_full(void **state)
{
	struct verbs_completion done;
	struct verbs_send send;

	rdma_plan_begin();
	begin();
	send = guest_send(VERBS_WRITE, &regions[0], 0, 64, &regions[1], 0);
	guest_post_send(&pairs[0], &send);
	expect(&queues[0], VERBS_SUCCESS);
	arm(INJECT_CQ_OVERRUN, 1, 0);
	guest_post_send(&pairs[0], &send);
	wait_error(0);
	assert_false(guest_poll(&queues[0], &done));
	assert_int_equal(inject_disarm(machine_injections(machine), 1), 1);
	end();
	assert_int_equal(totals[0].overflows, 1);
	assert_int_equal(totals[0].errors, 1);
}

/* By the backend, as its guest sees it. */
struct side {
	struct verbs_device *device;
	struct verbs_queue *queue;
	struct verbs_pair *pair;
	__u64 start;
};

static void side_open(struct side *side)
{
	struct rdma *device = machine->devices[0].model;
	const struct driver_setup setup = {.model = device,
					   .channel = rdma_place(device)->channel,
					   .memory = machine->tenants[0].memory};
	__u64 bytes, offset;

	assert_int_equal(verbs_open(&side->device, &setup), 0);
	verbs_memory(side->device, &side->start, &bytes, &offset);
	assert_int_equal(verbs_create_cq(side->device, &side->queue, side->start, 16), 0);
}

static int side_pair(struct side *side, __u32 depth)
{
	const struct verbs_pair_attributes attributes = {
		.guest_address = side->start + PAGE_BYTES,
		.send_depth = depth,
		.receive_depth = depth,
		.send_queue = side->queue,
		.receive_queue = side->queue,
	};

	return verbs_create_qp(side->device, &side->pair, &attributes);
}

static struct verbs_failure next_failure(struct side *side)
{
	struct verbs_failure failure;

	while (verbs_get_failure(side->device, &failure))
		sleep_until(monotonic_ns() + NSEC_PER_MSEC);
	return failure;
}

static struct verbs_pair *another_pair(const struct side *side, int place)
{
	const struct verbs_pair_attributes attributes = {
		.guest_address = side->start + (2 + 2 * place) * PAGE_BYTES,
		.send_depth = 4,
		.receive_depth = 4,
		.send_queue = side->queue,
		.receive_queue = side->queue,
	};
	struct verbs_pair *pair;

	assert_int_equal(verbs_create_qp(side->device, &pair, &attributes), 0);
	assert_int_equal(verbs_modify_qp(pair, VERBS_INIT, 0, false), 0);
	return pair;
}

/* A queue that has lost a completion and every pair of it go into error, and each says so once. */
static void an_overrun_is_told_of_queue_and_pairs(void **state)
{
	const struct verbs_send send = {.opcode = VERBS_SEND, .flags = VERBS_SEND_SIGNALED};
	const struct verbs_receive receive = {};
	struct verbs_completion done;
	struct verbs_failure failure;
	struct verbs_pair *both[2];
	enum verbs_pair_state now;
	struct side side;
	__u32 number;

	rdma_plan_begin();
	machine = rdma_plan_start(guests);
	side_open(&side);
	for (int i = 0; i < 2; i++)
		both[i] = another_pair(&side, i);
	for (int i = 0; i < 2; i++) {
		number = verbs_pair_number(both[!i]);
		assert_int_equal(verbs_modify_qp(both[i], VERBS_RTR, number, true), 0);
		assert_int_equal(verbs_modify_qp(both[i], VERBS_RTS, number, true), 0);
	}
	assert_int_equal(verbs_get_failure(side.device, &failure), -EAGAIN);
	arm(INJECT_CQ_OVERRUN, 1, 0);
	assert_int_equal(verbs_post_recv(both[1], &receive), 0);
	assert_int_equal(verbs_post_send(both[0], &send), 0);
	failure = next_failure(&side);
	assert_int_equal(failure.what, VERBS_QUEUE_FAILED);
	assert_ptr_equal(failure.queue, side.queue);
	for (int i = 0; i < 2; i++) {
		failure = next_failure(&side);
		assert_int_equal(failure.what, VERBS_PAIR_FAILED);
		assert_true(failure.pair == both[0] || failure.pair == both[1]);
		assert_int_equal(verbs_query_qp(failure.pair, &now), 0);
		assert_int_equal(now, VERBS_ERROR);
	}
	assert_int_equal(verbs_get_failure(side.device, &failure), -EAGAIN);
	assert_int_equal(verbs_poll_cq(side.queue, 1, &done), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_destroy_qp(both[i]), 0);
	assert_int_equal(verbs_destroy_cq(side.queue), 0);
	verbs_close(side.device);
	end();
}

/* Whoever has a number next is not told of the one before. */
static void a_failure_ends_with_what_it_is_of(void **state)
{
	struct verbs_failure failure;
	struct side side;
	__u32 number;

	rdma_plan_begin();
	machine = rdma_plan_start(guests);
	side_open(&side);
	number = verbs_queue_number(side.queue);
	verbs_registers_fail(verbs_backend_registers(rdma_backend(machine->devices[0].model)),
			     VERBS_QUEUE_FAILED, number);
	assert_int_equal(verbs_destroy_cq(side.queue), 0);
	assert_int_equal(verbs_get_failure(side.device, &failure), -EAGAIN);
	assert_int_equal(verbs_create_cq(side.device, &side.queue, side.start, 16), 0);
	assert_int_equal(verbs_queue_number(side.queue), number);
	assert_int_equal(verbs_get_failure(side.device, &failure), -EAGAIN);
	assert_int_equal(verbs_destroy_cq(side.queue), 0);
	verbs_close(side.device);
	end();
}

static __u64 command_ns(enum verbs_command_kind kind)
{
	struct verbs_backend_stats stats;

	verbs_backend_stats(rdma_backend(machine->devices[0].model), &stats);
	return stats.kind[kind].time_ns;
}

/* What is set is what it takes at least; no more is said of a busy machine. */
static void what_is_created_takes_its_time(void **state)
{
	struct verbs_mr region;
	struct side side;
	__u64 before;

	rdma_plan_begin();
	rdma_plan.settings[0]->install_ns = 20 * NSEC_PER_MSEC;
	rdma_plan.settings[0]->install_entry_ns = 100 * NSEC_PER_USEC;
	rdma_plan.settings[0]->register_page_ns = 2 * NSEC_PER_MSEC;
	machine = rdma_plan_start(guests);
	side_open(&side);
	assert_int_equal(side_pair(&side, 32), 0);
	assert_in_range(command_ns(VERBS_CREATE_QP), 26400 * NSEC_PER_USEC, ~0ull >> 1);
	assert_int_equal(verbs_destroy_qp(side.pair), 0);
	/* Ten bytes on two pages. */
	assert_int_equal(verbs_reg_mr(side.device, &region, side.start + 9 * PAGE_BYTES - 5, 10,
				      VERBS_DEMAND, BOTH),
			 0);
	assert_in_range(command_ns(VERBS_REGISTER), 4 * NSEC_PER_MSEC, ~0ull >> 1);
	arm(INJECT_INSTALL_STALL, 1, 50 * NSEC_PER_MSEC);
	before = command_ns(VERBS_CREATE_QP);
	assert_int_equal(side_pair(&side, 1), 0);
	assert_in_range(command_ns(VERBS_CREATE_QP) - before, 70200 * NSEC_PER_USEC, ~0ull >> 1);
	assert_int_equal(inject_disarm(machine_injections(machine), 1), 1);
	assert_int_equal(verbs_destroy_qp(side.pair), 0);
	assert_int_equal(verbs_destroy_cq(side.queue), 0);
	verbs_close(side.device);
	end();
}

static void *create_for_an_hour(void *argument)
{
	/* Whether it is told of as it stops is not what is asked. */
	(void)side_pair(argument, 4);
	return NULL;
}

static void a_machine_does_not_wait_for_an_install(void **state)
{
	static struct side side;
	__u64 start_ns;
	pthread_t thread;

	rdma_plan_begin();
	rdma_plan.settings[0]->install_ns = 3600 * NSEC_PER_SEC;
	machine = rdma_plan_start(guests);
	side_open(&side);
	assert_int_equal(pthread_create(&thread, NULL, create_for_an_hour, &side), 0);
	usleep(20000);
	start_ns = monotonic_ns();
	inject_stop(machine_injections(machine));
	pthread_join(thread, NULL);
	assert_in_range(monotonic_ns() - start_ns, 0, 60 * NSEC_PER_SEC);
	verbs_close(side.device);
	end();
}

/* How often the truth log has this, and with how much in all. */
static __u64 count_truth(const char *path, const char *what, int address, __u64 *sum)
{
	char line[512], kind[64], place[64];
	FILE *file = fopen(path, "r");
	__u64 count = 0;

	assert_non_null(file);
	(void)snprintf(kind, sizeof(kind), "\"what\":\"%s\"", what);
	(void)snprintf(place, sizeof(place), "\"address\":%d,", address);
	*sum = 0;
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, kind) || !strstr(line, place))
			continue;
		count++;
		*sum += strtoull(strstr(line, "\"value\":") + 8, NULL, 10);
	}
	fclose(file);
	return count;
}

/* As verbs_poll_cq() of a guest with a mode: the time goes where the id was. */
static void take(struct guest_queue *queue, __u64 said_ns)
{
	struct verbs_completion *entry =
		(struct verbs_completion *)(guests[queue->guest->index].memory + queue->at + 64) +
		queue->taken % queue->depth;
	__u64 deadline = monotonic_ns() + 60 * NSEC_PER_SEC;
	struct verbs_completion done;

	while (__atomic_load_n(&entry->turn, __ATOMIC_ACQUIRE) != queue->taken + 1)
		assert_true(monotonic_ns() < deadline);
	entry->id = said_ns ?: monotonic_ns();
	assert_true(guest_poll(queue, &done));
	assert_int_equal(done.status, VERBS_SUCCESS);
}

/* Those whose guest lies about its clock are told all the same: but for what it says. */
static void work_requests_are_told_once_they_are_taken(void **state)
{
	char path[] = "/tmp/faultline-work-XXXXXX";
	int descriptor = mkstemp(path);
	struct verbs_send send;
	__u64 start_ns, took_ns, sum;

	assert_true(descriptor >= 0);
	close(descriptor);
	rdma_plan_begin();
	rdma_plan.truth = path;
	rdma_plan.settings[0]->mode = RDMA_MODE_NATIVE;
	begin();
	start_ns = monotonic_ns();
	for (int i = 0; i < 100; i++) {
		bool lies = i % 2;

		send = guest_send(i % 4 < 2 ? VERBS_READ : VERBS_WRITE, &regions[0], 0, 20000,
				  &regions[1], 0);
		send.posted_ns = lies ? ~0ull : monotonic_ns();
		guest_post_send(&pairs[0], &send);
		take(&queues[0], lies ? 1 : 0);
	}
	took_ns = monotonic_ns() - start_ns;
	assert_int_equal(rdma_pair_destroy(guests[0].device, pairs[0].number), 0);
	assert_int_equal(rdma_queue_destroy(guests[0].device, queues[0].number), 0);
	end();
	assert_int_equal(count_truth(path, "work_request", VERBS_SUCCESS, &sum), 100);
	assert_in_range(sum, 1, took_ns);
	/* Posted and reaped are the guest's, of every other; the engine's own are known of all. */
	assert_in_range(count_truth(path, "work_stage", 0, &sum), 1, 50);
	assert_in_range(count_truth(path, "work_stage", 2, &sum), 100, 100);
	assert_in_range(count_truth(path, "work_stage", 3, &sum), 100, 100);
	assert_in_range(count_truth(path, "work_stage", 4, &sum), 1, 50);
	assert_in_range(sum, 1, took_ns);
	unlink(path);
}

static struct verbs_pair *loopback_pair(struct side *side, __u64 address)
{
	side->start = address - PAGE_BYTES;
	assert_int_equal(side_pair(side, 16), 0);
	assert_int_equal(verbs_modify_qp(side->pair, VERBS_INIT, 0, false), 0);
	return side->pair;
}

static void loopback_connect(struct verbs_pair *pair, struct verbs_pair *peer)
{
	assert_int_equal(verbs_modify_qp(pair, VERBS_RTR, verbs_pair_number(peer), true), 0);
	assert_int_equal(verbs_modify_qp(pair, VERBS_RTS, 0, false), 0);
}

static void poll_one(struct verbs_queue *queue, __u64 id)
{
	__u64 deadline = monotonic_ns() + 60 * NSEC_PER_SEC;
	struct verbs_completion done;

	while (!verbs_poll_cq(queue, 1, &done))
		assert_true(monotonic_ns() < deadline);
	assert_int_equal(done.status, VERBS_SUCCESS);
	assert_int_equal(done.id, id);
}

/* By the library that guests have: both ends say when they did it. */
static void guests_say_when(void **state)
{
	char path[] = "/tmp/faultline-work-XXXXXX";
	int descriptor = mkstemp(path);
	struct verbs_pair *pairs_of[2];
	struct verbs_mr region;
	struct side side;
	__u64 sum, start, iova;

	assert_true(descriptor >= 0);
	close(descriptor);
	rdma_plan_begin();
	rdma_plan.truth = path;
	rdma_plan.settings[0]->mode = RDMA_MODE_NATIVE;
	machine = rdma_plan_start(guests);
	side_open(&side);
	start = side.start;
	verbs_memory(side.device, &sum, &sum, &iova);
	iova += start + 20 * PAGE_BYTES;
	for (__u64 i = 0; i < 2; i++)
		pairs_of[i] = loopback_pair(&side, start + (1 + 8 * i) * PAGE_BYTES);
	loopback_connect(pairs_of[0], pairs_of[1]);
	loopback_connect(pairs_of[1], pairs_of[0]);
	assert_int_equal(verbs_reg_mr(side.device, &region, start + 20 * PAGE_BYTES, PAGE_BYTES,
				      VERBS_DEMAND, BOTH),
			 0);
	for (__u64 i = 0; i < 40; i++) {
		struct verbs_send send = {
			.id = 1000 + i,
			.opcode = VERBS_WRITE,
			.flags = VERBS_SEND_SIGNALED,
			.pieces = 1,
			.piece = {{iova, 64, region.key}},
			.remote_address = iova + 64,
			.remote_key = region.key,
		};

		assert_int_equal(verbs_post_send(pairs_of[0], &send), 0);
		poll_one(side.queue, 1000 + i);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(verbs_destroy_qp(pairs_of[i]), 0);
	assert_int_equal(verbs_destroy_cq(side.queue), 0);
	verbs_close(side.device);
	end();
	assert_int_equal(count_truth(path, "work_request", VERBS_SUCCESS, &sum), 40);
	assert_int_equal(count_truth(path, "work_stage", 0, &sum), 40);
	assert_int_equal(count_truth(path, "work_stage", 4, &sum), 40);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_key_touches_nothing),
		cmocka_unit_test(a_dead_key_may_be_the_other_sides),
		cmocka_unit_test(a_completion_may_find_its_queue_full),
		cmocka_unit_test(an_overrun_is_told_of_queue_and_pairs),
		cmocka_unit_test(a_failure_ends_with_what_it_is_of),
		cmocka_unit_test(what_is_created_takes_its_time),
		cmocka_unit_test(a_machine_does_not_wait_for_an_install),
		cmocka_unit_test(work_requests_are_told_once_they_are_taken),
		cmocka_unit_test(guests_say_when),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
