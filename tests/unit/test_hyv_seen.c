// SPDX-License-Identifier: GPL-2.0
/* Devices with a mode, from streams made by hand: pins that do or do not follow, exits, work requests. */
#include "tests/unit/hyv_seen.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/guest_pins.h"
#include "lib/analyze/verbs.h"
#include "lib/analyze/work_requests.h"

static void pin(__u32 handle, enum pin_role role, __s64 bytes, __u64 then, int refused)
{
	seen_push((struct event){.kind = EVENT_PINNED,
				 .device = handle,
				 .code = (__u8)role,
				 .length = (__u64)(bytes < 0 ? -bytes : bytes),
				 .value = then,
				 .address = PAGES(100),
				 .group = bytes < 0,
				 .queue = (__u16)refused,
				 .flags = refused ? EVENT_MAJOR : 0});
}

static void registered(__u32 handle, __u64 bytes)
{
	seen_push((struct event){.kind = EVENT_REGISTERED, .device = handle, .value = bytes});
}

static void pin_all(__u32 handle, __s64 bytes, __u64 then)
{
	for (unsigned int role = 0; role < PIN_ROLES; role++)
		pin(handle, role, bytes, then, 0);
}

static void pins_that_follow_are_no_finding(void **state)
{
	(void)state;
	pin_all(HYBRID, PAGES(5), PAGES(5));
	registered(HYBRID, PAGES(5));
	seen_says(&guest_pins_analyzer,
		  "left/hybrid,left,hybrid,20480,20480,20480,20480,61440,409600,0,,");
	assert_int_equal(guest_pins_bytes(seen.analysis), PAGES(15));
	pin_all(HYBRID, -(__s64)PAGES(5), 0);
	registered(HYBRID, 0);
	seen_says(&guest_pins_analyzer,
		  "left/hybrid,left,hybrid,0,0,0,0,61440,409600,0,0,20480,20480,20480,20480,0,0,0");
	/* Its driver alone pins. */
	pin(NATIVE, PIN_DRIVER, PAGES(7), PAGES(7), 0);
	registered(NATIVE, PAGES(7));
	/* All was pinned when it began. */
	pin(PASSTHROUGH, PIN_DRIVER, PAGES(99), PAGES(99), 0);
	registered(PASSTHROUGH, PAGES(99));
	seen_push((struct event){.kind = EVENT_GUEST_STATE, .device = PASSTHROUGH, .value = 4711});
	/* Its queues alone are pinned. */
	pin_all(ODP, PAGES(2), PAGES(2));
	registered(ODP, PAGES(2));
	seen_says_not(NULL, "is registered");
	seen_says_not(NULL, "refused");
	seen_says(&guest_pins_analyzer,
		  "left/passed,left,passthrough,405504,,,405504,405504,409600,0,,");
}

static void pins_that_do_not_follow_are_told(void **state)
{
	(void)state;
	pin_all(HYBRID, PAGES(5), PAGES(5));
	pin(HYBRID, PIN_DRIVER, PAGES(1), PAGES(6), 0);
	registered(HYBRID, PAGES(5));
	seen_says(NULL,
		  "left/hybrid: what is pinned was not what is registered, 1 time; first role "
		  "driver had 24K of 20K.");
	registered(HYBRID, 0);
	seen_says(NULL, "left/hybrid: 64K stayed pinned, though nothing is registered any more.");
	pin(NATIVE, PIN_DRIVER, PAGES(7), PAGES(7), 0);
	registered(NATIVE, PAGES(8));
	seen_says(NULL, "left/native: what is pinned was not what is registered");
}

static void a_guest_that_ended_leaves_nothing(void **state)
{
	(void)state;
	pin_all(HYBRID, PAGES(5), PAGES(5));
	registered(HYBRID, PAGES(5));
	seen_says_not(NULL, "stayed pinned");
	seen_push((struct event){.kind = EVENT_GUEST_STATE,
				 .device = HYBRID,
				 .code = 0,
				 .value = 4711,
				 .length = 9});
	seen_says(NULL, "left/hybrid: 60K stayed pinned");
}

/* An event that was lost may be what is missing. */
static void with_losses_nothing_is_accused(void **state)
{
	const struct loss_info loss = {.lost = 3};

	(void)state;
	pin_all(HYBRID, PAGES(5), PAGES(5));
	pin(HYBRID, PIN_GUEST, PAGES(9), PAGES(5), EPERM);
	registered(HYBRID, 0);
	seen_says(NULL, "is registered");
	assert_int_equal(seen.stream.ops->loss(seen.stream.self, &loss), 0);
	seen_says_not(NULL, "is registered");
	seen_says(NULL, "left/hybrid: 1 pin was refused, of 36K");
}

static void refusals_are_told_with_their_quota(void **state)
{
	(void)state;
	pin_all(HYBRID, PAGES(5), PAGES(5));
	pin(HYBRID, PIN_REMAP, PAGES(99), PAGES(5), ENOMEM);
	pin(HYBRID, PIN_REMAP, PAGES(1), PAGES(5), EPERM);
	registered(HYBRID, PAGES(5));
	seen_says(
		NULL,
		"2 pins were refused, of 400K, the last one: Operation not permitted; quota: 400K.");
	seen_says(&guest_pins_analyzer, ",61440,409600,2,");
	seen_says_not(NULL, "not what is registered");
}

static void a_device_that_must_not_fault_is_told(void **state)
{
	(void)state;
	for (__u32 handle = HYBRID; handle <= PLAIN; handle++)
		seen_push((struct event){.kind = EVENT_FAULT_DETECT, .device = handle});
	seen_says(NULL, "Violation: left/hybrid faulted 1 time, though mode hybrid");
	seen_says(NULL, "Violation: left/passed faulted 1 time, though mode passthrough");
	seen_says_not(NULL, "Violation: left/odp");
	seen_says_not(NULL, "Violation: left/plain");
	seen_says_not(NULL, "Violation: left/native");
}

static void exits(__u32 handle, __u64 kicks, __u64 control, __u64 events, __u32 posts)
{
	seen_push((struct event){.kind = EVENT_GUEST_EXITS,
				 .device = handle,
				 .value = kicks,
				 .length = control,
				 .address = events,
				 .group = posts});
}

static void work(__u32 handle, __u16 opcode, enum work_stage of, __u64 ns, __u64 bytes, bool failed)
{
	seen_push((struct event){.kind = EVENT_WORK_REQUEST,
				 .device = handle,
				 .queue = opcode,
				 .code = (__u8)of,
				 .value = ns,
				 .length = bytes,
				 .flags = failed ? EVENT_MAJOR : 0});
}

static void exits_are_told_by_verb_and_operation(void **state)
{
	(void)state;
	exits(HYBRID, 10, 10, 0, 0);
	for (__u32 i = 1; i <= 4; i++)
		seen_verb(HYBRID, i, VERB_KIND_POST, 5000, 900, 0);
	for (int i = 0; i < 20; i++)
		work(HYBRID, 0, WORK_TOTAL, 1000, 64, false);
	exits(HYBRID, 12, 11, 40, 4);
	seen_says(&guest_exits_analyzer, "left/hybrid,kick,12,");
	seen_says(&guest_exits_analyzer, ",3,0.6,4,20\n");
	seen_says(&guest_exits_analyzer, "left/hybrid,inject,11,");
	seen_says(&guest_exits_analyzer, "left/hybrid,inject event,40,");
	seen_says(&guest_exits_analyzer, "left/hybrid,forwarded post,4,");
	seen_says(&guest_exits_analyzer, ",10,2,4,20\n");
}

static void work_is_one_by_one_or_counted(void **state)
{
	const struct aggregate_bin bins[] = {{histogram_bucket(1418), 103}};
	const struct aggregate_row rows[] = {
		{.key = {.kind = EVENT_WORK_REQUEST,
			 .device = HYBRID,
			 .queue = 2,
			 .code = WORK_TOTAL},
		 .counts = {103, 103 * 64ull, 103 * 1418ull, 1418},
		 .bins = 1},
		{.key = {.kind = EVENT_WORK_REQUEST,
			 .device = HYBRID,
			 .queue = 2,
			 .code = WORK_TOTAL,
			 .flags = EVENT_MAJOR},
		 .counts = {5}},
	};
	const struct aggregate_frame frame = {
		.row_count = 2, .bin_count = 1, .rows = rows, .bins = bins};

	(void)state;
	work(HYBRID, 2, WORK_DMA, 500, 0, false);
	work(HYBRID, 2, WORK_TOTAL, 2000, 64, false);
	work(HYBRID, 1, WORK_TOTAL, 0, 0, true);
	assert_int_equal(seen.stream.ops->aggregate(seen.stream.self, &frame), 0);
	assert_int_equal(work_requests_count(seen.analysis->work_requests, HYBRID), 110);
	seen_says(&work_requests_analyzer, "left/hybrid,read,total,109,5,6656,");
	seen_says(&work_requests_analyzer, ",2000,148054\n");
	seen_says(&work_requests_analyzer, "left/hybrid,read,dma,1,,,500,500,500,500\n");
	seen_says(&work_requests_analyzer, "left/hybrid,write,total,1,1,0,,,,0\n");
}

static void probe_is(const char *name, __u32 state)
{
	struct probe_info info = {.state = state, .hits = 1};

	snprintf(info.name, sizeof(info.name), "%s", name);
	assert_int_equal(seen.stream.ops->probe(seen.stream.self, &info), 0);
}

/* What a probe would have told that was off is unknown, not 0, and accuses nobody. */
static void what_was_not_watched_is_unknown(void **state)
{
	(void)state;
	exits(HYBRID, 12, 11, 40, 4);
	pin_all(HYBRID, PAGES(5), PAGES(5));
	registered(HYBRID, 0);
	probe_is("guest_exits", PROBE_ON);
	seen_says(&guest_exits_analyzer, ",,,0,0\n");
	seen_says(NULL, "stayed pinned");
	probe_is("verb", PROBE_OFF);
	probe_is("work_request", PROBE_OFF);
	probe_is("pinned", PROBE_OFF);
	seen_says(&guest_exits_analyzer, ",,,,\n");
	seen_says_not(NULL, "stayed pinned");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SEEN(pins_that_follow_are_no_finding),
		SEEN(pins_that_do_not_follow_are_told),
		SEEN(a_guest_that_ended_leaves_nothing),
		SEEN(with_losses_nothing_is_accused),
		SEEN(refusals_are_told_with_their_quota),
		SEEN(a_device_that_must_not_fault_is_told),
		SEEN(exits_are_told_by_verb_and_operation),
		SEEN(work_is_one_by_one_or_counted),
		SEEN(what_was_not_watched_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
