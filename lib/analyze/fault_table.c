// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/fault_table.h"

#include <string.h>

#include "lib/analyze/stage.h"
#include "lib/analyze/unknown.h"

/* In text: when, who, what and how long; CSV and JSON have every stage. */
static const struct column columns[] = {
	{"start", NULL, COLUMN_TIME, 15, false},
	{"device", NULL, COLUMN_TEXT, 16, false},
	{"handle", NULL, COLUMN_COUNT, 6, true},
	{"queue", NULL, COLUMN_COUNT, 5, false},
	{"pasid", NULL, COLUMN_COUNT, 7, true},
	{"group", NULL, COLUMN_COUNT, 5, true},
	{"instance", NULL, COLUMN_COUNT, 8, true},
	{"address", NULL, COLUMN_ADDRESS, 12, false},
	{"length", NULL, COLUMN_BYTES, 6, true},
	{"access", NULL, COLUMN_TEXT, 6, true},
	{"kind", NULL, COLUMN_TEXT, 7, true},
	{"state", NULL, COLUMN_TEXT, 12, false},
	{"reached", NULL, COLUMN_TEXT, 8, true},
	{"response", NULL, COLUMN_TEXT, 8, true},
	{"total", NULL, COLUMN_DURATION, 8, false},
	{"request", NULL, COLUMN_DURATION, 8, true},
	{"delivery", NULL, COLUMN_DURATION, 8, true},
	{"dispatch", NULL, COLUMN_DURATION, 8, true},
	{"resolve", NULL, COLUMN_DURATION, 8, true},
	{"map", NULL, COLUMN_DURATION, 8, true},
	{"respond", NULL, COLUMN_DURATION, 8, true},
	{"resume", NULL, COLUMN_DURATION, 8, true},
	{"merged", NULL, COLUMN_TEXT, 16, true},
	{"cpu_faults", NULL, COLUMN_COUNT, 10, true},
	{"cpu_fault", NULL, COLUMN_TIME, 15, true},
	{"handler_cpu", NULL, COLUMN_COUNT, 11, true},
	{"handler_tid", NULL, COLUMN_COUNT, 11, true},
	{"pid", NULL, COLUMN_COUNT, 8, true},
	{"overflows", NULL, COLUMN_COUNT, 9, true},
	{"repeats", NULL, COLUMN_COUNT, 7, true},
	{"comm", NULL, COLUMN_TEXT, 15, true},
	{"span", NULL, COLUMN_TEXT, 13, true},
	{"cause", NULL, COLUMN_TEXT, 13, true},
	{"consumer", NULL, COLUMN_TEXT, 8, true},
	{"interrupt", NULL, COLUMN_DURATION, 9, true},
	{"queued", NULL, COLUMN_DURATION, 8, true},
	{"mm_fault", NULL, COLUMN_DURATION, 8, true},
	{"delivered", NULL, COLUMN_DURATION, 9, true},
	{"abandoned", NULL, COLUMN_TIME, 15, true},
	{"held_back", NULL, COLUMN_DURATION, 9, true},
};

const struct table fault_table = {"faults", "Faults", columns,
				  sizeof(columns) / sizeof(columns[0])};

const char *fault_access_name(const struct fault *fault)
{
	static const char *const names[] = {"-", "R", "W", "RW", "X", "RX", "WX", "RWX"};

	return names[fault->flags & (EVENT_READ | EVENT_WRITE | EVENT_EXEC)];
}

/* The stages whose time holds that of unseen ones before them, separated by blanks. */
static void name_merged(const struct stage_times *times, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int s = 0; s < STAGES; s++)
		if (times->merged & (1u << s) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
						 stage_name(s));
}

static union cell stage_cell(const struct stage_times *times, unsigned int stage)
{
	bool measured = times->measured & (1u << stage);

	return (union cell){.count = measured ? times->ns[stage] : CELL_NONE};
}

int fault_table_row(struct writer *writer, const struct session *session, const struct fault *fault)
{
	bool handled = fault->seen & 1u << (EVENT_FAULT_HANDLER - EVENT_FAULT_DETECT);
	__u64 start = fault_first_ns(fault), total = fault_total_ns(fault);
	__u64 queued = fault->queued_ns > start && start ? fault->queued_ns - start : 0;
	char name[DEVICE_NAME_TEXT], merged[NAME_TEXT], span[SPAN_TEXT];
	unsigned int unknown = unknown_numbers(session, fault->device);
	struct stage_times times;

	stage_times(fault, &times);
	name_merged(&times, merged, sizeof(merged));
	return writer_row(writer,
			  (union cell[]){
				  cell_if(start, start),
				  {.text = session_device_name(session, fault->device, name)},
				  {.count = fault->device},
				  cell_if(fault->queue != QUEUE_NONE, fault->queue),
				  cell_if(fault->pasid != PASID_NONE, fault->pasid),
				  {.count = fault->group},
				  {.count = fault->instance},
				  {.count = fault->address},
				  {.count = fault->length},
				  {.text = fault_access_name(fault)},
				  {.text = fault_effort_name(fault)},
				  {.text = unknown_state_name(unknown, fault->state)},
				  {.text = fault_reached_name(fault)},
				  {.text = fault_response_name(fault)},
				  cell_if(total, total),
				  stage_cell(&times, STAGE_REQUEST),
				  stage_cell(&times, STAGE_DELIVERY),
				  stage_cell(&times, STAGE_DISPATCH),
				  stage_cell(&times, STAGE_RESOLVE),
				  stage_cell(&times, STAGE_MAP),
				  stage_cell(&times, STAGE_RESPOND),
				  stage_cell(&times, STAGE_RESUME),
				  {.text = merged},
				  {.count = fault->cpu_faults},
				  cell_if(fault->cpu_fault_ns, fault->cpu_fault_ns),
				  cell_if(handled, fault->handler_cpu),
				  cell_if(handled, fault->handler_tid),
				  cell_if(fault->pid, fault->pid),
				  cell_if(!(unknown & UNKNOWN_OVERFLOWED), fault->overflows),
				  {.count = fault->repeats},
				  {.text = fault->comm[0] ? fault->comm : "-"},
				  {.text = stage_span(fault->seen, span)},
				  {.text = fault_cause_name(fault)},
				  {.text = fault_consumer_name(fault)},
				  cell_if(fault->interrupt_ns, fault->interrupt_ns),
				  cell_if(queued, queued),
				  cell_if(fault->mm_ns, fault->mm_ns),
				  cell_if(fault->delivered_ns, fault->delivered_ns),
				  cell_if(fault->abandoned_ns, fault->abandoned_ns),
				  cell_if(fault->held_ns, fault->held_ns),
			  });
}
