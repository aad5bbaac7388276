// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/iommu_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/slots.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define OWNER_BACK 64 /* an owner's fault is among the last so many, by far */

struct device_faults {
	__u64 faults, owned;
	struct iommu_fault last;
};

struct iommu_faults {
	const struct session *session;
	struct iommu_fault *kept; /* a ring of IOMMU_FAULTS_KEPT once it is full */
	size_t count, room;
	__u64 total;
	struct slots devices; /* struct device_faults */
	struct slots passed;  /* bool by CPU: its newest fault is outside of the period */
	struct iommu_faults_counts counts;
};

static struct iommu_fault *at(const struct iommu_faults *f, __u64 number)
{
	return &f->kept[number % IOMMU_FAULTS_KEPT];
}

static int keep(struct iommu_faults *f, const struct event *event)
{
	struct device_faults *of_device;

	if (f->count == f->room && f->room < IOMMU_FAULTS_KEPT) {
		size_t room = f->room ? 2 * f->room : 64;
		struct iommu_fault *grown;

		if (room > IOMMU_FAULTS_KEPT)
			room = IOMMU_FAULTS_KEPT;
		grown = memory_realloc(f->kept, room * sizeof(*grown));
		if (!grown)
			return failed(-ENOMEM, "no memory for another IOMMU fault");
		f->kept = grown;
		f->room = room;
	}
	f->count += f->count < f->room;
	*at(f, f->total++) = (struct iommu_fault){.event = *event};
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
	struct device_faults *of_device = slots_find(&f->devices, fault->event.device);

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
		struct iommu_fault *fault = at(f, f->total - back);

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
	return outside ? 0 : keep(f, event);
}

static int on_events(void *self, const struct event *events, size_t count)
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

int iommu_faults_create(struct iommu_faults **faults, const struct session *session)
{
	struct iommu_faults *f = memory_calloc(1, sizeof(*f));

	*faults = f;
	if (!f)
		return failed(-ENOMEM, "no memory for IOMMU faults");
	f->session = session;
	slots_init(&f->devices, sizeof(struct device_faults));
	slots_init(&f->passed, sizeof(bool));
	return 0;
}

struct stream iommu_faults_stream(struct iommu_faults *f)
{
	static const struct stream_ops ops = {.events = on_events};

	return (struct stream){&ops, f};
}

void iommu_faults_destroy(struct iommu_faults *f)
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
	const struct device_faults *worst = NULL;

	for (__u32 handle = 0; handle < f->devices.end; handle = slots_next(&f->devices, handle)) {
		const struct device_faults *device = slots_find(&f->devices, handle);

		if (device && device->faults > (worst ? worst->faults : 0))
			worst = device;
	}
	*of_device = worst ? worst->faults : 0;
	return worst ? &worst->last : NULL;
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

int iommu_faults_write_totals(const struct iommu_faults *f, struct writer *writer)
{
	static const struct column columns[] = {
		{"what", NULL, COLUMN_TEXT, 24, false},
		{"count", NULL, COLUMN_COUNT, 12, false},
	};
	static const struct table table = {"iommu_fault_totals", "Unrecoverable IOMMU faults",
					   columns, sizeof(columns) / sizeof(columns[0])};
	bool decoded = all_decoded(f);
	bool unseen = !unknown_kind(f->session, EVENT_IOMMU_UNSEEN);
	const struct {
		const char *what;
		__u64 count;
		bool known;
	} rows[] = {
		{"decoded", f->counts.seen, decoded},
		{"with owner", f->counts.owned,
		 decoded && !unknown_kind(f->session, EVENT_FAULT_OWNER)},
		{"unseen", f->counts.unseen, unseen},
		{"unseen is a floor", f->counts.at_least, unseen},
	};
	int error = writer_begin(writer, &table);

	for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++)
		error = writer_row(writer, (union cell[]){{.text = rows[i].what},
							  cell_if(rows[i].known, rows[i].count)});
	return error ? error : writer_end(writer);
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

static int write_row(const struct iommu_faults *f, struct writer *writer,
		     const struct iommu_fault *fault)
{
	const struct device_info *device = session_device(f->session, fault->event.device);
	const struct event *event = &fault->event, *owner = &fault->owner;
	bool owned = owner->kind != EVENT_NONE, gone = owned && owner->code == OWNER_UNMAPPED;
	char name[DEVICE_NAME_TEXT], reason[NAME_TEXT], owner_name[DEVICE_NAME_TEXT];

	return writer_row(
		writer,
		(union cell[]){
			{.count = event->time_ns},
			{.text = session_device_name(f->session, event->device, name)},
			{.text = device ? device->model : ""},
			{.text = access_name(event->flags)},
			{.count = event->address},
			{.count = event->pasid == PASID_NONE ? CELL_NONE : event->pasid},
			{.text = iommu_fault_reason(fault, reason)},
			{.count = event->kind == EVENT_IOMMU_FAULT ? event->code : CELL_NONE},
			{.text = source_name(event)},
			{.text = owner_state(fault)},
			{.text = fault->process},
			{.count = owned ? owner->pid : CELL_NONE},
			{.text = owned ? session_device_name(f->session, owner->device, owner_name)
				       : ""},
			{.count = owned ? owner->address : CELL_NONE},
			{.count = owned ? owner->length : CELL_NONE},
			{.count = owned && !gone ? owner->value : CELL_NONE},
			{.count = gone ? owner->value : CELL_NONE},
			{.text = fault->unmapper},
			{.count = gone ? owner->tid : CELL_NONE},
			{.text = owned ? session_stack(f->session, owner->group) : ""},
		});
}

static int write_device(const struct iommu_faults *f, struct writer *writer, __u32 handle,
			const struct device_faults *d)
{
	const struct device_info *info = session_device(f->session, handle);
	const struct iommu_fault *last = &d->last;
	bool owned = last->owner.kind != EVENT_NONE;
	bool decoded = all_decoded(f);
	char name[DEVICE_NAME_TEXT], reason[NAME_TEXT];

	return writer_row(
		writer, (union cell[]){
				{.text = session_device_name(f->session, handle, name)},
				{.text = info ? info->model : ""},
				cell_if(decoded, d->faults),
				cell_if(decoded, d->owned),
				{.count = last->event.time_ns},
				{.text = access_name(last->event.flags)},
				{.count = last->event.address},
				{.text = iommu_fault_reason(last, reason)},
				{.text = owner_state(last)},
				{.text = last->process},
				{.count = owned ? last->owner.pid : CELL_NONE},
				{.text = last->unmapper},
				{.text = owned ? session_stack(f->session, last->owner.group) : ""},
			});
}

int iommu_faults_write_devices(const struct iommu_faults *f, struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 12, false},
		{"driver", NULL, COLUMN_TEXT, 12, true},
		{"faults", NULL, COLUMN_COUNT, 7, false},
		{"owned", NULL, COLUMN_COUNT, 7, true},
		{"last", NULL, COLUMN_TIME, 15, false},
		{"access", NULL, COLUMN_TEXT, 6, false},
		{"address", NULL, COLUMN_ADDRESS, 14, false},
		{"reason", NULL, COLUMN_TEXT, 24, true},
		{"owner", NULL, COLUMN_TEXT, 8, true},
		{"process", NULL, COLUMN_TEXT, 15, false},
		{"pid", NULL, COLUMN_COUNT, 7, true},
		{"unmapper", NULL, COLUMN_TEXT, 15, true},
		{"stack", NULL, COLUMN_TEXT, 0, true},
	};
	static const struct table table = {"iommu_fault_devices", "IOMMU faults by device", columns,
					   sizeof(columns) / sizeof(columns[0])};
	int error = writer_begin(writer, &table);

	for (__u32 handle = 0; !error && handle < f->devices.end;
	     handle = slots_next(&f->devices, handle)) {
		const struct device_faults *d = slots_find(&f->devices, handle);

		if (d && d->faults)
			error = write_device(f, writer, handle, d);
	}
	return error ? error : writer_end(writer);
}

int iommu_faults_write(const struct iommu_faults *f, struct writer *writer, size_t limit)
{
	static const struct column columns[] = {
		{"time", NULL, COLUMN_TIME, 15, false},
		{"device", NULL, COLUMN_TEXT, 12, false},
		{"driver", NULL, COLUMN_TEXT, 12, true},
		{"access", NULL, COLUMN_TEXT, 6, false},
		{"address", NULL, COLUMN_ADDRESS, 14, false},
		{"pasid", NULL, COLUMN_COUNT, 7, true},
		{"reason", NULL, COLUMN_TEXT, 24, true},
		{"reason_code", NULL, COLUMN_COUNT, 6, true},
		{"source", NULL, COLUMN_TEXT, 10, true},
		{"owner", NULL, COLUMN_TEXT, 8, false},
		{"process", NULL, COLUMN_TEXT, 15, false},
		{"pid", NULL, COLUMN_COUNT, 7, true},
		{"space", NULL, COLUMN_TEXT, 16, true},
		{"mapping", NULL, COLUMN_ADDRESS, 14, true},
		{"length", NULL, COLUMN_BYTES, 9, true},
		{"mapped", NULL, COLUMN_TIME, 30, true},
		{"unmapped", NULL, COLUMN_TIME, 30, true},
		{"unmapper", NULL, COLUMN_TEXT, 15, true},
		{"unmapper_pid", NULL, COLUMN_COUNT, 7, true},
		{"stack", NULL, COLUMN_TEXT, 0, true},
	};
	static const struct table table = {"iommu_faults", "IOMMU faults", columns,
					   sizeof(columns) / sizeof(columns[0])};
	__u64 first = f->total - f->count;
	int error = writer_begin(writer, &table);

	if (limit && f->total - first > limit)
		first = f->total - limit;
	for (__u64 number = first; !error && number < f->total; number++)
		error = write_row(f, writer, at(f, number));
	error = error ? error : writer_end(writer);
	if (!error && first)
		error = writer_note(writer, "... and %llu before.", first);
	return error;
}
