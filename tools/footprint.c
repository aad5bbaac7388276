// SPDX-License-Identifier: GPL-2.0
/* faultline footprint: which memory devices touch, and how often. */
#include "lib/analyze/footprint.h"

#include "lib/analyze/session.h"
#include "tools/offline.h"
#include "tools/verbs.h"

#define TEXT_POINTS 10

struct footprint_verb {
	struct offline offline;
	struct analysis_config config;
};

enum { KEY_THRESHOLD = 0x200 };

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Analysis:", 3},
	{"threshold", KEY_THRESHOLD, "TIME", 0,
	 "An access to a 2 MiB page more than TIME after the one before is a simulated fault "
	 "(300s)",
	 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct footprint_verb *verb = state->input;
	__u64 *threshold = &verb->config.simulated_fault_ns;

	switch (key) {
	case KEY_THRESHOLD:
		if (units_parse_duration(argument, threshold))
			common_option_failed(state, "--threshold");
		if (!*threshold || *threshold % AGGREGATE_WINDOW_NS ||
		    *threshold > 1000000 * AGGREGATE_WINDOW_NS)
			usage_error(state,
				    "--threshold: '%s': accepted: whole seconds, 1s to "
				    "1000000s, as accesses are counted by the second",
				    argument);
		return 0;
	default:
		return offline_argument(&verb->offline, key, argument, state);
	}
}

static const struct argp argp = {
	options,
	parse,
	"FILE",
	"Shows which memory the devices of a recording touched, how it grew, how often its pages "
	"were touched, and how many faults taking idle pages back would have cost.\v"
	"EXAMPLES:\n"
	"  faultline footprint run.flt\n"
	"  faultline footprint run.flt --threshold 60s\n"
	"  faultline footprint run.flt --csv=tables",
	offline_children,
	NULL,
	NULL,
};

static bool any_access(const struct analysis *a)
{
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h))
		if (footprint_device(a->footprint, h).accesses)
			return true;
	return false;
}

static int write_tables(const struct offline *o)
{
	const struct analysis *a = o->analysis;
	bool text = o->output.to.format == OUTPUT_TEXT && !o->output.wide && !o->output.table;
	struct writer *w = o->writer;
	int err;

	if (o->output.to.format == OUTPUT_TEXT && !o->output.table && !any_access(a))
		return offline_write_limits(o)
			       ?: writer_note(
					  w,
					  "No access was recorded: footprints come from the access "
					  "log of emulated devices, which this recording does not "
					  "have in the time asked for.");
	err = offline_write_facts(o);
	err = err ? err
		  : analysis_write(a, &footprint_analyzer, w,
				   &(struct table_wish){.limit = text ? TEXT_POINTS : 0});
	return err ? err : offline_write_limits(o);
}

int verb_footprint(int argc, char **argv)
{
	const char *tables[ANALYSIS_TABLES] = {0};
	struct footprint_verb verb = {0};
	int err = common_parse(&argp, 0, argc, argv, &verb);

	if (err)
		return EXIT_USAGE;
	analysis_tables(&footprint_analyzer, tables);
	err = offline_open(&verb.offline, &verb.config, tables);
	err = err ? err : offline_read(&verb.offline);
	err = err ? err : write_tables(&verb.offline);
	return offline_close(&verb.offline, err);
}
