// SPDX-License-Identifier: GPL-2.0
/* faultline export: recordings for the programs that others have. */
#include "tools/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/array.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "tools/verbs.h"

#define RECORDINGS_MAX 512

enum {
#define EXPORT_FORMAT(name, value, help) FORMAT_##name,
#include "tools/export_formats.def"
	FORMATS
};

static const struct export_format *const formats[] = {
#define EXPORT_FORMAT(name, value, help) &export_##name,
#include "tools/export_formats.def"
};

static const char export_names[] =
#define EXPORT_FORMAT(name, value, help) ", --" #name " " value
#include "tools/export_formats.def"
	;

struct export_seen {
	struct seen_part {
		const char *path;
		__u64 id;
	} * all;
	size_t count, room;
};

struct export_verb {
	struct export_seen seen;
	const char *recordings[RECORDINGS_MAX];
	size_t count;
	const char *targets[FORMATS];
	const char *objectives;
	bool force;
	struct slo_set slos;
	const char *inputs[RECORDINGS_MAX + 2];
};

typedef int export_step(const struct export_format *format, const struct export_job *job,
			const struct export_part *part);

static int take_recording(void *input, unsigned int number, const char *text)
{
	struct export_verb *verb = input;

	(void)number;
	if (!strcmp(text, "-"))
		return failed(-EINVAL, "standard input cannot be exported: it is not read twice; "
				       "accepted: .flt files");
	if (verb->count == RECORDINGS_MAX)
		return failed(-EINVAL, "more than %d recordings; accepted: so many at a time",
			      RECORDINGS_MAX);
	verb->recordings[verb->count++] = text;
	return 0;
}

static int export_check(void *input)
{
	const struct export_verb *verb = input;
	size_t targets = 0;

	for (size_t f = 0; f < FORMATS; f++)
		targets += verb->targets[f] != NULL;
	if (!verb->count)
		return failed(-EINVAL, "no recording given; accepted: .flt files");
	if (!targets)
		return failed(-EINVAL, "no format given; accepted: %s", export_names + 2);
	return 0;
}

static int check_export_target(const char *text, void *field)
{
	(void)field;
	return destination_check(text, false);
}

#define EXPORT(member) CLI_FIELD(struct export_verb, member)

static const struct cli_option export_options[] = {
	{.help = "Formats:", .group = 1},
#define EXPORT_FORMAT(name, value, help) \
	{#name,                          \
	 0,                              \
	 value,                          \
	 help,                           \
	 CLI_TEXT,                       \
	 EXPORT(targets[FORMAT_##name]), \
	 .parse = check_export_target},
#include "tools/export_formats.def"
	{.help = "Output:", .group = 2},
	{"force", 0, NULL, "Replace existing output files", CLI_FLAG, EXPORT(force)},
	{.help = "Objectives:", .group = 3},
	{"config", 'c', "FILE",
	 "Judge by the [slo NAME] sections of this INI file: tables slo and violations", CLI_TEXT,
	 EXPORT(objectives)},
	{0},
};

static const struct cli_child export_children[] = {{&memory_argp, 0, true}, {0}};

static const struct cli export_cli = {
	.tables = (const struct cli_table[]){{export_options}, {0}},
	.children = export_children,
	.take = take_recording,
	.check = export_check,
	.arguments = "FILE...",
	.about =
		"Writes recordings in the formats of other programs: every table that report, timeline and "
		"footprint have, for engines that hold a fleet's.\v"
		"EXAMPLES:\n"
		"  faultline export run.flt --parquet fleet\n"
		"  faultline export node*.flt --parquet fleet -c slo.ini\n"
		"  faultline export run.flt --html run.html -c slo.ini\n\n"
		"What the files hold: docs/export.md, docs/page.md; a schema and questions for ClickHouse: "
		"dashboards/clickhouse.",
};

/* Each gets files of its own; the first result that is neither EXIT_OK nor EXIT_LOSS ends it. */
static int for_hosts(const char *path, const struct trace_hosts *hosts,
		     const struct export_format *format, const struct export_job *job,
		     export_step *step)
{
	size_t count = hosts->count ? hosts->count : 1;
	struct trace_summary *summaries = calloc(count, sizeof(*summaries));
	int worst = EXIT_OK, code;

	if (!summaries)
		return failed(-ENOMEM, "no memory for %zu hosts", count);
	code = failed_input(hosts->count ? trace_summarize_hosts(path, summaries, count)
					 : trace_summarize(path, summaries));
	for (size_t i = 0; i < count && (code == EXIT_OK || code == EXIT_LOSS); i++) {
		const struct export_part part = {
			path, &summaries[i], &summaries[i].host, hosts->count ? (__u32)i + 1 : 0,
			hosts->count ? hosts->all[i].name : summaries[i].host.hostname};

		code = step(format, job, &part);
		worst = code ? code : worst;
	}
	for (size_t i = 0; i < count; i++)
		trace_summary_free(&summaries[i]);
	free(summaries);
	return code ? code : worst;
}

/* Those whose events one recording holds, one after the other. */
static int for_each_host(const char *path, const struct export_format *format,
			 const struct export_job *job, export_step *step)
{
	struct trace_hosts hosts;
	int code = failed_input(trace_hosts_read(path, &hosts));

	if (code)
		return code;
	code = for_hosts(path, &hosts, format, job, step);
	trace_hosts_free(&hosts);
	return code;
}

__u64 export_part_id(const struct export_part *part)
{
	const struct trace_summary *summary = part->summary;
	const struct host_info *host = part->host;
	char text[512];
	int length = snprintf(text, sizeof(text), "%s\n%s\n%llu %llu %llu %llu", host->hostname,
			      host->boot_id, host->start_ns, summary->first_ns, summary->last_ns,
			      summary->events);

	return XXH3_64bits(text, (size_t)length);
}

size_t export_seen_count(const struct export_seen *seen)
{
	return seen->count;
}

static int check_once(struct export_seen *seen, const struct export_part *part)
{
	const struct seen_part new = {part->path, export_part_id(part)};

	for (size_t i = 0; i < seen->count; i++)
		if (seen->all[i].id == new.id)
			return failed(-EINVAL,
				      "%s: it is the same recording as in %s: accepted: each once",
				      part->path, seen->all[i].path);
	if (!array_grow(&seen->all, &seen->room, seen->count + 1, sizeof(new), ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %zu recordings", seen->count);
	seen->all[seen->count++] = new;
	return 0;
}

static int step_check(const struct export_format *format, const struct export_job *job,
		      const struct export_part *part)
{
	int err = check_once(job->seen, part);

	return err ? err : format->check(job, part);
}

/* The exit code as a step's result. */
static int step_write(const struct export_format *format, const struct export_job *job,
		      const struct export_part *part)
{
	return format->write(job, part);
}

static int export_all(const struct export_verb *verb, const struct export_format *format,
		      const struct export_job *job)
{
	int worst = EXIT_OK, code;

	for (size_t i = 0; i < verb->count; i++) {
		if (memory_ran_out())
			return common_failed(failed(-ENOMEM,
						    "%s: not exported: memory ran out before",
						    verb->recordings[i]));
		code = for_each_host(verb->recordings[i], format, job, step_write);
		if (code < 0)
			return common_failed(code);
		if (code != EXIT_OK && code != EXIT_LOSS)
			return code;
		worst = code ? code : worst;
	}
	return worst;
}

int verb_export(int argc, char **argv)
{
	struct export_verb verb = {0};
	int code = EXIT_OK, err = 0;

	if (cli_parse(&export_cli, argc, argv, &verb))
		return EXIT_USAGE;
	if (verb.objectives && slo_read(verb.objectives, &verb.slos))
		return common_failed(-EBADMSG);
	memcpy(verb.inputs, verb.recordings, sizeof(verb.recordings));
	verb.inputs[verb.count] = verb.objectives;
	for (size_t f = 0; f < FORMATS && code != EXIT_FAIL; f++) {
		const struct export_job job = {&verb.seen, verb.targets[f], verb.inputs,
					       verb.objectives ? &verb.slos : NULL, verb.force};

		if (!job.target)
			continue;
		verb.seen.count = 0;
		for (size_t i = 0; !err && i < verb.count; i++)
			err = for_each_host(verb.recordings[i], formats[f], &job, step_check);
		code = err ? common_failed(err) : export_all(&verb, formats[f], &job);
		if (err)
			break;
	}
	free(verb.seen.all);
	return code;
}
