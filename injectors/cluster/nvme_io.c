// SPDX-License-Identifier: GPL-2.0
/* Commands of I/O queues: where their data is, and the storage that it comes from and goes to. */
#include <string.h>

#include "injectors/cluster/nvme_engine.h"
#include "injectors/cluster/seen.h"

#define EVERY_NAMESPACE	  0xffffffffu
#define PRP_ENTRIES	  (NVME_PAGE / 8)
#define RECORD_TIMES_MASK 0xffffull

struct prp_walk {
	struct nvme_controller *controller;
	struct nvme_segment *segments;
	__u32 count;
	__u64 left; /* bytes */
	__u64 ns;   /* model, of the lists */
};

static void prp_add(struct prp_walk *walk, __u64 address, __u64 bytes)
{
	struct nvme_segment *last = walk->count ? &walk->segments[walk->count - 1] : NULL;

	if (bytes > walk->left)
		bytes = walk->left;
	if (last && last->address + last->bytes == address)
		last->bytes += bytes;
	else
		walk->segments[walk->count++] = (struct nvme_segment){address, bytes};
	walk->left -= bytes;
}

/* A list ends with its page, where its last entry names the next one, a whole page, if more are needed. */
static __u32 prp_list(struct prp_walk *walk, __u64 list)
{
	__u64 entries[PRP_ENTRIES];

	if (list % 8)
		return NVME_INVALID_PRP_OFFSET;
	while (walk->left) {
		__u64 room = PRP_ENTRIES - list % NVME_PAGE / 8;
		__u64 wanted = (walk->left + NVME_PAGE - 1) / NVME_PAGE;
		__u64 count = wanted < room ? wanted : room;
		struct access_result result = {0};

		access_read(walk->controller->device->cluster, &walk->controller->initiator,
			    PURPOSE_DATA, list, entries, count * 8, &result);
		walk->ns += result.model_ns;
		if (result.status != ACCESS_DONE)
			return NVME_TRANSFER_ERROR;
		for (__u64 i = 0; i < count; i++)
			if (entries[i] % NVME_PAGE)
				return NVME_INVALID_PRP_OFFSET;
		for (__u64 i = 0; i < count - (wanted > room); i++)
			prp_add(walk, entries[i], NVME_PAGE);
		list = entries[count - 1];
	}
	return NVME_OK;
}

static __u32 prp_walk(struct prp_walk *walk, const struct nvme_command *command)
{
	if (command->prp1 % 4)
		return NVME_INVALID_PRP_OFFSET;
	prp_add(walk, command->prp1, NVME_PAGE - command->prp1 % NVME_PAGE);
	if (!walk->left)
		return NVME_OK;
	if (walk->left > NVME_PAGE)
		return prp_list(walk, command->prp2);
	if (command->prp2 % NVME_PAGE)
		return NVME_INVALID_PRP_OFFSET;
	prp_add(walk, command->prp2, NVME_PAGE);
	return NVME_OK;
}

static __u32 nvme_walk(struct prp_walk *walk, struct nvme_controller *controller,
		       const struct nvme_command *command, __u64 bytes)
{
	*walk = (struct prp_walk){
		.controller = controller, .segments = controller->device->segments, .left = bytes};
	return prp_walk(walk, command);
}

/*
 * To memory. Writes are posted: where one is lost, nobody tells the controller, and what comes next, the completion at the
 * latest, goes after it without waiting: data takes what it occupies the way for.
 */
__u32 nvme_send(struct nvme_controller *controller, const struct nvme_command *command,
		const void *data, __u64 bytes, __u64 *data_ns)
{
	struct prp_walk walk;
	__u32 status = nvme_walk(&walk, controller, command, bytes);
	__u64 at = 0;

	for (__u32 i = 0; !status && i < walk.count; i++) {
		struct access_result result = {0};

		access_write(controller->device->cluster, &controller->initiator, PURPOSE_DATA,
			     walk.segments[i].address, (const __u8 *)data + at,
			     walk.segments[i].bytes, &result);
		walk.ns += result.follow_ns;
		at += walk.segments[i].bytes;
	}
	*data_ns = walk.ns;
	return status;
}

static __u32 nvme_receive(struct nvme_controller *controller, const struct nvme_command *command,
			  __u64 bytes, __u64 *data_ns)
{
	struct prp_walk walk;
	__u32 status = nvme_walk(&walk, controller, command, bytes);
	__u64 at = 0;

	for (__u32 i = 0; !status && i < walk.count; i++) {
		struct access_result result = {0};

		access_read(controller->device->cluster, &controller->initiator, PURPOSE_DATA,
			    walk.segments[i].address, controller->device->disk->buffer + at,
			    walk.segments[i].bytes, &result);
		walk.ns += result.model_ns;
		at += walk.segments[i].bytes;
		if (result.status != ACCESS_DONE)
			status = NVME_TRANSFER_ERROR;
	}
	*data_ns = walk.ns;
	return status;
}

/* Whose block it is, from itself. Others' data is nobody's. */
static void record_write(struct nvme_block_record *record, const void *data, __u64 number)
{
	struct io_mark mark;
	bool named, again;

	memcpy(&mark, data, sizeof(mark));
	named = mark.magic == IO_MARK_MAGIC;
	again = named && record->sequence == mark.sequence && record->writer == mark.writer;
	if (record->word / (RECORD_TIMES_MASK + 1) != number) {
		__u64 times = again ? (record->word & RECORD_TIMES_MASK) + 1 : 1;

		if (times > RECORD_TIMES_MASK)
			times = RECORD_TIMES_MASK;
		__atomic_store_n(&record->word, number * (RECORD_TIMES_MASK + 1) | times,
				 __ATOMIC_RELEASE);
	}
	record->writer = named ? mark.writer : CLUSTER_NONE;
	__atomic_store_n(&record->sequence, named ? mark.sequence : 0, __ATOMIC_RELEASE);
}

/* Whatever part of it was done before is done again, with the same result. */
void nvme_journal_finish(struct nvme_disk *disk, struct cluster *cluster, __u32 device)
{
	struct nvme_journal *journal = disk->journal;
	struct nvme_fate_slot *slot;
	struct io_mark mark;
	__u32 number;

	if (!__atomic_load_n(&journal->valid, __ATOMIC_ACQUIRE))
		return;
	/* Of two stretches at most: before the first of its records. */
	disk->written[journal->first_block / NVME_STRETCH] = 1;
	disk->written[(journal->first_block + journal->blocks - 1) / NVME_STRETCH] = 1;
	for (__u32 i = 0; i < journal->blocks; i++)
		record_write(&disk->records[journal->first_block + i],
			     disk->buffer + (__u64)i * NVME_BLOCK, journal->number);
	memcpy(disk->storage + journal->first_block * NVME_BLOCK, disk->buffer,
	       (__u64)journal->blocks * NVME_BLOCK);
	number = journal->function - function_of(cluster, device, 0);
	slot = &disk->shared[number].fates[journal->queue].slots[journal->slot];
	slot->id = journal->id;
	slot->status = NVME_OK;
	memcpy(&mark, disk->buffer, sizeof(mark));
	truth_cluster(cluster,
		      &(struct cluster_truth){
			      .what = "applied",
			      .agent = cluster->self,
			      .device = device,
			      .borrow = function_borrow(cluster, journal->function),
			      .queue = journal->queue,
			      .address = journal->first_block * NVME_BLOCK,
			      .length = (__u64)journal->blocks * NVME_BLOCK,
			      .value = mark.magic == IO_MARK_MAGIC ? mark.sequence : 0,
			      .number = mark.magic == IO_MARK_MAGIC ? mark.writer : CLUSTER_NONE,
			      .code = (__s32)(disk->records[journal->first_block].word &
					      RECORD_TIMES_MASK),
		      });
	__atomic_store_n(&journal->valid, 0, __ATOMIC_RELEASE);
}

static void nvme_apply(struct nvme_controller *controller, __u32 queue, __u32 slot,
		       const struct nvme_command *command, __u64 first, __u32 blocks)
{
	struct nvme_disk *disk = controller->device->disk;
	struct nvme_journal *journal = disk->journal;

	journal->first_block = first;
	journal->blocks = blocks;
	journal->number++;
	journal->function = controller->function;
	journal->queue = (__u16)queue;
	journal->slot = (__u16)slot;
	journal->id = command->id;
	__atomic_store_n(&journal->valid, 1, __ATOMIC_RELEASE);
	nvme_journal_finish(disk, controller->device->cluster, controller->device->device);
}

static __u32 nvme_read_write(struct nvme_controller *controller, __u32 queue, __u32 slot,
			     const struct nvme_command *command, __u64 *data_ns)
{
	struct nvme_disk *disk = controller->device->disk;
	__u64 first = command->cdw[0] | (__u64)command->cdw[1] << 32;
	__u32 blocks = (command->cdw[2] & 0xffff) + 1;
	__u64 bytes = (__u64)blocks * NVME_BLOCK;
	__u32 status;

	if (command->namespace_id != NVME_NAMESPACE)
		return NVME_INVALID_NAMESPACE;
	if (bytes > NVME_TRANSFER_BYTES)
		return NVME_INVALID_FIELD;
	if (first >= disk->blocks || blocks > disk->blocks - first)
		return NVME_OUT_OF_RANGE;
	if (command->opcode == NVME_READ)
		return nvme_send(controller, command, disk->storage + first * NVME_BLOCK, bytes,
				 data_ns);
	status = nvme_receive(controller, command, bytes, data_ns);
	if (!status)
		nvme_apply(controller, queue, slot, command, first, blocks);
	return status;
}

__u32 nvme_io(struct nvme_controller *controller, __u32 queue, __u32 slot,
	      const struct nvme_command *command, __u64 *data_ns)
{
	if (command->flags) /* fused, or by SGL */
		return NVME_INVALID_FIELD;
	switch (command->opcode) {
	case NVME_FLUSH:
		return command->namespace_id == NVME_NAMESPACE ||
				       command->namespace_id == EVERY_NAMESPACE
			       ? NVME_OK
			       : NVME_INVALID_NAMESPACE;
	case NVME_READ:
	case NVME_WRITE:
		return nvme_read_write(controller, queue, slot, command, data_ns);
	default:
		return NVME_INVALID_OPCODE;
	}
}
