// SPDX-License-Identifier: GPL-2.0
/* Explanations: each sentence has the evidence that was told, in whatever batches, and none that was not. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/analyze/explain.h"
#include "lib/base/inject_point.h"
#include "tests/unit/nic_rig.h"
#include "tests/unit/pair_rig.h"

static const size_t chunks[] = {0, 1, 3, 13};

#define KEPT_MOST 64

struct told_explanations {
	__u64 rows;
	struct explanation all[KEPT_MOST];
	size_t count;
};

static __u64 want_each(void *self, const struct fault *fault)
{
	(void)fault;
	return ++((struct told_explanations *)self)->rows;
}

static void keep_each(void *self, const struct explanation *explanation)
{
	struct told_explanations *told = self;

	assert_true(told->count < KEPT_MOST);
	assert_true(explanation_copy(&told->all[told->count++], explanation));
}

/* What was read before, once: that events lack, and these of injections. */
static struct pair_rig *lossy_rig;
static struct event ahead[4];
static size_t ahead_count;

static bool events_lack(void *self)
{
	struct explain *explain = lossy_rig->analysis->explain;
	struct stream foresight = explain_foresight(explain);

	(void)self;
	if (ahead_count) {
		foresight.ops->events(foresight.self, ahead, ahead_count);
		foresight.ops->end(foresight.self, 0);
	}
	ahead_count = 0;
	return true;
}

static void told_free(struct told_explanations *told)
{
	for (size_t i = 0; i < told->count; i++)
		explanation_free(&told->all[i]);
}

static const struct explained *find_item(const struct explanation *x, enum explain_part part,
					 unsigned int stage)
{
	for (size_t i = 0; i < x->count; i++)
		if (x->items[i].part == part && x->items[i].stage == stage)
			return &x->items[i];
	fail_msg("nothing of %s", explain_part_name(part));
	return NULL;
}

static size_t count_items(const struct explanation *x, const char *evidence)
{
	size_t count = 0;

	for (size_t i = 0; i < x->count; i++)
		count += x->items[i].evidence && !strcmp(x->items[i].evidence, evidence);
	return count;
}

static void assert_says(const struct explanation *x, enum explain_part part, unsigned int stage,
			const char *words)
{
	const char *text = explanation_text(x, find_item(x, part, stage));

	if (!strstr(text, words))
		fail_msg("'%s' does not say '%s'", text, words);
}

static void add_io(struct pair_rig *rig, __u64 from, __u64 to, __u16 queue, __u8 code)
{
	struct event e = told_pair(EVENT_IO_COMPLETE, to, PAIR_DISK, 0, to - from, code);

	e.queue = queue;
	e.address = 0x9000;
	e.length = 4096;
	pair_rig_add(rig, e);
}

static void explain_all(struct pair_rig *rig, struct told_explanations *told, size_t chunk)
{
	static struct explain_wish wish;

	*told = (struct told_explanations){0};
	wish = (struct explain_wish){want_each, keep_each, told,
				     lossy_rig == rig ? events_lack : NULL};
	rig->config.explain = &wish;
	pair_rig_run(rig, chunk);
}

#define FIRST                                                                        \
	{                                                                            \
		.at = {10 * US,	  11 * US,   12 * US,	13 * US,                     \
		       4900 * US, 4910 * US, 5013 * US, 5020 * US},                  \
		.group = 1, .instance = 1, .tid = 99, .address = 0x1000, .queue = 1, \
		.access = EVENT_WRITE                                                \
	}
#define SECOND_ONE                                                                   \
	{                                                                            \
		.at = {20 * US,	  21 * US,   22 * US,	5030 * US,                   \
		       5040 * US, 5041 * US, 5042 * US, 5043 * US},                  \
		.group = 2, .instance = 2, .tid = 99, .address = 0x2000, .queue = 2, \
		.access = EVENT_WRITE                                                \
	}

/* The second waits while the handler has the first; an I/O of its queue met it, one queued behind. */
static void a_busy_handler_is_named(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		const struct told_fault first = FIRST, second = SECOND_ONE;
		struct told_explanations told;
		struct pair_rig rig;

		pair_rig_begin(&rig);
		pair_rig_stages(&rig, &first);
		pair_rig_stages(&rig, &second);
		add_io(&rig, 15 * US, 5050 * US, 2, IO_FAULTED);
		add_io(&rig, 5051 * US, 5070 * US, 2, IO_FAULTED);
		add_io(&rig, 5071 * US, 5090 * US, 2, IO_OK);
		add_io(&rig, 5 * US, 5060 * US, 3, IO_FAULTED);
		explain_all(&rig, &told, chunks[i]);
		assert_int_equal(told.count, 2);
		assert_int_equal(told.all[1].row, 2);
		assert_int_equal(told.all[1].cause, CAUSE_BUSY);
		assert_says(&told.all[1], EXPLAIN_STAGE, STAGE_DISPATCH,
			    "for 4.99ms of it its handler, thread 99, was busy with 1 other "
			    "group, group 1.1 of vm0/disk");
		assert_says(
			&told.all[1], EXPLAIN_WAITED, STAGES,
			"1 I/O of queue 2 met it, which took 5.04ms; at least 1 queued behind it");
		assert_int_equal(count_items(&told.all[1], "io"), 1);
		assert_int_equal(count_items(&told.all[1], "io_behind"), 1);
		assert_says(&told.all[1], EXPLAIN_HELP, STAGE_DISPATCH, "Another handler");
		assert_int_equal(told.all[0].cause, CAUSE_MEMORY);
		told_free(&told);
		pair_rig_end(&rig);
	}
}

/* Nothing that acts elsewhere, on another device or at another time, is an explanation. */
static void what_was_not_there_explains_nothing(void **state)
{
	const struct told_fault second = SECOND_ONE;
	struct told_fault first = FIRST;
	struct told_explanations told;
	struct pair_rig rig;
	struct event e;

	first.tid = 98;
	pair_rig_begin(&rig);
	pair_rig_stages(&rig, &first);
	pair_rig_stages(&rig, &second);
	e = told_pair(EVENT_INJECT_START, 1 * US, PAIR_LEFT, 0, 3, INJECT_DISPATCH);
	pair_rig_add(&rig, e);
	e = told_pair(EVENT_INJECT_START, 2 * US, PAIR_DISK, 0, 4, INJECT_DISPATCH);
	pair_rig_add(&rig, e);
	e = told_pair(EVENT_INJECT_STOP, 15 * US, PAIR_DISK, 0, 4, INJECT_DISPATCH);
	pair_rig_add(&rig, e);
	explain_all(&rig, &told, 0);
	assert_int_equal(told.all[1].cause, CAUSE_UNKNOWN);
	assert_int_equal(count_items(&told.all[1], "injection"), 0);
	assert_says(&told.all[1], EXPLAIN_CAUSE, STAGE_DISPATCH,
		    "nothing that was recorded says why");
	assert_says(&told.all[1], EXPLAIN_WAITED, STAGES, "No I/O that waited for it was recorded");
	told_free(&told);
	pair_rig_end(&rig);
}

static void an_injection_on_its_device_is_named(void **state)
{
	const struct told_fault fault = SECOND_ONE;
	struct told_explanations told;
	struct pair_rig rig;

	pair_rig_begin(&rig);
	pair_rig_add(&rig, told_pair(EVENT_INJECT_START, 2 * US, PAIR_DISK, 0, 4, INJECT_DISPATCH));
	pair_rig_stages(&rig, &fault);
	explain_all(&rig, &told, 0);
	assert_int_equal(told.all[0].cause, CAUSE_INJECTION);
	assert_int_equal(find_item(&told.all[0], EXPLAIN_STAGE, STAGE_DISPATCH)->count, 4);
	told_free(&told);
	pair_rig_end(&rig);
}

/* What it was woken for and when it ran. */
static void a_wait_for_a_cpu_is_told(void **state)
{
	const struct told_fault fault = SECOND_ONE;
	struct told_explanations told;
	struct pair_rig rig;
	struct event e;

	pair_rig_begin(&rig);
	pair_rig_stages(&rig, &fault);
	e = told_pair(EVENT_SCHED_RUN, 5029 * US, DEVICE_NONE, 99, 5 * MS - 1 * US, 0);
	pair_rig_add(&rig, e);
	explain_all(&rig, &told, 0);
	assert_int_equal(told.all[0].cause, CAUSE_CPU);
	assert_says(&told.all[0], EXPLAIN_STAGE, STAGE_DISPATCH,
		    "waited for a CPU; it was woken after 8.00us and ran 5.00ms later");
	told_free(&told);
	pair_rig_end(&rig);
}

/* Stages that were not seen are not explained, and that they are not is said. */
static void merged_stages_are_said(void **state)
{
	struct told_fault fault = SECOND_ONE;
	struct told_explanations told;
	struct pair_rig rig;

	fault.at[STAGE_DISPATCH] = 0; /* isr */
	pair_rig_begin(&rig);
	pair_rig_stages(&rig, &fault);
	explain_all(&rig, &told, 0);
	assert_int_equal(told.all[0].cause, CAUSE_UNKNOWN);
	assert_says(&told.all[0], EXPLAIN_STAGE, STAGE_DISPATCH, "stages before it were not seen");
	told_free(&told);
	pair_rig_end(&rig);
}

static void a_wait_of_a_queue_pair_is_named(void **state)
{
	struct told_explanations told;
	struct pair_rig rig;

	pair_rig_begin(&rig);
	pair_rig_fault(&rig, PAIR_RIGHT, 1, 10 * US, 310 * US);
	pair_rig_fault(&rig, PAIR_RIGHT, 2, 1000 * US, 310 * US);
	pair_rig_add(&rig, told_nak(11 * US, PAIR_RIGHT, 21, 1, 640 * US, 1));
	pair_rig_add(&rig, told_paused(20 * US, PAIR_LEFT, 17, 1, RDMA_WAIT_RNR, 0));
	pair_rig_add(&rig, told_resumed(680 * US, 20 * US, PAIR_LEFT, 17, 1, RDMA_WAIT_RNR));
	explain_all(&rig, &told, 0);
	for (size_t i = 0; i < 2; i++)
		explain_later(rig.analysis->explain, &told.all[i]);
	assert_int_equal(count_items(&told.all[0], "wait"), 1);
	assert_says(&told.all[0], EXPLAIN_WAITED, STAGES,
		    "QP 17 of vm0/hca waited 660 us: RNR (timer 640 us) for 1 fault of 310 us at "
		    "vm1/hca.");
	assert_int_equal(count_items(&told.all[1], "wait"), 0);
	told_free(&told);
	/* The same of each fault that has any, without what was told before; nothing was lost. */
	told = (struct told_explanations){0};
	explain_each_later(rig.analysis->explain, rig.config.explain);
	explain_loss_later(rig.analysis->explain, rig.config.explain);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.all[0].row, 1);
	assert_int_equal(told.all[0].count, 1);
	assert_int_equal(count_items(&told.all[0], "wait"), 1);
	told_free(&told);
	pair_rig_end(&rig);
}

static void a_stall_of_a_connection_is_named(void **state)
{
	struct told_explanations told = {0};
	const struct explain_wish wish = {want_each, keep_each, &told};
	struct nic_rig rig;

	nic_rig_begin(&rig);
	rig.config.explain = &wish;
	nic_rig_fault(&rig, 1, 0, 5 * MS);
	nic_rig_add(&rig, told_lost(4 * MS, 1 * MS, FLOW_IN, 1000, 9 * 1448, 9, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_resent(205 * MS, FLOW_IN, 1000, 1448, RECOVERY_TIMEOUT, 204 * MS));
	nic_rig_add(&rig, told_recovered(303 * MS, FLOW_IN, 1000, 9 * 1448));
	nic_rig_run(&rig, 0);
	assert_int_equal(told.count, 1);
	explain_later(rig.analysis->explain, &told.all[0]);
	assert_int_equal(count_items(&told.all[0], "stall"), 1);
	assert_says(&told.all[0], EXPLAIN_WAITED, STAGES,
		    "A connection waited for it: 302 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201");
	told_free(&told);
	nic_rig_end(&rig);
}

/* A page of the disk that a thread takes back: told by the machine's own thread, freed by the injection's. */
static void add_eviction(struct pair_rig *rig, __u64 time, __u32 tid, __u64 address, __u64 token,
			 __u8 flags)
{
	struct event e = told_pair(EVENT_INVALIDATE_DEVICE, time, PAIR_DISK, 7, token, 0);

	e.pasid = PASID_NONE;
	e.address = address;
	e.length = 4096;
	e.flags = flags;
	pair_rig_add(rig, e);
	e.kind = EVENT_INVALIDATE_FREED;
	e.time_ns += 100;
	e.tid = tid;
	pair_rig_add(rig, e);
}

static void add_evictors(struct pair_rig *rig)
{
	for (__u32 id = 1; id <= 2; id++)
		pair_rig_add(rig, told_pair(EVENT_INJECT_START, id * US, PAIR_DISK, 100 * id, id,
					    INJECT_EVICT));
}

static void assert_evicted_by(struct pair_rig *rig, const char *words, size_t count)
{
	const struct told_fault fault = SECOND_ONE;
	struct told_explanations told;

	pair_rig_stages(rig, &fault);
	explain_all(rig, &told, 0);
	assert_says(&told.all[0], EXPLAIN_MEMORY, STAGES, words);
	assert_int_equal(count_items(&told.all[0], "injection"), count);
	told_free(&told);
	pair_rig_end(rig);
}

/* By the thread that freed the page, else by what those threads write, else it is not known. */
static void the_injection_that_evicted_is_named(void **state)
{
	struct pair_rig rig;

	pair_rig_begin(&rig);
	add_evictors(&rig);
	add_eviction(&rig, 5 * US, 200, 0x2000, 1, 0);
	assert_evicted_by(&rig, "while an injection that evicts pages (id 2) was under way", 1);
	pair_rig_begin(&rig);
	add_evictors(&rig);
	add_eviction(&rig, 5 * US, 201, 0x2000, 1, EVENT_MAJOR);
	add_eviction(&rig, 6 * US, 100, 0x7000, 2, 0);
	assert_evicted_by(&rig,
			  "written to storage, while an injection that evicts pages (id 2) was", 1);
	pair_rig_begin(&rig);
	add_evictors(&rig);
	add_eviction(&rig, 5 * US, 201, 0x2000, 1, EVENT_MAJOR);
	assert_evicted_by(&rig, "while injections 1 and 2 that evict pages were under way", 2);
}

/* Where events were lost, one whose end was not seen is no cause; one whose end comes is, before it has come. */
static void an_injection_that_may_have_ended_is_no_cause(void **state)
{
	for (unsigned int seen = 0; seen < 2; seen++) {
		const struct told_fault fault = SECOND_ONE;
		struct told_explanations told;
		struct pair_rig rig;

		pair_rig_begin(&rig);
		lossy_rig = &rig;
		ahead[0] = told_pair(EVENT_INJECT_START, 2 * US, PAIR_DISK, 0, 4, INJECT_DISPATCH);
		ahead[1] =
			told_pair(EVENT_INJECT_STOP, 9 * SECOND, PAIR_DISK, 0, 4, INJECT_DISPATCH);
		ahead_count = 1 + seen;
		pair_rig_stages(&rig, &fault);
		explain_all(&rig, &told, 0);
		lossy_rig = NULL;
		assert_int_equal(told.all[0].cause, seen ? CAUSE_INJECTION : CAUSE_UNKNOWN);
		assert_says(&told.all[0], EXPLAIN_STAGE, STAGE_DISPATCH,
			    seen ? "an injection that delays stage dispatch (id 4) was under way"
				 : "an injection that delays stage dispatch (id 4) had begun: its "
				   "end was not seen, and events were lost: it may have ended");
		assert_int_equal(count_items(&told.all[0], "injection"), 1);
		told_free(&told);
		pair_rig_end(&rig);
	}
}

/* A request that was answered before it left the queue, and one whose device gave up before the host did. */
static void shares_are_of_all_stages(void **state)
{
	struct told_fault fault = SECOND_ONE;
	struct told_explanations told;
	struct pair_rig rig;
	struct event e;

	pair_rig_begin(&rig);
	memset(&fault.at[STAGE_RESOLVE], 0, (STAGES - STAGE_RESOLVE) * sizeof(fault.at[0]));
	fault.at[2] = 110 * US;
	fault.at[STAGES] = 30 * US;
	pair_rig_stages(&rig, &fault);
	explain_all(&rig, &told, 0);
	assert_says(&told.all[0], EXPLAIN_OUTCOME, STAGES, "after 10.0us; its stages");
	assert_says(&told.all[0], EXPLAIN_OUTCOME, STAGES, "took 90.0us");
	assert_says(&told.all[0], EXPLAIN_STAGE, STAGE_DELIVERY, "took 89.0us (99%)");
	assert_says(&told.all[0], EXPLAIN_STAGE, STAGE_REQUEST, "took 1.00us (1%)");
	told_free(&told);
	pair_rig_end(&rig);

	fault = (struct told_fault)SECOND_ONE;
	fault.at[STAGES] = 0;
	pair_rig_begin(&rig);
	pair_rig_stages(&rig, &fault);
	e = told_pair(EVENT_FAULT_ABANDON, 1020 * US, PAIR_DISK, 0, 0, 0);
	e.queue = fault.queue;
	e.pasid = PASID_NONE;
	e.group = fault.group;
	e.instance = fault.instance;
	e.address = fault.address;
	pair_rig_add(&rig, e);
	explain_all(&rig, &told, 0);
	assert_says(&told.all[0], EXPLAIN_OUTCOME, STAGES,
		    "abandoned after 1.00ms, when its device gave up; its stages, as far as they "
		    "were seen (detect-response), took 5.02ms");
	told_free(&told);
	pair_rig_end(&rig);
}

/* It acted on the other pages of the group, and was over when this one's turn came. */
static void an_injection_on_the_group_is_named(void **state)
{
	struct told_fault page = SECOND_ONE, other = SECOND_ONE;
	struct told_explanations told;
	struct pair_rig rig;

	other.address = 0x3000;
	for (unsigned int k = 3; k < FAULT_STAGES; k++)
		page.at[k] += 1000 * US;
	page.at[3] = other.at[3] = 23 * US;
	page.at[6] = other.at[6] = 6042 * US;
	page.at[7] = other.at[7] = 6043 * US;
	pair_rig_begin(&rig);
	pair_rig_stages(&rig, &other);
	pair_rig_stages(&rig, &page);
	pair_rig_add(&rig, told_pair(EVENT_INJECT_START, 2 * US, PAIR_DISK, 0, 4, INJECT_RESOLVE));
	pair_rig_add(&rig,
		     told_pair(EVENT_INJECT_STOP, 4000 * US, PAIR_DISK, 0, 4, INJECT_RESOLVE));
	explain_all(&rig, &told, 0);
	assert_int_equal(told.count, 2);
	for (size_t i = 0; i < 2; i++)
		if (told.all[i].fault.address == page.address) {
			assert_int_equal(told.all[i].cause, CAUSE_GROUP);
			assert_says(&told.all[i], EXPLAIN_STAGE, STAGE_RESOLVE,
				    "1 other page was served of its group, the last of address "
				    "0x3000, while an injection that delays stage resolve (id 4) "
				    "was under way");
		}
	told_free(&told);
	pair_rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_handler_is_named),
		cmocka_unit_test(what_was_not_there_explains_nothing),
		cmocka_unit_test(an_injection_on_its_device_is_named),
		cmocka_unit_test(a_wait_for_a_cpu_is_told),
		cmocka_unit_test(merged_stages_are_said),
		cmocka_unit_test(a_wait_of_a_queue_pair_is_named),
		cmocka_unit_test(a_stall_of_a_connection_is_named),
		cmocka_unit_test(the_injection_that_evicted_is_named),
		cmocka_unit_test(an_injection_that_may_have_ended_is_no_cause),
		cmocka_unit_test(shares_are_of_all_stages),
		cmocka_unit_test(an_injection_on_the_group_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
