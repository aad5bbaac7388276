// SPDX-License-Identifier: GPL-2.0
#include <math.h>

#include "lib/analyze/queues_data.h"
#include "lib/analyze/unknown.h"
#include "lib/base/units.h"

static int by_key(const struct queue *a, const struct queue *b)
{
	if (a->key.device != b->key.device)
		return a->key.device < b->key.device ? -1 : 1;
	return a->key.queue < b->key.queue ? -1 : a->key.queue > b->key.queue;
}

int queues_write(struct queues *queues, const struct session *session, struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 24, false},
		{"queue", NULL, COLUMN_COUNT, 5, false},
		{"faults", NULL, COLUMN_COUNT, 8, false},
		{"blocked", "ns", COLUMN_DURATION, 8, false},
		{"blocked", "percent", COLUMN_REAL, 8, false},
		{"longest", "ns", COLUMN_DURATION, 8, false},
		{"pieces", NULL, COLUMN_COUNT, 8, true},
		{"assumed", "ns", COLUMN_DURATION, 8, true},
	};
	static const struct table table = {"queues", "Queues that stood still", columns,
					   sizeof(columns) / sizeof(columns[0])};
	__u64 span = session_last_ns(session) - session_first_ns(session);
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	HASH_SORT(queues->queues, by_key);
	for (const struct queue *q = queues->queues; !error && q; q = q->hh.next) {
		struct queue_blocked b = queues_total(queues, q);
		unsigned int numbers = unknown_numbers(session, b.device);
		bool unknown = numbers & UNKNOWN_BLOCKED;

		if (!b.faults)
			continue;
		error = writer_row(
			writer,
			(union cell[]){
				{.text = session_device_name(session, b.device, text)},
				cell_if(b.queue != QUEUE_NONE, b.queue),
				cell_if(!(numbers & UNKNOWN_FAULTS), b.faults),
				cell_if(!unknown, b.blocked_ns),
				{.real = unknown ? NAN
					 : span	 ? 100.0 * (double)b.blocked_ns / (double)span
						 : 0},
				cell_if(!unknown, b.longest_ns),
				cell_if(!unknown, b.pieces),
				cell_if(!unknown, b.assumed_ns),
			});
	}
	return error ? error : writer_end(writer);
}

int queues_write_findings(const struct queues *queues, const struct session *session,
			  struct writer *writer)
{
	char name[DEVICE_NAME_TEXT], assumed[UNITS_TEXT], number[16] = "";
	struct queues_hangs hangs;

	if (!queues_hangs(queues, &hangs) || unknown_of_all(session) & UNKNOWN_BLOCKED)
		return 0;
	if (hangs.worst.queue != QUEUE_NONE)
		snprintf(number, sizeof(number), ", queue %u", hangs.worst.queue);
	return writer_note(
		writer,
		"%zu queue%s hung on after a fault was given up (--unfinished), %zu to the end. It is "
		"assumed to have been blocked until something showed that it went on: %s in all, "
		"most on %s%s.",
		hangs.queues, hangs.queues == 1 ? "" : "s", hangs.still,
		units_format_duration(hangs.assumed_ns, assumed),
		session_device_name(session, hangs.worst.device, name), number);
}
