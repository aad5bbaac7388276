// SPDX-License-Identifier: GPL-2.0
/* Every table of a recording as DIR/TABLE/host=HOST/date=DATE/RECORDING.parquet. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/analyze/fault_table.h"
#include "lib/base/printable.h"
#include "tools/export.h"

/* As Hive names the partition of what has no value. Of dates it would make texts, of all of them. */
#define NO_HOST "__HIVE_DEFAULT_PARTITION__"
#define NO_DATE "1970-01-01"

/* A host's name, a part of a path; beside a date and a recording's name. */
#define HOST_PLACE 240
#define PLACE_TEXT (HOST_PLACE + 128)

/*
 * As a part of a path that its readers decode as that of a URL. What is no UTF-8 is printable() before, and cut
 * where that is long: one such name would keep some from reading all the others'.
 */
static void escape_value(const char *value, char out[HOST_PLACE])
{
	char shown[PRINTABLE_MOST * NAME_TEXT], *at = out;
	const char *text = value;

	while (*text && utf8_character(text, &(__u32){0}))
		text += utf8_character(text, &(__u32){0});
	if (*text)
		value = printable(value, shown, sizeof(shown));
	for (text = value; *text && at < out + HOST_PLACE - 3; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x80 && (isalnum(c) || strchr("._-", c)))
			*at++ = (char)c;
		else
			at += sprintf(at, "%%%02X", c);
	}
	*at = '\0';
}

static void export_place(const struct export_part *part, char place[PLACE_TEXT])
{
	const struct trace_summary *summary = part->summary;
	__u64 first = part->host->start_ns ? part->host->start_ns : summary->first_ns;
	__u64 started = wall_clock_at(&summary->clock, first);
	char host[HOST_PLACE] = NO_HOST, time[UNITS_TEXT] = NO_DATE;

	if (part->name[0])
		escape_value(part->name, host);
	/* What has no timestamp there (lib/output/parquet.c) has no day, either. */
	if (started && started <= INT64_MAX)
		units_format_time(started, time);
	snprintf(place, PLACE_TEXT, "host=%s/date=%.*s/%016llx", host, (int)strcspn(time, "T"),
		 time, export_part_id(part));
}

#define PARQUET_TABLES (ANALYSIS_TABLES + 1)

static void parquet_tables(const struct export_job *job, const char *tables[PARQUET_TABLES])
{
	size_t count = 0;

	analysis_tables(NULL, tables);
	if (job->slos)
		analysis_tables(&slo_analyzer, tables);
	while (tables[count])
		count++;
	tables[count] = "facts";
}

static int open_tables(struct writer **writer, const struct export_job *job,
		       const struct export_part *part, char place[PLACE_TEXT])
{
	const struct writer_config config = {
		.format = OUTPUT_PARQUET,
		.path = job->target,
		.place = place,
		.inputs = job->inputs,
		.overwrite = job->force,
	};
	const char *tables[PARQUET_TABLES] = {0};
	int err;

	export_place(part, place);
	parquet_tables(job, tables);
	err = writer_open(writer, &config);
	if (err)
		return err;
	err = writer_announce(*writer, tables);
	if (!err)
		return 0;
	writer_abandon(*writer);
	*writer = NULL;
	return err;
}

static int check_parquet(const struct export_job *job, const struct export_part *part)
{
	char place[PLACE_TEXT];
	struct writer *writer;
	int err = open_tables(&writer, job, part, place);

	if (!err)
		writer_abandon(writer);
	return err;
}

struct parquet_export {
	struct offline offline; /* first: what offline_run() hands to its verb */
	const struct export_job *job;
	const struct export_part *part;
	char place[PLACE_TEXT];
};

static int export_open(struct offline *o)
{
	struct parquet_export *export = (struct parquet_export *)o;

	return open_tables(&o->writer, export->job, export->part, export->place);
}

static int export_begin(struct offline *o)
{
	int err = fault_table_follow(o->analysis, o->writer);

	return err ? err : offline_read_devices(o);
}

static int export_tables(struct offline *o)
{
	const struct parquet_export *export = (const struct parquet_export *)o;
	static const struct table_wish everything;

	offline_write_facts(o);
	analysis_write(o->analysis, NULL, o->writer, &everything);
	if (export->job->slos)
		analysis_write(o->analysis, &slo_analyzer, o->writer, &everything);
	return writer_error(o->writer);
}

static int write_parquet(const struct export_job *job, const struct export_part *part)
{
	static const struct offline_verb verb = {
		.open = export_open,
		.begin = export_begin,
		.write = export_tables,
		.damage_is_loss = true,
	};
	const struct analysis_config config = {.without_findings = true, .slos = job->slos};
	struct parquet_export export = {
		.offline = {.path = part->path,
			    .only = part->number,
			    .output.to.format = OUTPUT_PARQUET},
		.job = job,
		.part = part,
	};

	return offline_run(&export.offline, &config, &verb);
}

const struct export_format export_parquet = {check_parquet, write_parquet};
