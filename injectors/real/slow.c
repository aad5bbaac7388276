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

/* As both configfs and the device mapper take it, and nothing that leads elsewhere. */
static int slow_check_name(const char *name, void *field)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_-");

	(void)field;
	if (!length || name[length] || length >= NAME_MOST || name[0] == '-')
		return failed(-EINVAL,
			      "invalid name '%s'; accepted: 1 to %d letters, digits, _ and -", name,
			      NAME_MOST - 1);
	return 0;
}

static int slow_parse_size(const char *text, void *field)
{
	__u64 bytes;
	int err = units_parse_size(text, &bytes);

	if (err)
		return err;
	if (bytes < 1u << 20 || bytes > 1ull << 40 || bytes % (1u << 20))
		return failed(-EINVAL, "invalid size '%s'; accepted: whole megabytes, 1M to 1T",
			      text);
	*(__u64 *)field = bytes;
	return 0;
}

#define OPTION(member) CLI_FIELD(struct slow_options, member)

static const struct cli_option slow_options[] = {
	{.help = "What is built:", .group = 1},
	{"name", 0, "NAME", "Of the new device; refused if it is taken", CLI_TEXT, OPTION(name),
	 .parse = slow_check_name},
	{"size", 0, "BYTES", "A null_blk device with memory of this size: delays are exact",
	 CLI_OWN, OPTION(bytes), .parse = slow_parse_size},
	{"over", 0, "DEVICE",
	 "dm-delay above this disk, reads only: delays are whole ms, in the kernel's ticks",
	 CLI_TEXT, OPTION(over)},
	{"delay", 0, "TIME", "How long an access takes", CLI_TIME, OPTION(delay_ns), 1, DELAY_MOST},
	{.help = "What it is used for:", .group = 2},
	{"swap", 0, NULL, "Swap on it; otherwise it is there to be mapped", CLI_FLAG, OPTION(swap)},
	{"priority", 0, "N", "Of the swap, 0 to 32767; highest is used first", CLI_COUNT,
	 OPTION(priority), 0, 32767},
	{"no-readahead", 0, NULL,
	 "Set vm.page-cluster to 0 meanwhile, so that each page of swap is its own fault", CLI_FLAG,
	 OPTION(no_readahead)},
	{"duration", 0, "TIME", "Take it down after TIME (default: Ctrl-C)", CLI_TIME,
	 OPTION(duration_ns), 1},
	{0},
};

static int slow_check(void *input)
{
	const struct slow_options *options = input;

	if (!options->name)
		return failed(-EINVAL, "no --name: the new device's");
	if (!options->bytes == !options->over)
		return failed(-EINVAL, "accepted: one of --size (null_blk) and --over (dm-delay)");
	if (!options->delay_ns)
		return failed(-EINVAL, "no --delay: how long an access takes");
	if (options->over && options->delay_ns % NSEC_PER_MSEC)
		return failed(-EINVAL, "--delay: accepted with --over: whole milliseconds");
	if (options->priority >= 0 && !options->swap)
		return failed(-EINVAL, "--priority: accepted: with --swap");
	if (options->duration_ns && options->command)
		return failed(-EINVAL, "accepted: --duration, or a command");
	return verb_check(&options->verb);
}

#define SLOW(COLUMN)                                                                    \
	COLUMN(device, none, TEXT, 20, SHOWN, row->node)                                \
	COLUMN(backend, none, TEXT, 8, SHOWN, context->bytes ? "null_blk" : "dm-delay") \
	COLUMN(size, none, BYTES, 8, SHOWN, row->bytes)                                 \
	COLUMN(delay, none, DURATION, 8, SHOWN, context->delay_ns)                      \
	COLUMN(use, none, TEXT, 6, SHOWN, context->swap ? "swap" : "device")
TABLE(slow, "Slow device", SLOW, struct slow_device, struct slow_options)

/* One row as soon as the device can be used: scripts wait for it. */
static int slow_announce(const struct slow_options *options, const struct slow_device *device,
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

static int slow_use(const struct slow_options *options, struct command *command)
{
	__u64 end = monotonic_ns() + options->duration_ns;

	if (options->command)
		return slow_run_command(command);
	while (!verb_stop && (!options->duration_ns || monotonic_ns() < end))
		verb_sleep_until(options->duration_ns ? end : monotonic_ns() + NSEC_PER_SEC);
	/* Ctrl-C is how one ends what has no duration. */
	return verb_stop && options->duration_ns ? EXIT_INTERRUPTED : EXIT_OK;
}

static int slow_run(const struct slow_options *options)
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
		err = verb_open_output(&writer, &options->verb, "slow");
	if (!err && options->command && !options->verb.dry_run)
		err = command_prepare(&command, options->command, NULL, STDOUT_FILENO);
	if (!err)
		err = slow_build(journal, options, &device);
	if (!err && !options->verb.dry_run)
		err = slow_announce(options, &device, writer);
	else
		writer_abandon(writer);
	if (err)
		code = failure_report(err);
	else if (!options->verb.dry_run)
		code = slow_use(options, &command);
	command_end(&command);
	closed = journal_close(journal);
	return closed ? failure_report(closed) : code;
}

int real_slow(int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{slow_options}, VERB_TABLES(struct slow_options), {0}};
	const struct cli cli = {
		.tables = tables,
		.children = VERB_CHILDREN(struct slow_options),
		.arguments = "[-- COMMAND [ARGUMENT...]]",
		.command = offsetof(struct slow_options, command),
		.check = slow_check,
		.about =
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
	};
	static struct slow_options options = {.priority = -1};

	cli_parse(&cli, argc, argv, &options);
	return slow_run(&options);
}
