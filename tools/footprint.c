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

static error_t footprint_parse(int key, char *argument, struct argp_state *state)
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
	footprint_parse,
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

static int write_footprint(struct offline *o)
{
	bool brief = offline_is_text(o) && !o->output.wide;

	if (!offline_is_text(o) || any_access(o->analysis))
		return offline_write(o, &footprint_analyzer,
				     &(struct table_wish){.limit = brief ? TEXT_POINTS : 0});
	offline_write_limits(o);
	return writer_note(
		o->writer,
		"No access was recorded: footprints come from the access log of emulated "
		"devices, which this recording does not have in the time asked for.");
}

int verb_footprint(int argc, char **argv)
{
	static const struct offline_verb offline = {&footprint_analyzer, NULL, write_footprint};
	struct footprint_verb verb = {.config.without_findings = true};

	if (common_parse(&argp, 0, argc, argv, &verb))
		return EXIT_USAGE;
	return offline_run(&verb.offline, &verb.config, &offline);
}
