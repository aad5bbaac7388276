// SPDX-License-Identifier: GPL-2.0
/* The NVMe controller: admin commands, doorbells, resets, arbitration, interrupts. */
#include "tests/unit/test.h"

#include <string.h>

#include "tests/unit/nvme_rig.h"

static void test_identify(void **state)
{
	struct nvme_rig rig;
	__u8 *page;
	__u64 blocks;
	struct nvme_command command = {.opcode = NVME_IDENTIFY, .cdw = {1}};

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_read(&rig, NVME_VS), 0x00010400);
	assert_int_equal(nvme_rig_read(&rig, NVME_CAP) & 0xffff, NVME_QUEUE_ENTRIES - 1);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY);
	command.prp1 = rig.data;
	page = nvme_rig_memory(&rig, rig.data, NVME_PAGE);
	assert_int_equal(nvme_rig_do(&rig, &rig.admin, command, NULL), NVME_OK);
	assert_int_equal(NVME_PAGE << page[77], NVME_TRANSFER_BYTES);
	assert_int_equal(page[516], 1);
	command.cdw[0] = 0;
	assert_int_equal(nvme_rig_do(&rig, &rig.admin, command, NULL), NVME_INVALID_NAMESPACE);
	command.namespace_id = 1;
	assert_int_equal(nvme_rig_do(&rig, &rig.admin, command, NULL), NVME_OK);
	memcpy(&blocks, page, 8);
	assert_int_equal(blocks, RIG_BLOCKS);
	assert_int_equal(1 << page[130], NVME_BLOCK);
	command.cdw[0] = 2;
	command.namespace_id = 0;
	assert_int_equal(nvme_rig_do(&rig, &rig.admin, command, NULL), NVME_OK);
	assert_int_equal(page[0], 1);
	command.namespace_id = 1;
	assert_int_equal(nvme_rig_do(&rig, &rig.admin, command, NULL), NVME_OK);
	assert_int_equal(page[0], 0);
	command.cdw[0] = 0x77;
	assert_int_equal(nvme_rig_do(&rig, &rig.admin, command, NULL), NVME_INVALID_FIELD);
	nvme_rig_close(&rig);
}

static void test_admin_statuses(void **state)
{
	struct nvme_rig rig;
	struct nvme_rig_queue queue;
	__u32 result, page;

	nvme_rig_open(&rig, NULL);
	page = (__u32)rig.data;
	assert_int_equal(nvme_rig_admin(&rig, 0x7f, 0, 0, 0, NULL), NVME_INVALID_OPCODE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 15 << 16 | 0, 1, page, NULL),
			 NVME_INVALID_QUEUE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 15 << 16 | 8, 1, page, NULL),
			 NVME_INVALID_QUEUE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 0 << 16 | 1, 1, page, NULL),
			 NVME_INVALID_QUEUE_SIZE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 256u << 16 | 1, 1, page, NULL),
			 NVME_INVALID_QUEUE_SIZE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 0xffffu << 16 | 1, 1, page, NULL),
			 NVME_INVALID_QUEUE_SIZE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 15 << 16 | 1, 0, page, NULL),
			 NVME_INVALID_FIELD);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 15 << 16 | 1, 1, page + 8, NULL),
			 NVME_INVALID_PRP_OFFSET);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_CREATE_CQ, 15 << 16 | 1, 64 << 16 | 3, page, NULL),
		NVME_INVALID_VECTOR);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_CREATE_SQ, 15 << 16 | 1, 1 << 16 | 1, page, NULL),
		NVME_INVALID_CQ);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_CREATE_SQ, 15 << 16 | 1, 0 << 16 | 1, page, NULL),
		NVME_INVALID_QUEUE);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_CREATE_SQ, 15 << 16 | 1, 8 << 16 | 1, page, NULL),
		NVME_INVALID_QUEUE);
	assert_int_equal(nvme_rig_pair(&rig, &queue, 7, 16), NVME_OK);
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_CQ, 15 << 16 | 7, 1, page, NULL),
			 NVME_INVALID_QUEUE);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_CREATE_SQ, 15 << 16 | 7, 7 << 16 | 1, page, NULL),
		NVME_INVALID_QUEUE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_CQ, 7, 0, 0, NULL),
			 NVME_INVALID_DELETION);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_SQ, 0, 0, 0, NULL), NVME_INVALID_QUEUE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_SQ, 5, 0, 0, NULL), NVME_INVALID_QUEUE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_SQ, 7, 0, 0, NULL), NVME_OK);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_CQ, 7, 0, 0, NULL), NVME_OK);
	assert_int_equal(nvme_rig_admin(&rig, NVME_DELETE_CQ, 7, 0, 0, NULL), NVME_INVALID_QUEUE);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_GET_FEATURES, NVME_FEATURE_QUEUES, 0, 0, &result),
		NVME_OK);
	assert_int_equal(result, 6 << 16 | 6);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_SET_FEATURES, NVME_FEATURE_QUEUES, 0xffff, 0, &result),
		NVME_INVALID_FIELD);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_SET_FEATURES, NVME_FEATURE_ARBITRATION, 3, 0, &result),
		NVME_OK);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_GET_FEATURES, NVME_FEATURE_ARBITRATION, 0, 0, &result),
		NVME_OK);
	assert_int_equal(result, 3);
	assert_int_equal(nvme_rig_admin(&rig, NVME_GET_FEATURES, 0x55, 0, 0, NULL),
			 NVME_INVALID_FIELD);
	assert_int_equal(nvme_rig_admin(&rig, NVME_LOG_PAGE, 0x99, 0, page, NULL),
			 NVME_INVALID_LOG_PAGE);
	assert_int_equal(nvme_rig_admin(&rig, NVME_LOG_PAGE, 127 << 16 | 1, 0, page, NULL),
			 NVME_OK);
	assert_int_equal(nvme_rig_admin(&rig, NVME_LOG_PAGE, 128 << 16 | 1, 0, page, NULL),
			 NVME_INVALID_FIELD);
	assert_int_equal(nvme_rig_admin(&rig, NVME_ABORT, 5, 0, 0, &result), NVME_OK);
	assert_int_equal(result, 1);
	assert_int_equal(nvme_rig_admin(&rig, NVME_QUEUE_FATE, 8, 0, page, NULL),
			 NVME_INVALID_QUEUE);
	nvme_rig_close(&rig);
}

static void test_doorbells_out_of_range(void **state)
{
	struct nvme_rig rig;
	struct nvme_stats stats;
	struct nvme_command command = {.opcode = NVME_ASYNC_EVENT, .id = 77};
	struct nvme_completion completion;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
	for (int i = 0; i < 5; i++) {
		command.id = 77 + i;
		nvme_rig_put(&rig, &rig.admin, &command);
	}
	nvme_rig_ring(&rig, &rig.admin);
	nvme_rig_run(&rig);
	assert_true(nvme_rig_reap(&rig, &rig.admin, &completion)); /* the fifth is one too many */
	assert_int_equal(completion.id, 81);
	assert_int_equal(NVME_STATUS(&completion), NVME_EVENT_LIMIT);
	assert_false(nvme_rig_reap(&rig, &rig.admin, &completion));
	for (int again = 0; again < 2; again++) {
		nvme_rig_register(&rig, NVME_DOORBELL_SQ(1), 7);
		nvme_rig_run(&rig);
	}
	assert_true(nvme_rig_reap(&rig, &rig.admin, &completion));
	assert_int_equal(completion.result, NVME_EVENT_DOORBELL_VALUE << 8 | 1 << 16);
	assert_false(nvme_rig_reap(&rig, &rig.admin, &completion)); /* told once */
	nvme_rig_register(&rig, NVME_DOORBELL_SQ(1), 0);
	nvme_rig_register(&rig, NVME_DOORBELL_SQ(5), 1);
	nvme_rig_run(&rig);
	assert_true(nvme_rig_reap(&rig, &rig.admin, &completion));
	assert_int_equal(completion.result, NVME_EVENT_DOORBELL << 8 | 1 << 16);
	nvme_rig_register(&rig, NVME_DOORBELL_CQ(1), 0xfffffff0);
	assert_int_equal(IO(NVME_READ, 0, 1, rig.data, 0), NVME_OK);
	nvme_rig_run(&rig);
	assert_true(nvme_rig_reap(&rig, &rig.admin, &completion));
	nvme_stats(rig.cluster, rig.function, &stats);
	assert_int_equal(stats.asynchronous, 3);
	nvme_rig_close(&rig);
}

static void test_enabling_refused(void **state)
{
	static const struct {
		__u32 sizes, sq, cq, configuration;
	} wrong[] = {
		{15 << 16 | 0, 0, 0, NVME_CC_ENABLE},
		{0 << 16 | 15, 0, 0, NVME_CC_ENABLE},
		{15 << 16 | 4095, 0, 0, NVME_CC_ENABLE},
		{4095 << 16 | 15, 0, 0, NVME_CC_ENABLE},
		{15 << 16 | 15, 8, 0, NVME_CC_ENABLE},
		{15 << 16 | 15, 0, 2048, NVME_CC_ENABLE},
		{15 << 16 | 15, 0, 0, NVME_CC_ENABLE | 1 << 7},
	};
	struct nvme_rig rig;

	nvme_rig_open(&rig, NULL);
	for (unsigned int i = 0; i < COUNT(wrong); i++) {
		nvme_rig_register(&rig, NVME_CC, 0);
		nvme_rig_run(&rig);
		assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), 0);
		nvme_rig_register(&rig, NVME_AQA, wrong[i].sizes);
		nvme_rig_register(&rig, NVME_ASQ, (__u32)rig.data + wrong[i].sq);
		nvme_rig_register(&rig, NVME_ACQ, (__u32)rig.data + wrong[i].cq);
		nvme_rig_register(&rig, NVME_CC, wrong[i].configuration);
		nvme_rig_run(&rig);
		assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_FATAL);
	}
	nvme_rig_register(&rig, NVME_CC, 0);
	nvme_rig_run(&rig);
	nvme_rig_enable(&rig, &rig.admin, rig.function);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY);
	/* What is read-only stays, and turning it off is told. */
	nvme_rig_register(&rig, NVME_CSTS, 0xffffffff);
	nvme_rig_register(&rig, NVME_CAP, 0);
	nvme_rig_run(&rig);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY);
	assert_int_equal(nvme_rig_read(&rig, NVME_CAP) & 0xffff, NVME_QUEUE_ENTRIES - 1);
	nvme_rig_register(&rig, NVME_CC, NVME_CC_QUEUES | NVME_CC_ENABLE | 1 << 14);
	nvme_rig_run(&rig);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY | NVME_CSTS_SHUTDOWN);
	nvme_rig_close(&rig);
}

static void test_reset_and_master(void **state)
{
	struct nvme_rig rig;
	struct nvme_stats stats;
	struct nvme_command command = {.opcode = NVME_IDENTIFY, .id = 3, .cdw = {1}};
	struct nvme_completion completion;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
	/* Without Bus Master it touches no memory. */
	function_config_write(rig.cluster, rig.function, 4, 2, 2);
	command.prp1 = rig.data;
	nvme_rig_put(&rig, &rig.admin, &command);
	nvme_rig_ring(&rig, &rig.admin);
	nvme_rig_run(&rig);
	assert_false(nvme_rig_reap(&rig, &rig.admin, &completion));
	function_config_write(rig.cluster, rig.function, 4, 2, 6);
	nvme_rig_run(&rig);
	assert_true(nvme_rig_reap(&rig, &rig.admin, &completion));
	function_reset(rig.cluster, rig.function);
	nvme_rig_run(&rig);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), 0);
	assert_int_equal(nvme_rig_read(&rig, NVME_VS), 0x00010400);
	nvme_rig_enable(&rig, &rig.admin, rig.function);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
	assert_int_equal(IO(NVME_READ, 0, 1, rig.data, 0), NVME_OK);
	nvme_stats(rig.cluster, rig.function, &stats);
	assert_int_equal(stats.resets, 1);
	nvme_rig_close(&rig);
}

/* The admin queue's memory is gone: fatal, until reset. An I/O queue's: it waits for the way to open. */
static void test_fetch_refused(void **state)
{
	struct nvme_rig rig;
	struct nvme_stats stats;
	__u64 wait_ns = 1 * SECOND;

	nvme_rig_open(&rig, NULL);
	assert_int_equal(nvme_rig_pair(&rig, &rig.io, 1, 7), NVME_OK);
	rig.engine->controllers[0].sqs[1].address = 1ull << 44;
	nvme_rig_register(&rig, NVME_DOORBELL_SQ(1), 2);
	nvme_rig_run(&rig);
	assert_false(nvme_device_turn(rig.engine, &wait_ns));
	assert_true(wait_ns < SECOND);
	nvme_stats(rig.cluster, rig.function, &stats);
	assert_int_equal(stats.failed_fetches, 1);
	assert_int_equal(stats.commands, 0);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY);
	rig.engine->controllers[0].sqs[1].address = rig.io.commands;
	nvme_rig_register(&rig, NVME_DOORBELL_SQ(1), 3);
	nvme_rig_run(&rig);
	nvme_stats(rig.cluster, rig.function, &stats);
	assert_int_equal(stats.commands, 3);
	rig.engine->controllers[0].sqs[0].address = 1ull << 44;
	nvme_rig_register(&rig, NVME_DOORBELL_SQ(0), rig.admin.tail + 1);
	nvme_rig_run(&rig);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY | NVME_CSTS_FATAL);
	nvme_rig_register(&rig, NVME_CC, 0);
	nvme_rig_run(&rig);
	nvme_rig_enable(&rig, &rig.admin, rig.function);
	assert_int_equal(nvme_rig_read(&rig, NVME_CSTS), NVME_CSTS_READY);
	nvme_rig_close(&rig);
}

static void two_functions(struct cluster_config *config)
{
	for (__u32 i = 0; i < config->device_count; i++)
		if (!strcmp(config->devices[i].name, "disk"))
			config->devices[i].functions = 2;
}

/* Every function has one turn after the other, whatever the other has waiting. */
static void test_functions_share(void **state)
{
	struct nvme_rig rig;
	struct nvme_rig_queue admins[2], queues[2][3];
	__u32 functions[2], first;
	struct nvme_stats stats[2];
	__u64 wait_ns;

	nvme_rig_open(&rig, two_functions);
	first = rig.function;
	for (__u32 f = 0; f < 2; f++) {
		functions[f] = function_of(rig.cluster, rig.device, f);
		rig.function = functions[f];
		if (f)
			nvme_rig_enable(&rig, &rig.admin, rig.function);
		admins[f] = rig.admin;
		for (__u32 q = 0; q < (f ? 1 : 3); q++)
			assert_int_equal(nvme_rig_pair(&rig, &queues[f][q], q + 1, 67), NVME_OK);
	}
	(void)admins;
	for (__u32 f = 0; f < 2; f++)
		for (__u32 q = 0; q < (f ? 1 : 3); q++) {
			struct nvme_command command = nvme_rig_io(NVME_READ, 0, 1, rig.data, 0);

			rig.function = functions[f];
			for (int i = 0; i < 61; i++)
				nvme_rig_put(&rig, &queues[f][q], &command);
			nvme_rig_ring(&rig, &queues[f][q]);
		}
	for (int turn = 1; turn <= 61; turn++) {
		nvme_device_turn(rig.engine, &wait_ns);
		for (__u32 f = 0; f < 2; f++) {
			nvme_stats(rig.cluster, functions[f], &stats[f]);
			assert_int_equal(stats[f].commands, turn);
		}
	}
	nvme_rig_run(&rig);
	nvme_stats(rig.cluster, first, &stats[0]);
	assert_int_equal(stats[0].commands, 183);
	nvme_rig_close(&rig);
}

/* Round robin: queues one after the other, each as many as the burst says. */
static void test_arbitration(void **state)
{
	static const __u32 bursts[] = {0, 1, 7};
	struct nvme_rig rig;
	struct nvme_rig_queue queues[3];

	nvme_rig_open(&rig, NULL);
	for (__u32 q = 0; q < 3; q++)
		assert_int_equal(nvme_rig_pair(&rig, &queues[q], q + 1, 17), NVME_OK);
	for (__u32 b = 0; b < COUNT(bursts); b++) {
		__u32 burst = bursts[b] == 7 ? 11 : 1u << bursts[b];
		__u64 wait_ns;

		assert_int_equal(nvme_rig_admin(&rig, NVME_SET_FEATURES, NVME_FEATURE_ARBITRATION,
						bursts[b], 0, NULL),
				 NVME_OK);
		for (__u32 q = 0; q < 3; q++) {
			struct nvme_command command = nvme_rig_io(NVME_READ, 0, 1, rig.data, 0);

			for (int i = 0; i < 11; i++)
				nvme_rig_put(&rig, &queues[q], &command);
			nvme_rig_ring(&rig, &queues[q]);
		}
		for (__u32 q = 0; q < 3; q++) {
			struct nvme_submission *sq = &rig.engine->controllers[0].sqs[q + 1];
			__u32 before = sq->head;

			nvme_device_turn(rig.engine, &wait_ns);
			assert_int_equal((sq->head + 17 - before) % 17, burst);
		}
		nvme_rig_run(&rig);
		for (__u32 q = 0; q < 3; q++) {
			struct nvme_completion completion;

			for (int i = 0; i < 11; i++)
				assert_true(nvme_rig_reap(&rig, &queues[q], &completion));
		}
	}
	nvme_rig_close(&rig);
}

static void test_interrupts(void **state)
{
	struct nvme_rig rig;
	struct nvme_stats stats;
	__u32 command = 6, entry = FUNCTION_MSIX_TABLE + 5 * 16;

	nvme_rig_open(&rig, NULL);
	/* INTx, then none, then MSI-X, masked and not. */
	assert_int_equal(nvme_rig_admin(&rig, NVME_GET_FEATURES, NVME_FEATURE_QUEUES, 0, 0, NULL),
			 NVME_OK);
	assert_int_equal(interrupt_count(rig.cluster, rig.host, rig.function, 0), 1);
	function_config_write(rig.cluster, rig.function, 4, 2, command | 0x400);
	assert_int_equal(nvme_rig_admin(&rig, NVME_GET_FEATURES, NVME_FEATURE_QUEUES, 0, 0, NULL),
			 NVME_OK);
	assert_int_equal(interrupt_count(rig.cluster, rig.host, rig.function, 0), 1);
	nvme_stats(rig.cluster, rig.function, &stats);
	assert_int_equal(stats.interrupts, 1);
	assert_int_equal(stats.interrupts_masked, 1);
	function_config_write(rig.cluster, rig.function, FUNCTION_CAP_MSIX + 2, 2, 0x8000);
	assert_int_equal(
		nvme_rig_admin(&rig, NVME_CREATE_CQ, 6 << 16 | 1, 5 << 16 | 3, rig.data, NULL),
		NVME_OK);
	rig.io = (struct nvme_rig_queue){.number = 1,
					 .entries = 7,
					 .phase = 1,
					 .completions = rig.data,
					 .commands = nvme_rig_alloc(&rig, NVME_PAGE)};
	assert_int_equal(nvme_rig_admin(&rig, NVME_CREATE_SQ, 6 << 16 | 1, 1 << 16 | 1,
					rig.io.commands, NULL),
			 NVME_OK);
	nvme_rig_register(&rig, entry, (__u32)(MSI_ADDRESS + 4096 * rig.function));
	nvme_rig_register(&rig, entry + 8, 5);
	nvme_rig_register(&rig, entry + 12, 1);
	assert_int_equal(IO(NVME_READ, 0, 1, rig.data + NVME_PAGE, 0), NVME_OK);
	assert_int_equal(interrupt_count(rig.cluster, rig.host, rig.function, 5), 0);
	nvme_rig_register(&rig, entry + 12, 0);
	nvme_rig_run(&rig);
	assert_int_equal(interrupt_count(rig.cluster, rig.host, rig.function, 5), 1);
	assert_int_equal(IO(NVME_READ, 0, 1, rig.data + NVME_PAGE, 0), NVME_OK);
	assert_int_equal(interrupt_count(rig.cluster, rig.host, rig.function, 5), 2);
	nvme_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identify),
		cmocka_unit_test(test_admin_statuses),
		cmocka_unit_test(test_doorbells_out_of_range),
		cmocka_unit_test(test_enabling_refused),
		cmocka_unit_test(test_reset_and_master),
		cmocka_unit_test(test_fetch_refused),
		cmocka_unit_test(test_functions_share),
		cmocka_unit_test(test_arbitration),
		cmocka_unit_test(test_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
