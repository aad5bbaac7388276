// SPDX-License-Identifier: GPL-2.0
/* I/Os of the NVMe engine: every status, random streams against a plain copy of what must be on the disk, what became of writes. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/base/random.h"
#include "tests/unit/nvme_rig.h"

static void test_io_statuses(void **state)
{
	struct nvme_rig rig;
	struct nvme_command command;
	struct nvme_stats stats;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 3, 13), NVME_OK);
	assert_int_equal(IO(NVME_READ, RIG_BLOCKS - 1, 1, rig.data, 0), NVME_OK);
	assert_int_equal(IO(NVME_READ, RIG_BLOCKS - 1, 2, rig.data, 0), NVME_OUT_OF_RANGE);
	assert_int_equal(IO(NVME_READ, RIG_BLOCKS, 1, rig.data, 0), NVME_OUT_OF_RANGE);
	assert_int_equal(IO(NVME_WRITE, ~0ull, 2, rig.data, 0), NVME_OUT_OF_RANGE);
	assert_int_equal(IO(NVME_READ, 0, NVME_TRANSFER_BYTES / NVME_BLOCK + 1, rig.data, rig.data),
			 NVME_INVALID_FIELD);
	assert_int_equal(IO(NVME_READ, 0, 8, rig.data + 2, 0), NVME_INVALID_PRP_OFFSET);
	assert_int_equal(IO(NVME_READ, 0, 16, rig.data, rig.data + 512), NVME_INVALID_PRP_OFFSET);
	assert_int_equal(IO(NVME_READ, 0, 24, rig.data, rig.data + 4), NVME_INVALID_PRP_OFFSET);
	assert_int_equal(IO(0x66, 0, 1, rig.data, 0), NVME_INVALID_OPCODE);
	/* Nothing is there: what is read of it is refused, what is written is lost and nobody knows. */
	assert_int_equal(IO(NVME_WRITE, 0, 1, 1ull << 44, 0), NVME_TRANSFER_ERROR);
	assert_int_equal(nvme_applied(rig.cluster, rig.device, 0).times, 0);
	assert_int_equal(IO(NVME_WRITE, 0, 24, rig.data, 1ull << 44), NVME_TRANSFER_ERROR);
	assert_int_equal(IO(NVME_READ, 0, 1, 1ull << 44, 0), NVME_OK);
	command = nvme_rig_io(NVME_READ, 0, 1, rig.data, 0);
	command.namespace_id = 2;
	assert_int_equal(nvme_rig_do(&rig, &rig.io, command, NULL), NVME_INVALID_NAMESPACE);
	command.opcode = NVME_FLUSH;
	assert_int_equal(nvme_rig_do(&rig, &rig.io, command, NULL), NVME_INVALID_NAMESPACE);
	command.namespace_id = ~0u;
	assert_int_equal(nvme_rig_do(&rig, &rig.io, command, NULL), NVME_OK);
	command.flags = 0x40; /* SGL */
	assert_int_equal(nvme_rig_do(&rig, &rig.io, command, NULL), NVME_INVALID_FIELD);
	nvme_stats(rig.cluster, rig.function, &stats);
	assert_int_equal(stats.commands, 16);
	assert_int_equal(stats.failed, 13);
	assert_int_equal(stats.asynchronous, 0);
	nvme_rig_close(&rig);
}

/* PRPs for `bytes` of the data pages in an order of their own; a list that begins near its page's end has a second page. */
static void make_prps(struct nvme_rig *rig, struct random *random, __u64 list, __u64 bytes,
		      __u32 *order, struct nvme_command *command)
{
	__u32 pages = (__u32)((bytes + NVME_PAGE - 1) / NVME_PAGE);
	__u64 at = list + 8 * random_below(random, 512);

	for (__u32 i = 0; i < 257; i++)
		order[i] = i;
	for (__u32 i = 256; i; i--) {
		__u32 other = (__u32)random_below(random, i + 1), page = order[i];

		order[i] = order[other];
		order[other] = page;
	}
	command->prp1 = rig->data + (__u64)order[0] * NVME_PAGE;
	command->prp2 = pages == 2 ? rig->data + (__u64)order[1] * NVME_PAGE : at;
	for (__u32 i = 1; pages > 2 && i < pages; i++) {
		__u64 entry = rig->data + (__u64)order[i] * NVME_PAGE;

		if (at % NVME_PAGE == NVME_PAGE - 8 && i + 1 < pages) {
			__u64 next = list + NVME_PAGE;

			memcpy(nvme_rig_memory(rig, at, 8), &next, 8);
			at = next;
		}
		memcpy(nvme_rig_memory(rig, at, 8), &entry, 8);
		at += 8;
	}
}

static void test_random_against_copy(void **state)
{
	static __u8 disk[RIG_BLOCKS * NVME_BLOCK];
	struct nvme_rig rig;
	struct random random = {17};
	__u64 list;
	__u32 order[257], writes = 0;

	memset(disk, 0, sizeof(disk));
	nvme_rig_open(&rig, NULL);
	list = nvme_rig_alloc(&rig, 2 * NVME_PAGE);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
	for (int i = 0; i < 1009; i++) {
		bool write = random_below(&random, 2);
		__u32 blocks = 1 + (__u32)random_below(&random, i % 7 ? 24 : 2048);
		__u64 block = random_below(&random, RIG_BLOCKS - blocks);
		__u64 bytes = (__u64)blocks * NVME_BLOCK;
		struct nvme_command command =
			nvme_rig_io(write ? NVME_WRITE : NVME_READ, block, blocks, 0, 0);
		__u8 *on_disk = &disk[block * NVME_BLOCK];

		make_prps(&rig, &random, list, bytes, order, &command);
		for (__u64 at = 0; at < bytes; at += NVME_PAGE) {
			__u64 *page = nvme_rig_memory(
				&rig, rig.data + (__u64)order[at / NVME_PAGE] * NVME_PAGE,
				NVME_PAGE);
			__u64 run = bytes - at < NVME_PAGE ? bytes - at : NVME_PAGE;

			for (__u32 word = 0; word < NVME_PAGE / 8; word++)
				page[word] = random_next(&random);
			if (write)
				memcpy(on_disk + at, page, run);
		}
		assert_int_equal(nvme_rig_do(&rig, &rig.io, command, NULL), NVME_OK);
		writes += write;
		for (__u64 at = 0; at < bytes; at += NVME_PAGE) {
			__u64 run = bytes - at < NVME_PAGE ? bytes - at : NVME_PAGE;

			assert_memory_equal(
				nvme_rig_memory(&rig,
						rig.data + (__u64)order[at / NVME_PAGE] * NVME_PAGE,
						NVME_PAGE),
				on_disk + at, run);
		}
	}
	assert_in_range(writes, 400, 600);
	assert_memory_equal(nvme_disk(rig.cluster, rig.device)->storage, disk, sizeof(disk));
	nvme_rig_close(&rig);
}

static void mark_block(struct nvme_rig *rig, __u32 writer, __u64 block, __u64 sequence)
{
	struct io_mark mark = {IO_MARK_MAGIC, writer, 0, block, sequence};

	memcpy(nvme_rig_memory(rig, rig->data, sizeof(mark)), &mark, sizeof(mark));
}

static void test_applied(void **state)
{
	struct nvme_rig rig;
	struct nvme_applied applied;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
	mark_block(&rig, 5, 11, 23);
	for (int i = 0; i < 3; i++)
		assert_int_equal(IO(NVME_WRITE, 11, 1, rig.data, 0), NVME_OK);
	applied = nvme_applied(rig.cluster, rig.device, 11);
	assert_int_equal(applied.writer, 5);
	assert_int_equal(applied.sequence, 23);
	assert_int_equal(applied.times, 3);
	/* In the second stretch, and the last block. */
	mark_block(&rig, 5, NVME_STRETCH + 1, 25);
	for (int i = 0; i < 2; i++)
		assert_int_equal(IO(NVME_WRITE, NVME_STRETCH + 1, 1, rig.data, 0), NVME_OK);
	assert_int_equal(nvme_applied_twice(rig.cluster, rig.device), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(IO(NVME_WRITE, RIG_BLOCKS - 1, 1, rig.data, 0), NVME_OK);
	assert_int_equal(nvme_applied_twice(rig.cluster, rig.device), 3);
	mark_block(&rig, 5, 11, 24);
	assert_int_equal(IO(NVME_WRITE, 11, 1, rig.data, 0), NVME_OK);
	assert_int_equal(nvme_applied(rig.cluster, rig.device, 11).times, 1);
	assert_int_equal(nvme_applied(rig.cluster, rig.device, 12).times, 0);
	assert_int_equal(nvme_applied(rig.cluster, rig.device, RIG_BLOCKS).times, 0);
	/* A kill between the journal's mark and its end: the next life finishes it, and it counts once. */
	for (int again = 0; again < 2; again++) {
		struct nvme_disk *disk = nvme_disk(rig.cluster, rig.device);

		disk->journal->valid = 1;
		memset(disk->storage + 11 * NVME_BLOCK, again, NVME_BLOCK);
		nvme_journal_finish(disk, rig.cluster, rig.device);
		assert_int_equal(disk->journal->valid, 0);
		assert_int_equal(nvme_applied(rig.cluster, rig.device, 11).times, 1);
		assert_memory_equal(disk->storage + 11 * NVME_BLOCK,
				    nvme_rig_memory(&rig, rig.data, NVME_BLOCK), NVME_BLOCK);
	}
	nvme_rig_close(&rig);
}

static void test_fate(void **state)
{
	struct nvme_rig rig;
	struct nvme_queue_fate *fate;
	struct nvme_command command;
	struct nvme_completion completion;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 2, 13), NVME_OK);
	fate = nvme_rig_memory(&rig, rig.data + NVME_PAGE, NVME_PAGE);
	for (__u16 i = 0; i < 5; i++) {
		command = nvme_rig_io(NVME_WRITE, i == 3 ? RIG_BLOCKS : i, 1, rig.data, 0);
		command.id = 100 + i;
		nvme_rig_put(&rig, &rig.io, &command);
	}
	/* The last is in the queue, but its doorbell was not rung. */
	nvme_rig_register(&rig, NVME_DOORBELL_SQ(2), 4);
	nvme_rig_run(&rig);
	assert_int_equal(nvme_rig_admin(&rig, NVME_QUEUE_FATE, 2, 0, rig.data + NVME_PAGE, NULL),
			 NVME_OK);
	assert_int_equal(fate->exists, 1);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_SQ, 2, 0, 0, NULL), NVME_OK);
	nvme_rig_ring(&rig, &rig.io);
	assert_int_equal(nvme_rig_admin(&rig, NVME_QUEUE_FATE, 2, 0, rig.data + NVME_PAGE, NULL),
			 NVME_OK);
	assert_int_equal(fate->exists, 0);
	assert_int_equal(fate->fetched, 4);
	assert_int_equal(fate->entries, 13);
	for (__u16 i = 0; i < 4; i++) {
		assert_int_equal(fate->slots[i].id, 100 + i);
		assert_int_equal(fate->slots[i].status, i == 3 ? NVME_OUT_OF_RANGE : NVME_OK);
	}
	assert_int_equal(fate->slots[4].status, NVME_FATE_NONE);
	while (nvme_rig_reap(&rig, &rig.io, &completion))
		;
	assert_int_equal(rig.io.head, 4);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_CQ, 2, 0, 0, NULL), NVME_OK);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 2, 13), NVME_OK);
	assert_int_equal(nvme_rig_admin(&rig, NVME_QUEUE_FATE, 2, 0, rig.data + NVME_PAGE, NULL),
			 NVME_OK);
	assert_int_equal(fate->fetched, 0);
	assert_int_equal(fate->slots[0].status, NVME_FATE_NONE);
	nvme_rig_close(&rig);
}

static void test_abort(void **state)
{
	struct nvme_rig rig;
	struct nvme_completion completion;
	struct nvme_command command;
	__u32 result;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 13), NVME_OK);
	for (__u16 i = 0; i < 5; i++) {
		command = nvme_rig_io(NVME_WRITE, i, 1, rig.data, 0);
		command.id = 40 + i;
		nvme_rig_put(&rig, &rig.io, &command);
	}
	/* Its completion queue has room for nothing: commands wait, and can be aborted. */
	rig.engine->controllers[0].cqs[1].tail = 0;
	nvme_rig_register(&rig, NVME_DOORBELL_CQ(1), 1);
	nvme_rig_ring(&rig, &rig.io);
	nvme_rig_run(&rig);
	assert_int_equal(nvme_rig_admin(&rig, NVME_ABORT, 42 << 16 | 1, 0, 0, &result), NVME_OK);
	assert_int_equal(result, 0);
	assert_int_equal(nvme_rig_admin(&rig, NVME_ABORT, 99 << 16 | 1, 0, 0, &result), NVME_OK);
	assert_int_equal(result, 1);
	nvme_rig_register(&rig, NVME_DOORBELL_CQ(1), 0);
	nvme_rig_run(&rig);
	for (__u16 i = 0; i < 5; i++) {
		assert_true(nvme_rig_reap(&rig, &rig.io, &completion));
		assert_int_equal(completion.id, 40 + i);
		assert_int_equal(NVME_STATUS(&completion), i == 2 ? NVME_ABORTED : NVME_OK);
	}
	nvme_rig_close(&rig);
}

/* Whatever a driver writes, the controller neither crashes nor touches what it was not told of. */
static void test_hostile(void **state)
{
	struct random random = {29};

	for (int life = 0; life < 37; life++) {
		struct nvme_rig rig;

		nvme_rig_open(&rig, NULL);
		assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
		for (int i = 0; i < 101; i++) {
			struct nvme_rig_queue *queue =
				random_below(&random, 2) ? &rig.io : &rig.admin;
			__u8 *words = nvme_rig_memory(&rig, queue->commands, 64 * 7);
			__u64 wait_ns;

			for (int j = 0; j < 64 * 7; j++)
				words[j] = random_below(&random, 3)
						   ? (__u8)random_below(&random, 12)
						   : (__u8)random_next(&random);
			if (random_below(&random, 2))
				nvme_rig_register(&rig, NVME_DOORBELL_SQ(queue->number),
						  (__u32)random_below(&random, 8));
			else
				nvme_rig_register(&rig, random_below(&random, 0x1100) & ~3ull,
						  (__u32)random_next(&random) >>
							  random_below(&random, 32));
			for (int turns = 0; turns < 64; turns++)
				nvme_device_turn(rig.engine, &wait_ns);
		}
		nvme_rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_io_statuses), cmocka_unit_test(test_random_against_copy),
		cmocka_unit_test(test_applied),	    cmocka_unit_test(test_fate),
		cmocka_unit_test(test_abort),	    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
