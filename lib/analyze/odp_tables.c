// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/odp_data.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

static const char *const counter_names[RDMA_COUNTERS] = {
	[RDMA_RNR_SENT] = "rnr_sent",
	[RDMA_RNR_RECEIVED] = "rnr_received",
	[RDMA_RETRY] = "retries",
	[RDMA_DUPLICATE] = "duplicates",
	[RDMA_OUT_OF_SEQUENCE] = "out_of_sequence",
	[RDMA_SEQUENCE_NAK] = "sequence_naks",
	[RDMA_RETRY_EXCEEDED] = "retries_exceeded",
	[RDMA_RNR_EXCEEDED] = "rnr_exceeded",
};

static const char *process_name(const struct odp *odp, __u32 pid)
{
	const struct odp_process *process;

	HASH_FIND(hh, odp->processes, &pid, sizeof(pid), process);
	return process ? process->comm : "-";
}

/* What is known of any device and region. */
struct known {
	bool faults, failed, pages, invalidations, invalidated, prefetches;
};

static struct known known_of(const struct session *s, __u32 device)
{
	bool faults = !(unknown_numbers(s, device) & UNKNOWN_FAULTS);
	bool told =
		!unknown_probe(s, PROBE_RXE_INVALIDATE) && !unknown_probe(s, PROBE_MLX5_INVALIDATE);

	return (struct known){
		.faults = faults,
		.failed = faults && !unknown_probe(s, PROBE_MLX5_FAULT_RESUME),
		.pages = faults && !unknown_probe(s, PROBE_MLX5_FAULT_MAPPED),
		.invalidations = told,
		.invalidated = told && !unknown_probe(s, PROBE_ODP_UNMAP),
		.prefetches = !unknown_kind(s, EVENT_ODP_PREFETCH),
	};
}

static int write_row(struct writer *writer, const char *device, const struct odp_region *region,
		     const char *process, const struct odp_totals *t, enum latency_span span,
		     const struct known *known)
{
	const struct histogram *l = span == LATENCY_WINDOW ? t->newest : &t->latency;
	bool none = !l || !l->count;

	return writer_row(writer,
			  (union cell[]){
				  {.text = device},
				  {.count = region ? region->key : CELL_NONE},
				  {.text = process},
				  {.count = region && region->pid ? region->pid : CELL_NONE},
				  {.count = region ? region->address : CELL_NONE},
				  {.count = region ? region->length : CELL_NONE},
				  {.text = !region	      ? "-"
					   : region->implicit ? "implicit"
							      : "explicit"},
				  cell_if(known->faults, t->faults),
				  cell_if(known->failed, t->failed),
				  cell_if(known->faults && (t->major || !t->unknown), t->major),
				  cell_if(known->pages, t->pages),
				  cell_if(known->faults, t->bytes),
				  cell_if(known->invalidations, t->invalidations),
				  cell_if(known->invalidated, t->invalidated_pages),
				  cell_if(known->prefetches, t->prefetches),
				  cell_if(known->prefetches, t->prefetched_pages),
				  {.count = none ? CELL_NONE : (__u64)histogram_mean(l)},
				  {.count = none ? CELL_NONE : histogram_percentile(l, 50)},
				  {.count = none ? CELL_NONE : histogram_percentile(l, 90)},
				  {.count = none ? CELL_NONE : histogram_percentile(l, 99)},
				  {.count = none ? CELL_NONE : l->max},
			  });
}

static int most_first(const void *a, const void *b)
{
	const struct odp_region *const *x = a, *const *y = b;

	if ((*x)->totals.faults != (*y)->totals.faults)
		return (*x)->totals.faults > (*y)->totals.faults ? -1 : 1;
	if ((*x)->device != (*y)->device)
		return (*x)->device < (*y)->device ? -1 : 1;
	return (*x)->key < (*y)->key ? -1 : (*x)->key > (*y)->key;
}

static int write_regions(const struct odp *odp, enum latency_span span, struct writer *writer,
			 size_t limit)
{
	size_t count = HASH_COUNT(odp->regions), i = 0;
	const struct odp_region **sorted = calloc(count + 1, sizeof(const struct odp_region *));
	const struct odp_entry *entry;
	char text[DEVICE_NAME_TEXT];
	int error = 0;

	if (!sorted)
		return failed(-ENOMEM, "no memory for the memory regions");
	for (entry = odp->regions; entry; entry = entry->hh.next)
		sorted[i++] = &entry->region;
	qsort(sorted, count, sizeof(const struct odp_region *), most_first);
	for (i = 0; !error && i < count && (!limit || i < limit); i++) {
		const struct odp_region *region = sorted[i];
		struct known known = known_of(odp->session, region->device);

		error = write_row(writer, session_device_name(odp->session, region->device, text),
				  region, process_name(odp, region->pid), &region->totals, span,
				  &known);
	}
	free(sorted);
	return error;
}

int odp_write(const struct odp *odp, enum latency_span span, struct writer *writer, size_t limit)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 10, false},
		{"region", NULL, COLUMN_ADDRESS, 8, false},
		{"process", NULL, COLUMN_TEXT, 15, false},
		{"pid", NULL, COLUMN_COUNT, 7, true},
		{"address", NULL, COLUMN_ADDRESS, 18, true},
		{"length", NULL, COLUMN_BYTES, 7, true},
		{"kind", NULL, COLUMN_TEXT, 8, true},
		{"faults", NULL, COLUMN_COUNT, 6, false},
		{"failed", NULL, COLUMN_COUNT, 6, true},
		{"major", NULL, COLUMN_COUNT, 6, true},
		{"pages", NULL, COLUMN_COUNT, 6, false},
		{"faulted", NULL, COLUMN_BYTES, 7, true},
		{"invalidations", NULL, COLUMN_COUNT, 13, true},
		{"invalidated", "pages", COLUMN_COUNT, 11, true},
		{"prefetches", NULL, COLUMN_COUNT, 10, true},
		{"prefetched", "pages", COLUMN_COUNT, 10, true},
		{"mean", NULL, COLUMN_DURATION, 7, true},
		{"p50", NULL, COLUMN_DURATION, 7, false},
		{"p90", NULL, COLUMN_DURATION, 7, true},
		{"p99", NULL, COLUMN_DURATION, 7, false},
		{"max", NULL, COLUMN_DURATION, 7, false},
	};
	static const struct table table = {"odp", "RDMA on-demand paging by device and region",
					   columns, sizeof(columns) / sizeof(columns[0])};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; !error && h < odp->devices.end; h = slots_next(&odp->devices, h)) {
		const struct odp_totals *totals = odp_of_device(odp, h);
		struct known known;

		if (!totals)
			continue;
		known = known_of(odp->session, h);
		error = write_row(writer, session_device_name(odp->session, h, text), NULL, "all",
				  totals, span, &known);
	}
	error = error ? error : write_regions(odp, span, writer, limit);
	error = error ? error : writer_end(writer);
	if (!error && limit && HASH_COUNT(odp->regions) > limit)
		error = writer_note(writer, "... and %zu more regions.",
				    (size_t)HASH_COUNT(odp->regions) - limit);
	if (!error && odp->dropped)
		error = writer_note(writer, "Too many regions: some count for their device only.");
	return error;
}

int odp_write_counters(const struct odp *odp, struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"counter", NULL, COLUMN_TEXT, 16, false},
		{"count", NULL, COLUMN_COUNT, 9, false},
		{"during_faults", NULL, COLUMN_COUNT, 13, false},
		{"longest_fault", NULL, COLUMN_DURATION, 13, false},
	};
	static const struct table table = {"rdma_counters", "What RDMA devices counted", columns,
					   sizeof(columns) / sizeof(columns[0])};
	char text[DEVICE_NAME_TEXT];
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h)) {
		bool told = !(unknown_numbers(odp->session, h) & UNKNOWN_FAULTS);

		for (unsigned int k = 0; !error && k < RDMA_COUNTERS; k++) {
			const struct odp_counter *c = odp_counter(odp, h, (enum rdma_counter)k);

			if (c)
				error = writer_row(
					writer, (union cell[]){
							{.text = session_device_name(odp->session,
										     h, text)},
							{.text = counter_names[k]},
							{.count = c->moved},
							cell_if(told, c->during),
							cell_if(told && c->during, c->longest_ns),
						});
		}
	}
	return error ? error : writer_end(writer);
}

static int write_coincidence(const struct odp *odp, struct writer *writer, __u32 device,
			     enum rdma_counter counter, const char *what)
{
	const struct odp_counter *c = odp_counter(odp, device, counter);
	char name[DEVICE_NAME_TEXT], longest[UNITS_TEXT];

	if (!c)
		return 0;
	if (unknown_numbers(odp->session, device) & UNKNOWN_FAULTS)
		return writer_note(writer, "%s counted %llu %s.",
				   session_device_name(odp->session, device, name), c->moved, what);
	if (!c->during)
		return writer_note(writer,
				   "%s counted %llu %s, none while an on-demand fault of it was "
				   "being served.",
				   session_device_name(odp->session, device, name), c->moved, what);
	return writer_note(writer,
			   "%s counted %llu %s, %llu of them between readings in which on-demand "
			   "faults of it were being served (the longest took %s).",
			   session_device_name(odp->session, device, name), c->moved, what,
			   c->during, units_format_duration(c->longest_ns, longest));
}

static int write_device(const struct odp *odp, struct writer *writer, __u32 device)
{
	const struct odp_totals *t = odp_of_device(odp, device);
	struct known known = known_of(odp->session, device);
	char name[DEVICE_NAME_TEXT], p99[UNITS_TEXT], taken[96] = "", advised[64] = "";
	int error = 0;

	if (known.invalidated)
		snprintf(taken, sizeof(taken),
			 "; the host took back %llu pages in %llu invalidations",
			 t ? t->invalidated_pages : 0, t ? t->invalidations : 0);
	if (known.prefetches)
		snprintf(advised, sizeof(advised), "; %llu pages came by advice",
			 t ? t->prefetched_pages : 0);
	if (t && t->faults)
		error = writer_note(
			writer, "%s: %s%llu on-demand faults brought %llu pages (p99 %s)%s%s.",
			session_device_name(odp->session, device, name),
			known.pages ? "" : "at least ", t->faults, t->pages,
			units_format_duration(histogram_percentile(&t->latency, 99), p99), taken,
			advised);
	if (!error)
		error = write_coincidence(odp, writer, device, RDMA_RETRY, "retransmissions");
	if (!error)
		error = write_coincidence(odp, writer, device, RDMA_DUPLICATE,
					  "duplicate requests");
	if (!error)
		error = write_coincidence(odp, writer, device, RDMA_RNR_SENT,
					  "receiver-not-ready answers");
	return error;
}

int odp_write_findings(const struct odp *odp, struct writer *writer)
{
	int error = 0;

	for (__u32 h = 0; !error && h < odp->devices.end; h = slots_next(&odp->devices, h))
		if (odp_device_find(odp, h))
			error = write_device(odp, writer, h);
	return error;
}
