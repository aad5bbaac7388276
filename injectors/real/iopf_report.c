// SPDX-License-Identifier: GPL-2.0
/* Tables of what became of it: from the module's counters and log, nothing else. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/iopf.h"

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* A column that is one of the counters. */
struct counted {
	const char *name;
	size_t offset;
	bool wide, bytes;
};

#define COUNT(field)                                                             \
	{                                                                        \
#field, offsetof(struct faultline_counters, field), false, false \
	}
#define WIDE(field)                                                             \
	{                                                                       \
#field, offsetof(struct faultline_counters, field), true, false \
	}
#define NAMED(n, i)                                                                \
	{                                                                          \
		n, offsetof(struct faultline_counters, responses[i]), false, false \
	}
#define BYTES(field)                                                           \
	{                                                                      \
#field, offsetof(struct faultline_counters, field), true, true \
	}

static const struct counted request_columns[] = {
	COUNT(requests),     NAMED("success", 0), NAMED("invalid", 1),
	NAMED("failure", 2), COUNT(answered),	  COUNT(dropped),
	WIDE(automatic),     COUNT(discarded),	  WIDE(refused),
	WIDE(aborted),	     WIDE(pending),	  WIDE(last),
	WIDE(reported),	     WIDE(report_failed), WIDE(stray_responses),
	WIDE(delivered),     WIDE(withheld),	  WIDE(timeouts),
	WIDE(late),	     WIDE(overflows),	  WIDE(binds),
	WIDE(unbinds),
};

static const struct counted dma_columns[] = {
	COUNT(dma_maps),	  COUNT(dma_unmaps),
	COUNT(dma_failures),	  WIDE(dma_syncs),
	COUNT(accesses),	  COUNT(io_page_faults),
	WIDE(iommu_maps),	  WIDE(iommu_unmaps),
	WIDE(iommu_pages_mapped), WIDE(iommu_pages_unmapped),
	BYTES(dma_bytes_mapped),  BYTES(dma_bytes_unmapped),
};

enum { COLUMNS = 1 + SIZE(request_columns) + SIZE(dma_columns) };

static __u64 value_of(const struct faultline_counters *counters, const struct counted *counted)
{
	__u64 value;

	memcpy(&value, (const char *)counters + counted->offset, sizeof(value));
	return value;
}

/* A gauge, unlike the others: it has no difference. */
static bool is_gauge(const struct counted *counted)
{
	return counted->offset == offsetof(struct faultline_counters, pending);
}

static int write_counters(struct writer *writer, const struct iopf_device *device, __u32 number,
			  const struct faultline_counters *before, const struct counted *columns,
			  size_t count)
{
	struct faultline_counters now = {.device = number};
	union cell cells[COLUMNS];
	int err = iopf_call(device, FAULTLINE_IOC_COUNTERS, &now, "cannot read the counters");

	if (err)
		return err;
	cells[0].text = iopf_device_name(device, number);
	for (size_t i = 0; i < count; i++) {
		cells[1 + i].count = value_of(&now, &columns[i]);
		if (before && !is_gauge(&columns[i]))
			cells[1 + i].count -= value_of(before, &columns[i]);
	}
	return writer_row(writer, cells);
}

/* A table of counters; the writer looks at it until its end. */
struct counters_table {
	struct table table;
	struct column columns[COLUMNS];
};

static int begin_counters(struct writer *writer, struct counters_table *table, const char *name,
			  const char *title, const struct counted *counted, size_t count)
{
	table->columns[0] = (struct column){.name = "device", .type = COLUMN_TEXT, .width = 18};
	for (size_t i = 0; i < count; i++)
		table->columns[1 + i] = (struct column){
			.name = counted[i].name,
			.type = counted[i].bytes ? COLUMN_BYTES : COLUMN_COUNT,
			.width =
				(unsigned int)(strlen(counted[i].name) > 8 ? strlen(counted[i].name)
									   : 8),
			.wide = counted[i].wide,
		};
	table->table = (struct table){
		.name = name, .title = title, .columns = table->columns, .column_count = count + 1};
	return writer_begin(writer, &table->table);
}

static int report_counters(struct iopf_run *run, struct writer *writer)
{
	bool raises = iopf_whats[run->options->what].raises;
	const struct counted *counted = raises ? request_columns : dma_columns;
	size_t count = raises ? SIZE(request_columns) : SIZE(dma_columns);
	struct counters_table table;
	int err = begin_counters(writer, &table, raises ? "requests" : "dma",
				 raises ? "Page requests" : "DMA", counted, count);

	for (__u32 i = 0; i < run->options->device_count && !err; i++) {
		__u32 number = run->options->devices[i];

		err = write_counters(writer, &run->device, number, &run->before[number], counted,
				     count);
	}
	return err ? err : writer_end(writer);
}

static int by_value(const void *one, const void *other)
{
	__u64 a = *(const __u64 *)one, b = *(const __u64 *)other;

	return (a > b) - (a < b);
}

/* What each phase of a request lasted, by the module's clock. */
enum phase { PHASE_QUEUED, PHASE_KERNEL, PHASE_DELIVERY, PHASES };

static bool phase_of(const struct faultline_log_entry *entry, enum phase phase, __u64 *ns)
{
	__u64 from[] = {entry->raised_ns, entry->reported_ns, entry->responded_ns};
	__u64 to[] = {entry->reported_ns, entry->responded_ns, entry->delivered_ns};

	if (entry->kind != FAULTLINE_LOG_REQUEST || !from[phase] || !to[phase])
		return false;
	*ns = to[phase] - from[phase];
	return true;
}

struct phase_row {
	const char *name;
	const __u64 *sorted; /* how long each request took */
	size_t count;
};

static __u64 at_percentile(const struct phase_row *row, unsigned int percent)
{
	return row->count ? row->sorted[(row->count - 1) * percent / 100] : CELL_NONE;
}

#define PHASE_COLUMNS(COLUMN)                                         \
	COLUMN(phase, none, TEXT, 10, SHOWN, row->name)               \
	COLUMN(requests, none, COUNT, 9, SHOWN, row->count)           \
	COLUMN(min, none, DURATION, 9, SHOWN, at_percentile(row, 0))  \
	COLUMN(p50, none, DURATION, 9, SHOWN, at_percentile(row, 50)) \
	COLUMN(p90, none, DURATION, 9, SHOWN, at_percentile(row, 90)) \
	COLUMN(p99, none, DURATION, 9, SHOWN, at_percentile(row, 99)) \
	COLUMN(max, none, DURATION, 9, SHOWN, at_percentile(row, 100))
TABLE(phases, "How long requests took", PHASE_COLUMNS, struct phase_row, void)

static int report_phases(struct writer *writer, const struct faultline_log_entry *entries,
			 size_t count)
{
	static const char *const names[] = {"queued", "kernel", "delivery"};
	__u64 *samples = calloc(count + 1, sizeof(*samples));
	int err = samples ? writer_begin(writer, &phases_table) : failed(-ENOMEM, "out of memory");

	for (int phase = 0; phase < PHASES && !err; phase++) {
		size_t taken = 0;

		for (size_t i = 0; i < count; i++)
			taken += phase_of(&entries[i], (enum phase)phase, &samples[taken]);
		qsort(samples, taken, sizeof(*samples), by_value);
		err = writer_row(writer, &(struct phase_row){names[phase], samples, taken});
	}
	free(samples);
	return err ? err : writer_end(writer);
}

static int note_iommufd(const struct iopf_run *run, struct writer *writer)
{
	return writer_note(writer,
			   "user space answered %u groups after mapping %u pages, and refused %u; "
			   "the device then wrote to %u pages, which it sees",
			   run->handled_groups, run->handled_pages, run->refused_groups,
			   run->written_pages);
}

static int note_processes(const struct iopf_run *run, struct writer *writer)
{
	__u32 raised = 0, good = 0, resident = 0;
	int err;

	for (__u32 i = 0; i < run->options->processes; i++) {
		raised += run->processes[i].raised;
		good += run->processes[i].good;
		resident += run->processes[i].resident;
	}
	err = writer_note(writer, "%u requests in %u groups raised by %u processes, seed %llu",
			  raised, run->plan.groups, run->options->processes,
			  (unsigned long long)run->options->seed);
	if (!err && good)
		err = writer_note(writer, "%u of %u pages that could be brought in are present",
				  resident, good);
	return err ? err
		   : writer_note(writer, "requests were resolved by code that is %s",
				 iopf_consumer_name(run->device.info.consumer));
}

int iopf_report(struct iopf_run *run, struct writer *writer)
{
	bool raises = iopf_whats[run->options->what].raises;
	struct faultline_log_entry *entries;
	size_t count;
	int err = iopf_log_read(&run->device, run->log_first, &entries, &count);

	if (err)
		return err;
	if (run->options->truth)
		err = iopf_truth_write(run->options->truth, &run->device, entries, count);
	if (!err)
		err = report_counters(run, writer);
	/* CSV is one table: what took how long can be told from --truth. */
	if (!err && raises && run->options->verb.results.to.format != OUTPUT_CSV)
		err = report_phases(writer, entries, count);
	if (!err && run->options->what == IOPF_IOMMUFD)
		err = note_iommufd(run, writer);
	else if (!err && raises && run->processes)
		err = note_processes(run, writer);
	free(entries);
	return err;
}

int iopf_report_status(const struct iopf_device *device, struct writer *writer)
{
	struct counted all[SIZE(request_columns) + SIZE(dma_columns)];
	struct counters_table table;
	int err;

	memcpy(all, request_columns, sizeof(request_columns));
	memcpy(all + SIZE(request_columns), dma_columns, sizeof(dma_columns));
	err = begin_counters(writer, &table, "status", "Devices", all, SIZE(all));
	for (__u32 i = 0; i < device->info.devices && !err; i++)
		err = write_counters(writer, device, i, NULL, all, SIZE(all));
	if (!err)
		err = writer_end(writer);
	if (!err)
		err = writer_note(
			writer,
			"%u devices, plugged in: mask 0x%x; queue of %u requests; log %llu of %llu entries",
			device->info.devices, device->info.plugged, device->info.prq_size,
			(unsigned long long)device->info.log_used,
			(unsigned long long)device->info.log_size);
	return err ? err
		   : writer_note(writer, "requests are resolved by code that is %s",
				 iopf_consumer_name(device->info.consumer));
}
