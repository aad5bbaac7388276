// SPDX-License-Identifier: GPL-2.0
/* faultline report: what faulted, where, why, how long each stage took, what it did to the I/O. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/fault_table.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/findings.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/ios.h"
#include "lib/analyze/rates.h"
#include "tools/offline.h"
#include "tools/verbs.h"

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

/* In text only what there is: an empty table is one more thing to read during an outage. */
static int write_text(struct report *report)
{
	const struct analysis *a = report->offline.analysis;
	struct writer *w = report->offline.writer;
	struct faults_counts faults;
	int err = findings_write(report->findings, w);

	faults_counts(a->faults, &faults);
	if (!err && (faults.began || ios_events(a->ios) ||
		     invalidations_all(a->invalidations)->counts.began))
		err = writer_note(w, "%s", "");
	err = err ? err : analysis_write_text(a, w);
	return err ? err : findings_write_odd(report->findings, w);
}

static int write_tables(struct report *report)
{
	static const struct table_wish everything;
	struct offline *o = &report->offline;
	int err = read_with_faults(report);

	err = err ? err : offline_write_facts(o);
	err = err ? err : analysis_write(o->analysis, NULL, o->writer, &everything);
	return err ? err : offline_write_limits(o);
}

static int run(struct report *report)
{
	struct offline *o = &report->offline;
	bool text = o->output.to.format == OUTPUT_TEXT && !o->output.table;
	const char *tables[ANALYSIS_TABLES] = {"faults"};
	int err;

	/* Nobody reads the per-page tables in the text form: leave out what they cost. */
	report->config.without_footprint = text;
	analysis_tables(NULL, tables);
	err = offline_open(o, &report->config, tables);
	err = err ? err : findings_create(&report->findings, o->analysis);
	if (err)
		return err;
	if (!text)
		return write_tables(report);
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
