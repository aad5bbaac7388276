// SPDX-License-Identifier: GPL-2.0
/* faultline slo: which I/O broke its objective, and which fault caused it. */
#include "lib/analyze/slo.h"

#include <errno.h>

#include "lib/analyze/floor.h"
#include "tools/offline.h"
#include "tools/verbs.h"

#define TEXT_ROWS 20

struct slo_verb {
	struct offline offline; /* first: what offline_run() hands to write_slo() */
	const char *file;
	struct slo_set set;
	__u64 broken; /* objectives that did not hold, or of which nothing was measured */
};

static const struct cli_option slo_verb_options[] = {
	{.help = "Objectives:", .group = 3},
	{"config", 'c', "FILE", "INI file with [slo NAME] sections; a job file will do", CLI_TEXT,
	 CLI_FIELD(struct slo_verb, file)},
	{0},
};

static int slo_check(void *input)
{
	const struct slo_verb *verb = input;
	int err = offline_check(input);

	if (!err && !verb->file)
		err = failed(-EINVAL,
			     "no objectives given; accepted: -c FILE with [slo NAME] sections");
	return err;
}

static const struct cli slo_cli = {
	.tables = (const struct cli_table[]){{slo_verb_options}, {0}},
	OFFLINE_CLI,
	.check = slo_check,
	.arguments = "RECORDING -c FILE",
	.about =
		"Judges the I/O, the faults and the frames of a recording by objectives, and names for each violation "
		"the faults that stood in the way. Exits with 6 if one was violated, or there was nothing to judge it by.\v"
		"An objective:\n"
		"  [slo gold]\n"
		"  device = tenant0/*          ; pattern of device names, default *\n"
		"  latency_target = 2ms        ; of latency_percentile of a window's I/Os\n"
		"  latency_percentile = 99.9   ; default 100\n"
		"  latency_window = 1s         ; whole seconds, default 1s; for all below, too\n"
		"  min_iops = 1000             ; in every window\n"
		"  min_bandwidth = 10M         ; bytes a second in every window\n"
		"  fault_rate = 10             ; I/O page faults a second, at most\n"
		"  burst = 5                   ; no more faults than this within any second\n"
		"  loss = 0.1                  ; percent of a NIC's frames, at most\n"
		"  max_stall = 50ms            ; no TCP flow of a NIC stalls for longer\n"
		"  min_throughput = 10M        ; bytes a second in every 100 ms of a NIC\n\n"
		"EXAMPLES:\n"
		"  faultline slo run.flt -c slo.ini\n"
		"  faultline slo run.flt -c slo.ini --csv=tables",
};

/* Objectives that tell nothing: on stdout in text, beside tables on stderr. */
static size_t tell_unmeasured(const struct slo_verb *verb, struct writer *writer)
{
	size_t unmeasured = 0;

	for (size_t i = 0; i < verb->set.count; i++) {
		char text[SLO_UNMEASURED_TEXT];

		if (!slo_unmeasured(verb->offline.analysis->slo, i, text))
			continue;
		unmeasured++;
		if (writer)
			writer_note(writer, "Not evaluated: %s.", text);
		else
			common_aside(&verb->offline.output, text);
	}
	return unmeasured;
}

static void slo_write_text(const struct slo_verb *verb)
{
	const struct offline *o = &verb->offline;
	const struct analysis *a = o->analysis;
	__u64 total = slo_violations(a->slo);
	size_t unmeasured;

	slo_write(a, o->writer, &(struct table_wish){.limit = TEXT_ROWS});
	if (total)
		writer_note(o->writer, "%s", "");
	for (size_t i = 0; i < TEXT_ROWS && slo_violation(a->slo, i); i++)
		slo_write_sentence(slo_violation(a->slo, i), a->session, o->writer);
	if (total > TEXT_ROWS)
		writer_note(o->writer, "... and %llu more violations; --csv has all.",
			    total - TEXT_ROWS);
	unmeasured = tell_unmeasured(verb, o->writer);
	if (!total)
		writer_note(o->writer, "No objective was violated%s.",
			    unmeasured	  ? " by what was measured"
			    : floor_of(a) ? " by what was recorded"
					  : "");
}

/* Of a host, behind its tables or in their place. */
static int slo_tell(struct offline *o)
{
	struct slo_verb *verb = (struct slo_verb *)o;
	int err;

	if (offline_is_text(o))
		slo_write_text(verb);
	else
		tell_unmeasured(verb, o->writer);
	err = offline_write_limits(o);
	if (!err)
		verb->broken += slo_violations(o->analysis->slo) + tell_unmeasured(verb, NULL);
	return err;
}

static int write_slo(struct offline *o)
{
	static const struct table_wish everything;

	if (!offline_is_text(o))
		offline_write_tables(o, &slo_analyzer, &everything);
	return offline_each(o, slo_tell);
}

int verb_slo(int argc, char **argv)
{
	static const struct offline_verb offline = {&slo_analyzer, NULL, write_slo};
	struct slo_verb verb = {0};
	struct analysis_config config = {
		.without_footprint = true, .without_findings = true, .slos = &verb.set};
	int code;

	if (cli_parse(&slo_cli, argc, argv, &verb))
		return EXIT_USAGE;
	if (slo_read(verb.file, &verb.set))
		return common_failed(-EBADMSG);
	verb.offline.inputs[1] = verb.file;
	code = offline_run(&verb.offline, &config, &offline);
	/* A violation was seen, whatever else was lost; what nothing was measured of did not hold. */
	return verb.broken && (code == EXIT_OK || code == EXIT_LOSS) ? EXIT_EXPECT : code;
}
