// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include "tests/unit/nvme_rig.h"

#include <string.h>

#include "injectors/cluster/memory.h"
#include "lib/base/fail.h"

#define RIG_DATA (NVME_TRANSFER_BYTES + NVME_PAGE)

void *nvme_rig_memory(struct nvme_rig *rig, __u64 address, __u64 bytes)
{
	void *memory = host_memory(rig->cluster, rig->host, address, bytes);

	assert_non_null(memory);
	return memory;
}

__u64 nvme_rig_alloc(struct nvme_rig *rig, __u64 bytes)
{
	__u64 address;

	assert_int_equal(host_memory_alloc(rig->cluster, rig->host, bytes, &address), 0);
	return address;
}

void nvme_rig_open(struct nvme_rig *rig, void (*change)(struct cluster_config *config))
{
	memset(rig, 0, sizeof(*rig));
	fixture_open(&rig->fixture, fixture_two(false), change);
	rig->cluster = rig->fixture.cluster;
	rig->device = fixture_device(&rig->fixture, "disk");
	rig->host = fixture_host(&rig->fixture, "b");
	rig->cluster->self = rig->cluster->host = rig->host;
	rig->function = function_of(rig->cluster, rig->device, 0);
	if (nvme_device_open(&rig->engine, rig->cluster, rig->device))
		fail_msg("%s", failure_text());
	rig->data = nvme_rig_alloc(rig, RIG_DATA);
	nvme_rig_enable(rig, &rig->admin, rig->function);
}

void nvme_rig_close(struct nvme_rig *rig)
{
	nvme_device_close(rig->engine);
	fixture_close(&rig->fixture);
}

static void rig_register(struct nvme_rig *rig, __u32 function, __u64 offset, __u32 value)
{
	struct initiator cpu = cpu_of(rig->cluster, rig->host);

	access_write_register(rig->cluster, &cpu,
			      function_bar_address(rig->cluster, function, 0) + offset, 4, value);
}

void nvme_rig_register(struct nvme_rig *rig, __u64 offset, __u32 value)
{
	rig_register(rig, rig->function, offset, value);
}

__u32 nvme_rig_read(struct nvme_rig *rig, __u64 offset)
{
	struct initiator cpu = cpu_of(rig->cluster, rig->host);

	return (__u32)access_read_register(
		rig->cluster, &cpu, function_bar_address(rig->cluster, rig->function, 0) + offset,
		4);
}

void nvme_rig_run(struct nvme_rig *rig)
{
	__u64 wait_ns = 0;
	int turns = 0;

	while (nvme_device_turn(rig->engine, &wait_ns))
		assert_true(++turns < 100000);
}

static void rig_queue(struct nvme_rig *rig, struct nvme_rig_queue *queue, __u32 number,
		      __u32 entries)
{
	*queue = (struct nvme_rig_queue){.number = number, .entries = entries, .phase = 1};
	queue->commands = nvme_rig_alloc(rig, NVME_PAGE * 4);
	queue->completions = nvme_rig_alloc(rig, NVME_PAGE);
}

void nvme_rig_enable(struct nvme_rig *rig, struct nvme_rig_queue *admin, __u32 function)
{
	rig_queue(rig, admin, 0, 16);
	function_config_write(rig->cluster, function, 4, 2, 6);
	rig_register(rig, function, NVME_AQA, 15 << 16 | 15);
	rig_register(rig, function, NVME_ASQ, (__u32)admin->commands);
	rig_register(rig, function, NVME_ACQ, (__u32)admin->completions);
	rig_register(rig, function, NVME_CC, NVME_CC_QUEUES | NVME_CC_ENABLE);
	nvme_rig_run(rig);
}

void nvme_rig_put(struct nvme_rig *rig, struct nvme_rig_queue *queue,
		  const struct nvme_command *command)
{
	memcpy(nvme_rig_memory(rig, queue->commands + queue->tail * 64, 64), command, 64);
	queue->tail = (queue->tail + 1) % queue->entries;
}

void nvme_rig_ring(struct nvme_rig *rig, struct nvme_rig_queue *queue)
{
	nvme_rig_register(rig, NVME_DOORBELL_SQ(queue->number), queue->tail);
}

bool nvme_rig_reap(struct nvme_rig *rig, struct nvme_rig_queue *queue,
		   struct nvme_completion *completion)
{
	memcpy(completion, nvme_rig_memory(rig, queue->completions + queue->head * 16, 16), 16);
	if ((completion->status & 1) != queue->phase)
		return false;
	queue->head = (queue->head + 1) % queue->entries;
	if (!queue->head)
		queue->phase ^= 1;
	nvme_rig_register(rig, NVME_DOORBELL_CQ(queue->number), queue->head);
	return true;
}

__u32 nvme_rig_do(struct nvme_rig *rig, struct nvme_rig_queue *queue, struct nvme_command command,
		  __u32 *result)
{
	struct nvme_completion completion;

	command.id = (__u16)(1000 + queue->tail);
	nvme_rig_put(rig, queue, &command);
	nvme_rig_ring(rig, queue);
	nvme_rig_run(rig);
	assert_true(nvme_rig_reap(rig, queue, &completion));
	assert_int_equal(completion.id, command.id);
	assert_int_equal(completion.sq_id, queue->number);
	assert_int_equal(completion.sq_head, queue->tail);
	if (result)
		*result = completion.result;
	return NVME_STATUS(&completion);
}

__u32 nvme_rig_pair(struct nvme_rig *rig, struct nvme_rig_queue *queue, __u32 number, __u32 entries)
{
	struct nvme_command create = {.opcode = NVME_CREATE_CQ,
				      .cdw = {(entries - 1) << 16 | number, 1}};
	__u32 status;

	rig_queue(rig, queue, number, entries);
	create.prp1 = queue->completions;
	status = nvme_rig_do(rig, &rig->admin, create, NULL);
	if (status)
		return status;
	create.opcode = NVME_CREATE_SQ;
	create.prp1 = queue->commands;
	create.cdw[1] = number << 16 | 1;
	return nvme_rig_do(rig, &rig->admin, create, NULL);
}

struct nvme_command nvme_rig_io(enum nvme_opcode opcode, __u64 block, __u32 blocks, __u64 prp1,
				__u64 prp2)
{
	return (struct nvme_command){.opcode = opcode,
				     .namespace_id = NVME_NAMESPACE,
				     .prp1 = prp1,
				     .prp2 = prp2,
				     .cdw = {(__u32)block, (__u32)(block >> 32), blocks - 1}};
}

__u32 nvme_rig_admin(struct nvme_rig *rig, enum nvme_opcode opcode, __u32 cdw10, __u32 cdw11,
		     __u64 prp1, __u32 *result)
{
	return nvme_rig_do(
		rig, &rig->admin,
		(struct nvme_command){.opcode = opcode, .prp1 = prp1, .cdw = {cdw10, cdw11}},
		result);
}
