// SPDX-License-Identifier: GPL-2.0
/* faultline report: what faulted, where, why, how long each stage took, what it did to the I/O. */
#include "lib/analyze/fault_table.h"
#include "lib/analyze/rates.h"
#include "tools/offline.h"
#include "tools/verbs.h"

struct report {
	struct offline offline;
	struct analysis_config config;
};

static const struct cli_option report_options[] = {
	{.help = "Analysis:", .group = 3},
	{"burst", 0, "N", "More than N faults within a second are a burst (5)", CLI_COUNT,
	 CLI_FIELD(struct report, config.burst_faults), 1, BURST_FAULTS_MAX},
	{0},
};

static const struct cli report_cli = {
	.tables = (const struct cli_table[]){{report_options}, {0}},
	OFFLINE_CLI,
	.check = offline_check,
	.arguments = "FILE",
	.about =
		"Explains a recording: which devices faulted, how often, where the time went, which I/O "
		"waited. FILE is a .flt recording, or - for standard input.\v"
		"EXAMPLES:\n"
		"  faultline report run.flt\n"
		"  faultline report run.flt --since 14:02 --until 14:03\n"
		"  faultline report run.flt --csv=tables\n"
		"  faultline report run.flt --json --table stages\n\n"
		"With --csv or --json also every single fault is written (table faults). What every "
		"column means: docs/analysis.md.",
};

/* Rows of single faults are written while reading. */
static int follow_faults(struct offline *o)
{
	int err;

	if (offline_is_text(o))
		return 0;
	err = fault_table_follow(o->analysis, o->writer);
	return err ? err : offline_read_devices(o);
}

static int write_report_text(struct offline *o)
{
	return analysis_write_text(o->analysis, o->writer);
}

static int write_report(struct offline *o)
{
	static const struct table_wish everything;

	return offline_is_text(o) ? offline_each(o, write_report_text)
				  : offline_write(o, NULL, &everything);
}

int verb_report(int argc, char **argv)
{
	static const struct offline_verb verb = {.begin = follow_faults, .write = write_report};
	struct report report = {0};

	if (cli_parse(&report_cli, argc, argv, &report))
		return EXIT_USAGE;
	/* Nobody reads the per-page tables in the text form: leave out what they cost. */
	report.config.without_footprint = offline_is_text(&report.offline);
	report.config.without_findings = !offline_is_text(&report.offline);
	return offline_run(&report.offline, &report.config, &verb);
}
