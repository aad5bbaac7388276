// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/iommu_faults.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/slots.h"
#include "lib/analyze/unknown.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define OWNER_BACK 64 /* an owner's fault is among the last so many, by far */

struct iommu_device_faults {
	__u64 faults, owned;
	struct iommu_fault last;
};

struct iommu_faults {
	const struct session *session;
	struct iommu_fault *kept; /* a ring of IOMMU_FAULTS_KEPT once it is full */
	size_t count, room;
	__u64 total;
	struct slots devices; /* struct iommu_device_faults */
	struct slots passed;  /* bool by CPU: its newest fault is outside of the period */
	struct iommu_faults_counts counts;
};

static struct iommu_fault *iommu_faults_at(const struct iommu_faults *f, __u64 number)
{
	return &f->kept[number % IOMMU_FAULTS_KEPT];
}

static int iommu_faults_keep(struct iommu_faults *f, const struct event *event)
{
	struct iommu_device_faults *of_device;

	if (f->count < IOMMU_FAULTS_KEPT) {
		if (!array_grow(&f->kept, &f->room, f->count + 1, sizeof(*f->kept), ARRAY_LIMITED))
			return failed(-ENOMEM, "no memory for another IOMMU fault");
		f->count++;
	}
	*iommu_faults_at(f, f->total++) = (struct iommu_fault){.event = *event};
	f->counts.seen++;
	of_device = slots_make(&f->devices, event->device);
	if (of_device) {
		of_device->faults++;
		of_device->last = (struct iommu_fault){.event = *event};
	}
	return 0;
}

/* The last fault of a device is told with its owner, too. */
static void owner_of_device(struct iommu_faults *f, const struct iommu_fault *fault)
{
	struct iommu_device_faults *of_device = slots_find(&f->devices, fault->event.device);

	if (!of_device)
		return;
	of_device->owned++;
	if (!memcmp(&of_device->last.event, &fault->event, sizeof(fault->event)))
		of_device->last = *fault;
}

/* The owner follows its fault on the same CPU; other CPUs' events may stand between. */
static void take_owner(struct iommu_faults *f, const struct event *owner)
{
	const bool *passed = slots_find(&f->passed, owner->cpu);

	if (passed && *passed)
		return;
	for (__u64 back = 1; back <= OWNER_BACK && back <= f->count; back++) {
		struct iommu_fault *fault = iommu_faults_at(f, f->total - back);

		if (fault->event.cpu != owner->cpu)
			continue;
		if (fault->owner.kind != EVENT_NONE)
			return;
		fault->owner = *owner;
		session_process(f->session, owner->pid, fault->process);
		if (owner->code == OWNER_UNMAPPED)
			session_process(f->session, owner->tid, fault->unmapper);
		f->counts.owned++;
		owner_of_device(f, fault);
		return;
	}
}

static int take_fault(struct iommu_faults *f, const struct event *event)
{
	bool outside = !period_has(session_period(f->session), event->time_ns);
	bool *passed = slots_make(&f->passed, event->cpu);

	if (passed)
		*passed = outside;
	return outside ? 0 : iommu_faults_keep(f, event);
}

static int iommu_faults_on_events(void *self, const struct event *events, size_t count)
{
	struct iommu_faults *f = self;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		switch (events[i].kind) {
		case EVENT_IOMMU_FAULT:
		case EVENT_IOMMU_IO_PAGE_FAULT:
			error = take_fault(f, &events[i]);
			break;
		case EVENT_FAULT_OWNER:
			take_owner(f, &events[i]);
			break;
		case EVENT_IOMMU_UNSEEN:
			if (!period_has(session_period(f->session), events[i].time_ns))
				break;
			f->counts.unseen += events[i].value;
			f->counts.at_least |= events[i].code == UNSEEN_AT_LEAST;
			break;
		default:
			break;
		}
	}
	return error;
}

static int create_iommu_faults(struct analysis *a, const struct analysis_config *config)
{
	struct iommu_faults *f = a->iommu_faults = memory_calloc(1, sizeof(*f));

	(void)config;
	if (!f)
		return failed(-ENOMEM, "no memory for IOMMU faults");
	f->session = a->session;
	slots_init(&f->devices, sizeof(struct iommu_device_faults));
	slots_init(&f->passed, sizeof(bool));
	return 0;
}

static struct stream iommu_faults_stream(struct iommu_faults *f)
{
	static const struct stream_ops ops = {.events = iommu_faults_on_events};

	return (struct stream){&ops, f};
}

static void iommu_faults_destroy(struct iommu_faults *f)
{
	if (!f)
		return;
	slots_free(&f->devices);
	slots_free(&f->passed);
	memory_free(f->kept);
	memory_free(f);
}

void iommu_faults_counts(const struct iommu_faults *f, struct iommu_faults_counts *counts)
{
	*counts = f->counts;
}

const struct iommu_fault *iommu_faults_worst(const struct iommu_faults *f, __u64 *of_device)
{
	const struct iommu_device_faults *worst = NULL;

	for (__u32 handle = 0; handle < f->devices.end; handle = slots_next(&f->devices, handle)) {
		const struct iommu_device_faults *device = slots_find(&f->devices, handle);

		if (device && device->faults > (worst ? worst->faults : 0))
			worst = device;
	}
	*of_device = worst ? worst->faults : 0;
	return worst ? &worst->last : NULL;
}

__u64 iommu_faults_of_device(const struct iommu_faults *f, __u32 device)
{
	const struct iommu_device_faults *found = slots_find(&f->devices, device);

	return found ? found->faults : 0;
}

const char *iommu_fault_reason(const struct iommu_fault *fault, char text[NAME_TEXT])
{
	/* VT-d specification, table "Fault Reason Encodings". */
	static const char *const reasons[] = {
		[0x01] = "root entry not present",
		[0x02] = "context entry not present",
		[0x03] = "context entry invalid",
		[0x04] = "address beyond the IOMMU's width",
		[0x05] = "page not writable",
		[0x06] = "page not readable",
		[0x07] = "page table not accessible",
		[0x08] = "root table not accessible",
		[0x09] = "context table not accessible",
		[0x0a] = "reserved bits in the root entry",
		[0x0b] = "reserved bits in the context entry",
		[0x0c] = "reserved bits in a page entry",
		[0x0d] = "translation request blocked",
		[0x20] = "interrupt: reserved bits in the request",
		[0x21] = "interrupt: index beyond the table",
		[0x22] = "interrupt: entry not present",
		[0x23] = "interrupt: table not accessible",
		[0x24] = "interrupt: reserved bits in the entry",
		[0x25] = "interrupt: compatibility format blocked",
		[0x26] = "interrupt: requester not allowed",
		[0x58] = "PASID entry not present",
		[0x71] = "first-level page not present",
		[0x72] = "first-level page not accessible",
		[0x78] = "second-level page not present",
		[0x79] = "second-level page not readable",
		[0x7a] = "second-level page not writable",
	};
	const struct event *event = &fault->event;

	if (event->kind == EVENT_IOMMU_IO_PAGE_FAULT)
		return event->flags & EVENT_WRITE ? "page not writable" : "page not readable";
	if (event->code < sizeof(reasons) / sizeof(reasons[0]) && reasons[event->code])
		return reasons[event->code];
	snprintf(text, NAME_TEXT, "reason 0x%02x", event->code);
	return text;
}

static bool all_decoded(const struct iommu_faults *f)
{
	return !unknown_kind(f->session, EVENT_IOMMU_FAULT) &&
	       !unknown_kind(f->session, EVENT_IOMMU_IO_PAGE_FAULT);
}

struct total_row {
	const char *what;
	__u64 count;
};

#define TOTALS(COLUMN)                                 \
	COLUMN(what, none, TEXT, 24, SHOWN, row->what) \
	COLUMN(count, none, COUNT, 12, SHOWN, row->count)
TABLE(iommu_fault_totals, "Unrecoverable IOMMU faults", TOTALS, struct total_row, void)

void iommu_faults_write_totals(const struct analysis *analysis, struct writer *writer,
			       const struct table_wish *wish)
{
	const struct iommu_faults *f = analysis->iommu_faults;
	bool decoded = all_decoded(f), unseen = !unknown_kind(f->session, EVENT_IOMMU_UNSEEN);
	bool owned = decoded && !unknown_kind(f->session, EVENT_FAULT_OWNER);
	const struct total_row rows[] = {
		{"decoded", count_if(decoded, f->counts.seen)},
		{"with owner", count_if(owned, f->counts.owned)},
		{"unseen", count_if(unseen, f->counts.unseen)},
		{"unseen is a floor", count_if(unseen, f->counts.at_least)},
	};

	(void)wish;
	writer_begin(writer, &iommu_fault_totals_table);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		writer_row(writer, &rows[i]);
	writer_end(writer);
}

static const char *source_name(const struct event *event)
{
	if (event->kind == EVENT_IOMMU_IO_PAGE_FAULT)
		return "tracepoint";
	return event->value == SOURCE_REGISTERS ? "registers" : "console";
}

static const char *access_name(__u8 flags)
{
	if (flags & EVENT_EXEC)
		return "exec";
	if (flags & EVENT_WRITE)
		return "write";
	return flags & EVENT_READ ? "read" : "interrupt";
}

static const char *owner_state(const struct iommu_fault *fault)
{
	if (fault->owner.kind == EVENT_NONE)
		return "unknown";
	return fault->owner.code == OWNER_UNMAPPED ? "unmapped" : "mapped";
}

static const char *iommu_faults_driver_name(const struct session *session, __u32 device)
{
	const struct device_info *info = session_device(session, device);

	return info ? info->model : "";
}

static bool is_owned(const struct iommu_fault *fault)
{
	return fault->owner.kind != EVENT_NONE;
}

/* Its mapping is gone. */
static bool is_gone(const struct iommu_fault *fault)
{
	return is_owned(fault) && fault->owner.code == OWNER_UNMAPPED;
}

static const char *iommu_faults_stack(const struct session *session,
				      const struct iommu_fault *fault)
{
	return is_owned(fault) ? session_stack(session, fault->owner.group) : "";
}

static const char *iommu_faults_space(const struct session *session,
				      const struct iommu_fault *fault, char *text)
{
	return is_owned(fault) ? session_device_name(session, fault->owner.device, text) : "";
}

struct iommu_device_row {
	__u32 device;
	const struct iommu_device_faults *faults;
	bool decoded;
};

#define DEVICES(COLUMN)                                                                        \
	COLUMN(device, none, TEXT, 12, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(driver, none, TEXT, 12, WIDE, iommu_faults_driver_name(context, row->device))   \
	COLUMN(faults, none, COUNT, 7, SHOWN, count_if(row->decoded, row->faults->faults))     \
	COLUMN(owned, none, COUNT, 7, WIDE, count_if(row->decoded, row->faults->owned))        \
	COLUMN(last, none, TIME, 15, SHOWN, row->faults->last.event.time_ns)                   \
	COLUMN(access, none, TEXT, 6, SHOWN, access_name(row->faults->last.event.flags))       \
	COLUMN(address, none, ADDRESS, 14, SHOWN, row->faults->last.event.address)             \
	COLUMN(reason, none, TEXT, 24, WIDE, iommu_fault_reason(&row->faults->last, text))     \
	COLUMN(owner, none, TEXT, 8, WIDE, owner_state(&row->faults->last))                    \
	COLUMN(process, none, TEXT, 15, SHOWN, row->faults->last.process)                      \
	COLUMN(pid, none, COUNT, 7, WIDE,                                                      \
	       count_if(is_owned(&row->faults->last), row->faults->last.owner.pid))            \
	COLUMN(unmapper, none, TEXT, 15, WIDE, row->faults->last.unmapper)                     \
	COLUMN(stack, none, TEXT, 0, WIDE, iommu_faults_stack(context, &row->faults->last))
TABLE(iommu_fault_devices, "IOMMU faults by device", DEVICES, struct iommu_device_row,
      struct session)

void iommu_faults_write_devices(const struct analysis *analysis, struct writer *writer,
				const struct table_wish *wish)
{
	const struct iommu_faults *f = analysis->iommu_faults;
	bool decoded = all_decoded(f);

	(void)wish;
	writer_begin_with(writer, &iommu_fault_devices_table, f->session);
	for (__u32 handle = 0; handle < f->devices.end; handle = slots_next(&f->devices, handle)) {
		const struct iommu_device_faults *d = slots_find(&f->devices, handle);

		if (d && d->faults)
			writer_row(writer, &(struct iommu_device_row){handle, d, decoded});
	}
	writer_end(writer);
}

#define IOMMU_FAULTS(COLUMN)                                                                       \
	COLUMN(time, none, TIME, 15, SHOWN, row->event.time_ns)                                    \
	COLUMN(device, none, TEXT, 12, SHOWN,                                                      \
	       session_device_name(context, row->event.device, text))                              \
	COLUMN(driver, none, TEXT, 12, WIDE, iommu_faults_driver_name(context, row->event.device)) \
	COLUMN(access, none, TEXT, 6, SHOWN, access_name(row->event.flags))                        \
	COLUMN(address, none, ADDRESS, 14, SHOWN, row->event.address)                              \
	COLUMN(pasid, none, COUNT, 7, WIDE,                                                        \
	       count_if(row->event.pasid != PASID_NONE, row->event.pasid))                         \
	COLUMN(reason, none, TEXT, 24, WIDE, iommu_fault_reason(row, text))                        \
	COLUMN(reason_code, none, COUNT, 6, WIDE,                                                  \
	       count_if(row->event.kind == EVENT_IOMMU_FAULT, row->event.code))                    \
	COLUMN(source, none, TEXT, 10, WIDE, source_name(&row->event))                             \
	COLUMN(owner, none, TEXT, 8, SHOWN, owner_state(row))                                      \
	COLUMN(process, none, TEXT, 15, SHOWN, row->process)                                       \
	COLUMN(pid, none, COUNT, 7, WIDE, count_if(is_owned(row), row->owner.pid))                 \
	COLUMN(space, none, TEXT, 16, WIDE, iommu_faults_space(context, row, text))                \
	COLUMN(mapping, none, ADDRESS, 14, WIDE, count_if(is_owned(row), row->owner.address))      \
	COLUMN(length, none, BYTES, 9, WIDE, count_if(is_owned(row), row->owner.length))           \
	COLUMN(mapped, none, TIME, 30, WIDE,                                                       \
	       count_if(is_owned(row) && !is_gone(row), row->owner.value))                         \
	COLUMN(unmapped, none, TIME, 30, WIDE, count_if(is_gone(row), row->owner.value))           \
	COLUMN(unmapper, none, TEXT, 15, WIDE, row->unmapper)                                      \
	COLUMN(unmapper_pid, none, COUNT, 7, WIDE, count_if(is_gone(row), row->owner.tid))         \
	COLUMN(stack, none, TEXT, 0, WIDE, iommu_faults_stack(context, row))
TABLE(iommu_faults, "IOMMU faults", IOMMU_FAULTS, struct iommu_fault, struct session)

void iommu_faults_write(const struct analysis *analysis, struct writer *writer,
			const struct table_wish *wish)
{
	const struct iommu_faults *f = analysis->iommu_faults;
	__u64 first = f->total - f->count;

	writer_begin_with(writer, &iommu_faults_table, f->session);
	if (wish->limit && f->total - first > wish->limit)
		first = f->total - wish->limit;
	for (__u64 number = first; number < f->total; number++)
		writer_row(writer, iommu_faults_at(f, number));
	writer_end(writer);
	if (first)
		writer_note(writer, "... and %llu before.", first);
}

static bool iommu_faults_has_rows(const struct analysis *a)
{
	return a->iommu_faults->counts.seen;
}

static const struct analyzer_table tables[] = {
	{&iommu_fault_totals_table, iommu_faults_write_totals},
	{&iommu_fault_devices_table, iommu_faults_write_devices},
	{&iommu_faults_table, iommu_faults_write, iommu_faults_has_rows, REPORT_ROWS},
	{0},
};

DEFINE_ANALYZER(iommu_faults, .tables = tables, .chapter = REPORT_DMA,
		.findings = iommu_faults_write_findings)
