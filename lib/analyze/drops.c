// SPDX-License-Identifier: GPL-2.0
/* Every run of lost frames. */
#include "lib/analyze/analysis.h"

#include <errno.h>

#include "lib/analyze/frames.h"
#include "lib/analyze/session.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define DROPS_KEPT 100000 /* the first; further ones are counted only */

struct drops {
	const struct session *session;
	struct event *runs; /* in the order in which they were told */
	size_t count, room;
	__u64 all;
};

const char *frames_reason_name(enum loss_reason reason)
{
	static const char *const names[LOSS_REASONS] = {
		[LOSS_UNKNOWN] = "unknown",
		[LOSS_FAULT] = "fault",
		[LOSS_NO_BUFFER] = "no_buffer",
		[LOSS_CACHE_FULL] = "cache_full",
		[LOSS_BACKUP_FULL] = "backup_full",
		[LOSS_BEFORE_NIC] = "before_nic",
		[LOSS_WIRE] = "wire",
		[LOSS_OVERLONG] = "overlong",
	};

	return names[reason < LOSS_REASONS ? reason : LOSS_UNKNOWN];
}

static int drops_on_events(void *self, const struct event *events, size_t count)
{
	struct drops *d = self;

	for (size_t i = 0; i < count; i++) {
		if (events[i].kind != EVENT_FRAMES_LOST ||
		    !period_has(session_period(d->session), frames_since(&events[i])))
			continue;
		d->all++;
		if (d->count < DROPS_KEPT &&
		    array_grow(&d->runs, &d->room, d->count + 1, sizeof(*d->runs), ARRAY_LIMITED))
			d->runs[d->count++] = events[i];
	}
	return 0;
}

static struct stream drops_stream(struct drops *drops)
{
	static const struct stream_ops ops = {.events = drops_on_events};

	return (struct stream){&ops, drops};
}

static int create_drops(struct analysis *a, const struct analysis_config *config)
{
	struct drops *d;

	(void)config;
	a->drops = d = memory_calloc(1, sizeof(*d));
	if (!d)
		return failed(-ENOMEM, "no memory for the lost frames");
	d->session = a->session;
	return 0;
}

static void drops_destroy(struct drops *d)
{
	if (!d)
		return;
	memory_free(d->runs);
	memory_free(d);
}

static bool has_range(const struct event *e)
{
	return e->address;
}

/* What names its fault, of others nothing. */
static __u64 of_fault(const struct event *e, __u32 number)
{
	return count_if(frames_name_fault(e), number);
}

#define DROPS(COLUMN)                                                                         \
	COLUMN(time, none, TIME, 12, SHOWN, frames_since(row))                                \
	COLUMN(duration, none, DURATION, 8, WIDE, row->time_ns - frames_since(row))           \
	COLUMN(device, none, TEXT, 8, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(queue, none, COUNT, 5, WIDE, count_if(row->queue != QUEUE_NONE, row->queue))   \
	COLUMN(flow, none, TEXT, 32, SHOWN, session_flow_text(context, row->tid, text))       \
	COLUMN(reason, none, TEXT, 11, SHOWN, frames_reason_name(frames_reason(row)))         \
	COLUMN(pasid, none, COUNT, 7, WIDE,                                                   \
	       row->pasid == PASID_NONE ? CELL_NONE : of_fault(row, row->pasid))              \
	COLUMN(group, none, COUNT, 5, WIDE, of_fault(row, row->group))                        \
	COLUMN(instance, none, COUNT, 8, WIDE, of_fault(row, row->instance))                  \
	COLUMN(lost, none, COUNT, 6, SHOWN, frames_count(row))                                \
	COLUMN(lost_size, bytes, BYTES, 10, WIDE, frames_bytes(row))                          \
	COLUMN(first_sequence, none, COUNT, 14, WIDE,                                         \
	       count_if(has_range(row), row->address >> 32))                                  \
	COLUMN(end_sequence, none, COUNT, 12, WIDE, count_if(has_range(row), (__u32)row->address))
TABLE(drops, "Lost frames", DROPS, struct event, struct session)

static void drops_write(const struct analysis *a, struct writer *writer,
			const struct table_wish *wish)
{
	const struct drops *d = a->drops;

	writer_begin_with(writer, &drops_table, a->session);
	for (size_t i = 0; i < d->count && (!wish->limit || i < wish->limit); i++)
		writer_row(writer, &d->runs[i]);
	writer_end(writer);
	if (d->all > d->count)
		writer_note(writer, "... and %llu more runs of lost frames.", d->all - d->count);
}

static const struct analyzer_table tables[] = {{&drops_table, drops_write}, {0}};

DEFINE_ANALYZER(drops, .tables = tables, .chapter = REPORT_IO)
