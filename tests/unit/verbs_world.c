// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/verbs_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

struct verbs_world world;

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "verbs world: %s (%d)\n", failure_text(), error);
	abort();
}

void world_build(__u64 memlock)
{
	const struct channel_config channel = {
		.queues = 1,
		.queue_depth = 2,
		.depth_max = 2,
		.pasid = PASID_NONE,
		.guest_address = WORLD_SHARE,
		.bytes = WORLD_SHARE,
		.iova_offset = WORLD_MEMORY,
	};
	struct verbs_backend_config config = {
		.name = "fake", .ops = &verbs_fake_ops, .device = &world.fake};

	rig_build((struct rig_config){.memory = WORLD_MEMORY, .memlock = memlock});
	rig->devices[0].iova_offset = WORLD_MEMORY;
	must(channel_create(&world.channel, &channel));
	verbs_fake_init(&world.fake, rig->devices[0].port, world.channel);
	config.machine = rig;
	config.port = rig->devices[0].port;
	config.channel = world.channel;
	must(verbs_backend_create(&world.backend, &config));
	must(verbs_attach(&world.device, verbs_backend_registers(world.backend), world.channel,
			  rig->tenants[0].memory));
	verbs_memory(world.device, &world.start, &world.bytes, &world.offset);
}

int world_teardown(void **state)
{
	(void)state;
	verbs_close(world.device);
	verbs_backend_destroy(world.backend);
	channel_destroy(world.channel);
	rig_destroy(rig);
	return 0;
}

int world_command(struct verbs_command *command)
{
	struct verbs_registers *registers = world_ring()->registers;
	__u64 index = world_ring()->next++;
	struct verbs_command *entry = &world_ring()->commands[index % VERBS_COMMANDS];

	*entry = *command;
	atomic_store(&registers->written, world_ring()->next);
	doorbell_ring_shared(&registers->commands);
	while (atomic_load(&registers->answered) <= index)
		sched_yield();
	*command = *entry;
	return command->error;
}

struct verbs_backend_stats world_stats(void)
{
	struct verbs_backend_stats stats;

	verbs_backend_stats(world.backend, &stats);
	return stats;
}

__u64 world_locked(void)
{
	struct pins_stats stats;

	pins_stats(rig->tenants[0].pins, &stats);
	return stats.locked;
}

struct verbs_queue *world_queue(__u64 page, __u32 depth)
{
	struct verbs_queue *queue;

	must(verbs_create_cq(world.device, &queue, world.start + page * PAGE_BYTES, depth));
	return queue;
}

struct verbs_pair *world_pair(__u64 page, struct verbs_queue *sends, struct verbs_queue *receives,
			      __u32 depth)
{
	const struct verbs_pair_attributes attributes = {
		.send_queue = sends,
		.receive_queue = receives,
		.send_depth = depth,
		.receive_depth = depth,
		.guest_address = world.start + page * PAGE_BYTES,
	};
	struct verbs_pair *pair;

	must(verbs_create_qp(world.device, &pair, &attributes));
	return pair;
}
