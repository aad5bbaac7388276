// SPDX-License-Identifier: GPL-2.0
/* A guest that writes anything into its command ring and registers, also while the backend reads: a million commands. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/thread.h"
#include "lib/base/random.h"
#include "tests/unit/verbs_world.h"

enum { COMMANDS = 1000003 };

static __u64 below(struct random *random, __u64 limit)
{
	return random_below(random, limit);
}

/* A page of its own, one on some edge, or anything. */
static __u64 some_address(struct random *random)
{
	switch (below(random, 8)) {
	case 0:
		return random_next(random);
	case 1:
		return world.start - below(random, 3) * PAGE_BYTES;
	case 2:
		return world.start + world.bytes - below(random, 3) * PAGE_BYTES;
	case 3:
		return below(random, WORLD_MEMORY);
	default:
		return world.start + below(random, world.bytes >> PAGE_BITS) * PAGE_BYTES;
	}
}

static __u64 some_depth(struct random *random)
{
	return below(random, 16) ? 1ull << below(random, 7)
				 : random_next(random) >> below(random, 64);
}

static __u64 some_bytes(struct random *random)
{
	return below(random, 16) ? below(random, 3 * PAGE_BYTES)
				 : random_next(random) >> below(random, 64);
}

static __u64 some_number(struct random *random, __u64 base, __u64 limit)
{
	return below(random, 16) ? base + below(random, limit) : random_next(random);
}

/* Of a region that there is or was, as far as can be seen from here, or any. */
static __u64 some_key(struct random *random, __u64 *address)
{
	__u64 index = below(random, FAKE_REGIONS);

	*address = world.fake.regions[index].iova - world.offset;
	return below(random, 16) ? index << 8 | world.fake.generations[index] : random_next(random);
}

/* In the last of the guest's pages: pages that are the guest's. */
static __u64 some_list(struct random *random)
{
	__u64 at = world.start + world.bytes - PAGE_BYTES, *list;

	list = guest_memory_cpu(rig->tenants[0].memory, at);
	for (__u32 i = 0; i < 8; i++)
		list[i] = world.start + below(random, world.bytes >> PAGE_BITS) * PAGE_BYTES;
	if (!below(random, 8))
		list[below(random, 8)] = some_address(random);
	return below(random, 16) ? at : some_address(random);
}

/* What devices with a mode have besides. */
static void some_extended(struct random *random, struct verbs_command *command)
{
	__u64 *argument = command->argument;

	switch (command->kind) {
	case VERBS_DEALLOC_PD:
		argument[0] = some_number(random, 0, 64);
		break;
	case VERBS_REGISTER_PAGES:
		argument[0] = random_next(random) >> below(random, 64);
		argument[1] = some_bytes(random);
		argument[2] = below(random, VERBS_REGIONS) | below(random, 9) << 8;
		argument[3] = some_number(random, 0, 64);
		argument[4] = some_list(random);
		break;
	case VERBS_CREATE_SRQ:
		argument[0] = some_address(random);
		argument[1] = some_depth(random);
		argument[2] = below(random, 4) ? 0 : some_number(random, 0, 64);
		break;
	case VERBS_CREATE_QP_OF:
		argument[0] = some_address(random);
		argument[1] = some_depth(random) | some_depth(random) << 32;
		argument[2] = some_number(random, 0, FAKE_QUEUES) |
			      some_number(random, 0, FAKE_QUEUES) << 32;
		argument[3] = below(random, 4) | (below(random, 2) ? (__u64)VERBS_NO_SRQ << 32
								   : below(random, 9) << 32);
		break;
	case VERBS_DESTROY_SRQ:
		argument[0] = some_number(random, 0, FAKE_SHARED + 1);
		break;
	case VERBS_DESTROY_CHANNEL:
	case VERBS_MAP_RESOURCE:
	case VERBS_UNMAP_RESOURCE:
		argument[0] = some_number(random, 0, 64);
		break;
	default:
		break;
	}
}

/* By the ring nothing is mapped. */
static bool some_succeed(int kind)
{
	return kind && kind != VERBS_MAP_RESOURCE && kind != VERBS_UNMAP_RESOURCE;
}

static struct verbs_command some_command(struct random *random)
{
	struct verbs_command command = {.kind = (__u16)below(random, VERBS_COMMAND_KINDS + 1)};
	__u64 *argument = command.argument, address;

	switch (command.kind) {
	case VERBS_OPEN:
	case VERBS_QUERY_DEVICE:
		break;
	case VERBS_REGISTER:
		argument[0] = some_address(random) + below(random, 64);
		argument[1] = some_bytes(random);
		argument[2] = below(random, VERBS_REGIONS + 1);
		argument[3] = below(random, 9);
		break;
	case VERBS_DEREGISTER:
		argument[0] = some_key(random, &address);
		break;
	case VERBS_ADVISE:
		argument[0] = some_key(random, &address);
		argument[1] = below(random, 4) ? address : some_address(random);
		argument[2] = some_bytes(random);
		argument[3] = below(random, 3);
		break;
	case VERBS_CREATE_CQ:
		argument[0] = some_address(random);
		argument[1] = some_depth(random);
		break;
	case VERBS_CREATE_QP:
		argument[0] = some_address(random);
		argument[1] = some_depth(random);
		argument[2] = some_depth(random);
		argument[3] = some_number(random, 0, FAKE_QUEUES + 1);
		argument[4] = some_number(random, 0, FAKE_QUEUES + 1);
		break;
	case VERBS_DESTROY_CQ:
		argument[0] = some_number(random, 0, FAKE_QUEUES + 1);
		break;
	default:
		some_extended(random, &command);
		break;
	case VERBS_MODIFY_QP:
	case VERBS_QUERY_QP:
	case VERBS_DESTROY_QP:
	case VERBS_POST:
		argument[0] = some_number(random, 7168, FAKE_PAIRS + 1);
		argument[1] = below(random, 8);
	}
	if (!below(random, 32))
		argument[below(random, 5)] = random_next(random);
	return command;
}

static atomic_bool scribbling, ends;

/* Single words of commands as they are being read. */
static void *scribble(void *argument)
{
	struct verbs_command *ring = argument;
	struct random random;

	random = (struct random){3};
	while (!atomic_load(&ends)) {
		struct verbs_command command = some_command(&random);
		__u64 place = below(&random, VERBS_COMMANDS);
		__u64 word = below(&random, sizeof(command) / 8);

		while (!atomic_load(&scribbling) && !atomic_load(&ends))
			sched_yield();
		((volatile __u64 *)&ring[place])[word] = ((__u64 *)&command)[word];
	}
	return NULL;
}

/* Pages of the tenant that are not the device's, with what is theirs. */
static void fill_others(struct guest_memory *memory, bool look)
{
	for (__u64 at = 0; at < WORLD_MEMORY; at += 8) {
		__u64 *word;

		if (at == world.channel->data_address)
			at = WORLD_SHARE + world.channel->config.bytes;
		word = guest_memory_cpu(memory, at);
		if (!look)
			*word = ~at;
		else if (*word != ~at)
			fail_msg("0x%llx of another device was written", at);
	}
}

static void write_commands(struct random *random)
{
	struct verbs_registers *registers = world_ring()->registers;
	__u64 *next = &world_ring()->next, count = 1 + below(random, VERBS_COMMANDS);

	for (__u64 i = 0; i < count; i++)
		world_ring()->commands[(*next + i) % VERBS_COMMANDS] = some_command(random);
	*next += below(random, 1009) ? count : random_next(random);
	/* In every fourth round. */
	atomic_store(&scribbling, !below(random, 4));
	atomic_store(&registers->written, *next);
	doorbell_ring_shared(&registers->commands);
	while (atomic_load(&registers->answered) != *next)
		sched_yield();
}

static __u64 taken(struct verbs_backend_stats *stats)
{
	__u64 sum = 0;

	*stats = world_stats();
	for (int kind = 0; kind < VERBS_COMMAND_KINDS; kind++)
		sum += stats->kind[kind].commands;
	return sum;
}

static void a_million_commands_reach_nothing_else(void **state)
{
	struct guest_memory *memory;
	struct verbs_backend_stats stats;
	struct random random;
	pthread_t thread;

	world_build(HUGE_BYTES / 2);
	memory = rig->tenants[0].memory;
	fill_others(memory, false);
	random = (struct random){7};
	assert_int_equal(thread_start(&thread, NULL, scribble, world_ring()->commands, "scribble"),
			 0);
	while (taken(&stats) < COMMANDS)
		write_commands(&random);
	atomic_store(&ends, true);
	pthread_join(thread, NULL);
	for (int kind = 0; kind < VERBS_COMMAND_KINDS; kind++) {
		print_message("kind %2d: %7llu commands, %7llu refused, mean %6llu ns\n", kind,
			      stats.kind[kind].commands, stats.kind[kind].refused,
			      stats.kind[kind].time_ns / (stats.kind[kind].commands + 1));
		/* Of each kind some were carried out, too. */
		assert_int_equal(stats.kind[kind].refused < stats.kind[kind].commands,
				 some_succeed(kind));
	}
	assert_true(stats.broken > 0);
	assert_true(world_locked() <= HUGE_BYTES / 2);
	assert_int_equal(world_locked(), stats.pinned);
	fill_others(memory, true);
	verbs_backend_stop(world.backend);
	assert_int_equal(world.fake.wrong, 0);
	assert_int_equal(world.fake.pinned, 0);
	assert_int_equal(verbs_fake_objects(&world.fake), 0);
	assert_int_equal(world_locked(), 0);
	assert_int_equal(rig_violations(rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_million_commands_reach_nothing_else, NULL,
						world_teardown),
	};

	return cmocka_run_group_tests_name("verbs hostile", tests, NULL, NULL);
}
