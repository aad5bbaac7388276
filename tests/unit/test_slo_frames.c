// SPDX-License-Identifier: GPL-2.0
/* Objectives of a NIC's frames: loss, stalls, throughput; which faults are their causes, and which are not. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/live.h"
#include "lib/analyze/slo.h"
#include "tests/unit/nic_rig.h"

static const size_t chunks[] = {0, 1, 7, 97};

static struct slo_set set;

static void begin(struct nic_rig *rig, struct slo_objective objective)
{
	strcpy(objective.name, "gold");
	strcpy(objective.device, "vm/net");
	objective.window_ns = SECOND;
	objective.latency_percentile = 100;
	set.objectives[0] = objective;
	set.count = 1;
	nic_rig_begin(rig);
	rig->config.slos = &set;
}

/* Two rings that tell every 100 ms: what all of them have delivered since the start. */
static void add_rings(struct nic_rig *rig, const __u64 *frames, size_t count)
{
	__u64 sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += frames[i];
		nic_rig_add(rig, told_ring((i + 1) * 100 * MS, 0, RING_RX, sum, sum * 1000, 0));
		nic_rig_add(rig, told_ring((i + 1) * 100 * MS + MS, 1, RING_RX, 0, 0, 0));
	}
}

/* So many windows of 100 ms with `each` frames. */
static void add_steady(struct nic_rig *rig, size_t windows, __u64 each)
{
	__u64 *frames = calloc(windows, sizeof(*frames));

	for (size_t i = 1; i < windows; i++)
		frames[i] = each;
	add_rings(rig, frames, windows);
	free(frames);
}

static const struct slo_violation *violation(const struct nic_rig *rig, size_t index)
{
	const struct slo_violation *v = slo_violation(rig->analysis->slo, index);

	assert_non_null(v);
	return v;
}

static void expect_cause(const struct nic_rig *rig, size_t index, const char *expected)
{
	char text[SLO_CAUSE_TEXT];

	assert_string_equal(slo_cause(violation(rig, index), rig->analysis->session, text),
			    expected);
}

static void expect_near(double value, double expected)
{
	if (!(value > expected - 0.001 && value < expected + 0.001))
		fail_msg("%g is not %g", value, expected);
}

static struct event held(__u64 time, __u64 since, __u32 frames)
{
	struct event e = told_lost(time, since, FLOW_IN, 0, 0, frames, LOSS_UNKNOWN, 0);

	e.kind = EVENT_FRAMES_HELD;
	e.code = HOLD_BACKUP;
	return e;
}

static void loss_is_a_share_of_a_windows_frames(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.has_loss = true, .loss = 1});
		add_steady(&rig, 131, 99);
		nic_rig_fault(&rig, 1, 2500 * MS, 8 * MS);
		/* Longer, and open at that very time, but it cost nobody a frame. */
		nic_rig_fault(&rig, 2, 2000 * MS, 900 * MS);
		nic_rig_add(&rig,
			    told_lost(2504 * MS, 2501 * MS, FLOW_IN, 0, 900, 5, LOSS_FAULT, 1));
		nic_rig_add(&rig,
			    told_lost(2505 * MS, 2504 * MS, FLOW_IN, 900, 9, 4, LOSS_FAULT, 1));
		nic_rig_add(&rig, told_lost(2600 * MS, 2600 * MS, FLOW_UDP, 0, 0, 2, LOSS_WIRE, 2));
		nic_rig_add(&rig, held(2700 * MS, 2600 * MS, 6));
		/* As much as is allowed; told in the next second, lost in this one; one more. */
		nic_rig_add(&rig,
			    told_lost(5100 * MS, 4100 * MS, FLOW_UDP, 0, 0, 10, LOSS_WIRE, 0));
		nic_rig_add(&rig,
			    told_lost(6999 * MS, 6999 * MS, FLOW_UDP, 0, 0, 11, LOSS_FAULT, 77));
		nic_rig_add(&rig, told_lost(9 * SECOND, 9 * SECOND, FLOW_ELSEWHERE, 0, 0, 500,
					    LOSS_WIRE, 0));
		nic_rig_run(&rig, chunks[i]);
		assert_int_equal(slo_violations(rig.analysis->slo), 2);
		assert_int_equal(violation(&rig, 0)->metric, SLO_LOSS);
		assert_int_equal(violation(&rig, 0)->from_ns, NIC_START + 2 * SECOND);
		assert_int_equal(violation(&rig, 0)->to_ns, NIC_START + 3 * SECOND);
		assert_int_equal(violation(&rig, 0)->frames, 990 + 11);
		expect_near(violation(&rig, 0)->measured, 100.0 * 11 / 1001);
		assert_int_equal(violation(&rig, 0)->longest.instance, 1);
		expect_cause(&rig, 0,
			     "9 frames lost to 1 fault, 2 to the wire; resolve took 7.90ms of "
			     "their 8.00ms (99%)");
		assert_int_equal(violation(&rig, 1)->from_ns, NIC_START + 6 * SECOND);
		/* Of which nothing else was seen. */
		expect_cause(&rig, 1, "11 frames lost to 1 fault");
		assert_int_equal(violation(&rig, 1)->faults, 1);
		assert_int_equal(floor_of(rig.analysis), 0);
		nic_rig_end(&rig);
	}
}

/* None at all may be asked for, of the windows that are in the period. */
static void a_loss_of_none_is_an_objective(void **state)
{
	struct nic_rig rig;

	begin(&rig, (struct slo_objective){.has_loss = true});
	rig.config.period = (struct period){NIC_START + 3500 * MS, NIC_START + 5 * SECOND};
	add_steady(&rig, 80, 13);
	for (__u32 i = 1; i < 7; i++)
		nic_rig_add(&rig,
			    told_lost(i * SECOND, i * SECOND, FLOW_UDP, 0, 0, i, LOSS_WIRE, 0));
	nic_rig_run(&rig, 0);
	assert_int_equal(slo_violations(rig.analysis->slo), 2);
	assert_int_equal(violation(&rig, 0)->from_ns, NIC_START + 3 * SECOND);
	assert_int_equal(violation(&rig, 1)->lost[LOSS_WIRE], 4);
	nic_rig_rows(&rig, slo_write);
	assert_int_equal(nic_rig_cell(&rig, 0, "io_windows").count, 2);
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "VIOLATED");
	nic_rig_end(&rig);
}

static void add_stalls(struct nic_rig *rig)
{
	nic_rig_fault(rig, 1, 2500 * MS, 5 * MS);
	nic_rig_fault(rig, 2, 2510 * MS, 8 * MS);
	nic_rig_fault(rig, 3, 2500 * MS, 50 * MS);
	nic_rig_add(rig, told_lost(2504 * MS, 2501 * MS, FLOW_IN, 0, 900, 9, LOSS_FAULT, 1));
	nic_rig_add(rig, told_lost(2514 * MS, 2511 * MS, FLOW_IN, 900, 100, 1, LOSS_FAULT, 2));
	nic_rig_add(rig, told_lost(2520 * MS, 2520 * MS, FLOW_IN, 1000, 100, 1, LOSS_WIRE, 2));
	/* Another flow's, in the same time: nothing of it is this one's. */
	nic_rig_add(rig, told_lost(2521 * MS, 2502 * MS, FLOW_OUT, 0, 100, 17, LOSS_FAULT, 3));
	nic_rig_add(rig, told_recovered(2602 * MS, FLOW_OUT, 0, 100));
	nic_rig_add(rig, told_recovered(2803 * MS, FLOW_IN, 0, 1100));
	nic_rig_add(rig,
		    told_lost(9 * SECOND, 9 * SECOND, FLOW_IN, 5000, 100, 3, LOSS_NO_BUFFER, 0));
}

static void a_stall_longer_than_that_is_a_violation(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.max_stall_ns = 100 * MS});
		add_steady(&rig, 97, 99);
		add_stalls(&rig);
		nic_rig_run(&rig, chunks[i]);
		assert_int_equal(slo_violations(rig.analysis->slo), 2);
		assert_int_equal(violation(&rig, 0)->metric, SLO_STALL);
		assert_int_equal(violation(&rig, 0)->from_ns, NIC_START + 2501 * MS);
		assert_int_equal(violation(&rig, 0)->to_ns, NIC_START + 2803 * MS);
		expect_near(violation(&rig, 0)->measured, 302.0 * MS);
		assert_int_equal(violation(&rig, 0)->faults, 2);
		assert_int_equal(violation(&rig, 0)->longest.instance, 2);
		expect_cause(&rig, 0,
			     "10.77.0.2:40002 > 10.77.0.1:5201: 10 frames lost to 2 faults, 1 to "
			     "the wire; resolve took 12.8ms of their 13.0ms (98%)");
		/* It is open at the end, 701 ms later. */
		expect_near(violation(&rig, 1)->measured, 701.0 * MS);
		expect_cause(&rig, 1,
			     "10.77.0.2:40002 > 10.77.0.1:5201: 3 frames lost to missing buffers, "
			     "not recovered");
		nic_rig_rows(&rig, slo_write_violations);
		assert_string_equal(nic_rig_cell(&rig, 0, "flow").text,
				    "10.77.0.2:40002 > 10.77.0.1:5201");
		assert_int_equal(nic_rig_cell(&rig, 0, "lost_fault").count, 10);
		assert_string_equal(nic_rig_cell(&rig, 0, "measured_text").text, "302ms");
		assert_int_equal(floor_of(rig.analysis), 0);
		nic_rig_end(&rig);
	}
}

static void a_stall_as_long_as_that_is_none(void **state)
{
	for (__u64 more = 0; more < 2; more++) {
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.max_stall_ns = 302 * MS - more});
		add_steady(&rig, 31, 99);
		nic_rig_add(&rig, told_lost(2504 * MS, 2501 * MS, FLOW_IN, 0, 9, 9, LOSS_FAULT, 1));
		nic_rig_add(&rig, told_recovered(2803 * MS, FLOW_IN, 0, 9));
		nic_rig_run(&rig, 0);
		assert_int_equal(slo_violations(rig.analysis->slo), more);
		nic_rig_end(&rig);
	}
}

/* A stall may outlast what is kept of faults and runs otherwise: 15 s and more. */
static void a_long_stall_keeps_its_cause(void **state)
{
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.max_stall_ns = 100 * MS});
		add_steady(&rig, 601, 99);
		nic_rig_fault(&rig, 1, 2500 * MS, 5 * MS);
		nic_rig_add(&rig,
			    told_lost(2504 * MS, 2501 * MS, FLOW_IN, 0, 900, 9, LOSS_FAULT, 1));
		for (__u32 k = 2; k < 50; k++) {
			nic_rig_fault(&rig, k, k * SECOND + 700 * MS, 5 * MS);
			nic_rig_add(&rig, told_lost(k * SECOND, k * SECOND, FLOW_UDP, 0, 0, 1,
						    LOSS_WIRE, 0));
		}
		nic_rig_add(&rig, told_recovered(53 * SECOND, FLOW_IN, 0, 900));
		nic_rig_run(&rig, chunks[i]);
		assert_int_equal(slo_violations(rig.analysis->slo), 1);
		expect_cause(&rig, 0,
			     "10.77.0.2:40002 > 10.77.0.1:5201: 9 frames lost to 1 fault; resolve "
			     "took 4.90ms of their 5.00ms (98%)");
		nic_rig_end(&rig);
	}
}

static void throughput_is_of_whole_windows(void **state)
{
	/* Of 100 ms from the second on: 5 frames at both ends, where others may have begun or ended. */
	static const __u64 frames[] = {0,   5,	 100, 100, 100, 10,  0, 0, 20, 100,
				       100, 100, 30,  100, 40,	100, 5, 0, 0,  0};

	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.min_throughput = 400000});
		add_rings(&rig, frames, COUNT(frames));
		/* It began before the low windows and ends in them. */
		nic_rig_fault(&rig, 1, 310 * MS, 5 * MS);
		nic_rig_add(&rig, told_lost(314 * MS, 311 * MS, FLOW_IN, 0, 900, 9, LOSS_FAULT, 1));
		nic_rig_add(&rig, told_recovered(610 * MS, FLOW_IN, 0, 900));
		/* One that was over before, and one that was lost after. */
		nic_rig_add(&rig,
			    told_lost(314 * MS, 311 * MS, FLOW_OUT, 0, 900, 70, LOSS_FAULT, 2));
		nic_rig_add(&rig, told_recovered(410 * MS, FLOW_OUT, 0, 900));
		nic_rig_add(&rig, told_lost(950 * MS, 950 * MS, FLOW_UDP, 0, 0, 71, LOSS_FAULT, 2));
		/* Of the same flow, after it. */
		nic_rig_add(&rig,
			    told_lost(951 * MS, 950 * MS, FLOW_IN, 9000, 9, 73, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_recovered(960 * MS, FLOW_IN, 9000, 9));
		/* Without a sequence there is no stall: only what was lost then. */
		nic_rig_add(&rig, told_lost(460 * MS, 450 * MS, FLOW_UDP, 0, 0, 72, LOSS_WIRE, 0));
		nic_rig_add(&rig, told_lost(720 * MS, 710 * MS, FLOW_UDP, 0, 0, 4, LOSS_WIRE, 0));
		nic_rig_add(&rig, held(1280 * MS, 1150 * MS, 6));
		nic_rig_run(&rig, chunks[i]);
		assert_int_equal(slo_violations(rig.analysis->slo), 2);
		assert_int_equal(violation(&rig, 0)->metric, SLO_THROUGHPUT);
		assert_int_equal(violation(&rig, 0)->from_ns, NIC_START + 500 * MS);
		assert_int_equal(violation(&rig, 0)->to_ns, NIC_START + 900 * MS);
		expect_near(violation(&rig, 0)->measured, 0);
		expect_cause(&rig, 0,
			     "9 frames lost to 1 fault, 4 to the wire; resolve took 4.90ms of "
			     "their 5.00ms (98%)");
		assert_int_equal(violation(&rig, 1)->from_ns, NIC_START + 1200 * MS);
		expect_near(violation(&rig, 1)->measured, 300000);
		expect_cause(&rig, 1, "no frame lost, 6 held");
		nic_rig_rows(&rig, slo_write_violations);
		assert_string_equal(nic_rig_cell(&rig, 1, "measured_text").text, "293K/s");
		assert_int_equal(nic_rig_cell(&rig, 1, "held").count, 6);
		nic_rig_end(&rig);
	}
}

/* The recording ends while it is low: what was whole of that is told. A stall that is open is its cause. */
static void a_low_throughput_may_go_on_at_the_end(void **state)
{
	static const __u64 frames[] = {0, 5, 100, 100, 100, 10, 7, 12, 0};

	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.min_throughput = 400000});
		add_rings(&rig, frames, COUNT(frames));
		nic_rig_add(&rig, told_lost(314 * MS, 311 * MS, FLOW_IN, 0, 900, 9, LOSS_FAULT, 1));
		nic_rig_run(&rig, chunks[i]);
		assert_int_equal(slo_violations(rig.analysis->slo), 1);
		assert_int_equal(violation(&rig, 0)->from_ns, NIC_START + 500 * MS);
		assert_int_equal(violation(&rig, 0)->to_ns, NIC_START + 700 * MS);
		expect_near(violation(&rig, 0)->measured, 70000);
		expect_cause(&rig, 0, "9 frames lost to 1 fault");
		nic_rig_end(&rig);
	}
}

/* Silence is known for one when frames come again, a low throughput when it ends: their causes are kept. */
static void a_long_silence_keeps_its_cause(void **state)
{
	for (int low = 0; low < 3; low++) {
		__u64 frames[500] = {0, 5, 100, 100, 100};
		struct nic_rig rig;

		for (size_t k = 5; k < 495; k++)
			frames[k] = low == 1;
		/* From the first window with frames on, of which nobody knows how much was wanted. */
		if (low == 2)
			memset(frames + 2, 0, 3 * sizeof(frames[0]));
		frames[495] = frames[496] = frames[497] = 100;
		begin(&rig, (struct slo_objective){.min_throughput = 400000});
		add_rings(&rig, frames, COUNT(frames));
		nic_rig_fault(&rig, 1, 510 * MS, 5 * MS);
		nic_rig_add(&rig, told_lost(514 * MS, 511 * MS, FLOW_IN, 0, 900, 9, LOSS_FAULT, 1));
		nic_rig_add(&rig, told_recovered(519 * MS, FLOW_IN, 0, 900));
		for (__u32 k = 2; k < 48; k++)
			nic_rig_fault(&rig, k, k * SECOND, 5 * MS);
		nic_rig_add(&rig,
			    told_lost(30 * SECOND, 30 * SECOND, FLOW_UDP, 0, 0, 1, LOSS_WIRE, 0));
		nic_rig_run(&rig, 7);
		assert_int_equal(slo_violations(rig.analysis->slo), 1);
		expect_cause(
			&rig, 0,
			"9 frames lost to 1 fault, 1 to the wire; resolve took 4.90ms of their 5.00ms (98%)");
		nic_rig_end(&rig);
	}
}

static void a_long_window_keeps_its_cause(void **state)
{
	struct nic_rig rig;

	begin(&rig, (struct slo_objective){.has_loss = true, .loss = 0.1});
	set.objectives[0].window_ns = 40 * SECOND;
	add_steady(&rig, 900, 1);
	nic_rig_fault(&rig, 1, 2500 * MS, 5 * MS);
	nic_rig_add(&rig, told_lost(2504 * MS, 2501 * MS, FLOW_IN, 0, 900, 9, LOSS_FAULT, 1));
	nic_rig_add(&rig, told_recovered(2519 * MS, FLOW_IN, 0, 900));
	for (__u32 k = 3; k < 48; k++)
		nic_rig_fault(&rig, k, k * SECOND, 5 * MS);
	nic_rig_add(&rig, told_lost(30 * SECOND, 30 * SECOND, FLOW_UDP, 0, 0, 1, LOSS_WIRE, 0));
	nic_rig_run(&rig, 7);
	assert_int_equal(slo_violations(rig.analysis->slo), 1);
	expect_cause(&rig, 0,
		     "9 frames lost to 1 fault, 1 to the wire; resolve took 4.90ms of their 5.00ms "
		     "(98%)");
	nic_rig_end(&rig);
}

/* More than can wait to be judged: none is lost. */
static void every_stall_is_judged(void **state)
{
	enum { STALLS = 65551 };
	struct nic_rig rig;

	begin(&rig, (struct slo_objective){.max_stall_ns = 1});
	for (__u32 i = 0; i < STALLS; i++) {
		nic_rig_add(&rig, told_lost(i * 10, i * 10, FLOW_IN, i, 1, 1, LOSS_FAULT, 1 + i));
		nic_rig_add(&rig, told_recovered(i * 10 + 5, FLOW_IN, i, 1));
	}
	nic_rig_run(&rig, 997);
	assert_int_equal(slo_violations(rig.analysis->slo), STALLS);
	for (__u32 i = 0; i < STALLS; i += 997)
		assert_int_equal(violation(&rig, i)->from_ns, NIC_START + i * 10);
	nic_rig_end(&rig);
}

/* Others' objectives have nothing to say of frames, and without a ring nothing was measured. */
static void what_has_no_ring_is_not_measured(void **state)
{
	char text[SLO_UNMEASURED_TEXT];
	struct live_device row;
	struct nic_rig rig;

	begin(&rig, (struct slo_objective){.max_stall_ns = 1, .has_fault_rate = true});
	nic_rig_fault(&rig, 1, 0, 5 * MS);
	nic_rig_run(&rig, 0);
	assert_string_equal(
		slo_unmeasured(rig.analysis->slo, 0, text),
		"objective gold: no device that fits 'vm/net' had frames; its stall was "
		"not measured");
	assert_int_equal(nic_rig_rows(&rig, slo_write), 2);
	assert_string_equal(nic_rig_cell(&rig, 1, "metric").text, "stall");
	assert_string_equal(nic_rig_cell(&rig, 1, "state").text, "no frame");
	nic_rig_rows(&rig, slo_write_violations);
	assert_string_equal(nic_rig_cell(&rig, 0, "metric").text, "fault_rate");
	assert_true(nic_rig_cell(&rig, 0, "lost_fault").count == CELL_NONE);
	assert_true(nic_rig_cell(&rig, 0, "held").count == CELL_NONE);
	nic_rig_end(&rig);
	begin(&rig, (struct slo_objective){.max_stall_ns = 1});
	add_steady(&rig, 23, 7);
	nic_rig_run(&rig, 0);
	assert_null(slo_unmeasured(rig.analysis->slo, 0, text));
	nic_rig_rows(&rig, slo_write);
	assert_string_equal(nic_rig_cell(&rig, 0, "state").text, "ok");
	assert_int_equal(live_device(rig.analysis, NIC_ONE, NIC_START + 3 * SECOND, SECOND, &row),
			 0);
	assert_int_equal(row.slo, LIVE_SLO_OK);
	nic_rig_end(&rig);
}

/* What broke it once and holds now. */
static void a_live_view_says_that_it_holds_again(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct live_device row;
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.has_loss = true});
		add_steady(&rig, again ? 60 : 26, 7);
		nic_rig_add(&rig, told_lost(2500 * MS, 2500 * MS, FLOW_UDP, 0, 0, 1, LOSS_WIRE, 0));
		nic_rig_run(&rig, 0);
		assert_int_equal(
			live_device(rig.analysis, NIC_ONE, NIC_START + 7 * SECOND, SECOND, &row),
			0);
		assert_int_equal(row.slo, again ? LIVE_SLO_WARNED : LIVE_SLO_VIOLATED);
		nic_rig_end(&rig);
	}
}

/* A machine that has ended tells no more: what it told last counts, long before the stream ends. */
static void what_was_told_last_is_in_time(void **state)
{
	const struct aggregate_frame seconds[] = {
		{.window = 1002}, {.window = 1008}, {.window = 1030}};
	/* Of a ring that missed the last round. */
	const struct event again[] = {
		told_ring(2500 * MS, 1, RING_RX, 5, 5000, 0),
		told_lost(2600 * MS, 2600 * MS, FLOW_UDP, 0, 0, 1, LOSS_WIRE, 0),
	};
	struct stream to;
	struct nic_rig rig;

	begin(&rig, (struct slo_objective){.has_loss = true});
	add_rings(&rig, (const __u64[]){0, 7, 7, 7, 7, 7}, 6);
	rig.count--;
	nic_rig_add(&rig, told_lost(500 * MS, 500 * MS, FLOW_UDP, 0, 0, 1, LOSS_WIRE, 0));
	rig.goes_on = true;
	nic_rig_run(&rig, 0);
	to = analysis_stream(rig.analysis);
	for (size_t i = 0; i < COUNT(seconds); i++) {
		assert_int_equal(to.ops->aggregate(to.self, &seconds[i]), 0);
		if (!i)
			assert_int_equal(stream_events(to, again, COUNT(again)), 0);
	}
	assert_int_equal(violation(&rig, 0)->frames, 36);
	assert_int_equal(violation(&rig, 1)->frames, 6);
	assert_int_equal(to.ops->end(to.self, NIC_START + 31 * SECOND), 0);
	assert_int_equal(slo_violations(rig.analysis->slo), 2);
	assert_int_equal(floor_of(rig.analysis), 0);
	nic_rig_end(&rig);
}

/* More runs than are kept: what is known is a floor, and says so. */
static void causes_that_were_not_kept_are_floors(void **state)
{
	enum { RUNS = 65537 };

	for (__u32 more = 0; more < 2; more++) {
		char text[SLO_CAUSE_TEXT];
		struct nic_rig rig;

		begin(&rig, (struct slo_objective){.has_loss = true});
		add_rings(&rig, (const __u64[]){0, 7}, 2);
		for (__u32 i = 0; i + 1 < RUNS + more; i++)
			nic_rig_add(&rig, told_lost(300 * MS + i, 300 * MS + i, FLOW_UDP, 0, 0, 1,
						    LOSS_WIRE, 0));
		nic_rig_run(&rig, 0);
		slo_cause(violation(&rig, 0), rig.analysis->session, text);
		assert_int_equal(!!strstr(text, "at least 65536 frames lost to the wire; 1 runs of "
						"frames that were told by"),
				 more);
		assert_int_equal(floor_of(rig.analysis), more << FLOOR_TABLES);
		expect_near(violation(&rig, 0)->measured,
			    100.0 * (RUNS + more - 1.0) / (RUNS + more - 1.0 + 7));
		nic_rig_end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_is_a_share_of_a_windows_frames),
		cmocka_unit_test(a_loss_of_none_is_an_objective),
		cmocka_unit_test(a_stall_longer_than_that_is_a_violation),
		cmocka_unit_test(a_stall_as_long_as_that_is_none),
		cmocka_unit_test(a_long_stall_keeps_its_cause),
		cmocka_unit_test(throughput_is_of_whole_windows),
		cmocka_unit_test(a_low_throughput_may_go_on_at_the_end),
		cmocka_unit_test(a_long_silence_keeps_its_cause),
		cmocka_unit_test(a_long_window_keeps_its_cause),
		cmocka_unit_test(every_stall_is_judged),
		cmocka_unit_test(what_has_no_ring_is_not_measured),
		cmocka_unit_test(a_live_view_says_that_it_holds_again),
		cmocka_unit_test(what_was_told_last_is_in_time),
		cmocka_unit_test(causes_that_were_not_kept_are_floors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
