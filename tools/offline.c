// SPDX-License-Identifier: GPL-2.0
#include "tools/offline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/asked.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/left_out.h"
#include "lib/analyze/session.h"
#include "lib/analyze/unknown.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"

const struct cli_child offline_children[] = {{&output_argp, offsetof(struct offline, output), true},
					     {&window_argp, offsetof(struct offline, window), true},
					     {&memory_argp, 0, true},
					     {0}};

int offline_check(void *offline)
{
	if (!((struct offline *)offline)->path)
		return failed(-EINVAL, "no recording given; accepted: a .flt file, or - for "
				       "standard input");
	return 0;
}

static int offline_open(struct offline *o, const struct analysis_config *config,
			const struct offline_verb *verb)
{
	const char *tables[ANALYSIS_TABLES] = {0};
	int err = common_open_recording(o->path, &o->window, &o->period, &o->summary);
	struct analysis_config within = *config;

	if (err)
		return failed(err, "%s%s", failure_text(),
			      destination_hint(&o->output.to, o->path));
	within.period = o->period;
	err = analysis_create(&o->analysis, &within);
	if (err)
		return err;
	o->inputs[0] = o->path;
	if (verb->open)
		return verb->open(o);
	analysis_tables(verb->analyzer, tables);
	return common_open_writer(&o->writer, &o->output, o->inputs, tables);
}

int offline_read_devices(struct offline *o)
{
	const struct trace_read_config reading = {.path = o->path, .untimed = true};
	int err = 0;

	if (strcmp(o->path, "-") != 0)
		err = trace_read(&reading, session_dictionary(o->analysis->session));
	return err == -EBADMSG ? 0 : err;
}

static int offline_read(struct offline *o)
{
	const struct trace_read_config reading = {.path = o->path};
	char what[sizeof(struct printable) + 16];
	struct progress progress = {.what = what, .total = o->summary.events};
	struct stream_fan fan = {
		.sinks = {common_clock(o->writer), common_progress(&progress),
			  analysis_stream(o->analysis)},
		.count = 3,
	};
	int err;

	snprintf(what, sizeof(what), "reading %s", printable_of(o->path).text);
	err = trace_read(&reading, stream_fan(&fan));
	common_progress_end(&progress);
	/* Where standard input is none, that could not be seen before. */
	if (err == -EISDIR)
		return failed_input(err);
	if (err != -EBADMSG)
		return err;
	o->damage = err;
	snprintf(o->sentence, sizeof(o->sentence), "%s", failure_text());
	return 0;
}

static int write_count_fact(const struct offline *o, const char *name, __u64 count)
{
	char text[UNITS_TEXT];

	snprintf(text, sizeof(text), "%llu", count);
	return writer_fact(o->writer, name, text);
}

static int write_time_fact(const struct offline *o, const char *name, __u64 ns)
{
	char text[UNITS_TEXT];

	if (o->output.raw_time)
		return ns ? write_count_fact(o, name, ns) : 0;
	if (!ns || !session_wall_time(o->analysis->session, ns, text))
		return 0;
	return writer_fact(o->writer, name, text);
}

int offline_write_facts(const struct offline *o)
{
	const struct session *s = o->analysis->session;
	const struct loss_info *loss = session_loss(s);
	const struct kept_info *kept = session_kept(s);
	const struct host_info *host = session_host(s);
	struct faults_counts faults;
	char floor[FLOOR_TEXT], *unknown;
	__u64 filtered;

	if (o->output.to.format != OUTPUT_JSON && o->output.to.format != OUTPUT_PARQUET)
		return 0;
	faults_counts(o->analysis->faults, &faults);
	unknown = unknown_text(s);

	writer_fact(o->writer, "recording", o->path);
	writer_fact(o->writer, "host", host ? host->hostname : "");
	writer_fact(o->writer, "kernel", host ? host->kernel : "");
	if (!asked_for_everything(s)) {
		writer_fact(o->writer, "asked_devices", host->devices);
		writer_fact(o->writer, "asked_kinds", host->kinds);
		if (asked_left_out(s, &filtered))
			write_count_fact(o, "filtered", filtered);
	}
	if (unknown && *unknown)
		writer_fact(o->writer, "unknown", unknown);
	free(unknown);
	write_time_fact(o, "from", session_first_ns(s));
	write_time_fact(o, "to", session_last_ns(s));
	write_count_fact(o, "events", session_events(s));
	write_count_fact(o, "lost",
			 loss->lost + loss->missed + loss->access_lost + loss->access_missed);
	write_count_fact(o, "turned_away", loss->turned_away);
	write_count_fact(o, "unwritten_events", loss->unwritten_events);
	write_count_fact(o, "damaged_bytes", loss->damaged_bytes);
	if (kept->from_ns) {
		write_time_fact(o, "kept_from", kept->from_ns);
		write_count_fact(o, "let_go_segments", kept->segments);
		write_count_fact(o, "let_go_events", kept->events);
	}
	if (faults.left_before || faults.left_after) {
		write_count_fact(o, "left_out_before", faults.left_before);
		write_count_fact(o, "left_out_across", faults.left_across);
		write_count_fact(o, "left_out_after", faults.left_after);
	}
	if (memory_ran_out())
		write_time_fact(o, "stopped", session_last_ns(s));
	if (loss->cut) {
		write_time_fact(o, "counters_as_of", loss->as_of_ns);
		write_count_fact(o, "unaccounted_ns", loss->unaccounted_ns);
	}
	writer_fact(o->writer, "floor", *floor_text(floor_of(o->analysis), floor) ? floor : "no");
	return writer_fact(o->writer, "complete", common_complete(s));
}

int offline_write_limits(const struct offline *o)
{
	unsigned int floor = floor_of(o->analysis);
	char text[FLOOR_TEXT], as_of[AS_OF_TEXT];
	session_write_kept(o->analysis->session, o->writer);
	unknown_write_of_faults(o->analysis->session, o->writer);
	asked_write(o->analysis->session, o->writer);
	left_out_write(o->analysis, o->writer);
	if (floor)
		writer_note(o->writer, "Counts are floors: %s.", floor_text(floor, text));
	if (floor && *session_as_of_text(o->analysis->session, as_of))
		writer_note(o->writer, "%s", as_of);
	return writer_error(o->writer);
}

int offline_write(const struct offline *o, const struct analyzer *analyzer,
		  const struct table_wish *wish)
{
	offline_write_facts(o);
	analysis_write(o->analysis, analyzer, o->writer, wish);
	return offline_write_limits(o);
}

static int offline_close(struct offline *o, int err, bool damage_is_loss)
{
	unsigned int floor = 0;
	char kept[KEPT_TEXT] = "", left_out[LEFT_OUT_TEXT] = "", as_of[AS_OF_TEXT] = "";
	char stopped[STOPPED_TEXT] = "", asked[ASKED_TEXT] = "", failure[sizeof(o->sentence)];
	int closed = 0, code = EXIT_OK;

	if (o->analysis) {
		floor = floor_of(o->analysis);
		session_kept_text(o->analysis->session, kept);
		asked_text(o->analysis->session, asked);
		left_out_text(o->analysis, left_out);
		session_as_of_text(o->analysis->session, as_of);
		session_stopped_text(o->analysis->session, stopped);
	}
	if (err)
		writer_abandon(o->writer);
	else
		err = closed = writer_close(o->writer);
	if (err)
		snprintf(failure, sizeof(failure), "%s", failure_text());
	else if (o->analysis)
		common_unknown(&o->output, o->analysis->session);
	analysis_destroy(o->analysis);
	trace_summary_free(&o->summary);
	/* Both are told: what the recording lacks, and what became of the output. */
	if (o->damage) {
		code = common_failed(failed(o->damage, "%s", o->sentence));
		code = damage_is_loss ? EXIT_LOSS : code;
	} else if (!err)
		common_aside(&o->output, left_out);
	common_aside(&o->output, asked);
	common_aside(&o->output, as_of);
	common_aside(&o->output, stopped);
	if (err)
		code = common_failed(failed(err, "%s", failure));
	/* Only --table asks for a table that may not be there. */
	if (closed == -ENOENT && o->output.table)
		return EXIT_USAGE;
	/* Loss is no error. */
	return code ? code : common_limits(&o->output, kept, floor);
}

int offline_run(struct offline *o, const struct analysis_config *config,
		const struct offline_verb *verb)
{
	int err = offline_open(o, config, verb);

	if (!err && verb->begin)
		err = verb->begin(o);
	if (!err)
		err = offline_read(o);
	if (!err)
		err = verb->write(o);
	return offline_close(o, err, verb->damage_is_loss);
}

bool offline_is_text(const struct offline *o)
{
	return o->output.to.format == OUTPUT_TEXT && !o->output.table;
}
