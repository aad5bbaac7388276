// SPDX-License-Identifier: GPL-2.0
/* They are counted in the kernel, unless they were asked for one by one. */
#include "lib/analyze/work_requests.h"

#include <errno.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hyv.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/verb_names.h"

struct work_account {
	__u64 count, errors, bytes;
	__u64 passed[WORK_STAGES];
	struct histogram *of[WORK_STAGES]; /* NULL: none has passed it */
};

struct device_work {
	struct work_account opcodes[WORK_OPCODES];
};

struct work_requests {
	const struct session *session;
	struct slots devices; /* struct device_work */
};

/* NULL: no such opcode, or no memory. */
static struct work_account *work_account_of(struct work_requests *w, __u32 handle,
					    unsigned int opcode, unsigned int stage)
{
	struct device_work *device;

	if (opcode >= WORK_OPCODES || stage >= WORK_STAGES)
		return NULL;
	device = slots_make(&w->devices, handle);
	return device ? &device->opcodes[opcode] : NULL;
}

static void work_count(struct work_account *account, unsigned int stage, __u64 count, __u64 bytes,
		       bool errors)
{
	account->passed[stage] += count;
	if (stage != WORK_TOTAL)
		return;
	account->count += count;
	account->bytes += bytes;
	account->errors += errors ? count : 0;
}

static int work_requests_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];
		struct work_account *account;
		struct histogram *h;

		if (e->kind != EVENT_WORK_REQUEST)
			continue;
		account = work_account_of(self, e->device, e->queue, e->code);
		if (!account)
			continue;
		work_count(account, e->code, 1, e->length, e->flags & EVENT_MAJOR);
		h = e->value ? hyv_histogram(&account->of[e->code]) : NULL;
		if (h)
			histogram_add(h, e->value);
	}
	return 0;
}

static int work_requests_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];
		struct work_account *account;
		struct histogram *h;

		if (row->key.kind != EVENT_WORK_REQUEST)
			continue;
		account = work_account_of(self, row->key.device, row->key.queue, row->key.code);
		if (!account)
			continue;
		work_count(account, row->key.code, row->counts.count, row->counts.bytes,
			   row->key.flags & EVENT_MAJOR);
		h = row->bins ? hyv_histogram(&account->of[row->key.code]) : NULL;
		if (h)
			hyv_take_row(h, frame, row);
	}
	return 0;
}

static struct stream work_requests_stream(struct work_requests *w)
{
	static const struct stream_ops ops = {.events = work_requests_on_events,
					      .aggregate = work_requests_on_aggregate};

	return (struct stream){&ops, w};
}

static int create_work_requests(struct analysis *a, const struct analysis_config *config)
{
	struct work_requests *w = a->work_requests = memory_calloc(1, sizeof(*w));

	(void)config;
	if (!w)
		return failed(-ENOMEM, "no memory for work requests");
	w->session = a->session;
	slots_init(&w->devices, sizeof(struct device_work));
	return 0;
}

static void work_requests_destroy(struct work_requests *w)
{
	if (!w)
		return;
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&w->devices, h)) {
		struct device_work *device = slots_find(&w->devices, h);

		for (unsigned int i = 0; device && i < WORK_OPCODES * WORK_STAGES; i++)
			memory_free(device->opcodes[i / WORK_STAGES].of[i % WORK_STAGES]);
	}
	slots_free(&w->devices);
	memory_free(w);
}

__u64 work_requests_count(const struct work_requests *w, __u32 handle)
{
	const struct device_work *device = slots_find(&w->devices, handle);
	__u64 count = 0;

	for (unsigned int opcode = 0; device && opcode < WORK_OPCODES; opcode++)
		count += device->opcodes[opcode].count;
	return count;
}

struct work_row {
	__u32 device;
	unsigned int opcode, stage;
	const struct work_account *account;
};

static __u64 of_total(const struct work_row *row, __u64 number)
{
	return count_if(row->stage == WORK_TOTAL, number);
}

static __u64 work_longest(const struct work_row *row)
{
	const struct histogram *h = row->account->of[row->stage];

	return h ? h->max : CELL_NONE;
}

static __u64 work_sum(const struct work_row *row)
{
	const struct histogram *h = row->account->of[row->stage];

	return h ? h->sum : 0;
}

#define WORK_REQUESTS(COLUMN)                                                                   \
	COLUMN(device, none, TEXT, 14, SHOWN, session_device_name(context, row->device, text))  \
	COLUMN(opcode, none, TEXT, 7, SHOWN, work_opcode_name(row->opcode))                     \
	COLUMN(stage, none, TEXT, 10, SHOWN, work_stage_name(row->stage))                       \
	COLUMN(count, none, COUNT, 7, SHOWN, row->account->passed[row->stage])                  \
	COLUMN(errors, none, COUNT, 6, SHOWN, of_total(row, row->account->errors))              \
	COLUMN(moved, bytes, BYTES, 7, SHOWN, of_total(row, row->account->bytes))               \
	COLUMN(p50, none, DURATION, 7, SHOWN, hyv_percentile(row->account->of[row->stage], 50)) \
	COLUMN(p99, none, DURATION, 8, SHOWN, hyv_percentile(row->account->of[row->stage], 99)) \
	COLUMN(max, none, DURATION, 8, WIDE, work_longest(row))                                 \
	COLUMN(sum, none, DURATION, 8, WIDE, work_sum(row))
TABLE(work_requests, "Work requests of guests, by stage", WORK_REQUESTS, struct work_row,
      struct session)

static size_t work_write_opcode(struct writer *writer, const struct work_row *of,
				const struct table_wish *wish, size_t rows)
{
	/* The whole first. */
	for (unsigned int i = 0; i < WORK_STAGES; i++) {
		struct work_row row = *of;

		row.stage = i ? i - 1 : WORK_TOTAL;
		if (row.account->passed[row.stage] && (!wish->limit || rows++ < wish->limit))
			writer_row(writer, &row);
	}
	return rows;
}

static void work_requests_write(const struct analysis *a, struct writer *writer,
				const struct table_wish *wish)
{
	size_t rows = 0;

	writer_begin_with(writer, &work_requests_table, a->session);
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->work_requests->devices, h)) {
		const struct device_work *device = slots_find(&a->work_requests->devices, h);

		for (unsigned int i = 0; device && i < WORK_OPCODES; i++)
			rows = work_write_opcode(writer,
						 &(struct work_row){h, i, 0, &device->opcodes[i]},
						 wish, rows);
	}
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more stages of work requests.",
			    rows - wish->limit);
}

static bool work_requests_have_rows(const struct analysis *a)
{
	return a->work_requests->devices.end;
}

static const struct analyzer_table tables[] = {
	{&work_requests_table, work_requests_write, work_requests_have_rows, REPORT_ROWS * 2ull},
	{0}};

DEFINE_ANALYZER(work_requests, .of_period = true, .tables = tables, .chapter = REPORT_RDMA)
