// SPDX-License-Identifier: GPL-2.0
/*
 * The views of `faultline top` that are tables: the numbers are those of `report` on the same stream,
 * rates and windows are what the events say, and everything is drawable in any size.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/guest_pins.h"
#include "lib/analyze/lent_devices.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/odp.h"
#include "injectors/emu/verbs/verbs_layout.h"
#include "lib/analyze/queue_pairs.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/vfio.h"
#include "tools/top/collect.h"
#include "tests/unit/amount.h"
#include "tests/unit/screen_words.h"
#include "tools/top/draw.h"

/* Of the sizes of a screen in rows; of columns each. */
#define EVERY (int)amount(1, 3)

#define START (77 * SECOND)
#define PAGE  4096
#define TEXT  (400 * 130)

enum { CARD = 1, NIC, GUEST, OTHER, RXE, NET, LENT, PINNED };

struct fixture {
	struct analysis *analysis;
	struct stream to;
	struct collect_filter filter;
	struct collector *collector;
	struct top_model model;
	struct top_detail detail;
	struct top_view view;
	struct canvas canvas;
	struct layout layout;
	__u32 order[64];
	__u64 ids[64];
	size_t count;
	__u32 instance;
	char text[TEXT];
};

static void add_device(struct fixture *f, __u32 handle, __u32 kind, const char *name, __u32 pid)
{
	struct device_info device = {.handle = handle, .kind = kind, .pid = pid, .comm = "qemu"};

	snprintf(device.name, sizeof(device.name), "%s", name);
	snprintf(device.model, sizeof(device.model), strchr(name, '@') ? "nvme/lent" : "model");
	f->to.ops->device(f->to.self, &device);
}

static int setup(void **state)
{
	const struct host_info host = {.hostname = "moon", .start_ns = START};
	const struct analysis_config config = {.windowed = true};
	const struct process_info process = {.pid = 11, .comm = "map\033[31mper"};
	const struct stack_info stack = {.id = 5, .depth = 1, .text = "nic_fill+0x20"};
	struct fixture *f = calloc(1, sizeof(*f));

	if (analysis_create(&f->analysis, &config) ||
	    collector_create(&f->collector, f->analysis, &f->filter, 3 * SECOND))
		return -1;
	f->to = analysis_stream(f->analysis);
	f->to.ops->host(f->to.self, &host);
	f->to.ops->process(f->to.self, &process);
	f->to.ops->stack(f->to.self, &stack);
	add_device(f, CARD, DEVICE_PCI, "0000:00:02.0", 0);
	add_device(f, NIC, DEVICE_PCI, "0000:00:\033[1m3.0", 0);
	add_device(f, GUEST, DEVICE_VFIO_CONTAINER, "vfio/4001.1", 4001);
	add_device(f, OTHER, DEVICE_VFIO_CONTAINER, "vfio/4002.2", 4002);
	add_device(f, RXE, DEVICE_IB, "rxe0", 0);
	add_device(f, NET, DEVICE_EMULATED, "vm/net", 4003);
	add_device(f, LENT, DEVICE_EMULATED, "left/disk@right", 4004);
	add_device(f, PINNED, DEVICE_EMULATED, "left/verbs", 4005);
	top_view_init(&f->view);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	collector_destroy(f->collector);
	analysis_destroy(f->analysis);
	top_model_free(&f->model);
	top_detail_free(&f->detail);
	canvas_free(&f->canvas);
	free(f);
	return 0;
}

static void push(struct fixture *f, struct event event)
{
	assert_int_equal(f->to.ops->events(f->to.self, &event, 1), 0);
}

static void refused_dma(struct fixture *f, __u64 time_ns, __u32 device, bool owned)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = device,
			       .address = 0x8000,
			       .pasid = PASID_NONE,
			       .kind = EVENT_IOMMU_FAULT,
			       .code = 5,
			       .value = SOURCE_CONSOLE,
			       .flags = EVENT_WRITE});
	if (owned)
		push(f, (struct event){.time_ns = time_ns + 1,
				       .device = device,
				       .address = 0x8000,
				       .length = PAGE,
				       .pid = 11,
				       .group = 5,
				       .value = START,
				       .kind = EVENT_FAULT_OWNER,
				       .code = OWNER_MAPPED});
}

static void vfio_map(struct fixture *f, __u64 time_ns, __u32 container, __u64 took_ns, __u8 error)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = container,
			       .kind = EVENT_VFIO_MAP,
			       .queue = QUEUE_NONE,
			       .length = PAGE,
			       .value = took_ns,
			       .code = error});
}

static void memlock(struct fixture *f, __u32 container, __u64 used, __u64 limit)
{
	push(f, (struct event){.time_ns = START + 1,
			       .device = container,
			       .kind = EVENT_VFIO_LIMIT,
			       .code = LIMIT_MEMLOCK,
			       .value = used,
			       .length = limit});
}

static struct event odp_stage(const struct fixture *f, __u16 kind, __u64 time_ns)
{
	return (struct event){.time_ns = time_ns,
			      .kind = kind,
			      .device = RXE,
			      .pasid = PASID_NONE,
			      .group = 0x77,
			      .instance = f->instance,
			      .address = 0x7f0000000000,
			      .length = PAGE,
			      .queue = QUEUE_NONE,
			      .flags = kind == EVENT_FAULT_HANDLER ? EVENT_GROUP : 0};
}

static void odp_fault(struct fixture *f, __u64 time_ns, __u64 took_ns)
{
	struct event mapped = odp_stage(f, EVENT_FAULT_MAPPED, time_ns + took_ns);

	push(f, odp_stage(f, EVENT_FAULT_HANDLER, time_ns));
	push(f, odp_stage(f, EVENT_FAULT_RESOLVED, time_ns + took_ns - 1));
	mapped.flags |= EVENT_LAST;
	mapped.value = 1ull << 32 | 0x77;
	push(f, mapped);
	f->instance++;
}

static void dma_maps(struct fixture *f, __u64 second, __u32 device, __u64 maps, __u64 live)
{
	const struct aggregate_row rows[] = {
		{.key = {.device = device, .kind = EVENT_DMA_MAP, .window = second},
		 .counts = {.count = maps, .bytes = maps * PAGE}},
		{.key = {.device = device,
			 .kind = EVENT_DMA_LIVE,
			 .code = LIVE_ALL,
			 .window = second},
		 .counts = {.count = live, .bytes = live * PAGE}},
	};
	const struct aggregate_frame frame = {.window = second, .row_count = 2, .rows = rows};

	assert_int_equal(f->to.ops->aggregate(f->to.self, &frame), 0);
}

static void ring_state(struct fixture *f, __u64 time_ns, __u16 queue, __u64 frames, __u32 held)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = NET,
			       .queue = queue,
			       .kind = EVENT_RING_STATE,
			       .code = RING_RX,
			       .value = frames,
			       .length = frames * 100,
			       .address = (__u64)held << 32 | 61});
}

static void lose_frames(struct fixture *f, __u64 time_ns, __u16 queue, __u64 frames)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = NET,
			       .queue = queue,
			       .kind = EVENT_FRAMES_LOST,
			       .code = LOSS_FAULT,
			       .value = time_ns,
			       .length = frames << 32});
}

/* A queue pair's counters; numbers of RNR NAKs, packets and operations. */
static void pair_state(struct fixture *f, __u64 time_ns, __u64 naks, __u32 dropped,
		       __u32 operations)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = NET,
			       .tid = 17,
			       .queue = QUEUE_NONE,
			       .kind = EVENT_QP_STATE,
			       .code = VERBS_RTS,
			       .address = naks << 32,
			       .instance = dropped,
			       .pasid = operations,
			       .length = operations * 97ull});
}

static void lent_state(struct fixture *f, __u64 time_ns, __u64 ios)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = LENT,
			       .kind = EVENT_CLIENT_STATE,
			       .value = ios,
			       .length = ios * 4096});
}

static void pinned_state(struct fixture *f, __u64 time_ns, __u64 bytes)
{
	push(f, (struct event){.time_ns = time_ns,
			       .device = PINNED,
			       .kind = EVENT_PINNED,
			       .code = PIN_DRIVER,
			       .length = bytes,
			       .value = bytes});
}

static void look(struct fixture *f, __u64 now_ns)
{
	/* Without more events, time hands over what waits for late ones. */
	assert_int_equal(f->to.ops->tick(f->to.self, now_ns), 0);
	assert_int_equal(collect_observe(f->collector, now_ns, SECOND, false), 0);
	f->model.view = f->view.view;
	f->model.span = f->view.span;
	assert_int_equal(collect_model(f->collector, &f->model), 0);
}

/* What everything has: a little of all kinds, in the first second. */
static void fill(struct fixture *f)
{
	for (int i = 0; i < 7; i++)
		refused_dma(f, START + 10 * MS + (__u64)i * MS, i < 5 ? CARD : NIC, i == 4);
	for (int i = 0; i < 13; i++)
		vfio_map(f, START + 30 * MS + (__u64)i * MS, GUEST, 1000 * (__u64)(i + 1), 0);
	vfio_map(f, START + 50 * MS, OTHER, 500, ENOMEM);
	memlock(f, GUEST, 97 * PAGE, 100 * PAGE);
	memlock(f, OTHER, 60 * PAGE, 100 * PAGE);
	for (int i = 0; i < 11; i++)
		odp_fault(f, START + 60 * MS + (__u64)i * 3 * MS, (__u64)(i + 1) * 10000);
	dma_maps(f, START / SECOND, NIC, 101, 53);
	dma_maps(f, START / SECOND, CARD, 3, 0);
	ring_state(f, START + 100 * MS, 3, 13, 2);
	lose_frames(f, START + 150 * MS, 3, 29);
	ring_state(f, START + 200 * MS, 3, 110, 7);
	pair_state(f, START + 210 * MS, 3, 2, 5);
	pair_state(f, START + 310 * MS, 22, 13, 118);
	lent_state(f, START + 320 * MS, 101);
	pinned_state(f, START + 330 * MS, 13 * PAGE);
}

static void show(struct fixture *f, unsigned int view, enum latency_span span)
{
	const struct view_order by = {f->view.sort, f->view.reverse, f->view.filter, &f->filter};

	if (f->view.view != view)
		top_view_show(&f->view, view);
	f->view.span = span;
	f->model.view = view;
	f->model.span = span;
	assert_int_equal(collect_table(f->collector, &f->model), 0);
	if (view == VIEW_FAULTS) {
		f->count = top_order(&f->model, SORT_RATE, false, "", f->order);
		return;
	}
	f->count = view_order(views[view], &f->model.table,
			      &(struct view_order){f->view.sort, by.reverse, by.filter, by.shown},
			      f->order);
	for (size_t i = 0; i < f->count; i++)
		f->ids[i] = f->model.table.ids[f->order[i]];
}

static union cell cell(const struct fixture *f, size_t shown, const char *name)
{
	const struct rows *rows = &f->model.table.rows;
	size_t c = rows_column(rows, name);

	assert_true(shown < f->count && c < rows->table.column_count);
	return rows_row(rows, f->order[shown])[c];
}

static double rate(const struct fixture *f, size_t shown, const char *name)
{
	const struct view_column column = {.column = name, .value = VIEW_RATE};
	enum column_type type;

	return view_cell(&f->model.table, f->order[shown], &column, &type).real;
}

/* Registry: whatever is named exists, ranks are an order, keys are unlike each other. */
static void views_are_well_formed(void **state)
{
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	for (unsigned int v = 0; v < VIEWS; v++) {
		const struct view *view = views[v];
		size_t count = view_column_count(view);

		assert_int_equal(view_from(view->name), v);
		if (!view->write)
			continue;
		show(f, v, LATENCY_SINCE_START);
		assert_true(f->count > 0);
		assert_true(view_sort_from(view, view->sort) < count);
		for (size_t i = 0; i < count; i++) {
			const struct view_column *column = &view->columns[i];
			bool ranked = false;

			if (rows_column(&f->model.table.rows, column->column) ==
			    f->model.table.rows.table.column_count)
				fail_msg("view %s: table has no column %s", view->name,
					 column->column);
			assert_true(column->least >= (int)strlen(column->head));
			for (size_t k = 0; k < count; k++)
				ranked |= view->columns[k].rank == (int)i;
			if (!ranked)
				fail_msg("view %s: no column has rank %zu", view->name, i);
		}
	}
	assert_int_equal(view_from("nonsense"), VIEWS);
}

typedef void (*report_table)(const struct fixture *f, struct writer *writer);

static void report_iommu(const struct fixture *f, struct writer *w)
{
	iommu_faults_write_devices(f->analysis, w, &(struct table_wish){0});
}

static void report_dma(const struct fixture *f, struct writer *w)
{
	mappings_write_devices(f->analysis, w, &(struct table_wish){0});
}

static void report_vfio(const struct fixture *f, struct writer *w)
{
	vfio_write(f->analysis, w, &(struct table_wish){0});
}

static void report_rdma(const struct fixture *f, struct writer *w)
{
	odp_write(f->analysis, w, &(struct table_wish){0});
}

static void report_nic(const struct fixture *f, struct writer *w)
{
	rings_write(f->analysis, w, &(struct table_wish){0});
}

static void report_qp(const struct fixture *f, struct writer *w)
{
	queue_pairs_write(f->analysis, w, &(struct table_wish){0});
}

static void report_lent(const struct fixture *f, struct writer *w)
{
	lent_devices_write(f->analysis, w, &(struct table_wish){0});
}

static void report_pins(const struct fixture *f, struct writer *w)
{
	guest_pins_write(f->analysis, w, &(struct table_wish){0});
}

/* Every cell of every row is what the writer of `report` gives; that was counted before it compares. */
static void numbers_are_those_of_the_report(void **state)
{
	static const report_table tables[VIEWS] = {
		[VIEW_IOMMU] = report_iommu, [VIEW_DMA] = report_dma,	[VIEW_VFIO] = report_vfio,
		[VIEW_RDMA] = report_rdma,   [VIEW_NIC] = report_nic,	[VIEW_QP] = report_qp,
		[VIEW_LENT] = report_lent,   [VIEW_PINS] = report_pins,
	};
	static const size_t expected[VIEWS] = {
		[VIEW_IOMMU] = 2, [VIEW_DMA] = 2, [VIEW_VFIO] = 2, [VIEW_RDMA] = 2,
		[VIEW_NIC] = 2,	  [VIEW_QP] = 1,  [VIEW_LENT] = 1, [VIEW_PINS] = 1};
	struct fixture *f = *state;
	struct rows rows = {0};

	fill(f);
	look(f, START + SECOND);
	for (unsigned int v = VIEW_IOMMU; v < VIEWS; v++) {
		struct writer *writer;

		assert_int_equal(rows_writer(&writer, &rows), 0);
		tables[v](f, writer);
		assert_int_equal(writer_close(writer), 0);
		show(f, v, LATENCY_SINCE_START);
		assert_int_equal(rows.count, expected[v]);
		assert_int_equal(f->model.table.rows.count, rows.count);
		for (size_t row = 0; row < rows.count; row++)
			for (size_t c = 0; c < rows.table.column_count; c++) {
				union cell a = rows_row(&rows, row)[c];
				union cell b = rows_row(&f->model.table.rows, row)[c];

				if (rows.columns[c].type == COLUMN_TEXT)
					assert_string_equal(a.text, b.text);
				else
					assert_memory_equal(&a, &b, sizeof(a));
			}
	}
	rows_free(&rows);
}

static void numbers_are_those_of_the_events(void **state)
{
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	show(f, VIEW_IOMMU, LATENCY_SINCE_START);
	assert_string_equal(cell(f, 0, "device").text, "0000:00:02.0");
	assert_int_equal(cell(f, 0, "faults").count, 5);
	assert_int_equal(cell(f, 0, "owned").count, 1);
	assert_string_equal(cell(f, 0, "owner").text, "mapped");
	assert_int_equal(cell(f, 0, "pid").count, 11);
	assert_string_equal(cell(f, 0, "stack").text, "nic_fill+0x20");
	assert_int_equal(cell(f, 1, "faults").count, 2);
	assert_string_equal(cell(f, 1, "owner").text, "unknown");
	show(f, VIEW_DMA, LATENCY_SINCE_START);
	assert_int_equal(cell(f, 0, "live").count, 53);
	assert_int_equal(cell(f, 0, "maps").count, 101);
	show(f, VIEW_VFIO, LATENCY_SINCE_START);
	assert_string_equal(cell(f, 0, "container").text, "vfio/4001.1");
	assert_int_equal(cell(f, 0, "maps").count, 13);
	assert_int_equal(cell(f, 0, "map_max").count, 13000);
	assert_int_equal(cell(f, 1, "failed").count, 1);
	show(f, VIEW_RDMA, LATENCY_SINCE_START);
	assert_int_equal(cell(f, 0, "faults").count, 11);
	assert_int_equal(cell(f, 0, "max").count, 110000);
}

/* Intervals are uneven; the rates times their intervals are the total, whoever came when. */
static void rates_add_up_to_the_total(void **state)
{
	static const __u64 ends_ms[] = {1003, 1997, 3500, 4001};
	struct fixture *f = *state;
	__u64 before = START, made = 0;
	double sum = 0;

	for (size_t i = 0; i < sizeof(ends_ms) / sizeof(ends_ms[0]); i++) {
		__u64 now = START + ends_ms[i] * MS;

		/* Another container comes first in the second interval: rows move. */
		if (i == 1)
			vfio_map(f, now - MS, CARD, 5, 0);
		for (size_t k = 0; k < 3 + 4 * i; k++, made++)
			vfio_map(f, now - MS, OTHER, 5, 0);
		look(f, now);
		show(f, VIEW_VFIO, LATENCY_SINCE_START);
		for (size_t row = 0; row < f->count; row++)
			if (!strcmp(cell(f, row, "container").text, "vfio/4002.2"))
				sum += rate(f, row, "maps") * (double)(now - before) / 1e9;
		before = now;
	}
	assert_int_equal(made, 3 + 7 + 11 + 15);
	assert_true(fabs(sum - (double)made) < 0.001);
}

/* The row of one that had its name alone is another's from then on: what it had done is no rate of that second. */
static void a_row_that_is_renamed_has_no_false_rate(void **state)
{
	struct fixture *f = *state;
	unsigned int renamed = 0, told = 0;

	for (unsigned int second = 0; second < 5; second++) {
		if (!second || second == 2)
			add_device(f, 40 + second, DEVICE_PCI, "0000:00:09.0", 0);
		for (__u32 device = 40; device <= (second < 2 ? 40 : 42); device += 2)
			dma_maps(f, START / SECOND + second, device, second ? 7 : 1000, 1);
		look(f, START + (second + 1) * SECOND);
		show(f, VIEW_DMA, LATENCY_SINCE_START);
		for (size_t row = 0; row < f->count; row++) {
			if (strncmp(cell(f, row, "device").text, "0000:00:09.0", 12) != 0)
				continue;
			told++;
			if (isnan(rate(f, row, "maps")))
				renamed++;
			else if (second)
				assert_true(fabs(rate(f, row, "maps") - 7) < 0.001);
		}
	}
	assert_int_equal(told, 2 + 3 * 2);
	assert_int_equal(renamed, 2);
}

static int by_value(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A window has what came in it and nothing else; the rest is still there since the start. */
static void windows_have_what_came_in_them(void **state)
{
	struct fixture *f = *state;
	__u64 all[64];
	size_t count = 0;

	for (__u64 second = 1; second <= 8; second++) {
		for (__u64 i = 0; i < second; i++, count++) {
			all[count] = (second * 7 + i * 13) % 29 * 1000 + 1000;
			vfio_map(f, START + (second - 1) * SECOND + i * MS, GUEST, all[count], 0);
			odp_fault(f, START + (second - 1) * SECOND + i * MS, all[count]);
		}
		look(f, START + second * SECOND);
		for (int rdma = 0; rdma <= 1; rdma++) {
			/* Three seconds: those of this one and the two before. */
			size_t in = second < 3 ? count : second + second - 1 + second - 2;
			__u64 sorted[64];
			size_t rank;

			memcpy(sorted, all + count - in, in * sizeof(*sorted));
			qsort(sorted, in, sizeof(*sorted), by_value);
			rank = (in + 1) / 2;
			show(f, rdma ? VIEW_RDMA : VIEW_VFIO, LATENCY_WINDOW);
			assert_int_equal(cell(f, 0, rdma ? "max" : "map_max").count,
					 sorted[in - 1]);
			assert_in_range(cell(f, 0, rdma ? "p50" : "map_p50").count,
					sorted[rank - 1] * 98 / 100, sorted[rank - 1] * 102 / 100);
			show(f, rdma ? VIEW_RDMA : VIEW_VFIO, LATENCY_SINCE_START);
			qsort(memcpy(sorted, all, count * sizeof(*all)), count, sizeof(*sorted),
			      by_value);
			assert_int_equal(cell(f, 0, rdma ? "max" : "map_max").count,
					 sorted[count - 1]);
		}
	}
	assert_int_equal(count, 36);
	/* Long after the last: nothing is left in the window. */
	look(f, START + 20 * SECOND);
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_true(cell(f, 0, "map_p50").count == CELL_NONE);
	show(f, VIEW_RDMA, LATENCY_WINDOW);
	assert_true(cell(f, 0, "p99").count == CELL_NONE);
	show(f, VIEW_VFIO, LATENCY_SINCE_START);
	assert_true(cell(f, 0, "map_p50").count != CELL_NONE);
}

/* Within a window as long as all of it, both spans are the same number, also of counted buckets. */
static void a_window_over_all_is_since_the_start(void **state)
{
	struct fixture *f = *state;
	const struct aggregate_bin bins[] = {{histogram_bucket(900), 3},
					     {histogram_bucket(70000), 5}};
	const struct aggregate_row row = {
		.key = {.device = GUEST, .kind = EVENT_VFIO_MAP, .queue = QUEUE_NONE},
		.counts = {.count = 8, .bytes = 8 * PAGE, .latency_max_ns = 70001},
		.bins = 2};
	const struct aggregate_frame frame = {
		.window = 77, .row_count = 1, .rows = &row, .bin_count = 2, .bins = bins};
	union cell since[3];

	assert_int_equal(f->to.ops->aggregate(f->to.self, &frame), 0);
	vfio_map(f, START + 5, GUEST, 71234, 0);
	look(f, START + SECOND);
	show(f, VIEW_VFIO, LATENCY_SINCE_START);
	since[0] = cell(f, 0, "map_p50");
	since[1] = cell(f, 0, "map_p99");
	since[2] = cell(f, 0, "map_max");
	assert_int_equal(since[2].count, 71234);
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_int_equal(cell(f, 0, "map_p50").count, since[0].count);
	assert_int_equal(cell(f, 0, "map_p99").count, since[1].count);
	assert_int_equal(cell(f, 0, "map_max").count, since[2].count);
}

static const char *draw(struct fixture *f, int rows, int columns)
{
	struct layout_wish wish = {0};
	char finding[FINDING_TEXT];

	draw_finding_text(&f->model.worst, finding);
	wish.finding = draw_sentence(NULL, NULL, columns, STYLE_PLAIN, finding);
	if (f->view.view != VIEW_FAULTS)
		draw_view_wish(&f->model, &wish);
	assert_int_equal(canvas_resize(&f->canvas, rows, columns), 0);
	if (f->view.screen == SCREEN_DETAIL)
		layout_detail(&f->layout, rows, columns, &wish);
	else
		layout_main(&f->layout, rows, columns, &wish);
	draw_screen(&f->canvas, &(struct top_picture){&f->model, &f->detail, &f->view, &f->layout,
						      f->order, f->count, 0});
	return screen_text(&f->canvas, rows, f->text, TEXT);
}

static void needs(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' on the screen:\n%s", what, text);
}

/* By ring and of all; what a ring does not have has no rate, and the first view has the sum. */
static void lost_frames_have_a_rate(void **state)
{
	struct fixture *f = *state;

	look(f, START + SECOND);
	assert_false(f->model.rings);
	fill(f);
	ring_state(f, START + 1500 * MS, 4, 7, 1);
	lose_frames(f, START + 1600 * MS, 4, 13);
	look(f, START + 3 * SECOND);
	assert_true(f->model.rings);
	assert_true(fabs(f->model.loss_rate - 21) < 0.001);
	show(f, VIEW_NIC, LATENCY_SINCE_START);
	assert_int_equal(f->count, 3);
	assert_string_equal(cell(f, 0, "side").text, "all");
	assert_true(fabs(rate(f, 0, "lost") - 21) < 0.001);
	assert_true(fabs(rate(f, 0, "retransmits")) < 0.001);
	assert_int_equal(cell(f, 1, "queue").count, 3);
	assert_true(fabs(rate(f, 1, "lost") - 14.5) < 0.001);
	assert_true(fabs(rate(f, 1, "lost_fault") - 14.5) < 0.001);
	assert_true(fabs(rate(f, 1, "frames") - 48.5) < 0.001);
	assert_true(isnan(rate(f, 1, "retransmits")));
	assert_int_equal(cell(f, 1, "held_now").count, 7);
	assert_int_equal(cell(f, 2, "queue").count, 4);
	show(f, VIEW_FAULTS, LATENCY_SINCE_START);
	needs(draw(f, 24, 80), "frames lost 21.0/s");
	look(f, START + 4 * SECOND);
	assert_true(f->model.loss_rate < 0.001);
	needs(draw(f, 24, 80), "frames lost 0/s");
}

/* Of the last interval each, and what it has been told in all. */
static void what_queue_pairs_do_has_a_rate(void **state)
{
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	pair_state(f, START + 1500 * MS, 22 + 34, 13 + 6, 118 + 202);
	look(f, START + 3 * SECOND);
	show(f, VIEW_QP, LATENCY_SINCE_START);
	assert_int_equal(f->count, 1);
	assert_int_equal(cell(f, 0, "pair").count, 17);
	assert_true(fabs(rate(f, 0, "rnr_out") - 17) < 0.001);
	assert_true(fabs(rate(f, 0, "dropped") - 3) < 0.001);
	assert_true(fabs(rate(f, 0, "operations") - 101) < 0.001);
	assert_true(fabs(rate(f, 0, "rnr_in")) < 0.001);
	look(f, START + 4 * SECOND);
	show(f, VIEW_QP, LATENCY_SINCE_START);
	assert_true(rate(f, 0, "rnr_out") < 0.001);
	assert_int_equal(cell(f, 0, "rnr_out").count, 19 + 34);
}

static void classic_terminal_shows_every_view(void **state)
{
	static const char *const wanted[VIEWS][8] = {
		[VIEW_FAULTS] = {"[1 faults", "BAD: 0000:00:02.0: 5 unrecoverable", "over 3.0s"},
		[VIEW_IOMMU] = {"[2 iommu 7]", "decoded 7", "0000:00:02.0", "8000", "mapped",
				"map\\x1b[31mper", "0000:00:\\x1b[1~"},
		[VIEW_DMA] = {"[3 dma 53]", "mappings live 53, 212K, old 0", "model", "101", "53"},
		[VIEW_VFIO] = {"[4 vfio 2]", "requests refused 1", "vfio/4001.1", "388K", "400K",
			       "97.0"},
		[VIEW_RDMA] = {"[5 rdma 11]", "on-demand faults 11", "rxe0", "110us", "77"},
		[VIEW_NIC] = {"[6 nic 29]", "rings 1, frames lost 29, stalls 0", "vm/net", "97.0",
			      "9700", "29.0", "61", " rx "},
		[VIEW_QP] = {"[7 qp 19]", "queue pairs 1, RNR NAKs 19, waits 0", "vm/net", "113",
			     "10961", "11.0", "rts"},
	};
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	for (unsigned int v = 0; v < VIEWS; v++) {
		const char *text;

		show(f, v, LATENCY_WINDOW);
		text = draw(f, 24, 80);
		for (int i = 0; i < 8 && wanted[v][i]; i++)
			needs(text, wanted[v][i]);
		assert_null(strchr(text, '\033'));
	}
	show(f, VIEW_VFIO, LATENCY_SINCE_START);
	needs(draw(f, 24, 80), "since start");
}

/* Nothing seen where nothing could be is another answer than nothing seen. */
static void a_view_without_its_path_says_so(void **state)
{
	struct probe_info probe = {.name = "odp_fault", .state = PROBE_OFF, .reason = "none"};
	struct fixture *f = *state;
	const char *text;

	look(f, START + SECOND);
	show(f, VIEW_RDMA, LATENCY_WINDOW);
	text = draw(f, 24, 80);
	needs(text, "[5 rdma 0]");
	needs(text, "No RDMA on-demand paging in 00:00:01.");
	assert_null(strstr(text, "not shown"));
	assert_int_equal(f->to.ops->probe(f->to.self, &probe), 0);
	look(f, START + 2 * SECOND);
	show(f, VIEW_RDMA, LATENCY_WINDOW);
	text = draw(f, 24, 80);
	needs(text, "[5 rdma -]");
	needs(text, "not shown  RDMA on-demand paging");
	probe.state = PROBE_ON;
	assert_int_equal(f->to.ops->probe(f->to.self, &probe), 0);
	look(f, START + 3 * SECOND);
	show(f, VIEW_RDMA, LATENCY_WINDOW);
	needs(draw(f, 24, 80), "[5 rdma 0]");
}

/* Columns in a narrow terminal: the most important ones; in any size nothing is out of bounds. */
static void every_size_can_be_drawn(void **state)
{
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	for (unsigned int v = 0; v < VIEWS; v++) {
		show(f, v, LATENCY_WINDOW);
		f->view.selected = f->ids[0];
		for (int detail = v == VIEW_FAULTS; detail <= 1; detail++) {
			f->view.screen = detail && v != VIEW_FAULTS ? SCREEN_DETAIL : SCREEN_MAIN;
			if (f->view.screen == SCREEN_DETAIL)
				assert_int_equal(collect_row(f->collector, &f->detail, &f->view),
						 0);
			for (int rows = 1; rows <= 40; rows += 3)
				for (int columns = 1; columns <= 200; columns += 7) {
					draw(f, rows, columns);
					assert_int_equal(f->canvas.overdrawn, 0);
				}
		}
		f->view.screen = SCREEN_MAIN;
		draw(f, 8, 40);
		needs(f->text, views[v]->name);
	}
}

/* What stands between the table's heading and the footer, its rows joined by blanks. */
static const char *table_of(struct fixture *f)
{
	static char text[TEXT];
	const char *at = f->text;
	size_t used = 0;

	for (int row = 0; row < f->layout.table.row; row++)
		at = strchr(at, '\n') + 1;
	for (int row = 0; row < f->layout.table.rows; row++) {
		size_t length = strcspn(at, "\n");

		used += (size_t)snprintf(text + used, TEXT - used, "%s%.*s", row ? " " : "",
					 (int)length, at);
		at += length + 1;
	}
	return text;
}

/* Of a view without rows: all that it says where there is room, else a mark that some is missing. */
static void nothing_is_whole_or_marked(struct fixture *f, unsigned int v, int rows, int columns)
{
	const struct view *view = views[v];
	char said[128];

	draw(f, rows, columns);
	assert_int_equal(f->canvas.overdrawn, 0);
	if (strpbrk(table_of(f), "~>"))
		return;
	snprintf(said, sizeof(said), "%s in 00:00:01.",
		 v == VIEW_FAULTS ? "No I/O page fault and no device" : view->nothing);
	if (!strstr(table_of(f), said))
		fail_msg("%s, %d x %d: '%s' is not whole:\n%s", view->name, columns, rows, said,
			 f->text);
	for (int i = 0; v != VIEW_FAULTS && i < VIEW_PATHS && view->paths[i] != PATH_NONE; i++)
		if (f->model.watched[view->paths[i]] != WATCHED_UNKNOWN)
			needs(table_of(f), path_name(view->paths[i]));
}

/* Every view, empty with and without known paths, at every size from the least one on. */
static void no_text_is_on_another_or_left_out_without_a_mark(void **state)
{
	struct fixture *f = *state;

	look(f, START + SECOND);
	for (unsigned int v = 0; v < VIEWS; v++) {
		show(f, v, LATENCY_WINDOW);
		for (int known = 0; known < 2; known++) {
			for (int path = 0; path < PATH_COUNT; path++)
				f->model.watched[path] = known ? WATCHED_NOT : WATCHED_UNKNOWN;
			for (int rows = LAYOUT_MIN_ROWS; rows <= 30; rows += EVERY)
				for (int columns = LAYOUT_MIN_COLUMNS; columns <= 100; columns++)
					nothing_is_whole_or_marked(f, v, rows, columns);
		}
	}
	/* Every tab is there, or the row of tabs says that it has more. */
	for (int columns = LAYOUT_MIN_COLUMNS; columns <= 100; columns++) {
		char row[128];

		draw(f, 24, columns);
		canvas_read_row(&f->canvas, f->layout.tabs.row, row, sizeof(row));
		if (!strpbrk(row, "~>"))
			for (unsigned int v = 0; v < VIEWS; v++)
				needs(row, views[v]->name);
	}
}

static void no_word_is_cut_without_a_mark(void **state)
{
	static char whole[TEXT + 64];
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	for (unsigned int v = VIEW_FAULTS + 1; v < VIEWS; v++) {
		show(f, v, LATENCY_WINDOW);
		f->view.screen = SCREEN_MAIN;
		strcpy(whole, draw(f, 60, 300));
		snprintf(whole + strlen(whole), 64, " rows columns> faults %s ", views[v]->name);
		for (int rows = LAYOUT_MIN_ROWS; rows <= 40; rows += EVERY)
			for (int columns = LAYOUT_MIN_COLUMNS; columns <= 120; columns++) {
				const char *cut =
					screen_cut_word(whole, (char *)draw(f, rows, columns));

				if (cut)
					fail_msg("%s, %d x %d: '%s' is cut", views[v]->name,
						 columns, rows, cut);
			}
	}
}

static void details_show_every_cell_and_what_belongs_to_it(void **state)
{
	struct fixture *f = *state;
	const char *text;

	fill(f);
	look(f, START + SECOND);
	show(f, VIEW_IOMMU, LATENCY_WINDOW);
	f->view.selected = f->ids[0];
	f->view.screen = SCREEN_DETAIL;
	assert_int_equal(collect_row(f->collector, &f->detail, &f->view), 0);
	text = draw(f, 60, 80);
	needs(text, "owner mapped");
	needs(text, "stack nic_fill+0x20");
	needs(text, "reason page not writable");
	needs(text, "IOMMU faults");
	/* Of this device only, and the head of the page scrolls away. */
	assert_null(strstr(text, "0000:00:\\x1b[1~"));
	f->view.fault_first = 1 << 20;
	text = draw(f, 12, 80);
	assert_null(strstr(text, "owned 1"));
	f->view.screen = SCREEN_MAIN;
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	f->view.selected = f->ids[1];
	f->view.screen = SCREEN_DETAIL;
	f->view.fault_first = 0;
	assert_int_equal(collect_row(f->collector, &f->detail, &f->view), 0);
	text = draw(f, 40, 80);
	needs(text, "error ENOMEM");
	assert_null(strstr(text, "IOMMU faults\n"));
}

static void press(struct fixture *f, int key)
{
	const struct top_rows rows = {f->ids, f->count, 5};

	top_view_key(&f->view, key, &rows);
	show(f, f->view.view, f->view.span);
}

static void keys_go_round_the_views(void **state)
{
	struct fixture *f = *state;
	__u64 chosen;

	fill(f);
	look(f, START + SECOND);
	for (unsigned int i = 1; i <= VIEWS; i++) {
		press(f, '\t');
		assert_int_equal(f->view.view, i % VIEWS);
	}
	press(f, KEY_TOP_BACKTAB);
	assert_int_equal(f->view.view, VIEW_PINS);
	press(f, '2');
	assert_int_equal(f->view.view, VIEW_IOMMU);
	press(f, '0');
	assert_int_equal(f->view.view, VIEW_IOMMU);
	/* Each view keeps its cursor and its order. */
	press(f, KEY_TOP_DOWN);
	chosen = f->view.selected;
	assert_int_equal(chosen, f->ids[1]);
	press(f, 's');
	press(f, 'r');
	press(f, KEY_TOP_ENTER);
	assert_int_equal(f->view.screen, SCREEN_DETAIL);
	press(f, '\t');
	assert_int_equal(f->view.screen, SCREEN_MAIN);
	assert_int_equal(f->view.selected, 0);
	assert_false(f->view.reverse);
	press(f, KEY_TOP_BACKTAB);
	assert_int_equal(f->view.selected, chosen);
	assert_true(f->view.reverse);
	assert_string_equal(view_iommu.columns[f->view.sort].head, "TOTAL");
	/* The sort goes round all columns, both ways. */
	for (size_t i = 0; i < view_column_count(&view_iommu); i++)
		press(f, 'S');
	assert_string_equal(view_iommu.columns[f->view.sort].head, "TOTAL");
	press(f, 'w');
	assert_int_equal(f->view.span, LATENCY_WINDOW);
	press(f, 'w');
	assert_int_equal(f->view.span, LATENCY_SINCE_START);
}

static void rows_are_sorted_and_filtered(void **state)
{
	struct fixture *f = *state;

	fill(f);
	look(f, START + SECOND);
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	f->view.sort = view_sort_from(&view_vfio, "FAIL");
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_string_equal(cell(f, 0, "container").text, "vfio/4002.2");
	f->view.reverse = true;
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_string_equal(cell(f, 0, "container").text, "vfio/4001.1");
	/* Unknown comes last, whichever way. */
	f->view.sort = view_sort_from(&view_vfio, "P50");
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_string_equal(cell(f, 1, "container").text, "vfio/4002.2");
	f->view.reverse = false;
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_string_equal(cell(f, 1, "container").text, "vfio/4002.2");
	snprintf(f->view.filter, sizeof(f->view.filter), "4002");
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_int_equal(f->count, 1);
	f->view.filter[0] = '\0';
	f->filter.pids[f->filter.pid_count++] = 4001;
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_int_equal(f->count, 1);
	assert_string_equal(cell(f, 0, "container").text, "vfio/4001.1");
	f->filter.devices[f->filter.device_count++] = "vfio/4*";
	show(f, VIEW_VFIO, LATENCY_WINDOW);
	assert_int_equal(f->count, 2);
}

/* The worst so far, one sentence; each thing that comes is worse than the one before. */
static void the_worst_finding_is_told(void **state)
{
	struct probe_info detect = {.name = "fault_detect", .state = PROBE_DISABLED};
	struct probe_info report = {.name = "iopf_report", .state = PROBE_DISABLED};
	struct fixture *f = *state;

	assert_int_equal(f->to.ops->probe(f->to.self, &detect), 0);
	look(f, START + SECOND);
	assert_int_equal(f->model.worst.severity, WORST_NONE);
	needs(f->model.worst.text, "No finding: no refusal");
	needs(f->model.worst.text, "; faults were not watched");
	detect.state = PROBE_ON;
	assert_int_equal(f->to.ops->probe(f->to.self, &detect), 0);
	assert_int_equal(f->to.ops->probe(f->to.self, &report), 0);
	look(f, START + SECOND);
	needs(f->model.worst.text, "No finding: no refusal");
	needs(f->model.worst.text, "; not all faults were watched");
	report.state = PROBE_ON;
	assert_int_equal(f->to.ops->probe(f->to.self, &report), 0);
	look(f, START + SECOND);
	needs(f->model.worst.text, "No finding: no fault, no refusal");
	needs(f->model.worst.text, "no limit near in what 2 probes watch");
	odp_fault(f, START + SECOND + MS, 10000);
	look(f, START + 2 * SECOND);
	assert_int_equal(f->model.worst.severity, WORST_NOTE);
	needs(f->model.worst.text, "1 I/O page fault, the longest took 10.0us");
	memlock(f, GUEST, 97 * PAGE, 100 * PAGE);
	look(f, START + 3 * SECOND);
	assert_int_equal(f->model.worst.severity, WORST_LOOK);
	needs(f->model.worst.text, "vfio/4001.1 of qemu is close to its limit: 388K of 400K");
	vfio_map(f, START + 3 * SECOND + MS, OTHER, 500, ENOMEM);
	look(f, START + 4 * SECOND);
	assert_int_equal(f->model.worst.severity, WORST_BAD);
	needs(f->model.worst.text, "vfio/4002.2 of qemu: 1 map request was refused with ENOMEM");
	refused_dma(f, START + 4 * SECOND + MS, NIC, true);
	look(f, START + 5 * SECOND);
	needs(f->model.worst.text, "1 unrecoverable IOMMU fault");
	needs(f->model.worst.text, "page not writable, mapped by");
}

#define with_analysis(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_analysis(views_are_well_formed),
		with_analysis(numbers_are_those_of_the_report),
		with_analysis(numbers_are_those_of_the_events),
		with_analysis(lost_frames_have_a_rate),
		with_analysis(what_queue_pairs_do_has_a_rate),
		with_analysis(rates_add_up_to_the_total),
		with_analysis(a_row_that_is_renamed_has_no_false_rate),
		with_analysis(windows_have_what_came_in_them),
		with_analysis(a_window_over_all_is_since_the_start),
		with_analysis(classic_terminal_shows_every_view),
		with_analysis(a_view_without_its_path_says_so),
		with_analysis(every_size_can_be_drawn),
		with_analysis(no_text_is_on_another_or_left_out_without_a_mark),
		with_analysis(no_word_is_cut_without_a_mark),
		with_analysis(details_show_every_cell_and_what_belongs_to_it),
		with_analysis(keys_go_round_the_views),
		with_analysis(rows_are_sorted_and_filtered),
		with_analysis(the_worst_finding_is_told),
	};

	return cmocka_run_group_tests_name("top views", tests, NULL, NULL);
}
