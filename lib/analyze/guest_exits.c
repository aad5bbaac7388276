// SPDX-License-Identifier: GPL-2.0
/* How often guests of devices with a mode and their hypervisor change over, and why. */
#include <errno.h>
#include <math.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hyv.h"
#include "lib/analyze/lent.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/verbs.h"
#include "lib/analyze/work_requests.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

_Static_assert(EXIT_CAUSES <= LENT_COUNTERS, "a counter each");

struct guest_exits {
	const struct session *session;
	struct slots devices; /* struct lent_counters, by enum exit_cause */
};

static int guest_exits_on_events(void *self, const struct event *events, size_t count)
{
	struct guest_exits *x = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];
		const __u64 now[LENT_COUNTERS] = {
			[EXIT_KICK] = e->value,
			[EXIT_INJECT_CONTROL] = e->length,
			[EXIT_INJECT_EVENT] = e->address,
			[EXIT_FORWARDED_POST] = e->group,
		};
		struct lent_counters *counters;

		if (e->kind != EVENT_GUEST_EXITS)
			continue;
		counters = slots_make(&x->devices, e->device);
		if (counters)
			lent_counters_take(counters, x->session, e, now, 1u << EXIT_FORWARDED_POST);
	}
	return 0;
}

static struct stream guest_exits_stream(struct guest_exits *x)
{
	static const struct stream_ops ops = {.events = guest_exits_on_events};

	return (struct stream){&ops, x};
}

static int create_guest_exits(struct analysis *a, const struct analysis_config *config)
{
	struct guest_exits *x = a->guest_exits = memory_calloc(1, sizeof(*x));

	(void)config;
	if (!x)
		return failed(-ENOMEM, "no memory for the exits of guests");
	x->session = a->session;
	slots_init(&x->devices, sizeof(struct lent_counters));
	return 0;
}

static void guest_exits_destroy(struct guest_exits *x)
{
	if (!x)
		return;
	slots_free(&x->devices);
	memory_free(x);
}

struct exit_row {
	__u32 device;
	unsigned int cause;
	const struct lent_counters *counters;
	__u64 verbs, operations; /* CELL_NONE: not known */
};

static double exits_per(const struct exit_row *row, __u64 of)
{
	return of && of != CELL_NONE ? (double)row->counters->grown[row->cause] / (double)of : NAN;
}

static double exit_rate(const struct exit_row *row)
{
	const struct lent_counters *c = row->counters;

	return c->watched_ns ? (double)c->grown[row->cause] * 1e9 / (double)c->watched_ns : NAN;
}

#define EXITS(COLUMN)                                                                          \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(cause, none, TEXT, 14, SHOWN, exit_cause_name(row->cause))                      \
	COLUMN(exits, none, COUNT, 8, SHOWN, row->counters->grown[row->cause])                 \
	COLUMN(rate, per_s, REAL, 9, SHOWN, exit_rate(row))                                    \
	COLUMN(per_verb, none, REAL, 8, SHOWN, exits_per(row, row->verbs))                     \
	COLUMN(per_operation, none, REAL, 13, SHOWN, exits_per(row, row->operations))          \
	COLUMN(verbs, none, COUNT, 8, WIDE, row->verbs)                                        \
	COLUMN(operations, none, COUNT, 10, WIDE, row->operations)
TABLE(exits, "Exits of guests", EXITS, struct exit_row, struct session)

static void guest_exits_write(const struct analysis *a, struct writer *writer,
			      const struct table_wish *wish)
{
	const bool verbs = !unknown_kind(a->session, EVENT_VERB);
	const bool operations = !unknown_kind(a->session, EVENT_WORK_REQUEST);
	size_t rows = 0;

	writer_begin_with(writer, &exits_table, a->session);
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->guest_exits->devices, h)) {
		const struct lent_counters *counters = slots_find(&a->guest_exits->devices, h);
		struct exit_row row = {
			.device = h,
			.counters = counters,
			.verbs = count_if(verbs, verbs_count(a->verbs, h)),
			.operations =
				count_if(operations, work_requests_count(a->work_requests, h)),
		};

		if (!counters || !counters->last_ns)
			continue;
		for (row.cause = 0; row.cause < EXIT_CAUSES; row.cause++)
			if (!wish->limit || rows++ < wish->limit)
				writer_row(writer, &row);
	}
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more causes of exits.", rows - wish->limit);
}

static bool guest_exits_have_rows(const struct analysis *a)
{
	return a->guest_exits->devices.end;
}

static const struct analyzer_table tables[] = {
	{&exits_table, guest_exits_write, guest_exits_have_rows, REPORT_ROWS * 2ull}, {0}};

DEFINE_ANALYZER(guest_exits, .tables = tables, .chapter = REPORT_RDMA)
