// SPDX-License-Identifier: GPL-2.0
/* User space's side of the table of mappings, on a table of ours. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/mappings.h"
#include "lib/capture/owners.h"
#include "lib/capture/symbols.h"

#define MIB (1ull << 20)

static struct mapping_set *table;
static struct owners *owners;
static struct windows *windows;

struct told {
	struct event events[128];
	size_t count;
	struct aggregate_row rows[64];
	size_t row_count;
	struct process_info processes[8];
	size_t process_count;
};

static struct told told;

static int setup(void **state)
{
	struct owners_config config = {.old_ns = 60 * SECOND, .stacks = -1, .names = -1};

	table = calloc(MAPPING_SETS, sizeof(*table));
	assert_non_null(table);
	config.table = table;
	memset(&told, 0, sizeof(told));
	assert_int_equal(owners_create(&owners, &config), 0);
	assert_int_equal(windows_create(&windows, NULL, NULL, 100 * SECOND), 0);
	return 0;
}

static int teardown(void **state)
{
	windows_destroy(windows);
	owners_destroy(owners);
	free(table);
	return 0;
}

static void enter(__u32 device, __u64 address, __u64 length, __u32 pid, __u64 mapped_ns)
{
	struct mapping_hold hold = {0};
	struct mapping_place place;

	mapping_place(&place, device, address, length);
	assert_true(mapping_take(&hold, &table[place.sets[0]], place.tag, mapped_ns));
	*mapping_held(&hold) = (struct mapping){.address = address,
						.length = length,
						.bytes = length,
						.mapped_ns = mapped_ns,
						.device = device,
						.pid = pid,
						.comm = "mapper"};
	mapping_settle(&hold, place.tag, MAPPING_LIVE, mapped_ns);
}

static void leave(__u32 device, __u64 address, __u64 length)
{
	struct mapping_hold hold = {0};
	struct mapping_place place;

	mapping_place(&place, device, address, length);
	assert_true(mapping_find(&hold, &table[place.sets[0]], place.tag, device, address, length,
				 SECOND));
	mapping_settle(&hold, place.tag, MAPPING_GONE, SECOND);
}

static int take_event(void *self, const struct event *event)
{
	(void)self;
	assert_true(told.count < 128);
	told.events[told.count++] = *event;
	return 0;
}

static int take_frame(void *self, const struct aggregate_frame *frame)
{
	(void)self;
	assert_true(frame->row_count <= 64);
	memcpy(told.rows, frame->rows, frame->row_count * sizeof(told.rows[0]));
	told.row_count = frame->row_count;
	return 0;
}

static int take_process(void *self, const struct process_info *process)
{
	(void)self;
	told.processes[told.process_count++] = *process;
	return 0;
}

static const struct stream_ops ops = {.aggregate = take_frame, .process = take_process};
static const struct stream sink = {.ops = &ops};

static struct aggregate_counts gauge(__u32 device, __u8 code)
{
	for (size_t i = 0; i < told.row_count; i++)
		if (told.rows[i].key.device == device && told.rows[i].key.code == code)
			return told.rows[i].counts;
	return (struct aggregate_counts){.count = UINT64_MAX};
}

static void what_lives_is_a_gauge_of_its_window(void **state)
{
	enter(1, 0, 4096, 11, 99 * SECOND);
	enter(1, 4096, 4096, 11, 99 * SECOND);
	enter(1, 5 * MIB, 2 * MIB, 11, 10 * SECOND);
	enter(2, 0, 8192, 12, 99 * SECOND);
	assert_int_equal(owners_measure(owners, windows, 100 * SECOND), 0);
	/* Measured again within the same second: the newest counts. */
	leave(1, 4096, 4096);
	assert_int_equal(owners_measure(owners, windows, 100 * SECOND + 5), 0);
	assert_int_equal(windows_close(windows, 102 * SECOND, sink), 0);
	assert_int_equal(gauge(1, LIVE_ALL).count, 2);
	assert_int_equal(gauge(1, LIVE_ALL).bytes, 4096 + 2 * MIB);
	assert_int_equal(gauge(1, LIVE_OLD).count, 1);
	assert_int_equal(gauge(1, LIVE_OLD).bytes, 2 * MIB);
	/* The 2 MiB begin in the middle of a page. */
	assert_int_equal(gauge(1, LIVE_PAGES).count, 3);
	assert_int_equal(gauge(2, LIVE_ALL).count, 1);
	assert_int_equal(gauge(2, LIVE_OLD).count, UINT64_MAX);
}

static void nothing_left_is_told_once(void **state)
{
	enter(1, 0, 4096, 11, 99 * SECOND);
	assert_int_equal(owners_measure(owners, windows, 100 * SECOND), 0);
	leave(1, 0, 4096);
	assert_int_equal(windows_close(windows, 101 * SECOND + SECOND / 2, sink), 0);
	assert_int_equal(gauge(1, LIVE_ALL).count, 1);
	assert_int_equal(owners_measure(owners, windows, 101 * SECOND + SECOND / 2), 0);
	assert_int_equal(windows_close(windows, 102 * SECOND + SECOND / 2, sink), 0);
	assert_int_equal(gauge(1, LIVE_ALL).count, 0);
	told.row_count = 0;
	assert_int_equal(owners_measure(owners, windows, 102 * SECOND + SECOND / 2), 0);
	assert_int_equal(windows_close(windows, 103 * SECOND + SECOND / 2, sink), 0);
	assert_int_equal(told.row_count, 0);
}

static void a_snapshot_groups_by_who_mapped(void **state)
{
	for (__u32 i = 0; i < 7; i++)
		enter(1, i * 4096ull, 4096, 11, (90 + i) * SECOND);
	for (__u32 i = 0; i < 3; i++)
		enter(1, MIB + i * 65536ull, 65536, 12, (5 + i) * SECOND);
	assert_int_equal(owners_measure(owners, windows, 100 * SECOND), 0);
	assert_int_equal(owners_snapshot(owners, 100 * SECOND, take_event, NULL), 0);
	assert_int_equal(told.count, 4);
	assert_int_equal(told.events[0].pid, 12);
	assert_int_equal(told.events[0].length, 3 * 65536);
	assert_int_equal(told.events[0].instance, 3);
	assert_int_equal(told.events[0].value, 5 * SECOND);
	assert_int_equal(told.events[0].address, MIB);
	assert_int_equal(told.events[1].pid, 11);
	assert_int_equal(told.events[1].instance, 7);
	assert_int_equal(told.events[2].code, LIVE_OLD);
	assert_int_equal(told.events[2].pid, 12);
	assert_int_equal(told.events[3].flags, EVENT_LAST);
	assert_false(owners_snapshot_due(owners, 109 * SECOND));
	assert_true(owners_snapshot_due(owners, 110 * SECOND));
}

static void the_greatest_groups_are_told(void **state)
{
	for (__u32 i = 0; i < 500; i++)
		enter(1, i * MIB, 4096 * (1 + i % 3), 1000 + i, 99 * SECOND);
	enter(1, 600 * MIB, 512 * MIB, 7, 99 * SECOND);
	assert_int_equal(owners_measure(owners, windows, 100 * SECOND), 0);
	assert_int_equal(owners_snapshot(owners, 100 * SECOND, take_event, NULL), 0);
	/* The rest is only in the gauges. */
	assert_int_equal(told.count, 65);
	assert_int_equal(told.events[0].pid, 7);
	for (size_t i = 1; i < 64; i++)
		assert_true(told.events[i].length <= told.events[i - 1].length);
	assert_int_equal(windows_close(windows, 102 * SECOND, sink), 0);
	assert_int_equal(gauge(1, LIVE_ALL).count, 501);
}

static void processes_are_named_once_and_anew_when_renamed(void **state)
{
	struct event event = {.kind = EVENT_DMA_LIVE, .pid = 11};

	enter(1, 0, 4096, 11, 99 * SECOND);
	assert_int_equal(owners_measure(owners, windows, 100 * SECOND), 0);
	assert_int_equal(owners_report(owners, &event, 1, sink), 0);
	assert_int_equal(owners_report(owners, &event, 1, sink), 0);
	assert_int_equal(told.process_count, 1);
	assert_string_equal(told.processes[0].comm, "mapper");
	/* What owns nothing names nobody. */
	event.kind = EVENT_CPU_FAULT;
	event.pid = 12;
	assert_int_equal(owners_report(owners, &event, 1, sink), 0);
	assert_int_equal(told.process_count, 1);
}

static void addresses_become_symbols(void **state)
{
	char path[] = "/tmp/faultline-symbols-XXXXXX", name[64];
	struct symbols *symbols;
	FILE *file = fdopen(mkstemp(path), "w");

	fputs("ffffffff81000200 T second\nffffffff81000000 T first\nffffffff81000000 t alias\n"
	      "ffffffff81000100 D data\nffffffffc0000000 t fill\t[nic]\n0000000000000000 T hidden\n"
	      "broken\n",
	      file);
	fclose(file);
	symbols = symbols_create(path);
	symbols_name(symbols, 0xffffffff81000010, name, sizeof(name));
	assert_string_equal(name, "first+0x10");
	symbols_name(symbols, 0xffffffff81000200, name, sizeof(name));
	assert_string_equal(name, "second+0x0");
	symbols_name(symbols, 0xffffffffc0000007, name, sizeof(name));
	assert_string_equal(name, "fill+0x7 [nic]");
	symbols_name(symbols, 0xffffffff80ffffff, name, sizeof(name));
	assert_string_equal(name, "0xffffffff80ffffff");
	symbols_name(symbols, 0xfffffffff0000000, name, sizeof(name));
	assert_string_equal(name, "0xfffffffff0000000");
	symbols_destroy(symbols);
	unlink(path);
	symbols = symbols_create("/nonexistent");
	symbols_name(symbols, 0xffffffff81000010, name, sizeof(name));
	assert_string_equal(name, "0xffffffff81000010");
	symbols_destroy(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_lives_is_a_gauge_of_its_window, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_left_is_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_snapshot_groups_by_who_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(the_greatest_groups_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(processes_are_named_once_and_anew_when_renamed,
						setup, teardown),
		cmocka_unit_test(addresses_become_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
