// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/lent_stages.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/lent.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct device_stages {
	struct histogram *of[IO_STAGES]; /* NULL: none has passed it */
};

struct lent_stages {
	const struct session *session;
	struct slots devices; /* struct device_stages */
};

static struct histogram *stage_make(struct lent_stages *s, __u32 handle, unsigned int stage)
{
	struct device_stages *device = slots_make(&s->devices, handle);

	if (!device || stage >= IO_STAGES)
		return NULL;
	if (!device->of[stage]) {
		device->of[stage] = memory_calloc(1, sizeof(struct histogram));
		if (device->of[stage])
			histogram_init(device->of[stage]);
	}
	return device->of[stage];
}

static int lent_stages_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct histogram *h;

		if (events[i].kind != EVENT_LEND_IO)
			continue;
		h = stage_make(self, events[i].device, events[i].code);
		if (h)
			histogram_add(h, events[i].value);
	}
	return 0;
}

/* What buckets do not have: the exact sum and maximum. */
static void take_lent_stage(struct histogram *h, const struct aggregate_frame *frame,
			    const struct aggregate_row *row)
{
	__u64 sum = h->sum + row->counts.latency_sum_ns;
	__u64 max = h->max > row->counts.latency_max_ns ? h->max : row->counts.latency_max_ns;

	for (__u32 i = 0; i < row->bins; i++)
		histogram_add_bucket(h, frame->bins[row->histogram + i].bucket,
				     frame->bins[row->histogram + i].count);
	h->sum = sum;
	h->max = max;
}

static int lent_stages_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];
		struct histogram *h;

		if (row->key.kind != EVENT_LEND_IO)
			continue;
		h = stage_make(self, row->key.device, row->key.code);
		if (h)
			take_lent_stage(h, frame, row);
	}
	return 0;
}

static struct stream lent_stages_stream(struct lent_stages *s)
{
	static const struct stream_ops ops = {.events = lent_stages_on_events,
					      .aggregate = lent_stages_on_aggregate};

	return (struct stream){&ops, s};
}

static int create_lent_stages(struct analysis *a, const struct analysis_config *config)
{
	struct lent_stages *s = a->lent_stages = memory_calloc(1, sizeof(*s));

	(void)config;
	if (!s)
		return failed(-ENOMEM, "no memory for the stages of I/Os");
	s->session = a->session;
	slots_init(&s->devices, sizeof(struct device_stages));
	return 0;
}

static void lent_stages_destroy(struct lent_stages *s)
{
	if (!s)
		return;
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&s->devices, h)) {
		struct device_stages *device = slots_find(&s->devices, h);

		for (unsigned int i = 0; device && i < IO_STAGES; i++)
			memory_free(device->of[i]);
	}
	slots_free(&s->devices);
	memory_free(s);
}

const struct histogram *lent_stage(const struct lent_stages *s, __u32 handle, enum io_stage stage)
{
	const struct device_stages *device = slots_find(&s->devices, handle);

	return device && stage < IO_STAGES ? device->of[stage] : NULL;
}

struct lent_stage_row {
	__u32 device;
	unsigned int stage;
	const struct histogram *h;
};

static const char *io_stage_name(unsigned int stage)
{
	static const char *const names[IO_STAGES] = {
		[IO_STAGE_MAP] = "map",		  [IO_STAGE_COMMAND] = "command",
		[IO_STAGE_DOORBELL] = "doorbell", [IO_STAGE_FETCH] = "fetch",
		[IO_STAGE_DATA] = "data",	  [IO_STAGE_COMPLETION] = "completion",
		[IO_STAGE_NOTICE] = "notice",	  [IO_STAGE_UNMAP] = "unmap",
	};

	return names[stage];
}

#define LENT_STAGES(COLUMN)                                                                    \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(stage, none, TEXT, 10, SHOWN, io_stage_name(row->stage))                        \
	COLUMN(ios, none, COUNT, 8, SHOWN, row->h->count)                                      \
	COLUMN(p50_model, none, DURATION, 9, SHOWN, histogram_percentile(row->h, 50))          \
	COLUMN(p99_model, none, DURATION, 9, SHOWN, histogram_percentile(row->h, 99))          \
	COLUMN(max_model, none, DURATION, 9, SHOWN, row->h->max)                               \
	COLUMN(sum_model, none, DURATION, 9, WIDE, row->h->sum)
TABLE(lent_stages, "Stages of I/Os on lent devices (model)", LENT_STAGES, struct lent_stage_row,
      struct session)

static void lent_stages_write(const struct analysis *a, struct writer *writer,
			      const struct table_wish *wish)
{
	size_t rows = 0;

	writer_begin_with(writer, &lent_stages_table, a->session);
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->lent_stages->devices, h))
		for (unsigned int i = 0; i < IO_STAGES; i++) {
			const struct histogram *of = lent_stage(a->lent_stages, h, i);

			if (of && (!wish->limit || rows++ < wish->limit))
				writer_row(writer, &(struct lent_stage_row){h, i, of});
		}
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more stages.", rows - wish->limit);
}

static bool lent_stages_have_rows(const struct analysis *a)
{
	return a->lent_stages->devices.end;
}

static const struct analyzer_table tables[] = {
	{&lent_stages_table, lent_stages_write, lent_stages_have_rows, REPORT_ROWS * 2ull}, {0}};

DEFINE_ANALYZER(lent_stages, .of_period = true, .tables = tables, .chapter = REPORT_IO)
