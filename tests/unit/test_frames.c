// SPDX-License-Identifier: GPL-2.0
/* Rings of NICs, flows and runs of lost frames: what their tables and sentences count. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/flow_losses.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/frames.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/throughput.h"
#include "tests/unit/nic_rig.h"

static analyzer_write *drops_write;

static int setup(void **state)
{
	drops_write = drops_analyzer.tables[0].write;
	return 0;
}

static struct event held(__u64 time, __u64 since, __u16 queue, __u32 frames)
{
	struct event e = told_lost(time, since, FLOW_IN, 0, 100, frames, LOSS_UNKNOWN, 0);

	e.kind = EVENT_FRAMES_HELD;
	e.code = HOLD_BACKUP;
	e.queue = queue;
	return e;
}

static struct event head(__u64 time, __u16 queue)
{
	struct event e = told_ring(time, queue, RING_RX, 3, 1, 0);

	e.kind = EVENT_HEAD_ADVANCED;
	return e;
}

static struct event gauges(struct event state, __u32 held_now, __u32 posted, __u32 interrupts)
{
	state.address = (__u64)held_now << 32 | posted;
	state.group = interrupts;
	return state;
}

static __u64 count_of(const struct nic_rig *rig, size_t row, const char *column)
{
	return nic_rig_cell(rig, row, column).count;
}

/* Sentences of all analyzers. */
static char *findings_of(const struct nic_rig *rig)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	const struct writer_config config = {.format = OUTPUT_TEXT, .file = file};
	struct writer *writer;

	assert_int_equal(writer_open(&writer, &config), 0);
	analysis_write_findings(rig->analysis, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(file);
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	return text;
}

static void expect_finding(const struct nic_rig *rig, const char *expected, bool is_there)
{
	char *text = findings_of(rig);

	if (!!strstr(text, expected) != is_there)
		fail_msg("%s\nshould%s be in:\n%s", expected, is_there ? "" : " not", text);
	free(text);
}

static void each_ring_and_side_has_a_row(void **state)
{
	struct nic_rig rig;
	struct event wire = told_lost(5 * MS, 5 * MS, FLOW_IN, 0, 100, 19, LOSS_WIRE, 0);

	nic_rig_begin(&rig);
	/* Told first at 100 ms: what was before is not this recording's. */
	nic_rig_add(&rig, gauges(told_ring(100 * MS, 1, RING_RX, 1000, 70000, 5), 1, 2, 3));
	nic_rig_add(&rig, gauges(told_ring(100 * MS, 0, RING_TX, 500, 30000, 0), 1, 2, 3));
	nic_rig_add(&rig, gauges(told_ring(200 * MS, 1, RING_RX, 1013, 70997, 8), 4, 60, 9));
	nic_rig_add(&rig, gauges(told_ring(200 * MS, 0, RING_TX, 517, 31009, 0), 0, 31, 4));
	nic_rig_add(&rig, told_lost(150 * MS, 140 * MS, FLOW_IN, 0, 103, 3, LOSS_CACHE_FULL, 0));
	rig.events[rig.count - 1].queue = 1;
	wire.queue = QUEUE_NONE;
	nic_rig_add(&rig, wire);
	nic_rig_add(&rig, held(170 * MS, 150 * MS, 1, 7));
	nic_rig_add(&rig, held(180 * MS, 178 * MS, 1, 1));
	nic_rig_add(&rig, head(181 * MS, 1));
	nic_rig_add(&rig, head(182 * MS, 1));
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, rings_write), 4);
	assert_string_equal(nic_rig_cell(&rig, 0, "side").text, "all");
	assert_true(count_of(&rig, 0, "queue") == CELL_NONE);
	assert_int_equal(count_of(&rig, 0, "frames"), 13 + 17);
	assert_int_equal(count_of(&rig, 0, "transferred"), 997 + 1009);
	assert_int_equal(count_of(&rig, 0, "lost"), 22);
	assert_int_equal(count_of(&rig, 0, "lost_wire"), 19);
	assert_int_equal(count_of(&rig, 0, "held_now"), 4);
	assert_int_equal(count_of(&rig, 0, "posted"), 91);
	assert_int_equal(count_of(&rig, 0, "interrupts"), 7);
	assert_int_equal(count_of(&rig, 0, "retransmits"), 0);
	assert_int_equal(count_of(&rig, 1, "queue"), 1);
	assert_string_equal(nic_rig_cell(&rig, 1, "side").text, "rx");
	assert_int_equal(count_of(&rig, 1, "frames"), 13);
	assert_int_equal(count_of(&rig, 1, "lost"), 3);
	assert_int_equal(count_of(&rig, 1, "lost_cache_full"), 3);
	assert_int_equal(count_of(&rig, 1, "held"), 8);
	assert_int_equal(count_of(&rig, 1, "heads"), 2);
	assert_in_range(count_of(&rig, 1, "hold_p50"), 196 * MS / 100, 204 * MS / 100);
	assert_int_equal(count_of(&rig, 1, "hold_p99"), 20 * MS);
	assert_true(fabs(nic_rig_cell(&rig, 1, "rate").real - 130) < 1e-9);
	assert_true(count_of(&rig, 1, "retransmits") == CELL_NONE);
	assert_true(count_of(&rig, 2, "queue") == CELL_NONE);
	assert_int_equal(count_of(&rig, 2, "lost_wire"), 19);
	assert_true(isnan(nic_rig_cell(&rig, 2, "rate").real));
	assert_string_equal(nic_rig_cell(&rig, 3, "side").text, "tx");
	assert_int_equal(count_of(&rig, 3, "frames"), 17);
	assert_int_equal(count_of(&rig, 3, "lost"), 0);
	assert_true(count_of(&rig, 3, "hold_p99") == CELL_NONE);
	nic_rig_end(&rig);
}

/* A machine that began while it was recorded: its counters began with it. When is known to a tick of 10 ms. */
static void a_new_machine_counts_from_nothing(void **state)
{
	for (int old = 0; old < 2; old++) {
		struct nic_rig rig;

		nic_rig_begin(&rig);
		rig.pid_start_ns = NIC_START - 10 * MS + (old ? 0 : 1);
		nic_rig_add(&rig, told_ring(100 * MS, 0, RING_RX, 13, 997, 2));
		nic_rig_add(&rig, told_ring(200 * MS, 0, RING_RX, 17, 1009, 2));
		nic_rig_run(&rig, 0);
		nic_rig_rows(&rig, rings_write);
		assert_int_equal(count_of(&rig, 1, "frames"), old ? 4 : 17);
		assert_int_equal(count_of(&rig, 1, "transferred"), old ? 12 : 1009);
		assert_int_equal(count_of(&rig, 1, "untold"), old ? 0 : 2);
		nic_rig_end(&rig);
	}
}

/* What rings counted and no run told is a loss of events, and never more than that. */
static void untold_losses_are_told(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_ring(100 * MS, 0, RING_RX, 1, 1, 0xfffffff0));
	nic_rig_add(&rig, told_ring(200 * MS, 0, RING_RX, 2, 2, 0xfffffff0 + 7));
	/* Of before the first telling, in part; of between; of after the last. */
	nic_rig_add(&rig, told_lost(101 * MS, 99 * MS, FLOW_IN, 0, 5, 2, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(150 * MS, 140 * MS, FLOW_IN, 0, 5, 3, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(290 * MS, 210 * MS, FLOW_IN, 0, 5, 11, LOSS_FAULT, 1));
	nic_rig_run(&rig, 1);
	nic_rig_rows(&rig, rings_write);
	assert_int_equal(count_of(&rig, 0, "untold"), 2);
	assert_int_equal(count_of(&rig, 1, "untold"), 2);
	expect_finding(&rig,
		       "vm/net: of 2 frames that its rings counted as lost nothing else was told "
		       "(loss of events).",
		       true);
	assert_true(rig.events[0].time_ns < rig.events[1].time_ns);
	/* The counter wraps around on, and a run reaches across the last telling. */
	analysis_destroy(rig.analysis);
	nic_rig_add(&rig, told_ring(300 * MS, 0, RING_RX, 2, 2, 4));
	nic_rig_add(&rig, told_lost(310 * MS, 299 * MS, FLOW_IN, 0, 5, 4, LOSS_FAULT, 1));
	nic_rig_run(&rig, 0);
	nic_rig_rows(&rig, rings_write);
	assert_int_equal(count_of(&rig, 0, "untold"), 0);
	assert_int_equal(count_of(&rig, 0, "lost"), 20);
	expect_finding(&rig, "loss of events", false);
	analysis_destroy(rig.analysis);
	nic_rig_add(&rig, told_ring(400 * MS, 0, RING_RX, 2, 2, 13));
	nic_rig_add(&rig, told_lost(401 * MS, 399 * MS, FLOW_IN, 0, 5, 1, LOSS_FAULT, 1));
	nic_rig_run(&rig, 0);
	expect_finding(&rig, "vm/net: of 8 frames that", true);
	/* One that goes back began anew, and is not as far ahead as it could be. */
	analysis_destroy(rig.analysis);
	nic_rig_add(&rig, told_ring(500 * MS, 0, RING_RX, 3, 3, 5));
	nic_rig_run(&rig, 0);
	expect_finding(&rig, "vm/net: of 8 frames that", true);
	nic_rig_end(&rig);
}

static __u64 least_of(const __u64 *bytes, size_t count, __u64 least_all)
{
	struct nic_rig rig;
	__u64 sum = 0, least;

	nic_rig_begin(&rig);
	for (size_t i = 0; i < count; i++) {
		sum += bytes[i];
		nic_rig_add(&rig, told_ring((i + 1) * 100 * MS, 0, RING_RX, sum, sum, 0));
		nic_rig_add(&rig, told_ring((i + 1) * 100 * MS + 7 * MS, 1, RING_RX, sum / 2,
					    sum / 2, 0));
	}
	nic_rig_run(&rig, 3);
	assert_int_equal(nic_rig_rows(&rig, rings_write), 3);
	least = count_of(&rig, 1, "least");
	assert_true(count_of(&rig, 0, "least") == least_all);
	nic_rig_end(&rig);
	return least;
}

/* Neither the windows at both ends nor what is beside them: nobody may have sent more. */
static void the_least_throughput_is_of_whole_windows(void **state)
{
	const __u64 steady[] = {0, 0, 10, 500, 300, 400, 20, 0, 0};
	const __u64 frozen[] = {0, 10, 500, 0, 0, 400, 20, 0};
	const __u64 short_one[] = {0, 10, 20, 0};

	assert_int_equal(least_of(steady, COUNT(steady), 4500), 3000);
	assert_int_equal(least_of(frozen, COUNT(frozen), 0), 0);
	assert_true(least_of(short_one, COUNT(short_one), CELL_NONE) == CELL_NONE);
}

/* Two tellings within a moment are no window: the second one's frames belong to what follows. */
static void short_windows_are_joined(void **state)
{
	static const struct {
		__u64 time, bytes;
	} told[] = {{100, 0}, {200, 10}, {300, 1000}, {301, 1000}, {400, 2000}, {500, 3000}};
	struct nic_rig rig;

	nic_rig_begin(&rig);
	for (size_t i = 0; i < COUNT(told); i++)
		nic_rig_add(&rig, told_ring(told[i].time * MS, 0, RING_RX, told[i].bytes,
					    told[i].bytes, 0));
	nic_rig_run(&rig, 1);
	nic_rig_rows(&rig, rings_write);
	assert_int_equal(count_of(&rig, 1, "least"), 9900);
	assert_int_equal(count_of(&rig, 0, "least"), 9900);
	nic_rig_end(&rig);
}

static void a_period_has_a_part_of_a_ring(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	rig.config.period = (struct period){NIC_START + 150 * MS, NIC_START + 350 * MS};
	for (__u32 i = 1; i <= 5; i++) {
		nic_rig_add(&rig, gauges(told_ring(i * 100 * MS, 0, RING_RX, 1u << i, 10u << i, 0),
					 i, 10 * i, 100 * i));
		nic_rig_add(&rig, told_lost(i * 100 * MS + 60 * MS, i * 100 * MS + 49 * MS, FLOW_IN,
					    0, 5, 1u << i, LOSS_FAULT, 1));
		nic_rig_add(&rig, held(i * 100 * MS + 60 * MS, i * 100 * MS + 49 * MS, 0, 1u << i));
		nic_rig_add(&rig, told_resent(i * 100 * MS + 49 * MS, FLOW_IN, 0, 1,
					      RECOVERY_TIMEOUT, 1));
		nic_rig_add(&rig, head(i * 100 * MS + 50 * MS, 0));
	}
	nic_rig_run(&rig, 0);
	nic_rig_rows(&rig, rings_write);
	assert_int_equal(count_of(&rig, 1, "frames"), 16 - 2);
	assert_int_equal(count_of(&rig, 1, "interrupts"), 300);
	assert_int_equal(count_of(&rig, 1, "lost"), 4 + 8);
	assert_int_equal(count_of(&rig, 1, "held"), 4 + 8);
	assert_int_equal(count_of(&rig, 1, "held_now"), 3);
	assert_int_equal(count_of(&rig, 1, "heads"), 2);
	assert_int_equal(count_of(&rig, 0, "timeouts"), 2);
	assert_int_equal(nic_rig_rows(&rig, drops_write), 2);
	assert_int_equal(count_of(&rig, 0, "time"), NIC_START + 249 * MS);
	assert_int_equal(nic_rig_rows(&rig, flow_losses_write), 1);
	assert_int_equal(count_of(&rig, 0, "lost"), 12);
	assert_int_equal(count_of(&rig, 0, "retransmits"), 2);
	nic_rig_end(&rig);
}

static void a_flow_tells_how_it_recovered(void **state)
{
	struct nic_rig rig;
	struct event e = told_resent(50 * MS, FLOW_IN, 0, 100, RECOVERY_TIMEOUT, 1);

	nic_rig_begin(&rig);
	e.group = 3; /* segments in one */
	nic_rig_add(&rig, e);
	e.flags = EVENT_MAJOR;
	nic_rig_add(&rig, e);
	for (int i = 0; i < 5; i++)
		nic_rig_add(&rig, told_resent(51 * MS, FLOW_IN, 0, 100, RECOVERY_FAST, 1));
	nic_rig_add(&rig, told_resent(51 * MS, FLOW_IN, 0, 100, RECOVERY_PROBE, 1));
	nic_rig_add(&rig, told_resent(51 * MS, FLOW_IN, 0, 100, RECOVERY_PROBE, 1));
	nic_rig_add(&rig, told_resent(52 * MS, FLOW_IN, 0, 100, RECOVERY_SLOW_START, 1));
	e.kind = EVENT_TCP_SYNACK;
	e.device = DEVICE_NONE; /* a flow is one flow, whoever tells of it */
	nic_rig_add(&rig, e);
	nic_rig_add(&rig, told_lost(2 * MS, 1 * MS, FLOW_UDP, 0, 1000, 7, LOSS_BACKUP_FULL, 0));
	nic_rig_add(&rig, told_lost(3 * MS, 3 * MS, FLOW_OUT, 0, 1001, 2, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_recovered(16 * MS, FLOW_OUT, 0, 1001));
	nic_rig_add(&rig, told_lost(20 * MS, 20 * MS, FLOW_OUT, 0, 1001, 1, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_lost(21 * MS, 20 * MS, 0, 0, 60, 1, LOSS_OVERLONG, 0));
	rig.end_ns = 60 * MS;
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, flow_losses_write), 4);
	assert_string_equal(nic_rig_cell(&rig, 0, "flow").text,
			    "10.77.0.2:40002 > 10.77.0.1:5201 (UDP)");
	assert_int_equal(count_of(&rig, 0, "lost_backup_full"), 7);
	assert_int_equal(count_of(&rig, 0, "stalls"), 0);
	assert_true(count_of(&rig, 0, "longest") == CELL_NONE);
	assert_int_equal(count_of(&rig, 1, "lost"), 3);
	assert_int_equal(count_of(&rig, 1, "stalls"), 2);
	assert_int_equal(count_of(&rig, 1, "open"), 1);
	assert_int_equal(count_of(&rig, 1, "longest"), 40 * MS);
	assert_string_equal(nic_rig_cell(&rig, 2, "flow").text, "-");
	assert_int_equal(count_of(&rig, 2, "lost_overlong"), 1);
	assert_int_equal(count_of(&rig, 3, "retransmits"), 3 + 5 + 2 + 1);
	assert_int_equal(count_of(&rig, 3, "timeouts"), 1);
	assert_int_equal(count_of(&rig, 3, "probes"), 2);
	assert_int_equal(count_of(&rig, 3, "fast"), 5);
	assert_int_equal(count_of(&rig, 3, "synacks"), 1);
	assert_int_equal(count_of(&rig, 3, "slow_start"), 1);
	assert_int_equal(count_of(&rig, 3, "failed"), 1);
	assert_int_equal(nic_rig_rows(&rig, rings_write), 2);
	assert_int_equal(count_of(&rig, 0, "retransmits"), 11);
	nic_rig_end(&rig);
}

static void each_run_of_lost_frames_has_a_row(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	nic_rig_add(&rig, told_lost(9 * MS, 2 * MS, FLOW_IN, 0xffffff00, 512, 7, LOSS_FAULT, 13));
	nic_rig_add(&rig, told_lost(10 * MS, 10 * MS, FLOW_UDP, 5, 60, 1, LOSS_WIRE, 13));
	rig.events[1].address = 0;
	rig.events[1].queue = QUEUE_NONE;
	nic_rig_run(&rig, 0);
	assert_int_equal(nic_rig_rows(&rig, drops_write), 2);
	assert_int_equal(count_of(&rig, 0, "time"), NIC_START + 2 * MS);
	assert_int_equal(count_of(&rig, 0, "duration"), 7 * MS);
	assert_int_equal(count_of(&rig, 0, "queue"), 0);
	assert_string_equal(nic_rig_cell(&rig, 0, "reason").text, "fault");
	assert_int_equal(count_of(&rig, 0, "instance"), 13);
	assert_int_equal(count_of(&rig, 0, "group"), 5);
	assert_true(count_of(&rig, 0, "pasid") == CELL_NONE);
	assert_int_equal(count_of(&rig, 0, "lost"), 7);
	assert_int_equal(count_of(&rig, 0, "first_sequence"), 0xffffff00);
	assert_int_equal(count_of(&rig, 0, "end_sequence"), 256);
	assert_string_equal(nic_rig_cell(&rig, 1, "reason").text, "wire");
	assert_true(count_of(&rig, 1, "instance") == CELL_NONE);
	assert_true(count_of(&rig, 1, "first_sequence") == CELL_NONE);
	assert_true(count_of(&rig, 1, "queue") == CELL_NONE);
	nic_rig_end(&rig);
}

/* What a report says of many: the worst one by one, the others counted. */
static void the_worst_stalls_are_sentences(void **state)
{
	struct nic_rig rig;

	nic_rig_begin(&rig);
	for (__u32 i = 1; i <= 5; i++) {
		nic_rig_add(&rig,
			    told_lost(i * 100 * MS, i * 100 * MS, FLOW_IN, 0, 9, 2, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_recovered(i * 100 * MS + i * MS, FLOW_IN, 0, 9));
	}
	nic_rig_run(&rig, 0);
	expect_finding(&rig, "5.0 ms stall of 10.77.0.2:40002 > 10.77.0.1:5201 (vm/net rx 0): 2",
		       true);
	expect_finding(&rig, "3.0 ms stall of", true);
	expect_finding(&rig, "2.0 ms stall of", false);
	expect_finding(&rig, "... and 2 more stalls.", true);
	nic_rig_end(&rig);
}

/* A table of the analysis that is full makes counts floors. */
static void full_tables_are_floors(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct nic_rig rig;

		nic_rig_begin(&rig);
		for (__u32 n = 0; n <= (i ? RINGS_MAX : FLOW_LOSSES_MAX); n++) {
			struct event e = i ? told_ring(n, (__u16)n, RING_RX, 1, 1, 0)
					   : told_lost(n, n, n + 1, 0, 0, 1, LOSS_WIRE, 0);

			nic_rig_add(&rig, e);
			if (n == (i ? RINGS_MAX : FLOW_LOSSES_MAX) - 1) {
				nic_rig_run(&rig, 0);
				assert_int_equal(floor_of(rig.analysis), 0);
				analysis_destroy(rig.analysis);
			}
		}
		nic_rig_run(&rig, 0);
		assert_int_equal(floor_of(rig.analysis), 1u << FLOOR_TABLES);
		assert_int_equal(rings_dropped(rig.analysis->rings), i);
		assert_int_equal(flow_losses_dropped(rig.analysis->flow_losses), !i);
		nic_rig_end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_ring_and_side_has_a_row),
		cmocka_unit_test(a_new_machine_counts_from_nothing),
		cmocka_unit_test(untold_losses_are_told),
		cmocka_unit_test(the_least_throughput_is_of_whole_windows),
		cmocka_unit_test(short_windows_are_joined),
		cmocka_unit_test(a_period_has_a_part_of_a_ring),
		cmocka_unit_test(a_flow_tells_how_it_recovered),
		cmocka_unit_test(each_run_of_lost_frames_has_a_row),
		cmocka_unit_test(the_worst_stalls_are_sentences),
		cmocka_unit_test(full_tables_are_floors),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
