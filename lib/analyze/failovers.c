// SPDX-License-Identifier: GPL-2.0
/* Clients of shared controllers that went on over another queue pair; DMA that went astray; refused transactions. */
#include <errno.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/lent.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define FAILOVERS_KEPT 65536 /* the first; further ones are counted only */
#define LENT_TOLD      8     /* sentences of a kind; further ones are counted only */

struct failovers {
	const struct session *session;
	struct event *list; /* in the order in which they were told */
	size_t count, room;
	__u64 all;
	struct event strays[LENT_TOLD];
	__u64 stray_count, stray_bytes;
	struct slots faults; /* struct lent_refusals */
};

struct lent_refusals {
	__u64 count;
	struct event first;
};

static void failovers_keep(struct failovers *f, const struct event *e)
{
	f->all++;
	if (f->count < FAILOVERS_KEPT &&
	    array_grow(&f->list, &f->room, f->count + 1, sizeof(*f->list), ARRAY_LIMITED))
		f->list[f->count++] = *e;
}

static int failovers_on_events(void *self, const struct event *events, size_t count)
{
	struct failovers *f = self;
	struct lent_refusals *refused;

	for (size_t i = 0; i < count; i++) {
		switch (events[i].kind) {
		case EVENT_FAILOVER:
			failovers_keep(f, &events[i]);
			break;
		case EVENT_STRAY_DMA:
			if (f->stray_count < LENT_TOLD)
				f->strays[f->stray_count] = events[i];
			f->stray_count++;
			f->stray_bytes += events[i].length;
			break;
		case EVENT_LEND_FAULT:
			refused = slots_make(&f->faults, events[i].device);
			if (refused && !refused->count++)
				refused->first = events[i];
			break;
		default:
			break;
		}
	}
	return 0;
}

static struct stream failovers_stream(struct failovers *f)
{
	static const struct stream_ops ops = {.events = failovers_on_events};

	return (struct stream){&ops, f};
}

static int create_failovers(struct analysis *a, const struct analysis_config *config)
{
	struct failovers *f = a->failovers = memory_calloc(1, sizeof(*f));

	(void)config;
	if (!f)
		return failed(-ENOMEM, "no memory for the failovers");
	f->session = a->session;
	slots_init(&f->faults, sizeof(struct lent_refusals));
	return 0;
}

static void failovers_destroy(struct failovers *f)
{
	if (!f)
		return;
	slots_free(&f->faults);
	memory_free(f->list);
	memory_free(f);
}

static const char *failover_name(unsigned int reason)
{
	static const char *const names[FAILOVER_REASONS] = {
		[FAILOVER_TIMEOUT] = "timeout", [FAILOVER_LINK] = "link",
		[FAILOVER_TABLES] = "tables",	[FAILOVER_MANAGER] = "manager",
		[FAILOVER_LENDER] = "lender",	[FAILOVER_BACK] = "back",
	};

	return reason < FAILOVER_REASONS ? names[reason] : "unknown";
}

#define FAILOVERS(COLUMN)                                                                      \
	COLUMN(time, none, TIME, 12, SHOWN, row->time_ns)                                      \
	COLUMN(client, none, TEXT, 12, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(device, none, TEXT, 10, WIDE, lent_device(context, row->device, text))          \
	COLUMN(reason, none, TEXT, 8, SHOWN, failover_name(row->code))                         \
	COLUMN(from_pair, none, COUNT, 9, SHOWN, row->group)                                   \
	COLUMN(to_pair, none, COUNT, 7, SHOWN, row->instance)                                  \
	COLUMN(took, none, DURATION, 8, SHOWN, row->value)                                     \
	COLUMN(sent_again, none, COUNT, 10, SHOWN, row->length)                                \
	COLUMN(known_done, none, COUNT, 10, WIDE, row->address)
TABLE(failovers, "Failovers", FAILOVERS, struct event, struct session)

static void failovers_write(const struct analysis *a, struct writer *writer,
			    const struct table_wish *wish)
{
	const struct failovers *f = a->failovers;
	size_t shown = wish->limit && wish->limit < f->count ? wish->limit : f->count;

	writer_begin_with(writer, &failovers_table, a->session);
	for (size_t i = 0; i < shown; i++)
		writer_row(writer, &f->list[i]);
	writer_end(writer);
	if (f->all > shown)
		writer_note(writer, "... and %llu more failovers.", f->all - shown);
}

static void write_strays(const struct analysis *a, struct writer *writer)
{
	const struct failovers *f = a->failovers;
	char name[DEVICE_NAME_TEXT], text[UNITS_TEXT];

	for (size_t i = 0; i < f->stray_count && i < LENT_TOLD; i++) {
		const struct event *e = &f->strays[i];

		if (e->group == LENT_NONE)
			writer_note(writer,
				    "Stray DMA: %s wrote %s of memory of host %u at 0x%llx that "
				    "nobody gave it.",
				    session_device_name(a->session, e->device, name),
				    units_format_size(e->length, text), e->instance, e->address);
		else
			writer_note(writer,
				    "Stray DMA: %s, borrow %u, reached %s of memory of host %u at "
				    "0x%llx that nobody gave it.",
				    session_device_name(a->session, e->device, name), e->group,
				    units_format_size(e->length, text), e->instance, e->address);
	}
	if (f->stray_count > LENT_TOLD)
		writer_note(writer, "... and %llu more strays; %s in all.",
			    f->stray_count - LENT_TOLD, units_format_size(f->stray_bytes, text));
}

static void failovers_write_findings(const struct analysis *a, struct writer *writer)
{
	const struct failovers *f = a->failovers;
	char name[DEVICE_NAME_TEXT];

	write_strays(a, writer);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		const struct lent_refusals *refused = slots_find(&f->faults, h);

		if (refused && refused->count)
			writer_note(writer,
				    "Faults on a lent data path: an IOMMU refused %s %llu "
				    "transaction%s, the first at 0x%llx on host %u.",
				    session_device_name(a->session, h, name), refused->count,
				    refused->count == 1 ? "" : "s", refused->first.address,
				    refused->first.instance);
	}
}

static bool failovers_have_rows(const struct analysis *a)
{
	return a->failovers->all;
}

static const struct analyzer_table tables[] = {
	{&failovers_table, failovers_write, failovers_have_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER(failovers, .of_period = true, .tables = tables, .chapter = REPORT_IO,
		.findings = failovers_write_findings)
