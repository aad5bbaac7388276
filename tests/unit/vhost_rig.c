// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/vhost_rig.h"

#include <stdio.h>
#include <string.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/memory_views.h"
#include "lib/base/fail.h"
#include "tests/unit/scratch.h"

struct vhost_rig_plan vhost_plan;

void vhost_rig_plan(void)
{
	memset(&vhost_plan, 0, sizeof(vhost_plan));
	strcpy(vhost_plan.tenant.name, "vm");
	vhost_plan.tenant.memory = RIG_MEMORY;
	strcpy(vhost_plan.device.name, "disk");
	vhost_plan.device.class = &block_class;
	vhost_plan.device.queues = 1;
	vhost_plan.device.queue_depth = 64;
	vhost_plan.device.group_pages = 8;
	vhost_plan.device.msi_cpu = -1;
	vhost_plan.block = (struct block_settings *)vhost_plan.device.settings.bytes;
	vhost_plan.block->file_bytes = RIG_DISK;
	snprintf(vhost_plan.block->vhost.socket, sizeof(vhost_plan.block->vhost.socket),
		 "%s/disk.sock", scratch);
	vhost_plan.machine = (struct machine_config){
		.name = "test",
		.tenant_count = 1,
		.device_count = 1,
		.tenants = &vhost_plan.tenant,
		.devices = &vhost_plan.device,
		.scheduler = SCHEDULER_AFFINED,
		.request_queue_entries = 256,
		.premap = true,
		.seed = 1,
	};
}

void vhost_rig_inject(enum inject_point point, __u32 probability, __u64 delay_ns)
{
	vhost_plan.injections[vhost_plan.injection_count] = (struct injection){
		.point = point,
		.device = DEVICE_ALL,
		.id = vhost_plan.injection_count + 1,
		.probability = probability,
		.interval = 1,
		.times = -1,
		.delay_ns = delay_ns,
		.seed = 3,
	};
	vhost_plan.injection_count++;
}

static void succeeds(int error)
{
	if (error)
		print_error("%s\n", failure_text());
	assert_int_equal(error, 0);
}

void vhost_rig_open(struct vhost_rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->front.socket = -1;
	succeeds(machine_create(&rig->machine, &vhost_plan.machine));
	succeeds(machine_prepare(rig->machine));
	for (__u32 i = 0; i < vhost_plan.injection_count; i++)
		succeeds(inject_arm(machine_injections(rig->machine), &vhost_plan.injections[i]));
	rig->memory = rig->machine->tenants[0].memory;
	rig->block = rig->machine->devices[0].model;
}

void vhost_rig_close(struct vhost_rig *rig)
{
	struct machine_totals totals;

	machine_stop(rig->machine);
	machine_totals(rig->machine, &totals);
	machine_destroy(rig->machine);
	frontend_close(&rig->front);
	assert_int_equal(totals.violations, 0);
}

void vhost_rig_connect(struct vhost_rig *rig)
{
	frontend_connect(&rig->front, vhost_plan.block->vhost.socket,
			 guest_memory_cpu(rig->memory, 0), RIG_MEMORY,
			 guest_memory_file(rig->memory));
}

void vhost_rig_run(struct vhost_rig *rig, __u16 queues, __u32 size)
{
	vhost_rig_connect(rig);
	frontend_negotiate(&rig->front, ~0ull);
	frontend_set_inflight(&rig->front, queues, (__u16)size);
	for (__u16 q = 0; q < queues; q++) {
		frontend_make_queue(&rig->front, q, size);
		assert_int_equal(frontend_start_queue(&rig->front, q, 0), 0);
	}
}

void vhost_rig_evict(struct vhost_rig *rig, __u64 guest_address, __u64 bytes)
{
	for (__u64 at = guest_address; at < guest_address + bytes; at += PAGE_BYTES) {
		int result = evict_page(rig->machine, 0, at, EVICT_MAJOR);

		assert_true(result == 0 || result == EVICT_GONE);
	}
}

struct vhost_stats vhost_rig_stats(struct vhost_rig *rig)
{
	struct vhost_stats stats;

	vhost_stats(rig->block->vhost, &stats);
	return stats;
}

struct frontend_io vhost_rig_io(__u32 type, __u64 sector, __u64 guest_address, __u32 bytes)
{
	return (struct frontend_io){.type = type,
				    .sector = sector,
				    .piece = {{guest_address, bytes}},
				    .pieces = !!bytes};
}

static __u32 word_of(__u32 seed, __u32 place)
{
	return (seed * 2654435761u) ^ (place * 40503u + 1);
}

void vhost_rig_fill(struct vhost_rig *rig, __u64 guest_address, __u32 bytes, __u32 seed)
{
	__u32 *words = guest_memory_cpu(rig->memory, guest_address);

	for (__u32 i = 0; i < bytes / sizeof(*words); i++)
		words[i] = word_of(seed, i);
}

bool vhost_rig_holds(struct vhost_rig *rig, __u64 guest_address, __u32 bytes, __u32 seed)
{
	const __u32 *words = guest_memory_cpu(rig->memory, guest_address);

	for (__u32 i = 0; i < bytes / sizeof(*words); i++)
		if (words[i] != word_of(seed, i))
			return false;
	return true;
}
