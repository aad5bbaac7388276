// SPDX-License-Identifier: GPL-2.0
/* Control of the verbs: every command, every refusal, what is pinned for it, and its end. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "injectors/emu/pins.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "lib/base/fail.h"
#include "tests/unit/verbs_world.h"

#define ALL_RIGHTS (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)

static int build(void **state)
{
	world_build(0);
	return 0;
}

static __u64 faults(void)
{
	struct port_stats stats;

	port_stats(rig->devices[0].port, &stats);
	return stats.groups;
}

static bool present(__u64 page)
{
	return guest_memory_present(rig->tenants[0].memory, world.start + page * PAGE_BYTES);
}

static void device_writes(__u64 page)
{
	__u64 word = page;

	assert_int_equal(port_dma_write(world.fake.port, 1, PASID_NONE,
					world.start + world.offset + page * PAGE_BYTES, &word, 8),
			 0);
}

static void regions_are_pinned_or_not(void **state)
{
	struct verbs_mr pinned, demand, implicit;
	__u64 ring = world_locked();

	assert_int_equal(ring, PAGE_BYTES);
	/* Parts of three pages. */
	assert_int_equal(verbs_reg_mr(world.device, &pinned, world.start + 4095, PAGE_BYTES + 2,
				      VERBS_PINNED, ALL_RIGHTS),
			 0);
	assert_int_equal(world_locked(), ring + 3 * PAGE_BYTES);
	assert_int_equal(pinned.address, world.start + 4095 + WORLD_MEMORY);
	for (__u64 page = 0; page < 4; page++)
		assert_int_equal(present(page), page < 3);
	device_writes(2);
	assert_int_equal(faults(), 0);
	assert_int_equal(evict_page(rig, 0, world.start, EVICT_MAJOR), EVICT_PINNED);
	assert_int_equal(verbs_reg_mr(world.device, &demand, world.start + 16 * PAGE_BYTES,
				      16 * PAGE_BYTES, VERBS_DEMAND, ALL_RIGHTS),
			 0);
	assert_int_equal(
		verbs_reg_mr(world.device, &implicit, 0, 0, VERBS_IMPLICIT, VERBS_LOCAL_WRITE), 0);
	assert_int_equal(implicit.address, world.start + world.offset);
	assert_int_equal(implicit.bytes, world.bytes);
	assert_int_equal(world_locked(), ring + 3 * PAGE_BYTES);
	assert_int_equal(world_stats().regions, 3);
	assert_int_equal(world_stats().pinned, world_locked());
	assert_int_equal(verbs_dereg_mr(world.device, &pinned), 0);
	assert_int_equal(verbs_dereg_mr(world.device, &pinned), -ENOENT);
	assert_int_equal(world_locked(), ring);
	assert_int_equal(evict_page(rig, 0, world.start, EVICT_MAJOR), 0);
	assert_int_equal(verbs_dereg_mr(world.device, &demand), 0);
	assert_int_equal(verbs_dereg_mr(world.device, &implicit), 0);
	assert_int_equal(world.fake.wrong, 0);
}

static void advice_brings_pages_in_without_a_fault(void **state)
{
	struct verbs_mr mr, read_only;
	__u64 address = world.start + 5 * PAGE_BYTES;

	assert_int_equal(
		verbs_reg_mr(world.device, &mr, address, 7 * PAGE_BYTES, VERBS_DEMAND, ALL_RIGHTS),
		0);
	assert_int_equal(verbs_reg_mr(world.device, &read_only, address, PAGE_BYTES, VERBS_DEMAND,
				      VERBS_REMOTE_READ),
			 0);
	assert_false(present(5));
	assert_int_equal(verbs_advise_mr(world.device, &mr, address, 6 * PAGE_BYTES, true), 0);
	assert_int_equal(world.fake.advised, 6);
	for (__u64 page = 5; page < 11; page++)
		device_writes(page);
	assert_int_equal(faults(), 0);
	device_writes(11);
	assert_int_equal(faults(), 1);
	/* Nothing keeps them. */
	assert_int_equal(evict_page(rig, 0, address, EVICT_MINOR), 0);
	assert_int_equal(verbs_advise_mr(world.device, &mr, address, 7 * PAGE_BYTES + 1, true),
			 -EFAULT);
	assert_int_equal(verbs_advise_mr(world.device, &mr, address - 1, 1, true), -EFAULT);
	assert_int_equal(verbs_advise_mr(world.device, &read_only, address, 1, true), -EACCES);
	assert_int_equal(verbs_advise_mr(world.device, &read_only, address, 1, false), 0);
	assert_int_equal(rig_violations(rig), 0);
}

static void queues_and_pairs_live_and_go(void **state)
{
	struct verbs_queue *queue = world_queue(0, 64), *other = world_queue(1, 4);
	struct verbs_pair *pair = world_pair(2, queue, other, 16);
	enum verbs_pair_state now;
	__u64 rings = world_locked();

	/* The command ring, 2 KiB and a line, 192 bytes, 4 KiB and a line. */
	assert_int_equal(rings, (1 + 1 + 1 + 2) * PAGE_BYTES);
	assert_int_equal(verbs_query_qp(pair, &now), 0);
	assert_int_equal(now, VERBS_RESET);
	assert_int_equal(verbs_modify_qp(pair, VERBS_INIT, 0, false), 0);
	assert_int_equal(verbs_modify_qp(pair, VERBS_RTR, 4711, true), 0);
	assert_int_equal(verbs_query_qp(pair, &now), 0);
	assert_int_equal(now, VERBS_RTR);
	assert_int_equal(world.fake.peers[0], 4711 + 1);
	assert_int_equal(verbs_destroy_cq(other), -EBUSY);
	assert_int_equal(verbs_destroy_cq(queue), -EBUSY);
	assert_int_equal(verbs_destroy_qp(pair), 0);
	assert_int_equal(world_locked(), rings - 2 * PAGE_BYTES);
	assert_int_equal(verbs_destroy_cq(other), 0);
	assert_int_equal(verbs_destroy_cq(queue), 0);
	assert_int_equal(world_locked(), PAGE_BYTES);
	assert_int_equal(verbs_fake_objects(&world.fake), 0);
	assert_int_equal(world.fake.wrong, 0);
}

struct refusal {
	struct verbs_command command;
	int error;
};

/* Nothing comes of them but an answer, which is counted. */
static void assert_all_refused(const struct refusal *refused, size_t count)
{
	struct verbs_backend_stats before = world_stats(), after;
	__u32 objects = verbs_fake_objects(&world.fake);
	__u64 told = 0;

	for (size_t i = 0; i < count; i++) {
		struct verbs_command command = refused[i].command;
		int error = world_command(&command);

		if (error != refused[i].error)
			fail_msg("refusal %zu: kind %u: %d, not %d", i, refused[i].command.kind,
				 error, refused[i].error);
		assert_int_equal(command.result[0], 0);
	}
	after = world_stats();
	for (int kind = 0; kind < VERBS_COMMAND_KINDS; kind++) {
		assert_int_equal(after.kind[kind].refused - before.kind[kind].refused,
				 after.kind[kind].commands - before.kind[kind].commands);
		told += after.kind[kind].commands - before.kind[kind].commands;
	}
	assert_int_equal(told, count);
	assert_int_equal(world.fake.wrong, 0);
	assert_int_equal(verbs_fake_objects(&world.fake), objects);
	assert_int_equal(after.pinned, before.pinned);
}

/* There is a region of 2 pages at page 8, to be read alone. */
static void refusals_of_regions_have_their_errors(void **state)
{
	const __u64 at = world.start, end = world.start + world.bytes, page = PAGE_BYTES;
	const __u64 demand = VERBS_DEMAND;
	struct verbs_mr mr;
	__u64 key;

	assert_int_equal(verbs_reg_mr(world.device, &mr, at + 8 * page, 2 * page, VERBS_DEMAND,
				      VERBS_REMOTE_READ),
			 0);
	key = mr.key;
	const struct refusal refused[] = {
		{{0}, -EOPNOTSUPP},
		{{VERBS_COMMAND_KINDS}, -EOPNOTSUPP},
		{{0xffff}, -EOPNOTSUPP},
		{{VERBS_OPEN, .reserved = 1}, -EINVAL},
		{{VERBS_OPEN, .argument = {1}}, -EINVAL},
		{{VERBS_QUERY_DEVICE, .argument = {0, 0, 0, 0, 1}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 1, VERBS_REGIONS, 1}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 1, demand, 8}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 1, demand, VERBS_REMOTE_WRITE}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 1, demand, 1ull << 32 | 1}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 0, demand, 1}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 1, VERBS_IMPLICIT, 1}}, -EINVAL},
		{{VERBS_REGISTER, .argument = {at, 1, demand, 1, 1}}, -ENOENT},
		{{VERBS_REGISTER, .argument = {at, 1, demand, 1, 1ull << 32}}, -ENOENT},
		/* The command ring, a neighbour's memory, the end, around the end. */
		{{VERBS_REGISTER, .argument = {at - 1, 1, demand, 1}}, -EFAULT},
		{{VERBS_REGISTER, .argument = {0, page, VERBS_PINNED, 1}}, -EFAULT},
		{{VERBS_REGISTER, .argument = {end, 1, demand, 1}}, -EFAULT},
		{{VERBS_REGISTER, .argument = {end - 1, 2, VERBS_PINNED, 1}}, -EFAULT},
		{{VERBS_REGISTER, .argument = {at, ~0ull, demand, 1}}, -EFAULT},
		{{VERBS_REGISTER, .argument = {~0ull, 2, VERBS_PINNED, 1}}, -EFAULT},
		{{VERBS_DEREGISTER, .argument = {0}}, -ENOENT},
		{{VERBS_DEREGISTER, .argument = {key + 1}}, -ENOENT},
		{{VERBS_DEREGISTER, .argument = {key + (VERBS_REGIONS_MAX << 8)}}, -ENOENT},
		{{VERBS_DEREGISTER, .argument = {key | 1ull << 32}}, -ENOENT},
		{{VERBS_DEREGISTER, .argument = {key, 1}}, -EINVAL},
		{{VERBS_ADVISE, .argument = {key + 1, at + 8 * page, 1, 0}}, -ENOENT},
		{{VERBS_ADVISE, .argument = {key, at + 8 * page, 0, 0}}, -EINVAL},
		{{VERBS_ADVISE, .argument = {key, at + 8 * page, 1, 2}}, -EINVAL},
		{{VERBS_ADVISE, .argument = {key, at + 8 * page, 2 * page + 1, 0}}, -EFAULT},
		{{VERBS_ADVISE, .argument = {key, at + 8 * page - 1, 1, 0}}, -EFAULT},
		{{VERBS_ADVISE, .argument = {key, ~0ull, 1, 0}}, -EFAULT},
		{{VERBS_ADVISE, .argument = {key, at + 8 * page, 1, 1}}, -EACCES},
	};

	assert_all_refused(refused, COUNT(refused));
}

/* There are a queue, whose number is 0, and a pair. */
static void refusals_of_queues_and_pairs_have_their_errors(void **state)
{
	struct verbs_queue *queue = world_queue(0, 4);
	struct verbs_pair *pair = world_pair(1, queue, queue, 4);
	const __u64 at = world.start, end = world.start + world.bytes, page = PAGE_BYTES;
	const __u64 number = verbs_pair_number(pair);
	const struct refusal refused[] = {
		{{VERBS_CREATE_CQ, .argument = {at + page, 0}}, -EINVAL},
		{{VERBS_CREATE_CQ, .argument = {at + page, 3}}, -EINVAL},
		{{VERBS_CREATE_CQ, .argument = {at + page, 2 * VERBS_DEPTH_MAX}}, -EINVAL},
		{{VERBS_CREATE_CQ, .argument = {at + page, 1ull << 32}}, -EINVAL},
		{{VERBS_CREATE_CQ, .argument = {at + 64, 4}}, -EINVAL},
		{{VERBS_CREATE_CQ, .argument = {at - page, 4}}, -EFAULT},
		{{VERBS_CREATE_CQ, .argument = {end, 4}}, -EFAULT},
		{{VERBS_CREATE_CQ, .argument = {end - page, 128}}, -EFAULT},
		{{VERBS_CREATE_CQ, .argument = {-page, 4}}, -EFAULT},
		{{VERBS_DESTROY_CQ, .argument = {1}}, -ENOENT},
		{{VERBS_DESTROY_CQ, .argument = {VERBS_QUEUES_MAX}}, -ENOENT},
		{{VERBS_DESTROY_CQ, .argument = {1ull << 32}}, -ENOENT},
		{{VERBS_DESTROY_CQ, .argument = {0}}, -EBUSY},
		{{VERBS_CREATE_QP, .argument = {at, 0, 4, 0, 0}}, -EINVAL},
		{{VERBS_CREATE_QP, .argument = {at, 4, 3, 0, 0}}, -EINVAL},
		{{VERBS_CREATE_QP, .argument = {at, 4, 2 * VERBS_DEPTH_MAX, 0, 0}}, -EINVAL},
		{{VERBS_CREATE_QP, .argument = {at + 8, 4, 4, 0, 0}}, -EINVAL},
		{{VERBS_CREATE_QP, .argument = {at, 4, 4, 1, 0}}, -ENOENT},
		{{VERBS_CREATE_QP, .argument = {at, 4, 4, 0, 1ull << 32}}, -ENOENT},
		{{VERBS_CREATE_QP, .argument = {at - page, 4, 4, 0, 0}}, -EFAULT},
		{{VERBS_CREATE_QP, .argument = {end - page, 16, 16, 0, 0}}, -EFAULT},
		{{VERBS_MODIFY_QP, .argument = {number + 1, VERBS_INIT}}, -ENOENT},
		{{VERBS_MODIFY_QP, .argument = {number + VERBS_QUEUE_PAIRS_MAX, VERBS_INIT}},
		 -ENOENT},
		{{VERBS_MODIFY_QP, .argument = {number, VERBS_SQE_UNUSED}}, -EINVAL},
		{{VERBS_MODIFY_QP, .argument = {number, VERBS_ERROR + 1}}, -EINVAL},
		{{VERBS_MODIFY_QP, .argument = {number, VERBS_RTR, 1 << 24}}, -EINVAL},
		{{VERBS_MODIFY_QP, .argument = {number, VERBS_RTR, 1, 2}}, -EINVAL},
		{{VERBS_MODIFY_QP, .argument = {number, VERBS_RTR, 1, 0, 1}}, -EINVAL},
		{{VERBS_QUERY_QP, .argument = {number + 1}}, -ENOENT},
		{{VERBS_DESTROY_QP, .argument = {number + 1}}, -ENOENT},
		{{VERBS_DESTROY_QP, .argument = {number | 1ull << 40}}, -ENOENT},
	};

	assert_all_refused(refused, COUNT(refused));
}

static void commands_are_counted_and_timed(void **state)
{
	struct verbs_control_stats guest[VERBS_COMMAND_KINDS];
	struct verbs_limits limits;
	struct verbs_mr mr;

	for (int i = 0; i < 13; i++)
		assert_int_equal(verbs_query_device(world.device, &limits), 0);
	assert_int_equal(limits.queue_pairs, FAKE_PAIRS);
	assert_int_equal(limits.queues, VERBS_QUEUES_MAX);
	assert_int_equal(limits.regions, VERBS_REGIONS_MAX);
	assert_int_equal(limits.depth, VERBS_DEPTH_MAX);
	assert_int_equal(limits.pieces, VERBS_SGE_MAX);
	assert_int_equal(limits.mtu, 4096);
	for (int i = 0; i < 7; i++)
		assert_int_equal(verbs_reg_mr(world.device, &mr, 0, 1, VERBS_DEMAND, 0), -EFAULT);
	assert_int_equal(world.fake.commands, 1 + 13 + 7);
	verbs_control_stats(world.device, guest);
	for (int kind = 1; kind < VERBS_COMMAND_KINDS; kind++) {
		const struct verbs_command_stats host = world_stats().kind[kind];

		assert_int_equal(host.commands, guest[kind].commands);
		assert_int_equal(host.refused, guest[kind].refused);
		assert_true(host.time_ns <= guest[kind].time_ns || !host.commands);
		assert_int_equal(host.time_ns != 0, host.commands != 0);
	}
	assert_int_equal(guest[VERBS_OPEN].commands, 1);
	assert_int_equal(guest[VERBS_QUERY_DEVICE].commands, 13);
	assert_int_equal(guest[VERBS_REGISTER].refused, 7);
}

static void memlock_refuses_with_both_numbers(void **state)
{
	struct verbs_queue *queue;
	struct verbs_mr one, two;
	char said[256];

	world_build(5 * PAGE_BYTES);
	assert_int_equal(verbs_reg_mr(world.device, &one, world.start, 3 * PAGE_BYTES, VERBS_PINNED,
				      ALL_RIGHTS),
			 0);
	verbs_backend_refusal(world.backend, said, sizeof(said));
	assert_string_equal(said, "");
	/* One of the two pages would be its second pin: it counts all the same. */
	assert_int_equal(verbs_reg_mr(world.device, &two, world.start + 2 * PAGE_BYTES,
				      2 * PAGE_BYTES, VERBS_PINNED, ALL_RIGHTS),
			 -ENOMEM);
	assert_false(present(3));
	verbs_backend_refusal(world.backend, said, sizeof(said));
	assert_non_null(strstr(said, "24 KiB of tenant tenant0"));
	assert_non_null(strstr(said, "allows 20 KiB"));
	/* So are rings. */
	assert_non_null(world_queue(8, 4));
	assert_int_equal(verbs_create_cq(world.device, &queue, world.start + 9 * PAGE_BYTES, 4),
			 -ENOMEM);
	assert_int_equal(verbs_fake_objects(&world.fake), 2);
	assert_int_equal(verbs_dereg_mr(world.device, &one), 0);
	assert_int_equal(verbs_reg_mr(world.device, &two, world.start + 2 * PAGE_BYTES,
				      2 * PAGE_BYTES, VERBS_PINNED, ALL_RIGHTS),
			 0);
	assert_int_equal(world_locked(), 4 * PAGE_BYTES);
}

enum { THREADS = 67, EACH = 31 };

static void *register_around(void *argument)
{
	__u64 page = 16 + (__u64)(uintptr_t)argument;
	struct verbs_limits limits;
	struct verbs_mr mr;

	if (verbs_query_device(world.device, &limits))
		return "query";
	for (int i = 0; i < EACH; i++)
		if (verbs_reg_mr(world.device, &mr, world.start + page * PAGE_BYTES, PAGE_BYTES,
				 VERBS_PINNED, ALL_RIGHTS) ||
		    mr.address != world.offset + world.start + page * PAGE_BYTES ||
		    verbs_dereg_mr(world.device, &mr))
			return "region";
	return NULL;
}

/* More than the ring has places for: those that find none wait for one. */
static void many_threads_share_the_ring(void **state)
{
	pthread_t threads[THREADS];
	struct verbs_backend_stats stats;
	void *failed;

	atomic_store(&world.fake.block, true);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(
			thread_start(&threads[i], NULL, register_around, (void *)i, "guest-%lu", i),
			0);
	/* The first of them is in the device's hands; the ring is full behind it, its own place included. */
	sem_wait(&world.fake.blocked);
	while (atomic_load(&world_ring()->registers->written) < 1 + VERBS_COMMANDS)
		sched_yield();
	atomic_store(&world.fake.block, false);
	sem_post(&world.fake.go);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	stats = world_stats();
	assert_int_equal(stats.kind[VERBS_QUERY_DEVICE].commands, THREADS);
	assert_int_equal(stats.kind[VERBS_REGISTER].commands, THREADS * EACH);
	assert_int_equal(stats.kind[VERBS_DEREGISTER].commands, THREADS * EACH);
	assert_int_equal(stats.broken, 0);
	assert_int_equal(world_locked(), PAGE_BYTES);
	assert_int_equal(world.fake.wrong, 0);
}

static void *query_once(void *argument)
{
	struct verbs_limits limits;

	*(int *)argument = verbs_query_device(world.device, &limits);
	return NULL;
}

static void *wait_once(void *argument)
{
	struct verbs_queue *queue = argument;

	return (void *)(intptr_t)verbs_wait_cq(queue, 0);
}

static void waits_end_as_the_device_stops(void **state)
{
	struct verbs_queue *queue = world_queue(0, 4);
	pthread_t asking, waiting;
	struct verbs_mr mr;
	void *waited;
	int asked = 1;

	atomic_store(&world.fake.block, true);
	assert_int_equal(thread_start(&asking, NULL, query_once, &asked, "asking"), 0);
	assert_int_equal(thread_start(&waiting, NULL, wait_once, queue, "waiting"), 0);
	sem_wait(&world.fake.blocked);
	while (__atomic_load_n(&queue->words->armed, __ATOMIC_ACQUIRE) == VERBS_UNARMED)
		sched_yield();
	verbs_shutdown(world.device);
	pthread_join(asking, NULL);
	pthread_join(waiting, &waited);
	assert_int_equal(asked, -EPIPE);
	assert_int_equal((intptr_t)waited, -EPIPE);
	assert_int_equal(verbs_wait_cq(queue, 0), -EPIPE);
	assert_int_equal(verbs_reg_mr(world.device, &mr, world.start, 1, VERBS_DEMAND, 0), -EPIPE);
	atomic_store(&world.fake.block, false);
	sem_post(&world.fake.go);
}

static void what_is_left_is_destroyed(void **state)
{
	struct verbs_queue *queue = world_queue(0, 64);
	struct verbs_mr mr;

	world_pair(8, queue, queue, 16);
	world_pair(16, queue, queue, 16);
	for (int kind = 0; kind < VERBS_REGIONS; kind++)
		assert_int_equal(verbs_reg_mr(world.device, &mr,
					      kind == VERBS_IMPLICIT ? 0 : world.start,
					      kind == VERBS_IMPLICIT ? 0 : 5 * PAGE_BYTES,
					      (enum verbs_region)kind, ALL_RIGHTS),
				 0);
	assert_int_equal(verbs_fake_objects(&world.fake), 6);
	assert_true(world.fake.pinned > 0);
	verbs_backend_stop(world.backend);
	assert_int_equal(verbs_fake_objects(&world.fake), 0);
	assert_int_equal(world.fake.pinned, 0);
	assert_int_equal(world_locked(), 0);
	assert_int_equal(world.fake.wrong, 0);
	verbs_backend_stop(world.backend);
}

/* A guest that goes back, or too far: those in between are lost, the next is answered. */
static void a_broken_ring_is_taken_up_again(void **state)
{
	const __u64 jumps[] = {VERBS_COMMANDS + 1, 1ull << 63, -3ull, -1ull};
	struct verbs_limits limits;

	for (size_t i = 0; i < COUNT(jumps); i++) {
		struct verbs_registers *registers = world_ring()->registers;

		world_ring()->next += jumps[i];
		atomic_store(&registers->written, world_ring()->next);
		doorbell_ring_shared(&registers->commands);
		while (world_stats().broken != i + 1)
			sched_yield();
		while (atomic_load(&registers->answered) != world_ring()->next)
			sched_yield();
		assert_int_equal(verbs_query_device(world.device, &limits), 0);
	}
	assert_int_equal(world_stats().kind[VERBS_QUERY_DEVICE].commands, COUNT(jumps));
}

#define CONTROL_TEST(name) cmocka_unit_test_setup_teardown(name, build, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(regions_are_pinned_or_not),
		CONTROL_TEST(advice_brings_pages_in_without_a_fault),
		CONTROL_TEST(queues_and_pairs_live_and_go),
		CONTROL_TEST(refusals_of_regions_have_their_errors),
		CONTROL_TEST(refusals_of_queues_and_pairs_have_their_errors),
		CONTROL_TEST(commands_are_counted_and_timed),
		cmocka_unit_test_setup_teardown(memlock_refuses_with_both_numbers, NULL,
						world_teardown),
		CONTROL_TEST(many_threads_share_the_ring),
		CONTROL_TEST(waits_end_as_the_device_stops),
		CONTROL_TEST(what_is_left_is_destroyed),
		CONTROL_TEST(a_broken_ring_is_taken_up_again),
	};

	return cmocka_run_group_tests_name("verbs control", tests, NULL, NULL);
}
