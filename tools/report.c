// SPDX-License-Identifier: GPL-2.0
/* faultline report: what faulted, where, why, how long each stage took, what it did to the I/O. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/counts.h"
#include "lib/analyze/fault_table.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/findings.h"
#include "lib/analyze/footprint.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/session.h"
#include "lib/analyze/silent.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/vfio.h"
#include "tools/offline.h"
#include "tools/verbs.h"

#define TEXT_ROWS 20

struct report {
	struct offline offline;
	struct analysis_config config;
	struct findings *findings;
	bool began; /* the table of single faults */
	int error;  /* of writing one of its rows */
};

enum { KEY_BURST = 0x200 };

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Analysis:", 3},
	{"burst", KEY_BURST, "N", 0, "More than N faults within a second are a burst (5)", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct report *report = state->input;
	__u64 count;

	switch (key) {
	case KEY_BURST:
		if (units_parse_count(argument, 1, BURST_FAULTS_MAX, &count))
			common_option_failed(state, "--burst");
		report->config.burst_faults = (unsigned int)count;
		return 0;
	default:
		return offline_argument(&report->offline, key, argument, state);
	}
}

static const struct argp argp = {
	options,
	parse,
	"FILE",
	"Explains a recording: which devices faulted, how often, where the time went, which I/O "
	"waited. FILE is a .flt recording, or - for standard input.\v"
	"EXAMPLES:\n"
	"  faultline report run.flt\n"
	"  faultline report run.flt --since 14:02 --until 14:03\n"
	"  faultline report run.flt --csv=tables\n"
	"  faultline report run.flt --json --table stages\n\n"
	"With --csv or --json also every single fault is written (table faults). What every "
	"column means: docs/analysis.md.",
	offline_children,
	NULL,
	NULL,
};

/* Not before the first fault: by then the clock is known, which decides how times are headed. */
static int begin_faults(struct report *report)
{
	report->began = true;
	return writer_begin_with(report->offline.writer, fault_table,
				 report->offline.analysis->session);
}

static void write_fault(void *self, const struct fault *fault)
{
	struct report *report = self;

	if (!report->error && !report->began)
		report->error = begin_faults(report);
	if (!report->error)
		report->error = fault_table_row(report->offline.writer,
						report->offline.analysis->session, fault);
}

/* Every fault has a row: written while reading, so that none need be kept. */
static int read_with_faults(struct report *report)
{
	struct offline *o = &report->offline;
	int err = faults_subscribe(o->analysis->faults,
				   (struct fault_sink){NULL, write_fault, report});

	err = err ? err : offline_read_devices(o);
	err = err ? err : offline_read(o);
	err = err ? err : report->error;
	if (!err && !report->began)
		err = begin_faults(report);
	return err ? err : writer_end(o->writer);
}

static int write_everything(struct report *report)
{
	const struct offline *o = &report->offline;
	const struct analysis *a = o->analysis;
	struct writer *w = o->writer;
	int err = offline_write_facts(o);

	err = err ? err : findings_write_summary(report->findings, w, 0);
	err = err ? err : stages_write(a->stages, a->session, w, true);
	err = err ? err : queues_write(a->queues, a->session, w);
	err = err ? err : rates_write_bursts(a->rates, a->session, w, 0);
	err = err ? err : counts_write_rates(a->counts, a->session, w);
	err = err ? err : counts_write_totals(a->counts, a->session, w);
	err = err ? err : iommu_faults_write_totals(a->iommu_faults, w);
	err = err ? err : iommu_faults_write_devices(a->iommu_faults, w);
	err = err ? err : iommu_faults_write(a->iommu_faults, w, 0);
	err = err ? err : mappings_write_devices(a->mappings, a->counts, w);
	err = err ? err : mappings_write_mappers(a->mappings, w, 0);
	err = err ? err : mappings_write_old(a->mappings, w, 0);
	err = err ? err : ios_write_devices(a->ios, a->counts, a->session, w, 0);
	err = err ? err : ios_write(a->ios, a->session, w, 0);
	err = err ? err : invalidations_write(a->invalidations, a->session, w, true);
	err = err ? err : odp_write(a->odp, LATENCY_SINCE_START, w, 0);
	err = err ? err : odp_write_counters(a->odp, w);
	err = err ? err : footprint_write(a->footprint, a->session, w);
	err = err ? err : footprint_write_curve(a->footprint, a->session, w, 0);
	err = err ? err : footprint_write_accesses(a->footprint, a->session, w);
	err = err ? err : footprint_write_intervals(a->footprint, a->session, w);
	err = err ? err : vfio_write(a->vfio, a->session, LATENCY_SINCE_START, w);
	err = err ? err : vfio_write_runs(a->vfio, a->session, w);
	err = err ? err : vfio_write_failures(a->vfio, a->session, w);
	err = err ? err : vfio_write_devices(a->vfio, a->session, w);
	err = err ? err : session_write_devices(a->session, w);
	err = err ? err : silent_write_probes(a->silent, w);
	err = err ? err : session_write_events(a->session, w);
	err = err ? err : session_write_loss(a->session, w);
	return err ? err : offline_write_limits(o);
}

/* In the order of write_everything(). */
static const char *const tables[] = {"faults",
				     "summary",
				     "stages",
				     "queues",
				     "bursts",
				     "rates",
				     "counts",
				     "iommu_fault_totals",
				     "iommu_fault_devices",
				     "iommu_faults",
				     "dma",
				     "mappers",
				     "old_mappings",
				     "io_devices",
				     "ios",
				     "invalidations",
				     "odp",
				     "rdma_counters",
				     "footprint",
				     "footprint_curve",
				     "footprint_accesses",
				     "footprint_intervals",
				     "vfio",
				     "vfio_runs",
				     "vfio_failures",
				     "vfio_devices",
				     "devices",
				     "probes",
				     "events",
				     "loss",
				     NULL};

static int write_dma_text(const struct analysis *a, struct writer *w)
{
	struct iommu_faults_counts faults;
	struct mappings_device all = mappings_all(a->mappings);
	int err = 0;

	iommu_faults_counts(a->iommu_faults, &faults);
	if (faults.seen)
		err = iommu_faults_write(a->iommu_faults, w, TEXT_ROWS);
	if (!err && all.window)
		err = mappings_write_devices(a->mappings, a->counts, w);
	if (!err && all.live && !mappings_unknown(a->mappings))
		err = mappings_write_mappers(a->mappings, w, TEXT_ROWS / 2);
	if (!err && all.old && !mappings_unknown(a->mappings))
		err = mappings_write_old(a->mappings, w, TEXT_ROWS / 2);
	return err;
}

/* In text only what there is: an empty table is one more thing to read during an outage. */
static int write_text(struct report *report)
{
	const struct offline *o = &report->offline;
	const struct analysis *a = o->analysis;
	struct writer *w = o->writer;
	struct faults_counts faults;
	int err = findings_write(report->findings, w);

	faults_counts(a->faults, &faults);
	if (!err && (faults.began || ios_events(a->ios) ||
		     invalidations_all(a->invalidations)->counts.began))
		err = writer_note(w, "%s", "");
	if (!err && faults.began)
		err = findings_write_summary(report->findings, w, TEXT_ROWS);
	err = err ? err : session_write_shared_names(a->session, w);
	if (!err && stages_all(a->stages)->faults)
		err = stages_write(a->stages, a->session, w, false);
	if (!err && rates_bursts(a->rates, a->session))
		err = rates_write_bursts(a->rates, a->session, w, TEXT_ROWS);
	if (!err && ios_events(a->ios))
		err = ios_write_devices(a->ios, a->counts, a->session, w, TEXT_ROWS);
	if (!err && ios_events(a->ios))
		err = ios_write(a->ios, a->session, w, TEXT_ROWS / 2);
	if (!err && invalidations_all(a->invalidations)->counts.began)
		err = invalidations_write(a->invalidations, a->session, w, false);
	if (!err && vfio_containers(a->vfio))
		err = vfio_write(a->vfio, a->session, LATENCY_SINCE_START, w);
	if (!err && odp_seen(a->odp))
		err = odp_write(a->odp, LATENCY_SINCE_START, w, TEXT_ROWS);
	if (!err && odp_seen(a->odp))
		err = odp_write_counters(a->odp, w);
	err = err ? err : write_dma_text(a, w);
	return err ? err : findings_write_odd(report->findings, w);
}

static int run(struct report *report)
{
	struct offline *o = &report->offline;
	bool text = o->output.to.format == OUTPUT_TEXT && !o->output.table;
	int err;

	/* Nobody reads the per-page tables in the text form: leave out what they cost. */
	report->config.without_footprint = text;
	err = offline_open(o, &report->config, tables);
	err = err ? err : findings_create(&report->findings, o->analysis);
	if (err)
		return err;
	if (!text) {
		err = read_with_faults(report);
		return err ? err : write_everything(report);
	}
	err = offline_read(o);
	return err ? err : write_text(report);
}

int verb_report(int argc, char **argv)
{
	struct report report = {0};
	int err = common_parse(&argp, 0, argc, argv, &report);

	if (err)
		return EXIT_USAGE;
	err = offline_close(&report.offline, run(&report));
	findings_destroy(report.findings);
	return err;
}
