// SPDX-License-Identifier: GPL-2.0
/* faultline-inject slow: its options, and waiting until it shall end. */
#include "injectors/real/slow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/real/real.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"

#define NAME_MOST  32
#define DELAY_MOST (60 * NSEC_PER_SEC)

enum {
	OPTION_NAME = 256,
	OPTION_SIZE,
	OPTION_OVER,
	OPTION_DELAY,
	OPTION_SWAP,
	OPTION_PRIORITY,
	OPTION_NO_READAHEAD,
	OPTION_DURATION,
};

static const struct argp_option options_of_slow[] = {
	{NULL, 0, NULL, 0, "What is built", 1},
	{"name", OPTION_NAME, "NAME", 0, "Of the new device; refused if it is taken", 1},
	{"size", OPTION_SIZE, "BYTES", 0,
	 "A null_blk device with memory of this size: delays are exact", 1},
	{"over", OPTION_OVER, "DEVICE", 0,
	 "dm-delay above this disk, reads only: delays are whole ms, in the kernel's ticks", 1},
	{"delay", OPTION_DELAY, "TIME", 0, "How long an access takes", 1},
	{NULL, 0, NULL, 0, "What it is used for", 2},
	{"swap", OPTION_SWAP, NULL, 0, "Swap on it; otherwise it is there to be mapped", 2},
	{"priority", OPTION_PRIORITY, "N", 0, "Of the swap, 0 to 32767; highest is used first", 2},
	{"no-readahead", OPTION_NO_READAHEAD, NULL, 0,
	 "Set vm.page-cluster to 0 meanwhile, so that each page of swap is its own fault", 2},
	{"duration", OPTION_DURATION, "TIME", 0, "Take it down after TIME (default: Ctrl-C)", 2},
	{NULL, 0, NULL, 0, "Output and safety", 90},
	{0},
};

/* As both configfs and the device mapper take it, and nothing that leads elsewhere. */
static int check_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_-");

	if (!length || name[length] || length >= NAME_MOST || name[0] == '-')
		return failed(-EINVAL, "--name %s: accepted: 1 to %d letters, digits, _ and -",
			      name, NAME_MOST - 1);
	return 0;
}

static int check_size(__u64 bytes)
{
	if (bytes < 1u << 20 || bytes > 1ull << 40 || bytes % (1u << 20))
		return failed(-EINVAL, "--size %llu: accepted: whole megabytes, 1M to 1T", bytes);
	return 0;
}

static int parse_value(int key, char *argument, struct slow_options *options)
{
	__u64 number = 0;
	int err = 0;

	switch (key) {
	case OPTION_NAME:
		options->name = argument;
		return check_name(argument);
	case OPTION_SIZE:
		err = units_parse_size(argument, &options->bytes);
		return err ? failed_in(err, "--size") : check_size(options->bytes);
	case OPTION_OVER:
		options->over = argument;
		return 0;
	case OPTION_DELAY:
		err = units_parse_duration_within(argument, 1, DELAY_MOST, &options->delay_ns);
		return err ? failed_in(err, "--delay") : 0;
	case OPTION_DURATION:
		err = units_parse_duration_within(argument, 1, UNITS_DURATION_MOST,
						  &options->duration_ns);
		return err ? failed_in(err, "--duration") : 0;
	case OPTION_SWAP:
		options->swap = true;
		return 0;
	case OPTION_PRIORITY:
		err = units_parse_count(argument, 0, 32767, &number);
		options->priority = (int)number;
		return err ? failed_in(err, "--priority") : 0;
	case OPTION_NO_READAHEAD:
		options->no_readahead = true;
		return 0;
	default:
		return -ENOENT;
	}
}

static const char *contradiction(const struct slow_options *options, bool quoted)
{
	const char *missing = command_missing(options->command, quoted);

	if (missing)
		return missing;
	if (!options->name)
		return "no --name: the new device's";
	if (!options->bytes == !options->over)
		return "accepted: one of --size (null_blk) and --over (dm-delay)";
	if (!options->delay_ns)
		return "no --delay: how long an access takes";
	if (options->over && options->delay_ns % NSEC_PER_MSEC)
		return "--delay: accepted with --over: whole milliseconds";
	if (options->priority >= 0 && !options->swap)
		return "--priority: accepted: with --swap";
	if (options->duration_ns && options->command)
		return "accepted: --duration, or a command";
	return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct slow_options *options = state->input;
	const char *wrong, *hint;
	int err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->verb;
		return 0;
	case ARGP_KEY_ARG:
		hint = destination_hint(&options->verb.results.to, argument);
		if (*hint)
			usage_error(state, "%s: accepted: -- and a command%s", argument, hint);
		options->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		wrong = contradiction(options, state->quoted);
		if (wrong)
			usage_error(state, "%s", wrong);
		return 0;
	default:
		err = parse_value(key, argument, options);
		if (err == -ENOENT)
			return ARGP_ERR_UNKNOWN;
		if (err)
			usage_error(state, "%s", failure_text());
		return 0;
	}
}

#define SLOW(COLUMN)                                                                    \
	COLUMN(device, none, TEXT, 20, SHOWN, row->node)                                \
	COLUMN(backend, none, TEXT, 8, SHOWN, context->bytes ? "null_blk" : "dm-delay") \
	COLUMN(size, none, BYTES, 8, SHOWN, row->bytes)                                 \
	COLUMN(delay, none, DURATION, 8, SHOWN, context->delay_ns)                      \
	COLUMN(use, none, TEXT, 6, SHOWN, context->swap ? "swap" : "device")
TABLE(slow, "Slow device", SLOW, struct slow_device, struct slow_options)

/* One row as soon as the device can be used: scripts wait for it. */
static int announce(const struct slow_options *options, const struct slow_device *device,
		    struct writer *writer)
{
	int err = writer_begin_with(writer, &slow_table, options), closed;

	if (!err)
		err = writer_row(writer, device);
	if (!err)
		err = writer_end(writer);
	closed = writer_close(writer);
	fflush(stdout);
	return err ? err : closed;
}

static int use(const struct slow_options *options, struct command *command)
{
	__u64 end = monotonic_ns() + options->duration_ns;

	if (options->command)
		return slow_run_command(command);
	while (!verb_stop && (!options->duration_ns || monotonic_ns() < end))
		verb_sleep_until(options->duration_ns ? end : monotonic_ns() + NSEC_PER_SEC);
	/* Ctrl-C is how one ends what has no duration. */
	return verb_stop && options->duration_ns ? EXIT_INTERRUPTED : EXIT_OK;
}

static int run(const struct slow_options *options)
{
	const struct journal_options how = {
		.dry_run = options->verb.dry_run,
		.log = options->verb.dry_run ? stdout : stderr,
	};
	struct slow_device device = {0};
	struct command command = {0};
	struct writer *writer = NULL;
	struct journal *journal;
	int err, code = EXIT_OK, closed;

	verb_catch_signals();
	err = journal_open(&journal, &how);
	if (err)
		return failure_report(err);
	/* First: nothing is built for an output that cannot be, nor for a command that is not there. */
	if (!options->verb.dry_run)
		err = results_open(&writer, &options->verb.results, "slow");
	if (!err && options->command && !options->verb.dry_run)
		err = command_prepare(&command, options->command, NULL);
	if (!err)
		err = slow_build(journal, options, &device);
	if (!err && !options->verb.dry_run)
		err = announce(options, &device, writer);
	else
		writer_abandon(writer);
	if (err)
		code = failure_report(err);
	else if (!options->verb.dry_run)
		code = use(options, &command);
	command_end(&command);
	closed = journal_close(journal);
	return closed ? failure_report(closed) : code;
}

int real_slow(int argc, char **argv)
{
	static const struct argp_child children[] = {{&verb_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		options_of_slow,
		parse,
		"[-- COMMAND [ARGUMENT...]]",
		"Makes storage that answers late, so that faults on it take as long as one wants, "
		"and takes it down again: when COMMAND or the duration ends, at Ctrl-C, or, "
		"killed, by `faultline-inject recover`.\v"
		"EXAMPLES:\n"
		"  sudo faultline-inject slow --name late --size 256M --delay 20ms --swap \\\n"
		"       --no-readahead --duration 1m\n"
		"  sudo faultline-inject slow --name d --size 64M --delay 5ms -- ./test /dev/d\n"
		"  sudo faultline-inject slow --name late --over /dev/vdb --delay 50ms --swap \\\n"
		"       --yes-i-mean-it /dev/vdb\n"
		"  sudo faultline-inject slow --name late --size 64M --delay 5ms --dry-run\n",
		children,
		NULL,
		NULL};
	static struct slow_options options = {.priority = -1};

	/* In order: what follows the command is its own. */
	usage_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_IN_ORDER, &options);
	return run(&options);
}
