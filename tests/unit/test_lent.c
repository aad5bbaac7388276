// SPDX-License-Identifier: GPL-2.0
/* Lent devices, from streams made by hand: borrows of both hosts' steps, gauges that were met late or lost, who starved. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/borrows.h"
#include "lib/analyze/clients.h"
#include "lib/analyze/lent_stages.h"
#include "lib/analyze/lent_windows.h"
#include "lib/base/cluster_step.h"

enum { LENDER = 1, SHADOW, ADAPTER, FIRST, LAST = FIRST + 6, LATE };
#define RUN 4711u

static struct analysis *analysis;
static struct stream stream;
static __u64 now_ns;

static void device(__u32 handle, const char *name, const char *model, __u64 started_ns)
{
	struct device_info info = {.handle = handle,
				   .kind = DEVICE_EMULATED,
				   .pid = 100 + handle,
				   .pid_start_ns = started_ns,
				   .first_ns = started_ns};

	snprintf(info.name, sizeof(info.name), "%s", name);
	snprintf(info.model, sizeof(info.model), "%s", model);
	assert_int_equal(stream.ops->device(stream.self, &info), 0);
}

static int setup(void **state)
{
	const struct host_info host = {.hostname = "h", .start_ns = 1000 * MS};
	char name[32];

	(void)state;
	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	stream.ops->host(stream.self, &host);
	device(LENDER, "right/disk", "nvme", 1001 * MS);
	device(SHADOW, "left/disk@right", "nvme/lent", 1001 * MS);
	device(ADAPTER, "left/la", "ntb", 1001 * MS);
	for (__u32 i = FIRST; i <= LAST; i++) {
		snprintf(name, sizeof(name), "left/c%u", i - FIRST);
		device(i, name, "client/disk", 1001 * MS);
	}
	device(LATE, "left/late", "client/other", 1 * MS);
	now_ns = 2000 * MS;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	analysis_destroy(analysis);
	return 0;
}

static void push(struct event event)
{
	now_ns += MS;
	event.time_ns = now_ns;
	event.tid = RUN;
	assert_int_equal(stream.ops->events(stream.self, &event, 1), 0);
}

static void step(__u32 handle, __u32 borrow, enum cluster_step code, __u64 error)
{
	push((struct event){.kind = EVENT_LEND_STEP,
			    .device = handle,
			    .group = borrow,
			    .code = code,
			    .length = error});
}

static char *print(const char *only)
{
	struct writer_config config = {.format = only ? OUTPUT_CSV : OUTPUT_TEXT, .only = only};
	struct writer *writer;
	char *text;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	for (size_t i = 0; only && analyzers[i]; i++)
		if (analyzers[i]->tables && analyzers[i]->tables[0].table &&
		    !strcmp(analyzers[i]->tables[0].table->name, only))
			analysis_write(analysis, analyzers[i], writer, &(struct table_wish){0});
	if (!only)
		analysis_write_findings(analysis, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	for (char *c = text; !only && *c; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}

static void says(const char *only, const char *what)
{
	char *text = print(only);

	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	free(text);
}

static void says_not(const char *what)
{
	char *text = print(NULL);

	if (strstr(text, what))
		fail_msg("\"%s\" is in:\n%s", what, text);
	free(text);
}

static void borrow_until(__u32 number, enum cluster_step last)
{
	step(SHADOW, LENT_NONE, STEP_REQUEST, 0);
	step(LENDER, number, STEP_GRANT, 0);
	for (unsigned int code = STEP_CONFIG; code <= last; code++)
		step(SHADOW, number, code, 0);
}

static void a_borrow_is_told_by_both_hosts(void **state)
{
	(void)state;
	borrow_until(7, STEP_PROBE);
	assert_non_null(borrow_of_device(analysis->borrows, SHADOW));
	push((struct event){.kind = EVENT_LEND_MAP, .device = SHADOW, .queue = 7, .length = 8192});
	push((struct event){.kind = EVENT_LEND_MAP, .device = SHADOW, .queue = 8, .length = 4096});
	step(SHADOW, 7, STEP_UNBIND, 0);
	step(SHADOW, 7, STEP_REMOVE, 0);
	step(LENDER, 7, STEP_RELEASE, 0);
	step(LENDER, 7, STEP_RESET, 0);
	assert_int_equal(borrows_count(analysis->borrows), 1);
	assert_null(borrow_of_device(analysis->borrows, SHADOW));
	/* From the request, which had no number, to the shadow: the steps between. */
	says("borrows", "disk,right,left,7,");
	says("borrows", ",probe,returned,0,8000000,1,8192,0,0");
	says_not("Borrow 7");
}

static void how_it_ended(enum cluster_step step_of_it, __u32 by, const char *text)
{
	static __u32 number = 20;

	borrow_until(++number, STEP_DMA_WINDOW);
	step(by, number, step_of_it, 0);
	step(LENDER, number, STEP_RELEASE, 0); /* the clean-up, which comes after it */
	says("borrows", text);
}

static void ends_have_causes(void **state)
{
	(void)state;
	how_it_ended(STEP_REVOKED, LENDER, ",dma_window,revoked,");
	how_it_ended(STEP_BORROWER_DEAD, LENDER, ",dma_window,borrower dead,");
	how_it_ended(STEP_LENDER_DEAD, SHADOW, ",dma_window,lender dead,");
	step(SHADOW, LENT_NONE, STEP_REQUEST, 0);
	step(LENDER, 40, STEP_GRANT, 0);
	step(SHADOW, 40, STEP_BARS, 28);
	step(SHADOW, 40, STEP_REMOVE, 0);
	says("borrows", ",grant,failed,28,");
	says(NULL, "disk of right, borrowed by left: borrower dead.");
}

static void who_shares_has_not_borrowed(void **state)
{
	(void)state;
	step(FIRST, 3, STEP_CLIENT_CREATE, 0);
	step(LENDER, 3, STEP_MANAGER_RESET, 0);
	assert_int_equal(borrows_count(analysis->borrows), 0);
}

static void adapter(__u64 bytes, __u64 lost, __u32 used, __u32 most)
{
	push((struct event){.kind = EVENT_ADAPTER_STATE,
			    .device = ADAPTER,
			    .length = bytes,
			    .address = lost << 32 | 5,
			    .group = used << 16 | most,
			    .instance = 2 << 16 | 32,
			    .pasid = 64});
}

static void windows_that_fill_are_told(void **state)
{
	(void)state;
	adapter(100, 0, 3, 3);
	adapter(1000, 17, 3, 61);
	says("windows", "left/la,,3,61,61,2,30,");
	says(NULL, "nearly full, 61 of 64 windows");
	says(NULL, "17 writes vanished, 5 reads gave all ones, though its link was up");
	push((struct event){.kind = EVENT_LINK_STATE, .device = ADAPTER, .flags = EVENT_MAJOR});
	says(NULL, "its link went down 1 time and its tables were emptied; 17 writes vanished");
	push((struct event){.kind = EVENT_WINDOW_STATE,
			    .device = SHADOW,
			    .group = 7,
			    .value = 4096,
			    .length = 31 * 4096,
			    .address = 32 * 4096});
	assert_int_equal(window_of_device(analysis->lent_windows, SHADOW)->charged_most, 31 * 4096);
	says(NULL, "the DMA window of borrow 7 was nearly full, 124K of 128K");
}

static void client(__u32 handle, __u64 ios, __u64 longest_ns, __u64 errors)
{
	push((struct event){.kind = EVENT_CLIENT_STATE,
			    .device = handle,
			    .value = ios,
			    .length = ios * 4096,
			    .address = longest_ns,
			    .instance = errors});
}

static void starvation_has_a_name_and_a_wait(void **state)
{
	struct client_totals totals;

	(void)state;
	for (__u32 i = FIRST; i <= LAST; i++)
		client(i, 1009, 2 * MS, 0);
	says_not("starved");
	client(LAST, 1013, 19 * MS, 0);
	says_not("starved"); /* not yet ten times the median */
	client(LAST, 1019, 23 * MS, 0);
	says(NULL, "left/c6 starved: it waited 23.0ms for one I/O, others of disk at most 2.00ms");
	for (__u32 i = FIRST + 1; i <= LAST; i++)
		client(i, 8009, 23 * MS, 0);
	says(NULL, "left/c0 starved: it got 1009 I/Os where users of disk got 7009 in the mean");
	client(FIRST + 1, 8011, 23 * MS, 3);
	says(NULL, "left/c1: 3 of its I/Os on disk ended in error.");
	assert_true(client_totals_of(analysis->clients, FIRST + 1, &totals));
	assert_int_equal(totals.ios, 8011);
	assert_false(client_totals_of(analysis->clients, SHADOW, &totals));
}

/* Of a machine that had begun before, what came after it was first told counts; a telling that was lost changes nothing. */
static void counters_begin_where_they_were_met(void **state)
{
	struct client_totals totals;

	(void)state;
	client(LATE, 500, MS, 7);
	assert_true(client_totals_of(analysis->clients, LATE, &totals));
	assert_int_equal(totals.ios, 0);
	client(LATE, 613, MS, 7);
	client(LATE, 727, MS, 8);
	assert_true(client_totals_of(analysis->clients, LATE, &totals));
	assert_int_equal(totals.ios, 227);
	assert_int_equal(totals.errors, 1);
}

static void path(__u32 transactions, __u64 lost, __u32 hops)
{
	push((struct event){.kind = EVENT_PATH_STATE,
			    .device = LENDER,
			    .code = PURPOSE_DATA,
			    .value = 64ull * transactions,
			    .length = 4ull * transactions,
			    .address = lost << 32,
			    .group = hops << 16 | 1 << 8 | 1,
			    .instance = transactions});
}

static void ways_are_told_one_by_one(void **state)
{
	(void)state;
	path(101, 0, 3);
	path(211, 13, 5);
	path(307, 0, 3);
	path(7, 0, 1);
	says("paths", "right/disk,data,3,1,1,307,19648,1228,0,0,0");
	says("paths", "right/disk,data,5,1,1,211,13504,844,13,0,0");
	says("paths", "right/disk,data,1,1,1,7,448,28,0,0,0");
	push((struct event){.kind = EVENT_PATH_STATE, .device = LENDER, .code = PURPOSES + 3});
	says("paths", "right/disk,data,5,");
}

static void stages_are_one_by_one_or_counted(void **state)
{
	const struct aggregate_bin bins[] = {{histogram_bucket(1418), 103}};
	const struct aggregate_row row = {
		.key = {.kind = EVENT_LEND_IO, .device = SHADOW, .code = IO_STAGE_FETCH},
		.counts = {103, 0, 103 * 1418, 1418},
		.bins = 1};
	const struct aggregate_frame frame = {
		.row_count = 1, .bin_count = 1, .rows = &row, .bins = bins};
	const struct histogram *h;

	(void)state;
	push((struct event){
		.kind = EVENT_LEND_IO, .device = SHADOW, .code = IO_STAGE_FETCH, .value = 2000});
	push((struct event){.kind = EVENT_LEND_IO, .device = SHADOW, .code = IO_STAGES + 1});
	assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
	h = lent_stage(analysis->lent_stages, SHADOW, IO_STAGE_FETCH);
	assert_int_equal(h->count, 104);
	assert_int_equal(h->sum, 103 * 1418 + 2000);
	assert_int_equal(h->max, 2000);
	assert_null(lent_stage(analysis->lent_stages, SHADOW, IO_STAGE_DATA));
}

static void what_must_not_happen_is_told(void **state)
{
	(void)state;
	push((struct event){.kind = EVENT_STRAY_DMA,
			    .device = LENDER,
			    .group = 7,
			    .instance = 1,
			    .address = 0x5000,
			    .length = 4096});
	push((struct event){.kind = EVENT_LEND_FAULT, .device = LENDER, .address = 0x7000});
	push((struct event){.kind = EVENT_FAILOVER,
			    .device = FIRST,
			    .code = FAILOVER_LINK,
			    .group = 1,
			    .instance = 2,
			    .length = 5,
			    .address = 2});
	says(NULL, "right/disk, borrow 7, reached 4K of memory of host 1 at 0x5000");
	says(NULL, "refused right/disk 1 transaction, the first at 0x7000 on host 0");
	says("failovers", "left/c0,disk,link,1,2,0,5,2");
}

static void probe_is(const char *name, __u32 state, __u64 hits)
{
	struct probe_info info = {.state = state, .hits = hits};

	snprintf(info.name, sizeof(info.name), "%s", name);
	assert_int_equal(stream.ops->probe(stream.self, &info), 0);
}

/* What a probe would have told that was off is unknown, not 0. */
static void what_was_not_watched_is_unknown(void **state)
{
	(void)state;
	borrow_until(51, STEP_DMA_WINDOW);
	adapter(100, 0, 3, 3);
	push((struct event){.kind = EVENT_LEND_MAP, .device = SHADOW, .queue = 51, .length = 4096});
	push((struct event){.kind = EVENT_WINDOW_MAP, .device = ADAPTER});
	probe_is("lend_step", PROBE_ON, 5);
	says("borrows", ",1,4096,0,0\n");
	says("windows", ",1,0,0,0,0,0\n");
	probe_is("lend_map", PROBE_OFF, 0);
	says("borrows", ",,,0,0\n");
	probe_is("lend_unmap", PROBE_OFF, 0);
	says("borrows", ",,,,\n");
	probe_is("requester_add", PROBE_OFF, 0);
	probe_is("link_state", PROBE_OFF, 0);
	says("windows", ",1,0,,0,,\n");
}

/* A borrow of which the end was lost need not last; a request that was lost lets it seem to be fast. */
static void what_was_lost_is_unknown(void **state)
{
	const struct loss_info loss = {.lost = 3};

	(void)state;
	borrow_until(53, STEP_SHADOW);
	says("borrows", ",lasts,");
	assert_int_equal(stream.ops->loss(stream.self, &loss), 0);
	says("borrows", ",unknown,0,,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_borrow_is_told_by_both_hosts, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_have_causes, setup, teardown),
		cmocka_unit_test_setup_teardown(who_shares_has_not_borrowed, setup, teardown),
		cmocka_unit_test_setup_teardown(windows_that_fill_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(starvation_has_a_name_and_a_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(counters_begin_where_they_were_met, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ways_are_told_one_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(stages_are_one_by_one_or_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_must_not_happen_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_not_watched_is_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_lost_is_unknown, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
