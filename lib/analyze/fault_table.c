// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/fault_table.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct fault_table {
	const struct analysis *analysis;
	struct writer *writer;
	bool begun;
};

const char *fault_access_name(const struct fault *fault)
{
	static const char *const names[] = {"-", "R", "W", "RW", "X", "RX", "WX", "RWX"};

	return names[fault->flags & (EVENT_READ | EVENT_WRITE | EVENT_EXEC)];
}

/* The stages whose time holds that of unseen ones before them, separated by blanks. */
static const char *name_merged(const struct stage_times *times, char text[CELL_ROOM])
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int s = 0; s < STAGES; s++)
		if (times->merged & (1u << s) && used < CELL_ROOM)
			used += (size_t)snprintf(text + used, CELL_ROOM - used, "%s%s",
						 used ? " " : "", stage_name(s));
	return text;
}

struct fault_row {
	const struct fault *fault;
	__u64 start, total;
	unsigned int unknown; /* numbers of its device */
	struct stage_times times;
};

static __u64 stage_ns(const struct fault_row *row, unsigned int stage)
{
	return count_if(row->times.measured & (1u << stage), row->times.ns[stage]);
}

static bool fault_table_handled(const struct fault *fault)
{
	return fault->seen & 1u << (EVENT_FAULT_HANDLER - EVENT_FAULT_DETECT);
}

static __u64 queued_ns(const struct fault_row *row)
{
	const struct fault *fault = row->fault;

	return count_if(row->start && fault->queued_ns > row->start, fault->queued_ns - row->start);
}

/* In text: when, who, what and how long; CSV and JSON have every stage. */
#define FAULTS(COLUMN)                                                                            \
	COLUMN(start, none, TIME, 15, SHOWN, count_or_none(row->start))                           \
	COLUMN(device, none, TEXT, 16, SHOWN,                                                     \
	       session_device_name(context, row->fault->device, text))                            \
	COLUMN(handle, none, COUNT, 6, WIDE, row->fault->device)                                  \
	COLUMN(queue, none, COUNT, 5, SHOWN,                                                      \
	       count_if(row->fault->queue != QUEUE_NONE, row->fault->queue))                      \
	COLUMN(pasid, none, COUNT, 7, WIDE,                                                       \
	       count_if(row->fault->pasid != PASID_NONE, row->fault->pasid))                      \
	COLUMN(group, none, COUNT, 5, WIDE, row->fault->group)                                    \
	COLUMN(instance, none, COUNT, 8, WIDE, row->fault->instance)                              \
	COLUMN(address, none, ADDRESS, 12, SHOWN, row->fault->address)                            \
	COLUMN(length, none, BYTES, 6, WIDE, row->fault->length)                                  \
	COLUMN(access, none, TEXT, 6, WIDE, fault_access_name(row->fault))                        \
	COLUMN(kind, none, TEXT, 7, WIDE, fault_effort_name(row->fault))                          \
	COLUMN(state, none, TEXT, 12, SHOWN, unknown_state_name(row->unknown, row->fault->state)) \
	COLUMN(reached, none, TEXT, 8, WIDE, fault_reached_name(row->fault))                      \
	COLUMN(response, none, TEXT, 8, WIDE, fault_response_name(row->fault))                    \
	COLUMN(total, none, DURATION, 8, SHOWN, count_or_none(row->total))                        \
	COLUMN(request, none, DURATION, 8, WIDE, stage_ns(row, STAGE_REQUEST))                    \
	COLUMN(delivery, none, DURATION, 8, WIDE, stage_ns(row, STAGE_DELIVERY))                  \
	COLUMN(dispatch, none, DURATION, 8, WIDE, stage_ns(row, STAGE_DISPATCH))                  \
	COLUMN(resolve, none, DURATION, 8, WIDE, stage_ns(row, STAGE_RESOLVE))                    \
	COLUMN(map, none, DURATION, 8, WIDE, stage_ns(row, STAGE_MAP))                            \
	COLUMN(respond, none, DURATION, 8, WIDE, stage_ns(row, STAGE_RESPOND))                    \
	COLUMN(resume, none, DURATION, 8, WIDE, stage_ns(row, STAGE_RESUME))                      \
	COLUMN(merged, none, TEXT, 16, WIDE, name_merged(&row->times, text))                      \
	COLUMN(cpu_faults, none, COUNT, 10, WIDE, row->fault->cpu_faults)                         \
	COLUMN(cpu_fault, none, TIME, 15, WIDE, count_or_none(row->fault->cpu_fault_ns))          \
	COLUMN(handler_cpu, none, COUNT, 11, WIDE,                                                \
	       count_if(fault_table_handled(row->fault), row->fault->handler_cpu))                \
	COLUMN(handler_tid, none, COUNT, 11, WIDE,                                                \
	       count_if(fault_table_handled(row->fault), row->fault->handler_tid))                \
	COLUMN(pid, none, COUNT, 8, WIDE, count_or_none(row->fault->pid))                         \
	COLUMN(overflows, none, COUNT, 9, WIDE,                                                   \
	       count_if(!(row->unknown & UNKNOWN_OVERFLOWED), row->fault->overflows))             \
	COLUMN(repeats, none, COUNT, 7, WIDE, row->fault->repeats)                                \
	COLUMN(comm, none, TEXT, 15, WIDE, row->fault->comm[0] ? row->fault->comm : "-")          \
	COLUMN(span, none, TEXT, 13, WIDE, stage_span(row->fault->seen, text))                    \
	COLUMN(cause, none, TEXT, 13, WIDE, fault_cause_name(row->fault))                         \
	COLUMN(consumer, none, TEXT, 8, WIDE, fault_consumer_name(row->fault))                    \
	COLUMN(interrupt, none, DURATION, 9, WIDE, count_or_none(row->fault->interrupt_ns))       \
	COLUMN(queued, none, DURATION, 8, WIDE, queued_ns(row))                                   \
	COLUMN(mm_fault, none, DURATION, 8, WIDE, count_or_none(row->fault->mm_ns))               \
	COLUMN(delivered, none, DURATION, 9, WIDE, count_or_none(row->fault->delivered_ns))       \
	COLUMN(abandoned, none, TIME, 15, WIDE, count_or_none(row->fault->abandoned_ns))          \
	COLUMN(held_back, none, DURATION, 9, WIDE, count_or_none(row->fault->held_ns))
TABLE(faults, "Faults", FAULTS, struct fault_row, struct session)

const struct table *const fault_table_columns = &faults_table;

void fault_table_row(struct writer *writer, const struct session *session,
		     const struct fault *fault)
{
	struct fault_row row = {
		.fault = fault,
		.start = fault_first_ns(fault),
		.total = fault_total_ns(fault),
		.unknown = unknown_numbers(session, fault->device),
	};

	stage_times(fault, &row.times);
	writer_row(writer, &row);
}

/* Not before the first fault: by then the clock is known, which decides how times are headed. */
static void fault_table_begin(const struct analysis *a, struct writer *writer)
{
	if (!a->fault_table->begun)
		writer_begin_with(writer, &faults_table, a->session);
	a->fault_table->begun = true;
}

void fault_table_add(const struct analysis *a, struct writer *writer, const struct fault *fault)
{
	fault_table_begin(a, writer);
	fault_table_row(writer, a->session, fault);
}

static void fault_table_on_finished(void *self, const struct fault *fault)
{
	struct fault_table *table = self;

	fault_table_add(table->analysis, table->writer, fault);
}

int fault_table_follow(const struct analysis *a, struct writer *writer)
{
	a->fault_table->writer = writer;
	return faults_subscribe(a->faults,
				(struct fault_sink){NULL, fault_table_on_finished, a->fault_table});
}

static void fault_table_end(const struct analysis *a, struct writer *writer,
			    const struct table_wish *wish)
{
	(void)wish;
	fault_table_begin(a, writer);
	a->fault_table->begun = false;
	writer_end(writer);
}

static int create_fault_table(struct analysis *a, const struct analysis_config *config)
{
	(void)config;
	a->fault_table = memory_calloc(1, sizeof(*a->fault_table));
	if (!a->fault_table)
		return failed(-ENOMEM, "no memory for the table of faults");
	a->fault_table->analysis = a;
	return 0;
}

static void fault_table_destroy(struct fault_table *table)
{
	memory_free(table);
}

static const struct analyzer_table tables[] = {{&faults_table, fault_table_end}, {0}};

DEFINE_ANALYZER_OF_FAULTS(fault_table, .tables = tables)
