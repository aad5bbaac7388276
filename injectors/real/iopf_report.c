// SPDX-License-Identifier: GPL-2.0
/* Tables of what became of it: from the module's counters and log, nothing else. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/iopf.h"

/* What a device counted. */
struct counters_row {
	const char *device;
	struct faultline_counters counters;
};

#define DEVICE(COLUMN) COLUMN(device, none, TEXT, 18, SHOWN, row->device)
#define REQUESTS(COLUMN)                                                              \
	COLUMN(requests, none, COUNT, 8, SHOWN, row->counters.requests)               \
	COLUMN(success, none, COUNT, 8, SHOWN, row->counters.responses[0])            \
	COLUMN(invalid, none, COUNT, 8, SHOWN, row->counters.responses[1])            \
	COLUMN(failure, none, COUNT, 8, SHOWN, row->counters.responses[2])            \
	COLUMN(answered, none, COUNT, 8, SHOWN, row->counters.answered)               \
	COLUMN(dropped, none, COUNT, 8, SHOWN, row->counters.dropped)                 \
	COLUMN(automatic, none, COUNT, 9, WIDE, row->counters.automatic)              \
	COLUMN(discarded, none, COUNT, 9, SHOWN, row->counters.discarded)             \
	COLUMN(refused, none, COUNT, 8, WIDE, row->counters.refused)                  \
	COLUMN(aborted, none, COUNT, 8, WIDE, row->counters.aborted)                  \
	COLUMN(pending, none, COUNT, 8, WIDE, row->counters.pending)                  \
	COLUMN(last, none, COUNT, 8, WIDE, row->counters.last)                        \
	COLUMN(reported, none, COUNT, 8, WIDE, row->counters.reported)                \
	COLUMN(report_failed, none, COUNT, 13, WIDE, row->counters.report_failed)     \
	COLUMN(stray_responses, none, COUNT, 15, WIDE, row->counters.stray_responses) \
	COLUMN(delivered, none, COUNT, 9, WIDE, row->counters.delivered)              \
	COLUMN(withheld, none, COUNT, 8, WIDE, row->counters.withheld)                \
	COLUMN(timeouts, none, COUNT, 8, WIDE, row->counters.timeouts)                \
	COLUMN(late, none, COUNT, 8, WIDE, row->counters.late)                        \
	COLUMN(overflows, none, COUNT, 9, WIDE, row->counters.overflows)              \
	COLUMN(binds, none, COUNT, 8, WIDE, row->counters.binds)                      \
	COLUMN(unbinds, none, COUNT, 8, WIDE, row->counters.unbinds)
#define DMA(COLUMN)                                                                             \
	COLUMN(dma_maps, none, COUNT, 8, SHOWN, row->counters.dma_maps)                         \
	COLUMN(dma_unmaps, none, COUNT, 10, SHOWN, row->counters.dma_unmaps)                    \
	COLUMN(dma_failures, none, COUNT, 12, SHOWN, row->counters.dma_failures)                \
	COLUMN(dma_syncs, none, COUNT, 9, WIDE, row->counters.dma_syncs)                        \
	COLUMN(accesses, none, COUNT, 8, SHOWN, row->counters.accesses)                         \
	COLUMN(io_page_faults, none, COUNT, 14, SHOWN, row->counters.io_page_faults)            \
	COLUMN(iommu_maps, none, COUNT, 10, WIDE, row->counters.iommu_maps)                     \
	COLUMN(iommu_unmaps, none, COUNT, 12, WIDE, row->counters.iommu_unmaps)                 \
	COLUMN(iommu_pages_mapped, none, COUNT, 18, WIDE, row->counters.iommu_pages_mapped)     \
	COLUMN(iommu_pages_unmapped, none, COUNT, 20, WIDE, row->counters.iommu_pages_unmapped) \
	COLUMN(dma_bytes_mapped, none, BYTES, 16, WIDE, row->counters.dma_bytes_mapped)         \
	COLUMN(dma_bytes_unmapped, none, BYTES, 18, WIDE, row->counters.dma_bytes_unmapped)
#define REQUEST_COLUMNS(COLUMN) DEVICE(COLUMN) REQUESTS(COLUMN)
#define DMA_COLUMNS(COLUMN)	DEVICE(COLUMN) DMA(COLUMN)
#define ALL_COLUMNS(COLUMN)	DEVICE(COLUMN) REQUESTS(COLUMN) DMA(COLUMN)
TABLE(requests, "Page requests", REQUEST_COLUMNS, struct counters_row, void)
TABLE(dma, "DMA", DMA_COLUMNS, struct counters_row, void)
TABLE(status, "Devices", ALL_COLUMNS, struct counters_row, void)

/* All but a gauge, which has no difference. */
static void iopf_subtract(struct faultline_counters *now, const struct faultline_counters *before)
{
	__u64 *counts = &now->requests, pending = now->pending;
	size_t count =
		(sizeof(*now) - offsetof(struct faultline_counters, requests)) / sizeof(*counts);

	for (size_t i = 0; i < count; i++)
		counts[i] -= (&before->requests)[i];
	now->pending = pending;
}

static int write_counters(struct writer *writer, const struct iopf_device *device, __u32 number,
			  const struct faultline_counters *before)
{
	struct counters_row row = {iopf_device_name(device, number), {.device = number}};
	int err = iopf_call(device, FAULTLINE_IOC_COUNTERS, &row.counters,
			    "cannot read the counters");

	if (err)
		return err;
	if (before)
		iopf_subtract(&row.counters, before);
	return writer_row(writer, &row);
}

static int report_counters(const struct iopf_run *run, struct writer *writer)
{
	bool raises = iopf_whats[run->options->what].raises;
	int err = writer_begin(writer, raises ? &requests_table : &dma_table);

	for (__u32 i = 0; i < run->options->device_count && !err; i++) {
		__u32 number = run->options->devices[i];

		err = write_counters(writer, &run->device, number, &run->before[number]);
	}
	return err ? err : writer_end(writer);
}

static int iopf_by_value(const void *one, const void *other)
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
		qsort(samples, taken, sizeof(*samples), iopf_by_value);
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

int iopf_report(const void *self, struct writer *writer)
{
	const struct iopf_run *run = self;
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
	if (!err && raises && run->options->verb.output.to.format != OUTPUT_CSV)
		err = report_phases(writer, entries, count);
	if (!err && run->options->what == IOPF_IOMMUFD)
		err = note_iommufd(run, writer);
	else if (!err && raises && run->processes)
		err = note_processes(run, writer);
	free(entries);
	return err;
}

int iopf_report_status(const void *self, struct writer *writer)
{
	const struct iopf_device *device = &((const struct iopf_run *)self)->device;
	int err = writer_begin(writer, &status_table);

	for (__u32 i = 0; i < device->info.devices && !err; i++)
		err = write_counters(writer, device, i, NULL);
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
