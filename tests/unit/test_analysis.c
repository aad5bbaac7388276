// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/fault_table.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/footprint.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/live.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/stages.h"
#include "lib/base/memory.h"
#include "lib/trace/trace.h"
#include "tests/unit/amount.h"
#include "tests/unit/stream_log.h"
#include "tests/unit/synthetic.h"

static const struct synthetic_config mixed = {
	.seed = 41,
	.groups = 1999,
	.devices = 5,
	.requests_max = 4,
	.late = 30,
	.missing = 30,
	.overflowed = 20,
	.unfinished = 5,
	.given_up = 5,
	.inconsistent = 10,
	.cut = 3,
	.cpu_noise = 3,
	.frames = true,
};

static const struct slo_set objectives = {
	.objectives = {{.name = "gold",
			.device = "*",
			.latency_target_ns = 12000000,
			.latency_percentile = 99,
			.window_ns = SECOND,
			.min_iops = 102,
			.has_burst = true,
			.burst = 5}},
	.count = 1,
};

struct printed {
	char *text;
	size_t size;
};

static void print_tables(const struct analysis *a, struct writer *w, bool text, size_t rows)
{
	const struct table_wish wish = {.limit = rows};

	if (text)
		analysis_write_text(a, w);
	else
		analysis_write_findings(a, w);
	analysis_write(a, NULL, w, &wish);
	slo_write(a, w, &wish);
	/* A cause is as long as it is: in text it is a sentence. */
	for (size_t i = 0; text && slo_violation(a->slo, i); i++)
		slo_write_sentence(slo_violation(a->slo, i), a->session, w);
	if (!text)
		slo_write_violations(a, w, &wish);
}

/* All tables, of each `rows` rows, 0: all. */
static struct printed print_some(const struct analysis *a, enum output_format format, size_t rows)
{
	struct printed printed = {0};
	struct writer_config config = {.format = format,
				       .file = open_memstream(&printed.text, &printed.size)};
	const struct wall_clock *clock = session_clock(a->session);
	struct writer *writer;

	assert_int_equal(writer_open(&writer, &config), 0);
	for (size_t i = 0; i < clock->count; i++)
		writer_clock(writer, &clock->anchors[i]);
	print_tables(a, writer, format == OUTPUT_TEXT, rows);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	return printed;
}

static struct printed print_all(const struct analysis *a, enum output_format format)
{
	return print_some(a, format, 0);
}

/* Passes calls on and, as a live capture does, tells the time after every batch. */
struct ticking {
	struct stream sink;
	const struct stream_ops *ops;
};

static int tick_host(void *self, const struct host_info *host)
{
	struct ticking *t = self;

	return t->sink.ops->host(t->sink.self, host);
}

static int tick_clock(void *self, const struct clock_anchor *clock)
{
	struct ticking *t = self;

	return t->sink.ops->clock(t->sink.self, clock);
}

static int tick_probe(void *self, const struct probe_info *probe)
{
	struct ticking *t = self;

	return t->sink.ops->probe(t->sink.self, probe);
}

static int tick_device(void *self, const struct device_info *device)
{
	struct ticking *t = self;

	return t->sink.ops->device(t->sink.self, device);
}

static int tick_events(void *self, const struct event *events, size_t count)
{
	struct ticking *t = self;
	int error = t->sink.ops->events(t->sink.self, events, count);

	return error ? error : t->sink.ops->tick(t->sink.self, events[count - 1].time_ns);
}

static int tick_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct ticking *t = self;

	return t->sink.ops->aggregate(t->sink.self, frame);
}

static int tick_loss(void *self, const struct loss_info *loss)
{
	struct ticking *t = self;

	return t->sink.ops->loss(t->sink.self, loss);
}

static int tick_end(void *self, __u64 end_ns)
{
	struct ticking *t = self;

	return t->sink.ops->end(t->sink.self, end_ns);
}

static const struct stream_ops ticking_ops = {
	.host = tick_host,
	.clock = tick_clock,
	.probe = tick_probe,
	.device = tick_device,
	.events = tick_events,
	.aggregate = tick_aggregate,
	.loss = tick_loss,
	.end = tick_end,
};

enum route { DIRECT, LIVE, RECORDED };

static void feed(const struct synthetic *s, struct stream sink, size_t chunk, enum route route)
{
	char path[] = "/tmp/faultline-analysis-XXXXXX";
	const struct trace_writer_config config = {.path = path, .overwrite = true};
	const struct trace_read_config reading = {.path = path};
	struct ticking ticking = {.sink = sink};
	struct trace_writer *writer;

	switch (route) {
	case DIRECT:
		assert_int_equal(synthetic_feed(s, sink, chunk), 0);
		return;
	case LIVE:
		assert_int_equal(synthetic_feed(s, (struct stream){&ticking_ops, &ticking}, chunk),
				 0);
		return;
	case RECORDED:
		close(mkstemp(path));
		assert_int_equal(trace_writer_open(&writer, &config), 0);
		assert_int_equal(synthetic_feed(s, trace_writer_stream(writer), chunk), 0);
		assert_int_equal(trace_writer_close(writer), 0);
		assert_int_equal(trace_read(&reading, sink), 0);
		unlink(path);
	}
}

static struct printed analyze(const struct synthetic *s, size_t chunk, enum route route,
			      enum output_format format)
{
	const struct analysis_config config = {.slos = &objectives};
	struct analysis *analysis;
	struct printed printed;

	assert_int_equal(analysis_create(&analysis, &config), 0);
	feed(s, analysis_stream(analysis), chunk, route);
	printed = print_all(analysis, format);
	analysis_destroy(analysis);
	return printed;
}

static void assert_equal_text(const struct printed *a, const struct printed *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->text, b->text, a->size);
}

static void live_numbers_equal_the_recordings(void **state)
{
	struct synthetic s;
	struct printed recorded, other;

	synthetic_make(&s, &mixed);
	recorded = analyze(&s, 0, RECORDED, OUTPUT_JSON);
	assert_true(recorded.size > 10000);
	for (size_t chunk = 1; chunk < 10000; chunk = chunk * 7 + 2) {
		other = analyze(&s, chunk, chunk % 2 ? LIVE : DIRECT, OUTPUT_JSON);
		assert_equal_text(&recorded, &other);
		free(other.text);
	}
	free(recorded.text);
	synthetic_free(&s);
}

static void text_fits_eighty_columns(void **state)
{
	struct synthetic s;
	struct printed text;
	size_t column = 0;

	synthetic_make(&s, &mixed);
	text = analyze(&s, 0, DIRECT, OUTPUT_TEXT);
	for (size_t i = 0, start = 0; i < text.size; i++) {
		column = text.text[i] == '\n' ? 0 : column + 1;
		if (!column)
			start = i + 1;
		if (column > 80)
			fail_msg("wide line: %.100s", text.text + start);
	}
	free(text.text);
	synthetic_free(&s);
}

static struct analysis *analysis_of(const struct synthetic *s)
{
	const struct analysis_config config = {.slos = &objectives};
	struct analysis *analysis;

	assert_int_equal(analysis_create(&analysis, &config), 0);
	assert_int_equal(synthetic_feed(s, analysis_stream(analysis), 0), 0);
	return analysis;
}

static int by_value(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static void assert_histogram(const struct histogram *h, __u64 *values, size_t count)
{
	const double percents[] = {50, 90, 99, 99.9};

	assert_int_equal(h->count, count);
	qsort(values, count, sizeof(*values), by_value);
	for (size_t p = 0; count && p < 4; p++) {
		size_t rank = (size_t)ceil(percents[p] / 100 * (double)count);
		double exact = (double)values[rank ? rank - 1 : 0];

		assert_true(fabs((double)histogram_percentile(h, percents[p]) - exact) <=
			    exact / 64);
	}
	if (count)
		assert_int_equal(h->max, values[count - 1]);
}

/* Of device (0: all), queue (-1: all), kind (-1: all): every stage against sorted truth. */
static void check_stages(const struct synthetic *s, const struct stage_group *group, __u32 device,
			 int queue, int kind)
{
	__u64 *values = calloc(s->fault_count + 1, sizeof(*values));

	for (unsigned int stage = 0; stage <= STAGES; stage++) {
		size_t count = 0;

		for (size_t i = 0; i < s->fault_count; i++) {
			const struct fault *f = &s->faults[i];
			struct stage_times times;

			stage_times(f, &times);
			if (f->state != FAULT_COMPLETE || (device && f->device != device) ||
			    (queue >= 0 && f->queue != queue) ||
			    (kind >= 0 && (int)fault_kind_of(f) != kind))
				continue;
			if (stage == STAGES)
				values[count++] = fault_total_ns(f);
			else if (times.measured & (1u << stage))
				values[count++] = times.ns[stage];
		}
		if (!group)
			assert_int_equal(count, 0);
		else
			assert_histogram(stage == STAGES ? &group->total : &group->stages[stage],
					 values, count);
	}
	free(values);
}

static void stages_equal_the_truth(void **state)
{
	struct analysis *a;
	struct synthetic s;

	synthetic_make(&s, &mixed);
	a = analysis_of(&s);
	check_stages(&s, stages_all(a->stages), 0, -1, -1);
	for (__u32 d = 1; d <= mixed.devices; d++) {
		check_stages(&s, stages_of_device(a->stages, d), d, -1, -1);
		for (__u16 q = 0; q < 2; q++)
			check_stages(&s, stages_of_queue(a->stages, d, q), d, q, -1);
		for (int k = 0; k < FAULT_KINDS; k++)
			check_stages(&s, stages_of_kind(a->stages, d, (enum fault_kind)k), d, -1,
				     k);
	}
	analysis_destroy(a);
	synthetic_free(&s);
}

struct interval {
	__u64 from, to;
};

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Of what was seen: a loss makes what is missing count for nothing (test_blocked has the others). */
static void blocked_time_is_the_union(void **state)
{
	const struct loss_info loss = {.lost = 1};
	struct synthetic_config config = mixed;
	struct interval *intervals;
	struct analysis *a;
	struct synthetic s;

	config.given_up = 0;
	synthetic_make(&s, &config);
	a = analysis_of(&s);
	analysis_stream(a).ops->loss(analysis_stream(a).self, &loss);
	intervals = calloc(s.fault_count, sizeof(*intervals));
	for (__u32 d = 1; d <= mixed.devices; d++) {
		for (__u16 q = 0; q < 2; q++) {
			struct queue_blocked blocked;
			__u64 sum = 0, reached = 0;
			size_t count = 0;

			for (size_t i = 0; i < s.fault_count; i++)
				if (s.faults[i].device == d && s.faults[i].queue == q)
					intervals[count++] =
						(struct interval){fault_first_ns(&s.faults[i]),
								  fault_last_ns(&s.faults[i])};
			qsort(intervals, count, sizeof(*intervals), by_start);
			for (size_t i = 0; i < count; i++) {
				__u64 from =
					intervals[i].from > reached ? intervals[i].from : reached;

				if (intervals[i].to > from) {
					sum += intervals[i].to - from;
					reached = intervals[i].to;
				}
			}
			assert_int_equal(queues_get(a->queues, d, q, &blocked), 0);
			assert_int_equal(blocked.blocked_ns, sum);
		}
	}
	free(intervals);
	analysis_destroy(a);
	synthetic_free(&s);
}

static void bursts_and_peaks_equal_a_plain_count(void **state)
{
	const struct synthetic_config config = {
		.seed = 43, .groups = 997, .devices = 2, .gap_ns = 250000000};
	struct analysis *a;
	struct synthetic s;

	synthetic_make(&s, &config);
	a = analysis_of(&s);
	for (__u32 d = 1; d <= 2; d++) {
		__u64 *times = calloc(s.fault_count, sizeof(*times));
		__u64 bursts = 0, peak = 0;
		size_t count = 0;
		bool inside = false;
		struct device_rate rate = rates_device(a->rates, d);

		for (size_t i = 0; i < s.fault_count; i++)
			if (s.faults[i].device == d)
				times[count++] = s.faults[i].at[0];
		qsort(times, count, sizeof(*times), by_value);
		for (size_t i = 0; i < count; i++) {
			bool dense = i >= 5 && times[i] - times[i - 5] < SECOND;
			__u64 within = 0;

			bursts += dense && !inside;
			inside = dense;
			for (size_t k = 0; k <= i; k++)
				within += times[i] - times[k] < SECOND;
			peak = within > peak ? within : peak;
		}
		assert_true(bursts > 3);
		assert_int_equal(rate.faults, count);
		assert_int_equal(rate.bursts, bursts);
		/* The second slides in steps of 10 ms: at most one step is missing of it. */
		assert_true(rate.peak <= peak && rate.peak + 2 >= peak);
		free(times);
	}
	analysis_destroy(a);
	synthetic_free(&s);
}

static void ios_told_one_by_one_are_counted(void **state)
{
	struct analysis *a;
	struct synthetic s;
	__u64 told = 0;

	synthetic_make(&s, &mixed);
	a = analysis_of(&s);
	for (size_t i = 0; i < s.event_count; i++)
		told += s.events[i].kind == EVENT_IO_COMPLETE;
	assert_true(told);
	assert_int_equal(ios_events(a->ios), told);
	analysis_destroy(a);
	synthetic_free(&s);
}

static void notes_say_what_tables_leave_out(void **state)
{
	static const struct table_wish two_rows = {.limit = 2};
	struct printed printed = {0};
	struct writer_config config = {.format = OUTPUT_TEXT,
				       .file = open_memstream(&printed.text, &printed.size)};
	struct writer *writer;
	struct analysis *a;
	struct synthetic s;

	synthetic_make(&s, &mixed);
	a = analysis_of(&s);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(analysis_write_findings(a, writer), 0);
	assert_int_equal(analysis_write(a, &summary_analyzer, writer, &two_rows), 0);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	assert_non_null(strstr(printed.text, "(more than 5 faults in 1 s). Worst: "));
	assert_non_null(strstr(printed.text, "... and 3 more devices."));
	free(printed.text);
	analysis_destroy(a);
	synthetic_free(&s);
}

static void snapshots_say_what_the_tables_say(void **state)
{
	struct live_device rows[8], row;
	struct live_summary summary;
	struct fault faults[200];
	struct analysis *a;
	struct synthetic s;
	size_t began[8] = {0};

	synthetic_make(&s, &mixed);
	a = analysis_of(&s);
	for (size_t i = 0; i < s.fault_count; i++)
		began[s.faults[i].device]++;
	assert_int_equal(live_devices(a, s.end_ns, SECOND, rows, 2), 5);
	assert_int_equal(live_devices(a, s.end_ns, SECOND, rows, 8), 5);
	for (size_t i = 0; i < 5; i++) {
		const struct stage_group *group = stages_of_device(a->stages, rows[i].handle);

		assert_int_equal(rows[i].faults, began[i + 1]);
		assert_int_equal(rows[i].open, 0);
		assert_int_equal(rows[i].latency[LATENCY_SINCE_START].p99_ns,
				 histogram_percentile(&group->total, 99));
		assert_int_equal(rows[i].complete, group->faults);
		assert_int_equal(rows[i].latency[LATENCY_SINCE_START].slowest_stage, STAGE_RESOLVE);
		assert_true(rows[i].footprint_bytes > 0 && rows[i].footprint_percent > 0);
		assert_true(rows[i].slo != LIVE_SLO_NONE);
		assert_int_equal(live_faults(a, rows[i].handle, faults, 200), 64);
	}
	assert_int_equal(live_device(a, 99, s.end_ns, SECOND, &row), -ENOENT);
	live_summary(a, &summary);
	assert_int_equal(summary.faults, s.fault_count);
	assert_int_equal(summary.devices, 5);
	assert_int_equal(summary.probes_on, 1);
	assert_false(summary.floor);
	analysis_destroy(a);
	synthetic_free(&s);
}

static void an_open_fault_blocks_its_queue_now(void **state)
{
	const struct device_info info = {.handle = 1, .name = "disk", .pid = 9};
	const struct event detect = {.time_ns = 5 * SECOND,
				     .kind = EVENT_FAULT_DETECT,
				     .device = 1,
				     .queue = 3,
				     .address = 4096};
	struct live_device row;
	struct fault open;
	struct analysis *a;
	struct stream stream;

	assert_int_equal(analysis_create(&a, NULL), 0);
	stream = analysis_stream(a);
	stream.ops->device(stream.self, &info);
	stream_events(stream, &detect, 1);
	assert_int_equal(live_device(a, 1, 5 * SECOND + SECOND / 4, SECOND, &row), 0);
	assert_int_equal(row.open, 1);
	assert_true(fabs(row.blocked_percent - 25) < 0.01);
	assert_int_equal(row.blocked_queue, 3);
	assert_true(fabs(row.rate - 1) < 0.01);
	assert_int_equal(row.slo, LIVE_SLO_NONE);
	assert_int_equal(live_open_faults(a, 1, &open, 1), 1);
	assert_int_equal(open.pid, 9);
	analysis_destroy(a);
}

static void nothing_seen_is_said_with_what_was_watched(void **state)
{
	const struct host_info host = {.hostname = "quiet", .start_ns = SECOND};
	const struct clock_anchor clock = {SECOND, 1795269600ull * SECOND};
	const struct probe_info probes[] = {
		{.name = "fault_detect", .state = PROBE_ON},
		{.name = "iopf_report", .state = PROBE_OFF, .reason = "no kprobes here"},
	};
	const struct event cpu[] = {{.time_ns = 2 * SECOND, .kind = EVENT_CPU_FAULT, .pid = 4},
				    {.time_ns = 3 * SECOND, .kind = EVENT_CPU_FAULT, .pid = 4}};
	struct printed printed;
	struct stream stream;
	struct analysis *a;

	assert_int_equal(analysis_create(&a, &(struct analysis_config){.slos = &objectives}), 0);
	stream = analysis_stream(a);
	stream.ops->host(stream.self, &host);
	stream.ops->clock(stream.self, &clock);
	stream.ops->probe(stream.self, &probes[0]);
	stream.ops->probe(stream.self, &probes[1]);
	stream_events(stream, cpu, 2);
	stream.ops->end(stream.self, 61 * SECOND);
	printed = print_all(a, OUTPUT_TEXT);
	assert_non_null(strstr(printed.text, "0 page requests between 2026-11-21 14:00:00.000 UTC"
					     " and"));
	assert_non_null(strstr(printed.text, "2 x CPU page fault"));
	assert_non_null(strstr(printed.text, "Watched: emulated machines."));
	assert_non_null(strstr(printed.text, "Because no kprobes here: kernel page requests."));
	free(printed.text);
	analysis_destroy(a);
}

/* Its entry of the dictionary was in a frame that is damaged. */
static void a_device_without_entry_counts(void **state)
{
	const struct event faults[] = {
		{.time_ns = 2 * SECOND, .kind = EVENT_FAULT_DETECT, .device = 3, .instance = 1},
		{.time_ns = 3 * SECOND, .kind = EVENT_FAULT_DETECT, .device = 3, .instance = 2},
		{.time_ns = 4 * SECOND, .kind = EVENT_FAULT_DETECT, .device = ~0u, .instance = 3},
	};
	struct printed printed;
	struct stream stream;
	struct analysis *a;

	assert_int_equal(analysis_create(&a, &(struct analysis_config){.slos = &objectives}), 0);
	stream = analysis_stream(a);
	stream_events(stream, faults, 3);
	stream.ops->end(stream.self, 61 * SECOND);
	printed = print_all(a, OUTPUT_TEXT);
	assert_non_null(strstr(printed.text, "1 device faulted: 3 I/O page faults"));
	assert_non_null(strstr(printed.text, "Most: device 3,\n2."));
	assert_non_null(strstr(printed.text, "\ndevice 3 "));
	free(printed.text);
	analysis_destroy(a);
}

/* A damaged or hostile recording: any bits in any field but few devices, every table comes out. */
static void push_wild(struct stream sink, __u64 seed)
{
	struct event batch[1009];
	__u64 *words = (__u64 *)batch;

	for (int round = 0; round < 31; round++) {
		for (size_t i = 0; i < sizeof(batch) / 8; i++)
			words[i] = stream_log_random(&seed);
		for (size_t i = 0; i < sizeof(batch) / sizeof(batch[0]); i++) {
			batch[i].kind %= EVENT_KIND_MAX + 2;
			if (batch[i].tid % 7)
				batch[i].device %= 6;
			if (batch[i].tid % 5) {
				batch[i].group %= 8;
				batch[i].instance %= 4;
				batch[i].pasid = PASID_NONE;
				batch[i].time_ns >>= 20;
			}
		}
		assert_int_equal(stream_events(sink, batch, sizeof(batch) / sizeof(batch[0])), 0);
	}
}

static void any_bits_are_survived(void **state)
{
	struct printed printed;
	struct analysis *a;

	for (__u64 seed = 1; seed <= 5; seed++) {
		const struct random_stream records = {
			.seed = seed, .events = 5003, .wild = true, .records = true};
		struct live_summary summary;

		assert_int_equal(
			analysis_create(&a, &(struct analysis_config){.slos = &objectives}), 0);
		assert_int_equal(random_stream_push(&records, analysis_stream(a)), 0);
		push_wild(analysis_stream(a), seed);
		live_summary(a, &summary);
		assert_true(summary.faults > 1000);
		analysis_stream(a).ops->end(analysis_stream(a).self, 0);
		printed = print_all(a, seed % 2 ? OUTPUT_TEXT : OUTPUT_JSON);
		assert_true(printed.size > 100);
		free(printed.text);
		analysis_destroy(a);
	}
}

/* A sink that counts what it is given. */
static int count_events(void *self, const struct event *events, size_t count)
{
	(void)events;
	*(size_t *)self += count;
	return 0;
}

#define LIMITS amount(31, 11)

/* Any allocation may be the first that is refused: all is told up to there, and all is given back. */
static void any_limit_of_memory_is_survived(void **state)
{
	static const struct stream_ops counting = {.events = count_events};
	const struct random_stream records = {
		.seed = 3, .events = 5003, .wild = true, .records = true, .end = true};
	const __u64 before = memory_used();
	unsigned int stopped = 0;
	__u64 all, created;

	for (__u64 part = 0; part <= LIMITS; part++) {
		const struct analysis_config config = {.slos = &objectives, .windowed = true};
		struct printed printed;
		struct stream_fan fan;
		struct analysis *a;
		size_t seen = 0;

		memory_limit(UINT64_MAX);
		assert_int_equal(analysis_create(&a, &config), 0);
		created = memory_used();
		if (part)
			memory_limit(created + (all - created) * part / LIMITS - 1);
		fan = (struct stream_fan){.sinks = {analysis_stream(a), {&counting, &seen}},
					  .count = 2};
		assert_int_equal(random_stream_push(&records, stream_fan(&fan)), 0);
		push_wild(stream_fan(&fan), 3);
		live_look(a, 60 * SECOND, 10 * SECOND);
		assert_int_equal(stream_fan(&fan).ops->end(&fan, 61 * SECOND), 0);
		/* Whoever reads beside the analysis misses nothing. */
		assert_int_equal(seen, 5003 + 31 * 1009);
		all = part ? all : memory_used();
		stopped += memory_ran_out();
		assert_int_equal(!!(floor_of(a) & 1u << FLOOR_MEMORY), memory_ran_out());
		/* How long the tables are is all the same, and most of the time. */
		printed = print_some(a, OUTPUT_JSON, 17);
		assert_true(printed.size > 100);
		free(printed.text);
		analysis_destroy(a);
		assert_int_equal(memory_used(), before);
	}
	memory_limit(UINT64_MAX);
	assert_int_equal(stopped, LIMITS);
}

static void invalidations_have_their_own_timeline(void **state)
{
	struct event e = {.device = 1, .address = 4096, .length = 4096, .value = 77};
	const struct invalidation_totals *totals;
	struct invalidations *inv;
	struct stream stream;

	assert_int_equal(invalidations_create(&inv, NULL), 0);
	stream = invalidations_stream(inv);
	for (unsigned int k = EVENT_INVALIDATE_START; k <= EVENT_INVALIDATE_FREED; k++) {
		e.kind = (__u16)k;
		e.time_ns += 100ull * k;
		stream_events(stream, &e, 1);
	}
	/* Freed without the device's acknowledgement: what VPRI's order forbids. */
	for (unsigned int k = EVENT_INVALIDATE_START; k <= EVENT_INVALIDATE_FREED; k++) {
		e.kind = (__u16)k;
		e.value = 78;
		if (k != EVENT_INVALIDATE_ACK)
			stream_events(stream, &e, 1);
	}
	e.kind = EVENT_INVALIDATE_START;
	e.value = 79;
	stream_events(stream, &e, 1);
	stream.ops->end(stream.self, 0);
	totals = invalidations_of(inv, 1);
	assert_int_equal(totals->counts.began, 3);
	assert_int_equal(totals->counts.complete, 1);
	assert_int_equal(totals->counts.inconsistent, 1);
	assert_int_equal(totals->counts.unfinished, 1);
	assert_int_equal(totals->intervals[0].max, 1700);
	assert_int_equal(totals->total.max, 1700 + 1800 + 1900);
	assert_int_equal(invalidations_all(inv)->counts.bytes, 4096);
	invalidations_destroy(inv);
}

/* What a step would have told is unknown, not 0, and the other steps say what they did. */
static void invalidations_without_a_step_are_unknown(void **state)
{
	static const char *const rows[] = {
		"all,2,2,0,0,0,8192,,100,100,,,", /* start */
		"all,2,2,0,0,0,8192,,,100,300,300,300", "all,2,2,0,,0,8192,100,,,300,300,300",
		"all,2,,,,,,100,100,,,,", /* freed */
	};
	static const char *const names[] = {"invalidate_start", "invalidate_device",
					    "invalidate_ack", "invalidate_freed"};

	for (unsigned int off = 0; off < INVALIDATION_STEPS; off++) {
		struct probe_info probe = {.state = PROBE_DISABLED};
		struct writer_config config = {.format = OUTPUT_CSV, .path = "-"};
		struct analysis parts;
		struct invalidations *inv;
		struct session *session;
		struct writer *writer;
		struct stream stream;
		char *text;
		size_t size;

		assert_int_equal(session_create(&session), 0);
		assert_int_equal(invalidations_create(&inv, NULL), 0);
		stream = invalidations_stream(inv);
		snprintf(probe.name, sizeof(probe.name), "%s", names[off]);
		stream.ops->probe(stream.self, &probe);
		for (__u64 token = 1; token <= 2; token++) {
			for (unsigned int k = 0; k < INVALIDATION_STEPS; k++) {
				struct event e = {.time_ns = 1000 * token + 100 * k,
						  .kind = (__u16)(EVENT_INVALIDATE_START + k),
						  .device = 1,
						  .length = 4096,
						  .value = token};

				if (k != off)
					stream_events(stream, &e, 1);
			}
		}
		stream.ops->end(stream.self, 5000);
		parts = (struct analysis){.invalidations = inv, .session = session};
		config.file = open_memstream(&text, &size);
		assert_int_equal(writer_open(&writer, &config), 0);
		invalidations_write(&parts, writer, &(struct table_wish){.brief = true});
		assert_int_equal(writer_close(writer), 0);
		fclose(config.file);
		assert_non_null(strstr(text, rows[off]));
		free(text);
		invalidations_destroy(inv);
		session_destroy(session);
	}
}

/* Steps [first, last] of one token for `devices` devices of a machine, from handle `from` on. */
static void tell(struct stream stream, __u32 pid, __u64 token, __u32 from, __u32 devices,
		 unsigned int first, unsigned int last)
{
	for (__u32 d = 0; d < devices; d++) {
		for (unsigned int k = first; k <= last; k++) {
			struct event e = {.time_ns = 1000 + k,
					  .kind = (__u16)k,
					  .device = from + d,
					  .pid = pid,
					  .address = d << 20,
					  .length = 4096,
					  .value = token,
					  .flags = EVENT_MAJOR};

			stream_events(stream, &e, 1);
		}
	}
}

static void memory_of_several_devices_is_freed_once(void **state)
{
	const struct invalidation_counts *counts;
	struct invalidations *inv;
	struct stream stream;

	assert_int_equal(invalidations_create(&inv, NULL), 0);
	stream = invalidations_stream(inv);
	/* Two machines with the same tokens: 3 and 2 devices share the memory of each. */
	for (__u64 token = 1; token <= 7; token++) {
		tell(stream, 100, token, 1, 3, EVENT_INVALIDATE_START, EVENT_INVALIDATE_ACK);
		tell(stream, 200, token, 4, 2, EVENT_INVALIDATE_START, EVENT_INVALIDATE_ACK);
		tell(stream, 100, token, 1, 3, EVENT_INVALIDATE_FREED, EVENT_INVALIDATE_FREED);
		tell(stream, 200, token, 4, 2, EVENT_INVALIDATE_FREED, EVENT_INVALIDATE_FREED);
	}
	/* One of whose devices the end was not seen, and one that nobody freed. */
	tell(stream, 100, 11, 1, 3, EVENT_INVALIDATE_START, EVENT_INVALIDATE_ACK);
	tell(stream, 100, 11, 2, 1, EVENT_INVALIDATE_FREED, EVENT_INVALIDATE_FREED);
	tell(stream, 100, 13, 1, 3, EVENT_INVALIDATE_START, EVENT_INVALIDATE_ACK);
	stream.ops->end(stream.self, 0);
	counts = &invalidations_all(inv)->counts;
	assert_int_equal(counts->began, 7 * 5 + 3 + 3);
	assert_int_equal(counts->complete, 7 * 5 + 1);
	assert_int_equal(counts->unfinished, 2 + 3);
	assert_int_equal(counts->bytes, (7 + 7 + 1) * 4096);
	assert_int_equal(counts->written_out, 7 + 7 + 1);
	for (__u32 h = 1; h <= 5; h++)
		assert_int_equal(invalidations_of(inv, h)->counts.bytes, (7 + (h == 2)) * 4096);
	invalidations_destroy(inv);
}

static void meet(struct session *session, __u32 handle, __u32 pid, const char *name)
{
	struct device_info info = {.handle = handle, .kind = DEVICE_EMULATED, .pid = pid};
	struct stream stream = session_stream(session);

	snprintf(info.name, sizeof(info.name), "%s", name);
	assert_int_equal(stream.ops->device(stream.self, &info), 0);
}

static void is_called(const struct session *session, __u32 handle, const char *name)
{
	char text[DEVICE_NAME_TEXT];

	assert_string_equal(session_device_name(session, handle, text), name);
}

static void shared_names_are_told_apart(void **state)
{
	const char longest[NAME_TEXT] =
		"a-name-as-long-as-there-is-room-for-one-which-is-63-characters-";
	struct session *session;
	char text[DEVICE_NAME_TEXT];

	assert_int_equal(session_create(&session), 0);
	meet(session, 1, 4711, "vm/disk");
	/* Told again, as each segment of a flight recorder does. */
	meet(session, 1, 4711, "vm/disk");
	is_called(session, 1, "vm/disk");
	/* One that had no name when it was met. */
	meet(session, 2, 4712, "emulated:4712/0");
	is_called(session, 1, "vm/disk");
	meet(session, 2, 4712, "vm/disk");
	is_called(session, 1, "vm/disk#4711");
	is_called(session, 2, "vm/disk#4712");
	meet(session, 2, 4712, "vm/other");
	is_called(session, 1, "vm/disk");
	is_called(session, 2, "vm/other");
	/* Somebody calls his so: nobody passes for another. */
	meet(session, 2, 4712, "vm/disk");
	meet(session, 3, 4713, "vm/disk#4711");
	is_called(session, 1, "vm/disk#4711.1");
	is_called(session, 3, "vm/disk#4711#4713");
	meet(session, 4, 4294967295, longest);
	meet(session, 65535, 4294967295, longest);
	snprintf(text, sizeof(text), "%s#4294967295.65535", longest);
	is_called(session, 65535, text);
	assert_true(session_device_fits(session, 65535, text));
	/* Nameless ones have a handle anyway. */
	meet(session, 6, 1, "");
	meet(session, 7, 2, "");
	is_called(session, 6, "device 6");
	assert_true(session_device_fits(session, 7, "device 7"));
	/* Who has met only one of a name finds it by what would tell it apart, and by nothing else. */
	meet(session, 8, 77, "vm/nic");
	is_called(session, 8, "vm/nic");
	assert_true(session_device_fits(session, 8, "vm/nic#77"));
	assert_false(session_device_fits(session, 8, "*7"));
	session_destroy(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_numbers_equal_the_recordings),
		cmocka_unit_test(text_fits_eighty_columns),
		cmocka_unit_test(stages_equal_the_truth),
		cmocka_unit_test(blocked_time_is_the_union),
		cmocka_unit_test(bursts_and_peaks_equal_a_plain_count),
		cmocka_unit_test(ios_told_one_by_one_are_counted),
		cmocka_unit_test(notes_say_what_tables_leave_out),
		cmocka_unit_test(snapshots_say_what_the_tables_say),
		cmocka_unit_test(an_open_fault_blocks_its_queue_now),
		cmocka_unit_test(nothing_seen_is_said_with_what_was_watched),
		cmocka_unit_test(a_device_without_entry_counts),
		cmocka_unit_test(any_bits_are_survived),
		cmocka_unit_test(any_limit_of_memory_is_survived),
		cmocka_unit_test(invalidations_have_their_own_timeline),
		cmocka_unit_test(invalidations_without_a_step_are_unknown),
		cmocka_unit_test(memory_of_several_devices_is_freed_once),
		cmocka_unit_test(shared_names_are_told_apart),
	};

	return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
