// SPDX-License-Identifier: GPL-2.0
/* faultline explain: one fault in sentences, each with its evidence. */
#include "lib/analyze/explain.h"

#include <errno.h>

#include "lib/analyze/session.h"
#include "lib/analyze/slo.h"
#include "tools/explain/wanted.h"
#include "tools/offline.h"
#include "tools/verbs.h"

struct explain_verb {
	struct offline offline; /* first: what offline_run() hands to its verb */
	struct explain_wanted wanted;
	bool all;
	const char *objectives;
	struct slo_set set;
	struct explain_wish wish;
	__u64 told;
};

#define EXPLAIN(member) CLI_FIELD(struct explain_verb, member)

static const struct cli_option explain_options[] = {
	{.help = "Which fault:", .group = 3},
	{"row", 0, "N", "The Nth of the table faults, with the same --since, --until and --host",
	 CLI_COUNT, EXPLAIN(wanted.row), 1, UINT32_MAX},
	{"slowest", 0, NULL, "The slowest one", CLI_FLAG, EXPLAIN(wanted.slowest)},
	{"all", 0, NULL, "Every one, as they ended", CLI_FLAG, EXPLAIN(all)},
	{.help = "Objectives:", .group = 4},
	{"config", 'c', "FILE",
	 "Name the objectives that broke for it: [slo NAME] sections of this INI file", CLI_TEXT,
	 EXPLAIN(objectives)},
	{0},
};

static int explain_take(void *input, unsigned int number, const char *text)
{
	struct explain_verb *verb = input;

	if (number == 0) {
		verb->offline.path = text;
		return 0;
	}
	if (number > 1)
		return failed(-EINVAL, "'%s' is one too many; accepted: FILE DEVICE@TIME", text);
	return wanted_parse(text, &verb->wanted.at);
}

static int explain_check(void *input)
{
	const struct explain_verb *verb = input;
	const struct explain_wanted *wanted = &verb->wanted;
	int ways = (wanted->at.text != NULL) + (wanted->row != 0) + wanted->slowest + verb->all;
	int err = offline_check(input);

	if (!err && !ways)
		err = failed(-EINVAL, "no fault given; accepted: DEVICE@TIME, such as "
				      "'vm0/disk@14:02:03.25', --row N, --slowest or --all");
	if (!err && ways > 1)
		err = failed(-EINVAL, "DEVICE@TIME, --row, --slowest and --all exclude each other");
	return err;
}

static const struct cli explain_cli = {
	.tables = (const struct cli_table[]){{explain_options}, {0}},
	.children = offline_children,
	.take = explain_take,
	.check = explain_check,
	.arguments = "FILE [DEVICE@TIME]",
	.about =
		"Explains one fault of a recording: who faulted and in whose memory, why each stage took its time, "
		"who waited for it, which objective broke, what would have helped, and what is not known.\v"
		"DEVICE is a name or a pattern, TIME when the fault began, or when it was open: as --since takes "
		"it, and as exact as it is written.\n\n"
		"EXAMPLES:\n"
		"  faultline explain run.flt --slowest\n"
		"  faultline explain run.flt 'vm0/disk@14:02:03.25'\n"
		"  faultline explain run.flt 'vm0/disk@+1.5s' -c slo.ini\n"
		"  faultline explain run.flt --row 17 --json\n"
		"  faultline explain run.flt --all --csv=-",
};

static __u64 explain_fault_finished(void *self, const struct fault *fault)
{
	struct explain_verb *verb = self;

	return wanted_look(&verb->wanted, &verb->offline, fault);
}

static void explain_put(struct explain_verb *verb, const struct explanation *explanation)
{
	struct offline *o = &verb->offline;

	if (!offline_is_text(o)) {
		explanation_write_rows(explanation, o->writer);
		return;
	}
	if (verb->told++)
		writer_note(o->writer, "%s", "");
	if (offline_has_hosts(o))
		writer_note(o->writer, "%s:", o->hosts[o->host].name);
	explanation_write_text(explanation, o->writer);
}

static void explain_fault_explained(void *self, const struct explanation *explanation)
{
	struct explain_verb *verb = self;

	if (verb->all)
		explain_put(verb, explanation);
	else
		wanted_keep(&verb->wanted, explanation, verb->offline.host);
}

/* What is known at the end, of faults that were told of before. */
static void explain_put_later(void *self, const struct explanation *explanation)
{
	struct explain_verb *verb = self;
	struct offline *o = &verb->offline;
	char name[DEVICE_NAME_TEXT];

	if (offline_is_text(o)) {
		writer_note(o->writer, "%s", "");
		if (explanation->row)
			writer_note(o->writer, "Row %llu, %s:", explanation->row,
				    session_device_name(o->analysis->session,
							explanation->fault.device, name));
		explanation_write_text(explanation, o->writer);
		return;
	}
	explanation_write_rows(explanation, o->writer);
}

static int explain_each_host_later(struct offline *o)
{
	struct explain_verb *verb = (struct explain_verb *)o;
	const struct explain_wish later = {.explained = explain_put_later, .self = verb};

	explain_each_later(o->analysis->explain, &later);
	explain_loss_later(o->analysis->explain, &later);
	return writer_error(o->writer);
}

static int explain_one(struct explain_verb *verb)
{
	struct offline *o = &verb->offline;
	struct wanted_fault_near *found;

	found = wanted_find(&verb->wanted, o);
	if (!found)
		return -EINVAL;
	if (!found->explained)
		return failed(-ENOMEM, "no memory for the explanation of row %llu", found->row);
	offline_turn(o, found->host);
	explain_later(o->analysis->explain, &found->explanation);
	explain_put(verb, &found->explanation);
	return writer_error(o->writer);
}

static int write_explain(struct offline *o)
{
	static const struct table_wish everything;
	struct explain_verb *verb = (struct explain_verb *)o;
	int err = verb->all ? offline_each(o, explain_each_host_later) : explain_one(verb);

	if (err)
		return err;
	if (!offline_is_text(o))
		return offline_write_tables(o, &explain_analyzer, &everything);
	if (!verb->wanted.seen)
		writer_note(o->writer, "No page request was recorded; `faultline report` says what "
				       "was watched and what was not.");
	else
		writer_note(o->writer, "%s", "");
	return offline_each(o, offline_write_limits);
}

/* What the recording's end says; that of standard input has not come yet. */
static bool explain_lacks_events(void *self)
{
	const struct offline *o = &((const struct explain_verb *)self)->offline;

	return loss_of_events(&o->hosts[o->host].summary.loss);
}

static struct stream explain_ahead(struct offline *o, size_t host)
{
	return explain_foresight(o->all[host]->explain);
}

static int explain_begin(struct offline *o)
{
	struct explain_verb *verb = (struct explain_verb *)o;
	int err = wanted_resolve(&verb->wanted, o);

	err = err ? err : offline_read_devices(o);
	return err ? err : offline_read_ahead(o, explain_ahead);
}

int verb_explain(int argc, char **argv)
{
	static const struct offline_verb offline = {&explain_analyzer, explain_begin,
						    write_explain};
	struct explain_verb verb = {0};
	struct analysis_config config = {
		.without_footprint = true, .without_findings = true, .explain = &verb.wish};
	int code;

	if (cli_parse(&explain_cli, argc, argv, &verb))
		return EXIT_USAGE;
	verb.wish = (struct explain_wish){explain_fault_finished, explain_fault_explained, &verb,
					  explain_lacks_events};
	if (verb.objectives) {
		if (slo_read(verb.objectives, &verb.set))
			return common_failed(-EBADMSG);
		verb.offline.inputs[1] = verb.objectives;
		config.slos = &verb.set;
	}
	code = offline_run(&verb.offline, &config, &offline);
	wanted_free(&verb.wanted);
	return code;
}
