// SPDX-License-Identifier: GPL-2.0
/* What is told of devices with a mode: to the truth log, by probes of this very program, and by clocks that cannot be right. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/hyv/hyv_observe.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"
#include "lib/base/verb_names.h"
#include "lib/capture/usdt.h"
#include "tests/unit/scratch.h"

static char path[64];
static json_t *records[64];
static size_t record_count;

static int setup(void **state)
{
	int error = scratch_make(state);

	snprintf(path, sizeof(path), "%s/truth", scratch);
	return error ? error : truth_open(path, true);
}

static int teardown(void **state)
{
	for (size_t i = 0; i < record_count; i++)
		json_decref(records[i]);
	record_count = 0;
	return scratch_remove(state);
}

static void read_truth(void)
{
	char line[512];
	FILE *file;

	assert_int_equal(truth_close(), 0);
	file = fopen(path, "re");
	assert_non_null(file);
	for (record_count = 0; fgets(line, sizeof(line), file); record_count++) {
		assert_true(record_count < 64);
		records[record_count] = json_loads(line, 0, NULL);
		assert_non_null(records[record_count]);
	}
	fclose(file);
}

static __u64 number(size_t record, const char *key)
{
	assert_true(record < record_count);
	return (__u64)json_integer_value(json_object_get(records[record], key));
}

static const char *word(size_t record, const char *key)
{
	assert_true(record < record_count);
	return json_string_value(json_object_get(records[record], key));
}

static struct verb_told verb_of(__u32 token)
{
	struct verb_told verb = {
		.device = 3,
		.tenant = 1,
		.token = token,
		.kind = VERBS_REGISTER_PAGES,
		.bytes = 5 * 4096,
		.key = 17,
		.runs = 4,
	};

	verb.stage_ns[VERB_SYSCALL] = 211;
	verb.stage_ns[VERB_REMAP] = 503;
	verb.stage_ns[VERB_REPLY] = 97;
	return verb;
}

static void a_verb_is_told_with_the_stages_it_had(void **state)
{
	struct verb_told verb = verb_of(7);
	__u64 before = monotonic_ns();

	(void)state;
	verb.start_ns = before - 100000;
	verb.error = -ENOMEM;
	observe_verb(&verb);
	observe_verb_woken(3, 1, 7, verb.kind, 37, before);
	read_truth();
	assert_int_equal(record_count, 5);
	assert_string_equal(word(0, "what"), "verb");
	assert_string_equal(word(0, "who"), "hypervisor");
	assert_int_equal(number(0, "fault"), 7);
	assert_int_equal(number(0, "code"), VERBS_REGISTER_PAGES);
	assert_int_equal(number(0, "queue"), ENOMEM);
	assert_int_equal(number(0, "length"), 5 * 4096);
	/* By the log's own clock, not by the stages that it was given. */
	assert_true(number(0, "value") >= 100000);
	assert_true(number(0, "time_ns") >= before);
	assert_int_equal(number(1, "group"), VERB_SYSCALL);
	assert_int_equal(number(2, "group"), VERB_REMAP);
	assert_int_equal(number(2, "value"), 503);
	assert_int_equal(number(2, "address"), 4);
	assert_int_equal(number(3, "group"), VERB_REPLY);
	assert_string_equal(word(4, "what"), "verb_woken");
	assert_int_equal(number(4, "value"), 37);
}

static void pins_have_their_direction_and_refusals(void **state)
{
	(void)state;
	observe_pinned(3, 1, PIN_REMAP, 8192, 12288, 1 << 20, 0);
	observe_pinned(3, 1, PIN_DRIVER, -4096, 8192, 1 << 20, 0);
	observe_pinned(3, 1, PIN_GUEST, 4096, 8192, 0, -EPERM);
	observe_registered(3, 1, 12288);
	read_truth();
	assert_int_equal(record_count, 4);
	assert_string_equal(word(0, "what"), "pinned");
	assert_int_equal(number(0, "code"), PIN_REMAP);
	assert_int_equal(number(0, "length"), 8192);
	assert_int_equal(number(0, "value"), 12288);
	assert_int_equal(number(0, "address"), 1 << 20);
	assert_string_equal(word(1, "what"), "unpinned");
	assert_int_equal(number(1, "length"), 4096);
	assert_int_equal(number(2, "group"), EPERM);
	assert_string_equal(word(3, "what"), "registered");
	assert_int_equal(number(3, "value"), 12288);
}

static void exits_and_guests_are_told(void **state)
{
	const __u64 exits[EXIT_CAUSES] = {11, 13, 17, 19};

	(void)state;
	observe_guest(3, 1, 4711, 1, 0);
	observe_exits(3, 1, exits);
	observe_guest(3, 1, 4711, 0, 9);
	read_truth();
	assert_int_equal(record_count, 2 + EXIT_CAUSES);
	assert_string_equal(word(0, "what"), "guest_began");
	for (unsigned int cause = 0; cause < EXIT_CAUSES; cause++) {
		assert_int_equal(number(1 + cause, "code"), cause);
		assert_int_equal(number(1 + cause, "value"), exits[cause]);
	}
	assert_string_equal(word(5, "what"), "guest_ended");
	assert_int_equal(number(5, "value"), 4711);
	assert_int_equal(number(5, "length"), 9);
}

/* Sum of what the log has of a stage. */
static __u64 stage_told(enum work_stage stage)
{
	__u64 sum = 0;

	for (size_t i = 0; i < record_count; i++)
		if (!strcmp(word(i, "what"), "work_stage") && number(i, "address") == stage)
			sum += number(i, "value");
	return sum;
}

static const struct work_request_told whole = {
	.device = 3,
	.pair = 5,
	.index = 23,
	.opcode = VERBS_WRITE,
	.bytes = 64,
	.posted_ns = 1000,
	.doorbell_ns = 1100,
	.dma_start_ns = 1300,
	.dma_end_ns = 1700,
	.completed_ns = 1701,
	.reaped_ns = 2000,
};

static void a_work_request_has_its_stages(void **state)
{
	(void)state;
	observe_work_request(&whole);
	read_truth();
	assert_int_equal(record_count, 6);
	assert_int_equal(stage_told(WORK_POST), 100);
	assert_int_equal(stage_told(WORK_DOORBELL), 200);
	assert_int_equal(stage_told(WORK_DMA), 400);
	assert_int_equal(stage_told(WORK_COMPLETION), 1);
	assert_int_equal(stage_told(WORK_REAPED), 299);
	assert_string_equal(word(5, "what"), "work_request");
	assert_string_equal(word(5, "who"), "device");
	assert_int_equal(number(5, "value"), 1000);
	assert_int_equal(number(5, "length"), 64);
	assert_int_equal(number(5, "fault"), 23);
}

/* The guest may write anything where it says when it posted and reaped. */
static void a_guests_clock_spoils_nothing_else(void **state)
{
	static const __u64 lies[] = {0, 1101, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct work_request_told told = whole;

		told.posted_ns = lies[i];
		told.reaped_ns = 0;
		observe_work_request(&told);
	}
	read_truth();
	assert_int_equal(stage_told(WORK_POST), 0);
	assert_int_equal(stage_told(WORK_DOORBELL), 600);
	assert_int_equal(stage_told(WORK_DMA), 1200);
	assert_int_equal(stage_told(WORK_REAPED), 0);
	for (size_t i = 0; i < record_count; i++)
		if (!strcmp(word(i, "what"), "work_request"))
			assert_int_equal(number(i, "value"), 601);
}

/* A request that failed before its first DMA: what is not known is part of what comes next. */
static void stages_that_are_not_known_are_part_of_the_next(void **state)
{
	struct work_request_told told = whole;

	(void)state;
	told.dma_start_ns = told.dma_end_ns = 0;
	told.status = VERBS_LOC_PROT_ERR;
	observe_work_request(&told);
	read_truth();
	assert_int_equal(stage_told(WORK_DMA), 0);
	assert_int_equal(stage_told(WORK_COMPLETION), 601);
	assert_int_equal(stage_told(WORK_REAPED), 299);
}

/* A pair of a device with a mode, that has given `sends` to its transport. */
static void times_begin(struct rdma_pair *pair, struct rdma *device, __u32 sends)
{
	static const struct rdma_settings settings = {.mode = 1};
	const struct verbs_send send = {.opcode = VERBS_WRITE};

	*device = (struct rdma){.settings = &settings};
	*pair = (struct rdma_pair){.device = device, .setup.send_depth = 4};
	assert_int_equal(times_create(pair), 0);
	times_posted(pair, 0, sends);
	for (__u32 i = 0; i < sends; i++)
		times_given(pair, i, &send);
}

static void move(struct rdma_pair *pair, __u64 entry, __u64 offset, __u32 bytes)
{
	const struct rdma_transfer part = {
		.side = RDMA_INITIATOR_READS, .offset = offset, .entry = entry};

	times_moved(pair, &part, bytes);
}

/* Sent again is moved again, which makes it no smaller: whole where it succeeded, as far as it came where it did not. */
static void what_is_sent_again_has_all_its_bytes(void **state)
{
	const struct verbs_completion done = {.bytes = 9000, .entry = 0},
				      failed = {.entry = 1, .status = VERBS_RETRY_EXC_ERR};
	struct rdma_queue queue = {.depth = 4};
	struct rdma_pair pair;
	struct rdma device;

	(void)state;
	times_begin(&pair, &device, 2);
	assert_int_equal(times_queue_create(&device, &queue), 0);
	for (__u64 entry = 0; entry < 2; entry++) {
		move(&pair, entry, 4096, 4096);
		move(&pair, entry, 0, 4096);
	}
	times_retired(&pair, &done);
	times_completed(&pair, &queue, &failed);
	queue.written = 1;
	times_forsaken(&queue); /* the guest has not taken it */
	times_forsaken(&queue);
	times_free(&pair);
	free(queue.told_of);
	read_truth();
	assert_int_equal(stage_told(WORK_REAPED), 0);
	assert_string_equal(word(record_count - 1, "what"), "work_request");
	assert_int_equal(number(record_count - 1, "fault"), 1);
	assert_int_equal(number(record_count - 1, "length"), 8192);
	assert_int_equal(number(record_count - 1, "address"), VERBS_RETRY_EXC_ERR);
	for (size_t i = 0, requests = 0; i < record_count; i++) {
		if (strcmp(word(i, "what"), "work_request") != 0)
			continue;
		assert_true(++requests <= 2);
		assert_int_equal(number(i, "length"), requests == 1 ? 9000 : 8192);
		assert_int_equal(number(i, "fault"), requests - 1);
	}
}

/* This program has them as the emulator has, with arguments that capture reads. */
static void probes_are_there_with_all_arguments(void **state)
{
	static const char *const names[] = {"verb",	   "verb_stages", "verb_woken",
					    "pinned",	   "registered",  "guest_exits",
					    "guest_state", "work_request"};
	struct usdt_binary binary;
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	read_truth();
	assert_true(self >= 0);
	assert_int_equal(usdt_read(self, "this program", "faultline", &binary), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(usdt_has(&binary, names[i]));
	assert_false(usdt_has(&binary, "verb_"));
	usdt_free(&binary);
	close(self);
}

static void every_code_has_a_word(void **state)
{
	(void)state;
	read_truth();
	for (unsigned int kind = VERBS_OPEN; kind < VERBS_COMMAND_KINDS; kind++)
		assert_string_not_equal(verb_kind_name(kind), "unknown");
	assert_string_equal(verb_kind_name(0), "unknown");
	assert_string_equal(verb_kind_name(VERBS_COMMAND_KINDS), "unknown");
	assert_string_equal(verb_kind_name(VERBS_REGISTER), "reg_mr");
	for (unsigned int stage = 0; stage < VERB_STAGES; stage++)
		assert_string_not_equal(verb_stage_name(stage), "unknown");
	for (unsigned int stage = 0; stage < WORK_STAGES; stage++)
		assert_string_not_equal(work_stage_name(stage), "unknown");
	assert_string_equal(verb_stage_name(VERB_STAGES), "unknown");
	assert_string_equal(work_opcode_name(VERBS_READ), "read");
	assert_string_equal(pin_role_name(PIN_ROLES), "unknown");
	assert_string_equal(exit_cause_name(EXIT_CAUSES), "unknown");
}

#define TOLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD(a_verb_is_told_with_the_stages_it_had),
		TOLD(pins_have_their_direction_and_refusals),
		TOLD(exits_and_guests_are_told),
		TOLD(a_work_request_has_its_stages),
		TOLD(a_guests_clock_spoils_nothing_else),
		TOLD(stages_that_are_not_known_are_part_of_the_next),
		TOLD(what_is_sent_again_has_all_its_bytes),
		TOLD(probes_are_there_with_all_arguments),
		TOLD(every_code_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
