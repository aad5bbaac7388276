// SPDX-License-Identifier: GPL-2.0
/* faultline merge: one recording of several hosts. */
#include "lib/trace/merge.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/limits.h"
#include "lib/base/printable.h"
#include "lib/base/signals.h"
#include "lib/cli/cli.h"
#include "tools/common.h"
#include "tools/verbs.h"

#define OTHER_FILES 32 /* open beside the recordings */

static volatile sig_atomic_t merge_signals;

struct merge_verb {
	struct output_options output;
	const char *path;
	bool overwrite;
	bool quiet;
	const char **inputs;
	size_t count, room;
	__u64 started_ns, shown_ns; /* of the progress */
};

static void merge_on_signal(int number)
{
	(void)number;
	merge_signals = 1;
}

static int merge_take_recording(void *input, unsigned int number, const char *text)
{
	struct merge_verb *verb = input;

	(void)number;
	if (!array_grow(&verb->inputs, &verb->room, verb->count + 2, sizeof(*verb->inputs),
			ARRAY_PLAIN))
		return failed(-EINVAL, "no memory for the names of recordings");
	verb->inputs[verb->count++] = text;
	return 0;
}

static int merge_check_output(const char *text, void *field)
{
	(void)field;
	return destination_check(text, false);
}

static int merge_check(void *input)
{
	const struct merge_verb *verb = input;

	if (!verb->path)
		return failed(-EINVAL, "no output given; accepted: -o FILE, the recording to "
				       "create");
	if (!verb->count)
		return failed(-EINVAL, "no recording given; accepted: .flt files of the hosts");
	return 0;
}

#define MERGE(member) CLI_FIELD(struct merge_verb, member)

static const struct cli_option merge_options[] = {
	{"output", 'o', "FILE", "Recording to create", CLI_TEXT, MERGE(path),
	 .parse = merge_check_output},
	{"force", 'f', NULL, "Replace an existing recording, once this one is whole", CLI_FLAG,
	 MERGE(overwrite)},
	{"quiet", 'q', NULL, "No progress and no table of hosts", CLI_FLAG, MERGE(quiet)},
	{0},
};

static const struct cli merge_cli = {
	.tables = (const struct cli_table[]){{merge_options}, {0}},
	.children =
		(const struct cli_child[]){
			{&results_argp, offsetof(struct merge_verb, output), true}, {0}},
	.take = merge_take_recording,
	.check = merge_check,
	.arguments = "-o FILE RECORDING...",
	.about =
		"Makes one recording of those of several hosts, in wall-clock order. What is read of a host is what "
		"its own recording tells; report, timeline, footprint and slo tell of all of them, or with --host "
		"of some. Hosts are called as their recordings say, a second of a name NAME#2.\v"
		"EXAMPLES:\n"
		"  faultline merge -o fleet.flt hosts/*.flt\n"
		"  faultline report fleet.flt --host 'rack7-*' --csv=tables\n\n"
		"Exits with 5 if what a recording tells are floors: it was cut or damaged, or events were lost.",
};

static int merge_progress(void *self, __u64 done, __u64 total)
{
	struct merge_verb *verb = self;
	__u64 now = monotonic_ns();

	if (merge_signals)
		return failed(-EINTR, "a signal came before the recordings were merged; there is "
				      "no output");
	if (verb->quiet || !isatty(STDERR_FILENO) || now - verb->started_ns < 2 * NSEC_PER_SEC ||
	    now - verb->shown_ns < NSEC_PER_SEC / 4)
		return 0;
	verb->shown_ns = now;
	fprintf(stderr, "\rmerging: %llu%%\033[K", total ? done * 100 / total : 0);
	return 0;
}

static unsigned int floor_of_host(const struct trace_merged_host *host)
{
	return floor_of_loss(&host->loss, 0);
}

static __u64 host_lost(const struct trace_merged_host *host)
{
	const struct loss_info *loss = &host->loss;

	return loss->lost + loss->missed + loss->access_lost + loss->access_missed;
}

#define MERGED(COLUMN)                                                                           \
	COLUMN(host, none, TEXT, 16, SHOWN, row->origin.name)                                    \
	COLUMN(from, none, TIME, 18, SHOWN, count_or_none(row->from_ns))                         \
	COLUMN(to, none, TIME, 18, SHOWN, count_or_none(row->to_ns))                             \
	COLUMN(events, none, COUNT, 9, SHOWN, row->events)                                       \
	COLUMN(lost, none, COUNT, 7, SHOWN, host_lost(row))                                      \
	COLUMN(damaged, none, BYTES, 7, WIDE, row->loss.damaged_bytes)                           \
	COLUMN(clock_steps, none, COUNT, 11, WIDE, row->step.count)                              \
	COLUMN(clock_step, s, REAL, 10, WIDE,                                                    \
	       row->step.count ? (double)row->step.by_ns / 1e9 : NAN)                            \
	COLUMN(floor, none, TEXT, 16, WIDE, *floor_text(floor_of_host(row), text) ? text : "no") \
	COLUMN(recording, none, TEXT, 0, WIDE, row->input)
TABLE(merged, "Hosts", MERGED, struct trace_merged_host, void)

/* The order of what it recorded is kept; how its times lie to those of others is not what it seems. */
static void tell_host_clock(const struct merge_verb *verb, const struct trace_merged_host *host)
{
	char by[UNITS_TEXT], text[HOST_TEXT + 200];

	if (!host->clock)
		snprintf(text, sizeof(text),
			 "%s: its wall-clock is not known; it stands before all others",
			 host->origin.name);
	else if (host->step.count)
		snprintf(
			text, sizeof(text),
			"%s: its clock was set %s by %s%s; its order is kept, and its times are by the "
			"clock as it was then",
			host->origin.name, host->step.by_ns < 0 ? "back" : "forward",
			units_format_duration((__u64)llabs(host->step.by_ns), by),
			host->step.count > 1 ? ", the greatest of several steps" : "");
	else
		return;
	if (!verb->quiet)
		fprintf(stderr, "faultline: %s\n", printable_of(text).text);
}

static int merge_tell(const struct merge_verb *verb, const struct trace_merged *merged)
{
	static const char *const tables[] = {"merged", NULL};
	struct writer *writer;
	int err;

	for (size_t i = 0; i < merged->count; i++)
		tell_host_clock(verb, &merged->hosts[i]);
	if (verb->quiet && verb->output.to.format == OUTPUT_TEXT)
		return 0;
	err = common_open_writer(&writer, &verb->output, verb->inputs, tables);
	if (err)
		return err;
	/* These times are wall-clock already. */
	writer_clock(writer, &(struct clock_anchor){0, 0});
	writer_begin(writer, &merged_table);
	for (size_t i = 0; i < merged->count; i++)
		writer_row(writer, &merged->hosts[i]);
	writer_end(writer);
	return writer_close(writer);
}

static int merge_run(struct merge_verb *verb, struct trace_merged *merged)
{
	const struct trace_merge_config config = {
		.path = verb->path,
		.overwrite = verb->overwrite,
		.inputs = verb->inputs,
		.count = verb->count,
		.progress = merge_progress,
		.self = verb,
	};
	int err = limits_need_files("a merge of so many recordings", verb->count + OTHER_FILES);

	verb->started_ns = monotonic_ns();
	err = err ? err : trace_merge(&config, merged);
	if (verb->shown_ns)
		fputs("\r\033[K", stderr);
	if (err == -EEXIST && !verb->overwrite)
		err = failed(err, "%s, or let --force replace it", failure_text());
	return err;
}

static int merge_code(const struct trace_merged *merged)
{
	unsigned int floor = 0;
	char text[FLOOR_TEXT];

	for (size_t i = 0; i < merged->count; i++)
		floor |= floor_of_host(&merged->hosts[i]);
	if (floor)
		fprintf(stderr, "faultline: counts are floors: %s\n", floor_text(floor, text));
	return floor ? EXIT_LOSS : EXIT_OK;
}

int verb_merge(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = merge_on_signal};
	struct merge_verb verb = {0};
	struct trace_merged merged = {0};
	int err, code;

	if (cli_parse(&merge_cli, argc, argv, &verb))
		return EXIT_USAGE;
	signals_catch_end(&action);
	verb.inputs[verb.count] = NULL;
	err = merge_run(&verb, &merged) ?: merge_tell(&verb, &merged);
	code = err ? common_failed(err) : merge_code(&merged);
	trace_merged_free(&merged);
	free(verb.inputs);
	return code;
}
