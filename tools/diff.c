// SPDX-License-Identifier: GPL-2.0
/* faultline diff: what differs between two recordings, and what of it is chance. */
#include "tools/diff/diff.h"

#include <errno.h>
#include <string.h>

#include "lib/output/rows.h"
#include "tools/verbs.h"

static int diff_check_pattern(const char *text, void *field)
{
	(void)field;
	return common_check_pattern(text);
}

static int diff_parse_least(const char *text, void *field)
{
	double *least = field;

	if (units_parse_percent(text, least) || !(*least >= 0) || *least > 1000)
		return failed(-EINVAL, "'%s': accepted: 0%% to 1000%%", text);
	return 0;
}

static int diff_check_condition(const char *text, void *field)
{
	struct diff_condition condition;

	(void)field;
	return diff_condition_parse(text, &condition);
}

#define DIFF(member) CLI_FIELD(struct diff, member)

static const struct cli_option diff_options[] = {
	{.help = "What counts:", .group = 3},
	{"fail", 0, "EXPR",
	 "Exit with 6 if this is so of a device beyond chance: 'p99 > 1.2x' (of A's), 'resolve.p50 > 1ms', "
	 "'count > +50%'; may be repeated",
	 CLI_LIST, DIFF(fail), .parse = diff_check_condition, .most = DIFF_CONDITIONS,
	 .count = offsetof(struct diff, fail_count)},
	{"least", 0, "PERCENT", "Smaller changes are told as small, not as a difference (10%)",
	 CLI_OWN, DIFF(least), .parse = diff_parse_least},
	{"least-time", 0, "TIME",
	 "Likewise of times: by less, two runs differ that are equal but for who else had the CPU (100us)",
	 CLI_TIME, DIFF(least_ns), 0, UNITS_DURATION_MOST},
	{"device", 'd', "PATTERN", "Only devices of this name, such as 'tenant0/*'", CLI_TEXT,
	 DIFF(device), .parse = diff_check_pattern},
	{0},
};

static int diff_take(void *input, unsigned int number, const char *text)
{
	struct diff *diff = input;

	if (number > 1)
		return failed(-EINVAL, "'%s' is one too many; accepted: two recordings", text);
	if (number)
		diff->b.path = text;
	else
		diff->a.path = text;
	return 0;
}

static int diff_check(void *input)
{
	struct diff *diff = input;
	int err = 0;

	if (!diff->a.path || !diff->b.path)
		return failed(-EINVAL, "%s; accepted: two .flt files, or - for one of them",
			      diff->a.path ? "a second recording is missing"
					   : "no recordings given");
	if (!strcmp(diff->a.path, "-") && !strcmp(diff->b.path, "-"))
		return failed(-EINVAL,
			      "standard input is not read twice; accepted: - for one of them");
	for (size_t i = 0; !err && i < diff->fail_count; i++)
		err = diff_condition_parse(diff->fail[i], &diff->conditions[i]);
	return err;
}

static const struct cli diff_cli = {
	.tables = (const struct cli_table[]){{diff_options}, {0}},
	.children = offline_children,
	.take = diff_take,
	.check = diff_check,
	.arguments = "A B",
	.about =
		"Compares the faults of two recordings, device by device and stage by stage: counts, p50, p99, share of "
		"time, and which differences are more than chance would make between two equal runs. Exits with 6 if a "
		"condition of --fail holds, or nothing was there to judge it by.\v"
		"EXAMPLES:\n"
		"  faultline diff before.flt after.flt\n"
		"  faultline diff before.flt after.flt --fail 'p99 > 1.2x'\n"
		"  faultline diff before.flt after.flt --since +10s --device 'vm0/*'\n"
		"  faultline diff before.flt after.flt --json\n\n"
		"Devices are matched by name, in merged recordings by host and name. How it is judged: docs/diff.md.",
};

static size_t wanted_hosts(const struct host_options *options, const struct trace_hosts *hosts)
{
	size_t count = 0;

	for (size_t i = 0; i < hosts->count; i++)
		count += hosts_want(options, hosts->all[i].name);
	return count;
}

/* Of each recording: nothing is written by it. */
static int open_silent(struct offline *o)
{
	static struct rows nowhere[DIFF_RUNS];

	return rows_writer(&o->writer, &nowhere[o->called && *o->called == 'B']);
}

/* A is there: whether B is, and where the output goes, before A is read. */
static int diff_open(struct offline *o)
{
	struct diff *diff = (struct diff *)o;
	const char *const inputs[] = {diff->a.path, diff->b.path, NULL};
	const char *const tables[] = {DIFF_TABLE_NAME, NULL};
	struct trace_hosts hosts;
	int err = failed_input(trace_hosts_read(diff->b.path, &hosts));

	if (err)
		return err;
	diff->by_host = offline_has_hosts(o) || wanted_hosts(&o->wanted, &hosts) > 1;
	trace_hosts_free(&hosts);
	err = open_silent(o);
	return err ? err : common_open_writer(&diff->writer, &o->output, inputs, tables);
}

static struct diff *diff_of_b(struct offline *b)
{
	return (struct diff *)((char *)b - offsetof(struct diff, b));
}

static int begin_a(struct offline *a)
{
	return diff_follow((struct diff *)a, DIFF_A);
}

static int begin_b(struct offline *b)
{
	return diff_follow(diff_of_b(b), DIFF_B);
}

/* What is missing in a recording, of each of its hosts, in sentences of text. */
static void diff_write_limits(struct diff *diff, struct offline *o)
{
	struct writer *own = o->writer;
	char heading[HOST_TEXT + 8];

	o->writer = diff->writer;
	for (size_t i = 0; i < o->count; i++) {
		snprintf(heading, sizeof(heading), "%s%s%s", o->called,
			 offline_has_hosts(o) ? " " : "",
			 offline_has_hosts(o) ? o->hosts[i].name : "");
		o->analysis = o->all[i];
		writer_heading(o->writer, heading);
		offline_write_limits(o);
	}
	writer_heading(o->writer, NULL);
	o->writer = own;
}

static int write_diff(struct offline *b)
{
	struct diff *diff = diff_of_b(b);
	int err;

	diff_collect(diff);
	err = diff_judge(diff);
	if (err)
		return err;
	if (offline_is_text(&diff->a))
		diff_write_text(diff);
	else
		diff_write_table(diff);
	if (diff->fail_count && offline_is_text(&diff->a))
		writer_note(diff->writer, "%s", "");
	err = diff_judge_conditions(diff);
	if (err)
		return err;
	diff_write_limits(diff, &diff->a);
	diff_write_limits(diff, &diff->b);
	diff->written = true;
	return 0;
}

/* While A is open B is read, and then both are told. */
static int read_b(struct offline *a)
{
	static const struct offline_verb verb = {
		.begin = begin_b, .write = write_diff, .open = open_silent};
	struct diff *diff = (struct diff *)a;

	diff->b_code = offline_run(&diff->b, &diff->config, &verb);
	return 0;
}

/* What ends the program of what became of both and of the output; a difference was seen, whatever was lost. */
static int diff_code(const struct diff *diff, int a_code)
{
	const int codes[] = {a_code, diff->b_code};
	int worst = diff->failed ? EXIT_EXPECT : EXIT_OK;

	for (unsigned int run = 0; run < DIFF_RUNS; run++)
		if (codes[run] != EXIT_OK && codes[run] != EXIT_LOSS)
			return codes[run];
	return worst ? worst : a_code ? a_code : diff->b_code;
}

int verb_diff(int argc, char **argv)
{
	static const struct offline_verb verb = {
		.begin = begin_a, .write = read_b, .open = diff_open};
	struct diff diff = {.least = 10,
			    .least_ns = 100 * NSEC_PER_USEC,
			    .config = {.without_footprint = true, .without_findings = true}};
	int code, err;

	if (cli_parse(&diff_cli, argc, argv, &diff))
		return EXIT_USAGE;
	diff.b.output = diff.a.output;
	diff.b.window = diff.a.window;
	diff.b.wanted = diff.a.wanted;
	diff.a.called = "A";
	diff.b.called = "B";
	code = offline_run(&diff.a, &diff.config, &verb);
	if (diff.writer && diff.written) {
		err = writer_close(diff.writer);
		code = err ? common_failed(err) : diff_code(&diff, code);
	} else if (diff.writer) {
		writer_abandon(diff.writer);
		code = diff_code(&diff, code);
	}
	diff_free(&diff);
	return code;
}
