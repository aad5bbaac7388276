// SPDX-License-Identifier: GPL-2.0
/*
 * Every cell of the tables that are looked at first. In a row no two cells are alike, so that none can show
 * what belongs into another.
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/fault_table.h"
#include "lib/output/table.h"

#define DISK 2
#define NET  1

struct shown {
	const char *column, *value;
};

static struct analysis *analysis;
static struct stream stream;

static int setup(void **state)
{
	const struct host_info host = {.hostname = "h", .kernel = "k", .start_ns = 1};
	const struct device_info net = {
		.handle = NET, .kind = DEVICE_EMULATED, .name = "vm/net", .iommu_group = -1};
	const struct device_info disk = {
		.handle = DISK,
		.kind = DEVICE_EMULATED,
		.name = "vm/disk",
		.model = "block",
		.vm = "tenant3",
		.comm = "emulator",
		.iommu_group = 17,
		.pid = 4711,
		.cgroup = 815,
		.source_id = 6,
		.queues = 8,
		.memory = 1 << 20,
		.first_ns = 12345,
	};

	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	stream.ops->host(stream.self, &host);
	stream.ops->device(stream.self, &net);
	stream.ops->device(stream.self, &disk);
	return 0;
}

static int teardown(void **state)
{
	analysis_destroy(analysis);
	return 0;
}

/* One table as CSV. The caller frees it. */
static char *table_of(const char *name)
{
	static const struct table_wish everything;
	struct writer_config config = {.format = OUTPUT_CSV, .raw_time = true, .only = name};
	struct writer *writer;
	char *text;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(analysis_write(analysis, NULL, writer, &everything), 0);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	return text;
}

/* A copy of the line that begins so. */
static char *line_of(const char *text, const char *begin)
{
	while (text && strncmp(text, begin, strlen(begin)) != 0) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	if (!text)
		fail_msg("no row begins with %s", begin);
	return strndup(text, strcspn(text, "\n"));
}

/* The row that begins so has these cells, all of them, and no two are alike. */
static void expect_row(const char *csv, const char *begin, const struct shown *cells, size_t count)
{
	char *headings = line_of(csv, ""), *row = line_of(csv, begin);
	char *next_heading = headings, *next_value = row;

	for (size_t i = 0; i < count; i++) {
		const char *heading = strsep(&next_heading, ","), *value = strsep(&next_value, ",");

		assert_non_null(heading);
		assert_string_equal(heading, cells[i].column);
		assert_non_null(value);
		if (strcmp(value, cells[i].value) != 0)
			fail_msg("%s is %s, not %s", heading, value, cells[i].value);
		for (size_t before = 0; before < i; before++)
			assert_string_not_equal(cells[i].value, cells[before].value);
	}
	assert_null(next_heading);
	assert_null(next_value);
	free(headings);
	free(row);
}

static void push(__u64 time_ns, __u32 device, __u16 kind, __u16 queue, __u32 instance)
{
	const struct event e = {.time_ns = time_ns,
				.kind = kind,
				.device = device,
				.pasid = PASID_NONE,
				.instance = instance,
				.address = 0x1000,
				.queue = queue,
				.flags = EVENT_READ};

	assert_int_equal(stream_events(stream, &e, 1), 0);
}

/* Of the disk's queue 5; the next one comes `gap_ns` later. */
static struct {
	__u64 now_ns;
	__u32 instance;
} next;

static void fault(const __u16 *kinds, const __u64 *after_ns, size_t count, __u64 gap_ns)
{
	next.instance++;
	for (size_t i = 0; i < count; i++)
		push(next.now_ns + (after_ns ? after_ns[i] : i), DISK, kinds[i], 5, next.instance);
	next.now_ns += gap_ns;
}

/* A nanosecond in each stage but in `map`, which has the rest; without `resolved` that of `resolve`, too. */
static void complete(__u64 total_ns, bool resolved, __u64 gap_ns)
{
	__u16 kinds[FAULT_STAGES];
	__u64 after_ns[FAULT_STAGES];
	size_t count = 0;

	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		if (k == EVENT_FAULT_RESOLVED - EVENT_FAULT_DETECT && !resolved)
			continue;
		kinds[count] = (__u16)(EVENT_FAULT_DETECT + k);
		after_ns[count++] = k < 5 ? k : total_ns - (FAULT_STAGES - 1 - k);
	}
	fault(kinds, after_ns, count, gap_ns);
}

/* Percentiles of less than 64 ns are exact: 2100 faults, 10 of them without `resolved`, in three bursts at first. */
static void push_complete(void)
{
	static const struct {
		unsigned int count;
		__u64 total_ns;
	} totals[] = {{1166, 20}, {500, 25}, {250, 31}, {130, 40}, {18, 50}, {2, 60}};
	static const unsigned int bursts[] = {7, 9, 8};

	for (size_t b = 0; b < COUNT(bursts); b++) {
		for (unsigned int i = 0; i < bursts[b]; i++)
			complete(20, true, 10 * MS);
		next.now_ns += 100 * SECOND;
	}
	for (unsigned int i = 0; i < 10; i++)
		complete(20, false, 2 * SECOND);
	for (size_t t = 0; t < COUNT(totals); t++)
		for (unsigned int i = 0; i < totals[t].count; i++)
			complete(totals[t].total_ns, true, 2 * SECOND);
}

/* As many of each other state as of no other. Those that are open at the end have a queue of their own. */
static void push_others(void)
{
	static const __u16 inconsistent[] = {EVENT_FAULT_DETECT,   EVENT_FAULT_REQUEST,
					     EVENT_FAULT_ISR,	   EVENT_FAULT_RESOLVED,
					     EVENT_FAULT_HANDLER,  EVENT_FAULT_MAPPED,
					     EVENT_FAULT_RESPONSE, EVENT_FAULT_RESUME};
	static const __u16 overflowed[] = {EVENT_FAULT_DETECT, EVENT_FAULT_OVERFLOW,
					   EVENT_FAULT_RESUME};
	static const __u16 discarded[] = {EVENT_FAULT_DETECT, EVENT_FAULT_REQUEST, EVENT_FAULT_VOID,
					  EVENT_FAULT_RESUME};
	static const __u16 abandoned[] = {EVENT_FAULT_DETECT, EVENT_FAULT_REQUEST,
					  EVENT_FAULT_ABANDON, EVENT_FAULT_RESPONSE};

	for (int i = 0; i < 5; i++)
		fault(inconsistent, NULL, COUNT(inconsistent), 2 * SECOND);
	for (int i = 0; i < 6; i++)
		fault(overflowed, NULL, COUNT(overflowed), 2 * SECOND);
	for (int i = 0; i < 11; i++)
		fault(discarded, NULL, COUNT(discarded), 2 * SECOND);
	for (int i = 0; i < 8; i++)
		fault(abandoned, NULL, COUNT(abandoned), 2 * SECOND);
	for (__u32 i = 0; i < 4; i++) {
		push(next.now_ns, DISK, EVENT_FAULT_DETECT, 1, 1 << 20 | i);
		next.now_ns += 2 * SECOND;
	}
}

static void push_faults(void)
{
	next.now_ns = 1000 * SECOND;
	next.instance = 0;
	push_complete();
	push_others();
	for (__u16 k = EVENT_FAULT_DETECT; k <= EVENT_FAULT_RESUME; k++)
		push(next.now_ns + k, NET, k, 0, 1);
	assert_int_equal(stream.ops->end(stream.self, next.now_ns + 3 * SECOND), 0);
}

static void faults_of_a_device(void **state)
{
	static const struct shown cells[] = {
		{"device", "vm/disk"},
		{"faults", "2134"},
		{"peak_per_s", "9"},
		{"bursts", "3"},
		{"mean_ns", "24"},
		{"p50_ns", "20"},
		{"p90_ns", "31"},
		{"p99_ns", "40"},
		{"p999_ns", "50"},
		{"max_ns", "60"},
		{"slowest", "map"},
		{"share_percent", "75.05448781"},
		{"span", "detect-resume"},
		{"blocked_ns", "11000000000"},
		{"complete", "2100"},
		{"unfinished", "4"},
		{"inconsistent", "5"},
		{"overflowed", "6"},
		{"discarded", "11"},
		{"abandoned", "8"},
		{"first_ns", "1000000000000"},
		{"last_ns", "5518240000000"},
		{"merged", "10"},
	};
	char *csv;

	push_faults();
	csv = table_of("summary");
	expect_row(csv, "vm/disk,", cells, COUNT(cells));
	/* Most faults first, whatever the handles. */
	assert_true(strstr(csv, "\nvm/disk,") < strstr(csv, "\nvm/net,"));
	free(csv);
}

static void stages_of_a_queue(void **state)
{
	static const struct shown map[] = {
		{"device", "vm/disk"}, {"queue", "5"},	     {"kind", "all"},	   {"stage", "map"},
		{"count", "2100"},     {"merged", "10"},     {"mean_ns", "18"},	   {"p50_ns", "14"},
		{"p90_ns", "25"},      {"p99_ns", "34"},     {"p999_ns", "44"},	   {"max_ns", "54"},
		{"sum_ns", "37880"},   {"beyond_p99", "21"}, {"beyond_p999", "2"},
	};
	static const struct shown total[] = {
		{"device", "vm/disk"}, {"queue", "5"},	     {"kind", "all"},
		{"stage", "total"},    {"count", "2100"},    {"merged", "0"},
		{"mean_ns", "24"},     {"p50_ns", "20"},     {"p90_ns", "31"},
		{"p99_ns", "40"},      {"p999_ns", "50"},    {"max_ns", "60"},
		{"sum_ns", "50470"},   {"beyond_p99", "21"}, {"beyond_p999", "2"},
	};
	char *csv;

	push_faults();
	csv = table_of("stages");
	expect_row(csv, "vm/disk,5,all,map,", map, COUNT(map));
	expect_row(csv, "vm/disk,5,all,total,", total, COUNT(total));
	/* Of all, of the device, of its faults whose page was seen to come, and of the others. */
	assert_non_null(strstr(csv, "\nall,,all,map,2101,10,"));
	assert_non_null(strstr(csv, "\nvm/disk,,all,map,2100,10,"));
	assert_non_null(strstr(csv, "\nvm/disk,,minor read,map,2090,0,"));
	assert_non_null(strstr(csv, "\nvm/disk,,unknown read,map,10,10,"));
	free(csv);
}

/* A row of one fault, which need not be one that there can be: it has everything that the table asks for. */
static char *fault_row(const struct fault *of)
{
	struct writer_config config = {.format = OUTPUT_CSV, .raw_time = true};
	struct writer *writer;
	char *text;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	writer_begin_with(writer, fault_table_columns, analysis->session);
	fault_table_row(writer, analysis->session, of);
	writer_end(writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	return text;
}

static void a_fault_as_the_kernel_tells_it(void **state)
{
	const struct fault of = {
		.at = {1000, 1010, 1021, 1034, 1049, 1068, 1091, 1120},
		.seen = 0xff,
		.device = DISK,
		.queue = 5,
		.pasid = 70,
		.group = 71,
		.instance = 72,
		.address = 0x1000,
		.length = 8192,
		.flags = EVENT_READ | EVENT_WRITE | EVENT_MAJOR,
		.state = FAULT_COMPLETE,
		.code = RESPONSE_INVALID,
		.cpu_faults = 73,
		.cpu_fault_ns = 1033,
		.handler_cpu = 74,
		.handler_tid = 75,
		.pid = 76,
		.overflows = 77,
		.repeats = 78,
		.comm = "tenant",
		.cause = MM_SWAP,
		.consumer = CONSUMER_IOMMUFD,
		.interrupt_ns = 79,
		.queued_ns = 1080,
		.mm_ns = 81,
		.delivered_ns = 82,
		.abandoned_ns = 83,
		.held_ns = 84,
	};
	static const struct shown cells[] = {
		{"start_ns", "1000"},
		{"device", "vm/disk"},
		{"handle", "2"},
		{"queue", "5"},
		{"pasid", "70"},
		{"group", "71"},
		{"instance", "72"},
		{"address", "0x1000"},
		{"length_bytes", "8192"},
		{"access", "RW"},
		{"kind", "-"},
		{"state", "complete"},
		{"reached", "resume"},
		{"response", "invalid"},
		{"total_ns", "120"},
		{"request_ns", "10"},
		{"delivery_ns", "11"},
		{"dispatch_ns", "13"},
		{"resolve_ns", "15"},
		{"map_ns", "19"},
		{"respond_ns", "23"},
		{"resume_ns", "29"},
		{"merged", ""},
		{"cpu_faults", "73"},
		{"cpu_fault_ns", "1033"},
		{"handler_cpu", "74"},
		{"handler_tid", "75"},
		{"pid", "76"},
		{"overflows", "77"},
		{"repeats", "78"},
		{"comm", "tenant"},
		{"span", "detect-resume"},
		{"cause", "swap"},
		{"consumer", "iommufd"},
		{"interrupt_ns", "79"},
		{"queued_ns", "80"},
		{"mm_fault_ns", "81"},
		{"delivered_ns", "82"},
		{"abandoned_ns", "83"},
		{"held_back_ns", "84"},
	};
	struct fault merged = of;
	char *csv = fault_row(&of);

	expect_row(csv, "1000,", cells, COUNT(cells));
	free(csv);
	/* What brought the page of a fault that was given up is not asked. */
	merged.abandoned_ns = 0;
	merged.seen &= (__u8) ~(1u << 1 | 1u << 4);
	csv = fault_row(&merged);
	assert_non_null(strstr(csv, ",RW,major,complete,resume,invalid,120,,21,13,,34,23,29,"
				    "delivery map,73,"));
	free(csv);
}

/* Of the first eight tokens memory had to be written out. */
static void invalidate(__u32 device, __u64 token, const __u64 after_ns[4], bool acked, bool freed)
{
	for (unsigned int step = 0; step < 4; step++) {
		const struct event e = {.time_ns = next.now_ns + after_ns[step],
					.kind = (__u16)(EVENT_INVALIDATE_START + step),
					.device = device,
					.value = token,
					.length = 4096,
					.flags = token <= 8 ? EVENT_MAJOR : 0};

		if ((step == 2 && !acked) || (step == 3 && !freed))
			continue;
		assert_int_equal(stream_events(stream, &e, 1), 0);
	}
	next.now_ns += MS;
}

static void invalidations_of_a_device(void **state)
{
	/* Told, acknowledged and freed, each so long after the beginning. */
	static const struct {
		int count;
		__u64 after_ns[4];
	} whole[] = {{200, {0, 7, 16, 30}},
		     {60, {0, 8, 18, 40}},
		     {37, {0, 8, 18, 46}},
		     {3, {0, 8, 18, 57}}};
	const __u64 *after_ns = whole[0].after_ns;
	static const struct shown cells[] = {
		{"device", "vm/disk"},	    {"began", "311"},	    {"complete", "300"},
		{"unfinished", "5"},	    {"inconsistent", "6"},  {"written_out", "8"},
		{"freed_bytes", "1228800"}, {"told_p50_ns", "7"},   {"acked_p50_ns", "9"},
		{"freed_p50_ns", "14"},	    {"total_p50_ns", "30"}, {"total_p99_ns", "46"},
		{"total_max_ns", "57"},
	};
	__u64 token = 0;
	char *csv;

	next.now_ns = 1000 * SECOND;
	invalidate(NET, 1, after_ns, true, true);
	for (size_t w = 0; w < COUNT(whole); w++)
		for (int i = 0; i < whole[w].count; i++)
			invalidate(DISK, ++token, whole[w].after_ns, true, true);
	for (int i = 0; i < 5; i++)
		invalidate(DISK, ++token, after_ns, true, false);
	for (int i = 0; i < 6; i++)
		invalidate(DISK, ++token, after_ns, false, true);
	assert_int_equal(stream.ops->end(stream.self, next.now_ns), 0);
	csv = table_of("invalidations");
	expect_row(csv, "vm/disk,", cells, COUNT(cells));
	assert_non_null(strstr(csv, "\nall,312,301,5,6,9,"));
	assert_non_null(strstr(csv, "\nvm/net,1,1,0,0,1,4096,7,9,14,30,30,30\n"));
	free(csv);
}

static void what_is_known_of_a_device(void **state)
{
	static const struct shown cells[] = {
		{"device", "vm/disk"},
		{"handle", "2"},
		{"source_id", "6"},
		{"kind", "emulated"},
		{"model", "block"},
		{"vm", "tenant3"},
		{"pid", "4711"},
		{"comm", "emulator"},
		{"queues", "8"},
		{"memory_bytes", "1048576"},
		{"iommu_group", "17"},
		{"cgroup", "815"},
		{"first_seen_ns", "12345"},
	};
	char *csv = table_of("devices");

	expect_row(csv, "vm/disk,", cells, COUNT(cells));
	/* Of what is not known the cell is empty. */
	assert_non_null(strstr(csv, "\nvm/net,1,0,emulated,,,,,,,,,\n"));
	free(csv);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(faults_of_a_device),
		CASE(stages_of_a_queue),
		CASE(a_fault_as_the_kernel_tells_it),
		CASE(invalidations_of_a_device),
		CASE(what_is_known_of_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
