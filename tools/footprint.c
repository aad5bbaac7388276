// SPDX-License-Identifier: GPL-2.0
/* faultline footprint: which memory devices touch, and how often. */
#include "lib/analyze/footprint.h"

#include <errno.h>

#include "lib/analyze/session.h"
#include "tools/offline.h"
#include "tools/verbs.h"

#define TEXT_POINTS 10

struct footprint_verb {
	struct offline offline;
	struct analysis_config config;
};

static int footprint_parse_seconds(const char *text, void *field)
{
	__u64 *length = field;
	int err = units_parse_duration(text, length);

	if (err)
		return err;
	if (!*length || *length % AGGREGATE_WINDOW_NS || *length > 1000000 * AGGREGATE_WINDOW_NS)
		return failed(
			-EINVAL,
			"'%s': accepted: whole seconds, 1s to 1000000s, as accesses are counted "
			"by the second",
			text);
	return 0;
}

static const struct cli_option footprint_options[] = {
	{.help = "Analysis:", .group = 3},
	{"threshold", 0, "TIME",
	 "An access to a 2 MiB page more than TIME after the one before is a simulated fault "
	 "(300s)",
	 CLI_OWN, CLI_FIELD(struct footprint_verb, config.simulated_fault_ns),
	 .parse = footprint_parse_seconds},
	{"window", 0, "TIME", "Also tell what is touched within each such time, such as 30m",
	 CLI_OWN, CLI_FIELD(struct footprint_verb, config.footprint_window_ns),
	 .parse = footprint_parse_seconds},
	{0},
};

static const struct cli footprint_cli = {
	.tables = (const struct cli_table[]){{footprint_options}, {0}},
	OFFLINE_CLI,
	.check = offline_check,
	.arguments = "FILE",
	.about =
		"Shows which memory the devices of a recording touched, how it grew, how often its pages "
		"were touched, and how many faults taking idle pages back would have cost.\v"
		"EXAMPLES:\n"
		"  faultline footprint run.flt\n"
		"  faultline footprint run.flt --threshold 60s\n"
		"  faultline footprint run.flt --window 30m\n"
		"  faultline footprint run.flt --csv=tables",
};

static bool any_access(const struct analysis *a)
{
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h))
		if (footprint_device(a->footprint, h).accesses)
			return true;
	return false;
}

static int write_footprint_text(struct offline *o)
{
	if (any_access(o->analysis))
		return offline_write_text(
			o, &footprint_analyzer,
			&(struct table_wish){.limit = o->output.wide ? 0 : TEXT_POINTS});
	offline_write_limits(o);
	return writer_note(
		o->writer,
		"No access was recorded: footprints come from the access log of emulated "
		"devices, which this recording does not have in the time asked for.");
}

static int write_footprint(struct offline *o)
{
	static const struct table_wish everything;

	return offline_is_text(o) ? offline_each(o, write_footprint_text)
				  : offline_write(o, &footprint_analyzer, &everything);
}

int verb_footprint(int argc, char **argv)
{
	static const struct offline_verb offline = {&footprint_analyzer, NULL, write_footprint};
	struct footprint_verb verb = {.config.without_findings = true};

	if (cli_parse(&footprint_cli, argc, argv, &verb))
		return EXIT_USAGE;
	return offline_run(&verb.offline, &verb.config, &offline);
}
