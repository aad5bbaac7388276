// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/odp_private.h"
#include "lib/analyze/packets.h"
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
struct odp_known {
	bool faults, failed, pages, invalidations, invalidated, prefetches;
};

static struct odp_known odp_known_of(const struct session *s, __u32 device)
{
	bool faults = !(unknown_numbers(s, device) & UNKNOWN_FAULTS);
	bool told =
		!unknown_probe(s, PROBE_RXE_INVALIDATE) && !unknown_probe(s, PROBE_MLX5_INVALIDATE);

	if (packets_device(session_device(s, device)))
		return (struct odp_known){
			.faults = faults,
			.failed = faults && !unknown_probe(s, PROBE_FAULT_RESPONSE),
			.pages = faults && !unknown_probe(s, PROBE_FAULT_MAPPED),
			.invalidations = !unknown_probe(s, PROBE_INVALIDATE_FREED),
			.invalidated = !unknown_probe(s, PROBE_INVALIDATE_FREED),
			.prefetches = !unknown_probe(s, PROBE_QP_ADVISED),
		};
	return (struct odp_known){
		.faults = faults,
		.failed = faults && !unknown_probe(s, PROBE_MLX5_FAULT_RESUME),
		.pages = faults && !unknown_probe(s, PROBE_MLX5_FAULT_MAPPED),
		.invalidations = told,
		.invalidated = told && !unknown_probe(s, PROBE_ODP_UNMAP),
		.prefetches = !unknown_kind(s, EVENT_ODP_PREFETCH),
	};
}

/* Of a device, or of one of its regions. */
struct odp_row {
	__u32 device;
	const struct odp_region *region; /* NULL: all */
	const struct odp_totals *totals;
	const struct histogram *latency; /* of the span; NULL: none was measured */
	struct odp_known known;
};

static __u64 odp_percentile(const struct odp_row *row, double percent)
{
	return row->latency ? histogram_percentile(row->latency, percent) : CELL_NONE;
}

static const char *region_kind(const struct odp_region *region)
{
	if (!region)
		return "-";
	if (region->kind == REGION_PINNED)
		return "pinned";
	if (region->kind == REGION_DEMAND)
		return "demand";
	return region->implicit ? "implicit" : "explicit";
}

#define ODP(COLUMN)                                                                              \
	COLUMN(device, none, TEXT, 10, SHOWN,                                                    \
	       session_device_name(context->session, row->device, text))                         \
	COLUMN(region, none, ADDRESS, 8, SHOWN, row->region ? row->region->key : CELL_NONE)      \
	COLUMN(process, none, TEXT, 15, SHOWN,                                                   \
	       row->region ? process_name(context, row->region->pid) : "all")                    \
	COLUMN(pid, none, COUNT, 7, WIDE,                                                        \
	       row->region ? count_or_none(row->region->pid) : CELL_NONE)                        \
	COLUMN(address, none, ADDRESS, 18, WIDE, row->region ? row->region->address : CELL_NONE) \
	COLUMN(length, none, BYTES, 7, WIDE, row->region ? row->region->length : CELL_NONE)      \
	COLUMN(kind, none, TEXT, 8, WIDE, region_kind(row->region))                              \
	COLUMN(faults, none, COUNT, 6, SHOWN, count_if(row->known.faults, row->totals->faults))  \
	COLUMN(failed, none, COUNT, 6, WIDE, count_if(row->known.failed, row->totals->failed))   \
	COLUMN(major, none, COUNT, 6, WIDE,                                                      \
	       count_if(row->known.faults && (row->totals->major || !row->totals->unknown),      \
			row->totals->major))                                                     \
	COLUMN(pages, none, COUNT, 6, SHOWN, count_if(row->known.pages, row->totals->pages))     \
	COLUMN(faulted, none, BYTES, 7, WIDE, count_if(row->known.faults, row->totals->bytes))   \
	COLUMN(invalidations, none, COUNT, 13, WIDE,                                             \
	       count_if(row->known.invalidations, row->totals->invalidations))                   \
	COLUMN(invalidated, pages, COUNT, 11, WIDE,                                              \
	       count_if(row->known.invalidated, row->totals->invalidated_pages))                 \
	COLUMN(prefetches, none, COUNT, 10, WIDE,                                                \
	       count_if(row->known.prefetches, row->totals->prefetches))                         \
	COLUMN(prefetched, pages, COUNT, 10, WIDE,                                               \
	       count_if(row->known.prefetches, row->totals->prefetched_pages))                   \
	COLUMN(mean, none, DURATION, 7, WIDE,                                                    \
	       row->latency ? (__u64)histogram_mean(row->latency) : CELL_NONE)                   \
	COLUMN(p50, none, DURATION, 7, SHOWN, odp_percentile(row, 50))                           \
	COLUMN(p90, none, DURATION, 7, WIDE, odp_percentile(row, 90))                            \
	COLUMN(p99, none, DURATION, 7, SHOWN, odp_percentile(row, 99))                           \
	COLUMN(max, none, DURATION, 7, SHOWN, row->latency ? row->latency->max : CELL_NONE)
TABLE(odp, "RDMA on-demand paging by device and region", ODP, struct odp_row, struct odp)

static void odp_write_row(const struct odp *odp, struct writer *writer, __u32 device,
			  const struct odp_region *region, const struct odp_totals *totals,
			  enum latency_span span)
{
	const struct histogram *l = span == LATENCY_WINDOW ? totals->newest : &totals->latency;

	writer_row(writer, &(struct odp_row){device, region, totals, l && l->count ? l : NULL,
					     odp_known_of(odp->session, device)});
}

static int odp_most_first(const void *a, const void *b)
{
	const struct odp_region *const *x = a, *const *y = b;

	if ((*x)->totals.faults != (*y)->totals.faults)
		return (*x)->totals.faults > (*y)->totals.faults ? -1 : 1;
	if ((*x)->device != (*y)->device)
		return (*x)->device < (*y)->device ? -1 : 1;
	return (*x)->key < (*y)->key ? -1 : (*x)->key > (*y)->key;
}

static void write_regions(const struct odp *odp, enum latency_span span, struct writer *writer,
			  size_t limit)
{
	size_t count = HASH_COUNT(odp->regions), i = 0;
	const struct odp_region **sorted = calloc(count + 1, sizeof(const struct odp_region *));
	const struct odp_entry *entry;

	if (!sorted) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the memory regions"));
		return;
	}
	for (entry = odp->regions; entry; entry = entry->hh.next)
		sorted[i++] = &entry->region;
	qsort(sorted, count, sizeof(const struct odp_region *), odp_most_first);
	for (i = 0; i < count && (!limit || i < limit); i++)
		odp_write_row(odp, writer, sorted[i]->device, sorted[i], &sorted[i]->totals, span);
	free(sorted);
}

void odp_write(const struct analysis *analysis, struct writer *writer,
	       const struct table_wish *wish)
{
	const struct odp *odp = analysis->odp;

	writer_begin_with(writer, &odp_table, odp);
	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h)) {
		const struct odp_totals *totals = odp_of_device(odp, h);

		if (totals)
			odp_write_row(odp, writer, h, NULL, totals, wish->span);
	}
	write_regions(odp, wish->span, writer, wish->limit);
	writer_end(writer);
	if (wish->limit && HASH_COUNT(odp->regions) > wish->limit)
		writer_note(writer, "... and %zu more regions.",
			    (size_t)HASH_COUNT(odp->regions) - wish->limit);
	if (odp->forgotten)
		writer_note(writer, "%llu regions that had gone without a fault are not listed.",
			    odp->forgotten);
	if (odp->dropped)
		writer_note(writer, "Too many regions: some count for their device only.");
}

struct counter_row {
	__u32 device;
	enum rdma_counter counter;
	const struct odp_counter *value;
	bool faults_known;
};

#define COUNTERS(COLUMN)                                                                       \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(counter, none, TEXT, 16, SHOWN, counter_names[row->counter])                    \
	COLUMN(count, none, COUNT, 9, SHOWN, row->value->moved)                                \
	COLUMN(during_faults, none, COUNT, 13, SHOWN,                                          \
	       count_if(row->faults_known, row->value->during))                                \
	COLUMN(longest_fault, none, DURATION, 13, SHOWN,                                       \
	       count_if(row->faults_known && row->value->during, row->value->longest_ns))
TABLE(rdma_counters, "What RDMA devices counted", COUNTERS, struct counter_row, struct session)

void odp_write_counters(const struct analysis *analysis, struct writer *writer,
			const struct table_wish *wish)
{
	const struct odp *odp = analysis->odp;

	(void)wish;
	writer_begin_with(writer, &rdma_counters_table, odp->session);
	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h)) {
		bool known = !(unknown_numbers(odp->session, h) & UNKNOWN_FAULTS);

		for (enum rdma_counter k = 0; k < RDMA_COUNTERS; k++) {
			const struct odp_counter *c = odp_counter(odp, h, k);

			if (c)
				writer_row(writer, &(struct counter_row){h, k, c, known});
		}
	}
	writer_end(writer);
}

static void write_coincidence(const struct odp *odp, struct writer *writer, __u32 device,
			      enum rdma_counter counter, const char *what)
{
	const struct odp_counter *c = odp_counter(odp, device, counter);
	char name[DEVICE_NAME_TEXT], longest[UNITS_TEXT];

	if (!c)
		return;
	if (unknown_numbers(odp->session, device) & UNKNOWN_FAULTS) {
		writer_note(writer, "%s counted %llu %s.",
			    session_device_name(odp->session, device, name), c->moved, what);
		return;
	}
	if (!c->during) {
		writer_note(writer,
			    "%s counted %llu %s, none while an on-demand fault of it was "
			    "being served.",
			    session_device_name(odp->session, device, name), c->moved, what);
		return;
	}
	writer_note(writer,
		    "%s counted %llu %s, %llu of them between readings in which on-demand "
		    "faults of it were being served (the longest took %s).",
		    session_device_name(odp->session, device, name), c->moved, what, c->during,
		    units_format_duration(c->longest_ns, longest));
}

static void odp_write_device(const struct odp *odp, struct writer *writer, __u32 device)
{
	const struct odp_totals *t = odp_of_device(odp, device);
	struct odp_known known = odp_known_of(odp->session, device);
	char name[DEVICE_NAME_TEXT], p99[UNITS_TEXT], taken[96] = "", advised[64] = "";

	if (known.invalidated)
		snprintf(taken, sizeof(taken),
			 "; the host reclaimed %llu pages in %llu invalidations",
			 t ? t->invalidated_pages : 0, t ? t->invalidations : 0);
	if (known.prefetches)
		snprintf(advised, sizeof(advised), "; %llu pages came by advice",
			 t ? t->prefetched_pages : 0);
	if (t && t->faults)
		writer_note(writer, "%s: %s%llu on-demand faults brought %llu pages (p99 %s)%s%s.",
			    session_device_name(odp->session, device, name),
			    known.pages ? "" : "at least ", t->faults, t->pages,
			    units_format_duration(histogram_percentile(&t->latency, 99), p99),
			    taken, advised);
	write_coincidence(odp, writer, device, RDMA_RETRY, "retransmissions");
	write_coincidence(odp, writer, device, RDMA_DUPLICATE, "duplicate requests");
	write_coincidence(odp, writer, device, RDMA_RNR_SENT, "receiver-not-ready answers");
}

/* Sentences: what faulted for whom; retransmissions and the faults that they coincide with. */
static void odp_write_findings(const struct analysis *a, struct writer *writer)
{
	const struct odp *odp = a->odp;

	for (__u32 h = 0; h < odp->devices.end; h = slots_next(&odp->devices, h))
		if (odp_device_find(odp, h))
			odp_write_device(odp, writer, h);
}

static bool odp_has_rows(const struct analysis *a)
{
	return odp_seen(a->odp);
}

static int create_odp(struct analysis *a, const struct analysis_config *config)
{
	return odp_create(&a->odp, a->session, a->faults, config->windowed);
}

static const struct analyzer_table tables[] = {
	{&odp_table, odp_write, odp_has_rows, REPORT_ROWS},
	{&rdma_counters_table, odp_write_counters, odp_has_rows},
	{0},
};

DEFINE_ANALYZER(odp, .tables = tables, .chapter = REPORT_RDMA, .findings = odp_write_findings,
		.look = odp_look)
