// SPDX-License-Identifier: GPL-2.0
/* Owners of faulting addresses and what DMA has mapped, from streams made by hand. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/counts.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/session.h"
#include "lib/output/writer.h"

static struct analysis *analysis;
static struct stream stream;

static int setup(void **state)
{
	struct host_info host = {.hostname = "node", .start_ns = 1000 * MS};
	struct device_info nic = {
		.handle = 1, .kind = DEVICE_PCI, .name = "0000:00:02.0", .model = "nic"};
	struct device_info container = {
		.handle = 2, .kind = DEVICE_VFIO_CONTAINER, .name = "container 7"};
	struct stack_info stack = {.id = 5, .depth = 2, .text = "dma_map+0x1\nnic_fill+0x20"};
	struct process_info process = {.pid = 11, .comm = "mapper"};

	assert_int_equal(analysis_create(&analysis, NULL), 0);
	stream = analysis_stream(analysis);
	stream.ops->host(stream.self, &host);
	stream.ops->device(stream.self, &nic);
	stream.ops->device(stream.self, &container);
	stream.ops->stack(stream.self, &stack);
	stream.ops->process(stream.self, &process);
	process = (struct process_info){.pid = 12, .comm = "unmapper"};
	stream.ops->process(stream.self, &process);
	return 0;
}

static int teardown(void **state)
{
	analysis_destroy(analysis);
	return 0;
}

static void push(const struct event *event)
{
	assert_int_equal(stream.ops->events(stream.self, event, 1), 0);
}

static struct event fault_at(__u64 time_ms, __u32 device, __u64 address, __u16 cpu)
{
	return (struct event){.time_ns = time_ms * MS,
			      .device = device,
			      .address = address,
			      .pasid = PASID_NONE,
			      .kind = EVENT_IOMMU_FAULT,
			      .code = 5,
			      .value = SOURCE_CONSOLE,
			      .cpu = cpu,
			      .flags = EVENT_WRITE};
}

static struct event owner_at(__u64 time_ms, __u32 device, __u16 cpu, __u8 code)
{
	return (struct event){.time_ns = time_ms * MS,
			      .device = device,
			      .address = 0x8000,
			      .length = 8192,
			      .pid = 11,
			      .tid = code == OWNER_UNMAPPED ? 12 : 0,
			      .group = 5,
			      .value = 1500 * MS,
			      .kind = EVENT_FAULT_OWNER,
			      .code = code,
			      .cpu = cpu};
}

/* What the tables or sentences say, as text. */
static char *told(void (*tell)(struct writer *writer), enum output_format format)
{
	struct writer_config config = {.format = format, .raw_time = true};
	struct writer *writer;
	char *text = NULL;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	tell(writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	return text;
}

static size_t wanted_faults; /* rows of them at most, 0: all */

static void tell_faults(struct writer *writer)
{
	iommu_faults_write(analysis, writer, &(struct table_wish){.limit = wanted_faults});
}

static void tell_fault_devices(struct writer *writer)
{
	iommu_faults_write_devices(analysis, writer, &(struct table_wish){0});
}

static void tell_findings(struct writer *writer)
{
	iommu_faults_write_findings(analysis, writer);
	mappings_write_findings(analysis, writer);
}

static void tell_devices(struct writer *writer)
{
	mappings_write_devices(analysis, writer, &(struct table_wish){0});
}

static void tell_mappers(struct writer *writer)
{
	mappings_write_mappers(analysis, writer, &(struct table_wish){0});
}

static void tell_old(struct writer *writer)
{
	mappings_write_old(analysis, writer, &(struct table_wish){0});
}

static void expect(char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("'%s' is not in:\n%s", words, text);
}

static void a_fault_names_who_unmapped_its_address(void **state)
{
	struct event fault = fault_at(2000, 1, 0x9000, 0);
	struct event owner = owner_at(2000, 1, 0, OWNER_UNMAPPED);
	struct iommu_faults_counts counts;
	char *text;

	push(&fault);
	push(&owner);
	iommu_faults_counts(analysis->iommu_faults, &counts);
	assert_int_equal(counts.seen, 1);
	assert_int_equal(counts.owned, 1);
	text = told(tell_faults, OUTPUT_CSV);
	expect(text, "2000000000,0000:00:02.0,nic,write,0x9000,,page not writable,5,console,"
		     "unmapped,mapper,11,0000:00:02.0,0x8000,8192,,1500000000,unmapper,12,"
		     "dma_map+0x1 < nic_fill+0x20");
	free(text);
	text = told(tell_findings, OUTPUT_TEXT);
	expect(text, "1 unrecoverable IOMMU faults decoded, 1 of them with an owner.");
	expect(text, "8K that mapper (pid 11) had mapped and unmapper (pid 12)");
	expect(text, "Mapped by dma_map+0x1 < nic_fill+0x20.");
	free(text);
}

/* A tracepoint has no code of a reason: what was wanted of the page tells it. */
static void a_tracepoint_s_fault_is_of_what_was_wanted(void **state)
{
	struct event fault = fault_at(2000, 1, 0x9000, 0);
	char *text;

	fault.kind = EVENT_IOMMU_IO_PAGE_FAULT;
	push(&fault);
	fault.time_ns++;
	fault.flags = EVENT_READ;
	push(&fault);
	text = told(tell_faults, OUTPUT_CSV);
	expect(text, "\n2000000000,0000:00:02.0,nic,write,0x9000,,page not writable,,tracepoint,");
	expect(text, "\n2000000001,0000:00:02.0,nic,read,0x9000,,page not readable,,tracepoint,");
	free(text);
}

static void the_first_owner_of_a_fault_stays(void **state)
{
	struct event fault = fault_at(2000, 1, 0x9000, 0);
	struct event first = owner_at(2000, 1, 0, OWNER_MAPPED);
	struct event second = owner_at(2001, 2, 0, OWNER_UNMAPPED);
	struct iommu_faults_counts counts;
	char *text;

	push(&fault);
	push(&first);
	push(&second);
	iommu_faults_counts(analysis->iommu_faults, &counts);
	assert_int_equal(counts.owned, 1);
	text = told(tell_faults, OUTPUT_CSV);
	expect(text, "console,mapped,mapper,11,0000:00:02.0");
	free(text);
	text = told(tell_fault_devices, OUTPUT_CSV);
	expect(text, "\n0000:00:02.0,nic,1,1,2000000000,");
	free(text);
}

/* A sentence has room for seven of these: the eighth begins within it and is left out whole. */
static void a_long_stack_is_cut_between_frames(void **state)
{
	struct event fault = fault_at(2000, 1, 0x9000, 0);
	struct event owner = owner_at(2000, 1, 0, OWNER_UNMAPPED);
	struct stack_info stack = {.id = 6, .depth = 9};
	char *text, *mapped, *cut;

	for (int i = 1; i <= 9; i++)
		sprintf(stack.text + strlen(stack.text), "%sa_function_%d+0x1234",
			i > 1 ? "\n" : "", i);
	stream.ops->stack(stream.self, &stack);
	owner.group = stack.id;
	push(&fault);
	push(&owner);
	text = told(tell_findings, OUTPUT_TEXT);
	mapped = strstr(text, "Mapped by ");
	assert_non_null(mapped);
	for (char *at = mapped; *at; at++)
		if (*at == '\n')
			*at = ' ';
	cut = strstr(mapped, " ....");
	assert_non_null(cut);
	assert_memory_equal(cut - strlen("a_function_7+0x1234"), "a_function_7+0x1234",
			    strlen("a_function_7+0x1234"));
	free(text);
}

static void an_owner_belongs_to_the_fault_of_its_cpu(void **state)
{
	struct event first = fault_at(2000, 1, 0x9000, 0), second = fault_at(2000, 2, 0x9000, 1);
	struct event owner_of_first = owner_at(2000, 1, 0, OWNER_MAPPED);
	struct event owner_of_second = owner_at(2001, 2, 1, OWNER_UNMAPPED);
	char *text;

	push(&first);
	push(&second);
	push(&owner_of_first);
	push(&owner_of_second);
	/* No fault without an owner is left on that CPU. */
	push(&owner_of_second);
	text = told(tell_faults, OUTPUT_CSV);
	expect(text, "console,mapped,mapper,11,0000:00:02.0");
	expect(text, "console,unmapped,mapper,11,container 7");
	free(text);
}

static void the_unseen_are_counted_and_said_to_be_a_floor(void **state)
{
	struct event fault = fault_at(2000, 1, 0x9000, 0);
	struct event unseen = {.time_ns = 2001 * MS, .kind = EVENT_IOMMU_UNSEEN, .value = 30};
	struct iommu_faults_counts counts;
	char *text;

	push(&fault);
	push(&unseen);
	iommu_faults_counts(analysis->iommu_faults, &counts);
	assert_int_equal(counts.unseen, 30);
	assert_false(counts.at_least);
	unseen.value = 1;
	unseen.code = UNSEEN_AT_LEAST;
	push(&unseen);
	text = told(tell_findings, OUTPUT_TEXT);
	expect(text, "at least 31 more");
	expect(text, "The address has no known owner.");
	free(text);
}

static void only_the_newest_faults_are_kept_but_all_are_counted(void **state)
{
	struct iommu_faults_counts counts;
	size_t lines = 0;
	char *text;

	for (__u32 i = 0; i < IOMMU_FAULTS_KEPT + 7; i++) {
		struct event fault = fault_at(2000 + i, 1, 4096ull * i, 0);

		push(&fault);
	}
	iommu_faults_counts(analysis->iommu_faults, &counts);
	assert_int_equal(counts.seen, IOMMU_FAULTS_KEPT + 7);
	text = told(tell_faults, OUTPUT_CSV);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, IOMMU_FAULTS_KEPT + 1);
	expect(text, "\n2007000000,");
	free(text);
}

/* Rows from this time on, and a sentence on those before. */
static void expect_newest(size_t limit, __u64 first_ms, const char *before)
{
	char *text, first[32];
	size_t lines = 0;

	wanted_faults = limit;
	text = told(tell_faults, OUTPUT_CSV);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 1 + limit);
	snprintf(first, sizeof(first), "stack\n%llu,", first_ms * MS);
	expect(text, first);
	free(text);
	text = told(tell_faults, OUTPUT_TEXT);
	if (before)
		expect(text, before);
	else
		assert_null(strstr(text, "before."));
	free(text);
	wanted_faults = 0;
}

static void of_a_limit_the_newest_are_shown(void **state)
{
	for (__u32 i = 0; i < 5; i++) {
		struct event fault = fault_at(2000 + i, 1, 4096ull * i, 0);

		push(&fault);
	}
	expect_newest(1, 2004, "... and 4 before.");
	expect_newest(3, 2002, "... and 2 before.");
	expect_newest(4, 2001, "... and 1 before.");
	expect_newest(5, 2000, NULL);
}

static void gauge(__u64 window, __u8 code, __u64 count, __u64 bytes)
{
	struct aggregate_row row = {
		.key = {.window = window, .device = 1, .kind = EVENT_DMA_LIVE, .code = code},
		.counts = {.count = count, .bytes = bytes}};
	struct aggregate_frame frame = {.window = window, .row_count = 1, .rows = &row};

	assert_int_equal(stream.ops->aggregate(stream.self, &frame), 0);
}

static void gauges_do_not_add_up_but_strays_do(void **state)
{
	struct mappings_device device;
	char *text;

	gauge(10, LIVE_ALL, 7, 7 * 4096);
	gauge(11, LIVE_ALL, 3, 3 * 4096);
	gauge(10, LIVE_PAGES, 2, 4 << 20);
	gauge(10, LIVE_REFUSED, 1, 100);
	gauge(11, LIVE_REFUSED, 2, 200);
	gauge(11, LIVE_UNKNOWN, 4, 400);
	device = mappings_device(analysis->mappings, 1);
	assert_int_equal(device.live, 3);
	assert_int_equal(device.live_bytes, 3 * 4096);
	assert_int_equal(device.peak_bytes, 7 * 4096);
	assert_int_equal(device.pages, 2);
	assert_int_equal(device.refused, 3);
	assert_int_equal(device.refused_bytes, 300);
	assert_int_equal(device.unknown, 4);
	/* Counts per second know nothing of gauges. */
	assert_int_equal(counts_of_kind(analysis->counts, EVENT_DMA_LIVE), 0);
	text = told(tell_devices, OUTPUT_CSV);
	expect(text, "0000:00:02.0,nic,0,0,");
	free(text);
	text = told(tell_findings, OUTPUT_TEXT);
	expect(text, "3 mappings (300) found no room in the table");
	expect(text, "4 unmaps (400) were of mappings made before the recording");
	free(text);
	gauge(12, LIVE_ALL, 0, 0);
	assert_int_equal(mappings_device(analysis->mappings, 1).live, 0);
}

static void snapshot(__u8 code, __u32 mappings, __u64 bytes)
{
	struct event event = {.time_ns = 5000 * MS,
			      .device = 1,
			      .pid = 11,
			      .group = 5,
			      .code = code,
			      .instance = mappings,
			      .length = bytes,
			      .address = 0x7000,
			      .value = 2000 * MS,
			      .kind = EVENT_DMA_LIVE};

	push(&event);
}

static void snapshot_ends(void)
{
	struct event event = {.time_ns = 5000 * MS, .kind = EVENT_DMA_LIVE, .flags = EVENT_LAST};

	push(&event);
}

static void the_last_whole_snapshot_names_mappers_and_leaks(void **state)
{
	char *text, process[16];

	snapshot(LIVE_ALL, 99, 99 * 4096);
	snapshot_ends();
	snapshot(LIVE_ALL, 20, 20 * 4096);
	snapshot(LIVE_OLD, 13, 13 * 4096);
	snapshot_ends();
	/* The recording ended within this one. */
	snapshot(LIVE_ALL, 1, 4096);
	text = told(tell_mappers, OUTPUT_CSV);
	expect(text, "0000:00:02.0,nic,mapper,11,20,81920,3000000000,0x7000,"
		     "dma_map+0x1 < nic_fill+0x20");
	assert_null(strstr(text, ",99,"));
	free(text);
	text = told(tell_old, OUTPUT_CSV);
	expect(text, "0000:00:02.0,nic,mapper,11,13,53248,3000000000,0x7000,");
	free(text);
	assert_int_equal(mappings_oldest(analysis->mappings, process)->instance, 13);
	assert_string_equal(process, "mapper");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_fault_names_who_unmapped_its_address, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_tracepoint_s_fault_is_of_what_was_wanted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_first_owner_of_a_fault_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_limit_the_newest_are_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_stack_is_cut_between_frames, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_owner_belongs_to_the_fault_of_its_cpu, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_unseen_are_counted_and_said_to_be_a_floor,
						setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_newest_faults_are_kept_but_all_are_counted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(gauges_do_not_add_up_but_strays_do, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_last_whole_snapshot_names_mappers_and_leaks,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
