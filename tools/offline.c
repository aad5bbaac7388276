// SPDX-License-Identifier: GPL-2.0
#include "tools/offline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/asked.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/left_out.h"
#include "lib/analyze/session.h"
#include "lib/analyze/unknown.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "tools/offline_facts.h"

const struct cli_child offline_children[] = {{&output_argp, offsetof(struct offline, output), true},
					     {&window_argp, offsetof(struct offline, window), true},
					     {&memory_argp, 0, true},
					     {&hosts_argp, offsetof(struct offline, wanted), true},
					     {0}};

int offline_check(void *offline)
{
	if (!((struct offline *)offline)->path)
		return failed(-EINVAL, "no recording given; accepted: a .flt file, or - for "
				       "standard input");
	return 0;
}

bool offline_has_hosts(const struct offline *o)
{
	return o->count > 1;
}

void offline_turn(struct offline *o, size_t host)
{
	o->host = host;
	o->analysis = o->all[host];
	if (o->writer && offline_has_hosts(o))
		writer_host(o->writer, host);
}

static int offline_find_one(struct offline *o)
{
	struct offline_host *host = &o->hosts[0];
	const char *name = host->name;
	int err = common_open_recording(o->path, &o->window, &host->period, &host->summary);

	o->count = 1;
	snprintf(host->name, sizeof(host->name), "%s", host->summary.host.hostname);
	if (!err && o->wanted.count && !strcmp(o->path, "-"))
		err = failed(-EINVAL, "--host needs a file: of standard input it is not known "
				      "before who is in it");
	return err ? err : hosts_check(&o->wanted, o->path, &name, 1);
}

/* The summaries of all are there: what is asked for is kept, of the others nothing. */
static int choose_hosts(struct offline *o, const struct trace_hosts *hosts,
			struct trace_summary *summaries, const char **names)
{
	int err;

	for (size_t i = 0; i < hosts->count; i++)
		names[i] = hosts->all[i].name;
	err = hosts_check(&o->wanted, o->path, names, hosts->count);
	for (size_t i = 0; i < hosts->count; i++) {
		struct offline_host *host = &o->hosts[o->count];

		if (err || !hosts_want(&o->wanted, names[i]) || (o->only && o->only != i + 1)) {
			trace_summary_free(&summaries[i]);
			continue;
		}
		host->number = (__u32)i + 1;
		host->summary = summaries[i];
		snprintf(host->name, sizeof(host->name), "%s", names[i]);
		o->count++;
	}
	return err;
}

static int resolve_hosts(struct offline *o)
{
	struct trace_summary **summaries = calloc(o->count, sizeof(struct trace_summary *));
	struct period *periods = calloc(o->count, sizeof(*periods));
	int err;

	for (size_t i = 0; summaries && i < o->count; i++)
		summaries[i] = &o->hosts[i].summary;
	if (!summaries || !periods)
		err = failed(-ENOMEM, "no memory for %zu hosts", o->count);
	else if (o->count == 1)
		err = common_resolve_window(&o->window, summaries[0], periods);
	else
		err = common_resolve_hosts(&o->window, summaries, periods, o->count);
	for (size_t i = 0; !err && i < o->count; i++)
		o->hosts[i].period = periods[i];
	free(summaries);
	free(periods);
	return err;
}

static int offline_find_several(struct offline *o, const struct trace_hosts *hosts)
{
	struct trace_summary *summaries = calloc(hosts->count, sizeof(*summaries));
	const char **names = calloc(hosts->count, sizeof(*names));
	int err = summaries && names ? trace_summarize_hosts(o->path, summaries, hosts->count)
				     : failed(-ENOMEM, "no memory for %zu hosts", hosts->count);

	if (!err)
		err = choose_hosts(o, hosts, summaries, names);
	err = err ? err : resolve_hosts(o);
	free(summaries);
	free(names);
	return err;
}

/* Who is in the recording, and what of each is asked for. */
static int offline_find_hosts(struct offline *o)
{
	struct trace_hosts hosts;
	int err = failed_input(trace_hosts_read(o->path, &hosts));

	if (err)
		return err;
	o->hosts = calloc(hosts.count + 1, sizeof(*o->hosts));
	o->all = calloc(hosts.count + 1, sizeof(struct analysis *));
	if (!o->hosts || !o->all)
		err = failed(-ENOMEM, "no memory for %zu hosts", hosts.count);
	else
		err = hosts.count ? offline_find_several(o, &hosts) : offline_find_one(o);
	trace_hosts_free(&hosts);
	return err;
}

static int create_analyses(struct offline *o, const struct analysis_config *config)
{
	struct analysis_config within = *config;
	int err = 0;

	for (size_t i = 0; !err && i < o->count; i++) {
		within.period = o->hosts[i].period;
		err = analysis_create(&o->all[i], &within);
		o->hosts[i].analysis = o->all[i];
	}
	return err;
}

static int tell_writer_hosts(struct offline *o)
{
	const char **names = calloc(o->count, sizeof(*names));
	int err;

	if (!names)
		return failed(-ENOMEM, "no memory for %zu hosts", o->count);
	for (size_t i = 0; i < o->count; i++)
		names[i] = o->hosts[i].name;
	err = writer_hosts(o->writer, names, o->count, !offline_is_text(o));
	free(names);
	return err;
}

static int offline_open(struct offline *o, const struct analysis_config *config,
			const struct offline_verb *verb)
{
	const char *tables[ANALYSIS_TABLES] = {0};
	int err = offline_find_hosts(o);

	if (err)
		return failed(err, "%s%s", failure_text(),
			      destination_hint(&o->output.to, o->path));
	err = create_analyses(o, config);
	if (err)
		return err;
	o->inputs[0] = o->path;
	if (verb->open) {
		err = verb->open(o);
		return !err && offline_has_hosts(o) ? tell_writer_hosts(o) : err;
	}
	analysis_tables(verb->analyzer, tables);
	o->tells_hosts = offline_has_hosts(o) && tables[1];
	if (o->tells_hosts)
		for (size_t i = 0; i < ANALYSIS_TABLES - 1; i++)
			if (!tables[i]) {
				tables[i] = OFFLINE_HOSTS_TABLE;
				break;
			}
	err = common_open_writer(&o->writer, &o->output, o->inputs, tables);
	if (!err && offline_has_hosts(o))
		err = tell_writer_hosts(o);
	return err;
}

/* Of each host its stream into what `sink` makes of it. */
static int offline_read_hosts(struct offline *o, bool untimed,
			      struct stream (*sink)(struct offline *o, size_t host))
{
	struct trace_read_config reading = {.path = o->path, .untimed = untimed};
	size_t last = o->hosts[o->count - 1].number;
	struct stream *sinks;
	int err;

	if (!last)
		return trace_read(&reading, sink(o, 0));
	sinks = calloc(last, sizeof(*sinks));
	if (!sinks)
		return failed(-ENOMEM, "no memory for %zu hosts", o->count);
	for (size_t i = 0; i < o->count; i++)
		sinks[o->hosts[i].number - 1] = sink(o, i);
	err = trace_read_hosts(&reading, sinks, last);
	free(sinks);
	return err;
}

static struct stream dictionary_of(struct offline *o, size_t host)
{
	return session_dictionary(o->all[host]->session);
}

int offline_read_devices(struct offline *o)
{
	int err = 0;

	/* Once for all of them. */
	if (strcmp(o->path, "-") != 0 && o->host == o->count - 1)
		err = offline_read_hosts(o, true, dictionary_of);
	return err == -EBADMSG ? 0 : err;
}

int offline_read_ahead(struct offline *o, struct stream (*sink)(struct offline *o, size_t host))
{
	int err = 0;

	if (strcmp(o->path, "-") != 0 && o->host == o->count - 1)
		err = offline_read_hosts(o, false, sink);
	return err == -EBADMSG ? 0 : err;
}

/* Ahead of whatever hears a host: it is its turn. */
struct turn {
	struct offline *offline;
	size_t host;
	struct stream_fan fan;
};

#define TURN(call, type)                                         \
	static int turn_on_##call(void *self, type value)        \
	{                                                        \
		const struct turn *turn = self;                  \
                                                                 \
		(void)value;                                     \
		if (turn->offline->host != turn->host)           \
			offline_turn(turn->offline, turn->host); \
		return 0;                                        \
	}
TURN(host, const struct host_info *)
TURN(clock, const struct clock_anchor *)
TURN(probe, const struct probe_info *)
TURN(device, const struct device_info *)
TURN(stack, const struct stack_info *)
TURN(process, const struct process_info *)
TURN(flow, const struct flow_info *)
TURN(aggregate, const struct aggregate_frame *)
TURN(loss, const struct loss_info *)
TURN(kept, const struct kept_info *)
TURN(tick, __u64)
TURN(end, __u64)

static int turn_on_events(void *self, const struct event *events, size_t count)
{
	(void)events, (void)count;
	return turn_on_tick(self, 0);
}

static struct stream turn_stream(struct turn *turn)
{
	static const struct stream_ops ops = {
		.host = turn_on_host,
		.clock = turn_on_clock,
		.probe = turn_on_probe,
		.device = turn_on_device,
		.stack = turn_on_stack,
		.process = turn_on_process,
		.flow = turn_on_flow,
		.events = turn_on_events,
		.aggregate = turn_on_aggregate,
		.loss = turn_on_loss,
		.kept = turn_on_kept,
		.tick = turn_on_tick,
		.end = turn_on_end,
	};

	return (struct stream){&ops, turn};
}

static struct stream all_of(struct offline *o, size_t host)
{
	return stream_fan(&o->turns[host].fan);
}

static int offline_read(struct offline *o, const struct offline_verb *verb)
{
	char what[sizeof(struct printable) + 16];
	struct progress progress = {.what = what};
	int err;

	o->turns = calloc(o->count, sizeof(*o->turns));
	if (!o->turns)
		return failed(-ENOMEM, "no memory for %zu hosts", o->count);
	for (size_t i = 0; i < o->count; i++) {
		progress.total += o->hosts[i].summary.events;
		o->turns[i] = (struct turn){
			o,
			i,
			{.sinks = {turn_stream(&o->turns[i]), common_clock(o->writer),
				   common_progress(&progress), analysis_stream(o->all[i])},
			 .count = 4}};
		offline_turn(o, i);
		if (verb->stream)
			stream_fan_add(&o->turns[i].fan, verb->stream(o));
	}
	snprintf(what, sizeof(what), "reading %s", printable_of(o->path).text);
	err = offline_read_hosts(o, false, all_of);
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

int offline_each(struct offline *o, int (*tell)(struct offline *offline))
{
	int err = 0;

	for (size_t i = 0; !err && i < o->count; i++) {
		offline_turn(o, i);
		if (offline_has_hosts(o))
			writer_heading(o->writer, o->hosts[i].name);
		err = tell(o);
	}
	writer_heading(o->writer, NULL);
	return err;
}

int offline_write_limits(struct offline *o)
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

int offline_write_text(struct offline *o, const struct analyzer *analyzer,
		       const struct table_wish *wish)
{
	analysis_write(o->analysis, analyzer, o->writer, wish);
	return offline_write_limits(o);
}

int offline_write_tables(struct offline *o, const struct analyzer *analyzer,
			 const struct table_wish *wish)
{
	offline_write_facts(o);
	analysis_write_hosts((const struct analysis *const *)o->all, o->count, analyzer, o->writer,
			     wish);
	return o->tells_hosts ? offline_write_hosts(o) : writer_error(o->writer);
}

int offline_write(struct offline *o, const struct analyzer *analyzer, const struct table_wish *wish)
{
	offline_write_tables(o, analyzer, wish);
	return offline_each(o, offline_write_limits);
}

/* A sentence on stderr of one of several hosts names it. */
static void offline_aside(const struct offline *o, const char *sentence)
{
	char named[sizeof(o->hosts->name) + UNKNOWN_TEXT + FLOOR_TEXT + 16];

	if (!*sentence)
		return;
	snprintf(named, sizeof(named), "%s%s%s%s%s", o->called ? o->called : "",
		 o->called ? ": " : "", offline_has_hosts(o) ? o->hosts[o->host].name : "",
		 offline_has_hosts(o) ? ": " : "", sentence);
	common_aside(&o->output, named);
}

static void tell_left_out(struct offline *o)
{
	char text[LEFT_OUT_TEXT] = "";

	left_out_text(o->analysis, text);
	offline_aside(o, text);
}

static void tell_asked(struct offline *o)
{
	char asked[ASKED_TEXT] = "", as_of[AS_OF_TEXT] = "", stopped[STOPPED_TEXT] = "";
	const struct session *session = o->analysis->session;

	asked_text(session, asked);
	session_as_of_text(session, as_of);
	session_stopped_text(session, stopped);
	offline_aside(o, asked);
	offline_aside(o, as_of);
	offline_aside(o, stopped);
}

static void tell_unknown(struct offline *o)
{
	const struct session *session = o->analysis->session;
	char text[UNKNOWN_TEXT];

	offline_aside(o, unknown_kinds(session, text));
	for (size_t i = 0; i < session_probe_count(session); i++)
		offline_aside(o, unknown_sentence(session, i, text));
}

/* After the rest: what is missing, and whether counts are floors, of each host. */
static int offline_tell_limits(struct offline *o)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < o->count && o->all[i]; i++) {
		unsigned int floor = floor_of(o->all[i]);
		char kept[KEPT_TEXT] = "", text[FLOOR_TEXT], floors[FLOOR_TEXT + 32] = "";

		offline_turn(o, i);
		session_kept_text(o->analysis->session, kept);
		if (!offline_has_hosts(o) && !o->called)
			return common_limits(&o->output, kept, floor);
		offline_aside(o, kept);
		if (floor)
			snprintf(floors, sizeof(floors), "counts are floors: %s",
				 floor_text(floor, text));
		offline_aside(o, floors);
		if (floor)
			code = EXIT_LOSS;
	}
	return code;
}

static void tell_each(struct offline *o, void (*tell)(struct offline *o))
{
	for (size_t i = 0; i < o->count && o->all && o->all[i]; i++) {
		offline_turn(o, i);
		tell(o);
	}
}

static void offline_free(struct offline *o)
{
	for (size_t i = 0; o->hosts && i < o->count; i++) {
		analysis_destroy(o->all[i]);
		trace_summary_free(&o->hosts[i].summary);
	}
	free(o->all);
	free(o->hosts);
	free(o->turns);
}

static int offline_close(struct offline *o, int err, bool damage_is_loss)
{
	char failure[sizeof(o->sentence)];
	int closed = 0, code = EXIT_OK, limits = EXIT_OK;

	if (err)
		writer_abandon(o->writer);
	else
		err = closed = writer_close(o->writer);
	o->writer = NULL;
	if (err)
		snprintf(failure, sizeof(failure), "%s", failure_text());
	else
		tell_each(o, tell_unknown);
	/* Both are told: what the recording lacks, and what became of the output. */
	if (o->damage) {
		code = common_failed(failed(o->damage, "%s", o->sentence));
		code = damage_is_loss ? EXIT_LOSS : code;
	} else if (!err)
		tell_each(o, tell_left_out);
	tell_each(o, tell_asked);
	if (err)
		code = common_failed(failed(err, "%s", failure));
	/* Only --table asks for a table that may not be there. */
	if (closed == -ENOENT && o->output.table)
		code = EXIT_USAGE;
	/* Loss is no error. */
	else if (!code)
		limits = offline_tell_limits(o);
	offline_free(o);
	return code ? code : limits;
}

int offline_run(struct offline *o, const struct analysis_config *config,
		const struct offline_verb *verb)
{
	int err = offline_open(o, config, verb);

	for (size_t i = 0; !err && verb->begin && i < o->count; i++) {
		offline_turn(o, i);
		err = verb->begin(o);
	}
	if (!err)
		err = offline_read(o, verb);
	if (!err) {
		offline_turn(o, 0);
		err = verb->write(o);
	}
	return offline_close(o, err, verb->damage_is_loss);
}

bool offline_is_text(const struct offline *o)
{
	return o->output.to.format == OUTPUT_TEXT && !o->output.table;
}
