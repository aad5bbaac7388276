// SPDX-License-Identifier: GPL-2.0
/* faultline-inject pageout: its options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/pageout.h"
#include "injectors/real/real.h"
#include "lib/base/units.h"

enum {
	OPTION_RANGE = 256,
	OPTION_MAPPING,
	OPTION_RATE,
	OPTION_BURST,
	OPTION_EVERY,
	OPTION_DURATION,
	OPTION_PAGES,
	OPTION_PATTERN,
	OPTION_ADVICE,
	OPTION_RECLAIM,
	OPTION_CGROUP,
};

static const struct argp_option options_of_pageout[] = {
	{NULL, 0, NULL, 0, "Whose pages", 1},
	{"pid", 'p', "PID", 0, "Of this process", 1},
	{"device", 'd', "DEVICE", 0,
	 "Of every process that has this character device open (/dev/vfio/12, "
	 "/dev/infiniband/uverbs0), or of the emulated machine that has this device (tenant/device)",
	 1},
	{"range", OPTION_RANGE, "START-END", 0,
	 "Only these addresses, also as START+LENGTH; repeatable", 1},
	{"mapping", OPTION_MAPPING, "PATTERN", 0,
	 "Only mappings whose name in /proc/PID/maps matches this shell pattern; repeatable", 1},
	{NULL, 0, NULL, 0, "How many, and when", 2},
	{"rate", OPTION_RATE, "PAGES/s", 0, "So many pages a second", 2},
	{"burst", OPTION_BURST, "PAGES", 0, "So many pages at once", 2},
	{"every", OPTION_EVERY, "TIME", 0, "A burst each TIME", 2},
	{"duration", OPTION_DURATION, "TIME", 0, "End after TIME", 2},
	{"pages", OPTION_PAGES, "N", 0, "End after N pages", 2},
	{"pattern", OPTION_PATTERN, "ORDER", 0, "sequential (default), random or zipf", 2},
	{"seed", 's', "N", 0, "The same seed makes the same choices", 2},
	{NULL, 0, NULL, 0, "How", 3},
	{"advice", OPTION_ADVICE, "ADVICE", 0,
	 "pageout (default) or cold, which leaves it to reclaim to take the page", 3},
	{"reclaim", OPTION_RECLAIM, "BYTES", OPTION_ARG_OPTIONAL,
	 "Then have the process's cgroup reclaim BYTES (default: as many as were asked for): "
	 "empties the swap cache, which MADV_PAGEOUT does not",
	 3},
	{"cgroup", OPTION_CGROUP, "DIRECTORY", 0, "Reclaim from this one instead", 3},
	{NULL, 0, NULL, 0, "Output and safety", 90},
	{0},
};

static int parse_range(const char *text, struct address_range *range)
{
	char *end;
	int err = 0;
	__u64 length = 0;

	errno = 0;
	range->start = strtoull(text, &end, 0);
	if (!errno && end != text && *end == '-') {
		const char *from = end + 1;

		range->end = strtoull(from, &end, 0);
		err = errno || end == from || *end;
	} else if (!errno && end != text && *end == '+') {
		err = units_parse_size(end + 1, &length);
		range->end = range->start + length;
	} else {
		err = 1;
	}
	if (err || range->end <= range->start)
		return failed(
			-EINVAL,
			"--range %s: accepted: START-END or START+LENGTH with START below END, "
			"such as 0x7f0000000000+64M",
			text);
	range->start &= ~(PAGE_BYTES - 1);
	range->end = (range->end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return 0;
}

static int parse_rate(const char *text, double *rate)
{
	int err = units_parse_rate(text, rate);

	if (err)
		return failed_in(err, "--rate");
	if (!(*rate > 0) || *rate > 1e7)
		return failed(-EINVAL, "--rate %s: accepted: more than 0, at most 10000000 /s",
			      text);
	return 0;
}

static int parse_name(const char *option, const char *text, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(text, names[i]))
			return i;
	return failed(-EINVAL, "--%s %s: accepted: %s, %s%s%s", option, text, names[0], names[1],
		      names[2] ? ", " : "", names[2] ? names[2] : "");
}

static int parse_where(int key, char *argument, struct pageout_options *options)
{
	__u64 pid;
	int err;

	switch (key) {
	case 'p':
		err = units_parse_count(argument, 1, 1 << 22, &pid);
		options->pid = (pid_t)pid;
		return err ? failed_in(err, "--pid") : 0;
	case 'd':
		options->device = argument;
		return 0;
	case OPTION_RANGE:
		if (options->range_count == PAGEOUT_RANGES)
			return failed(-EINVAL, "--range: accepted: at most %d", PAGEOUT_RANGES);
		return parse_range(argument, &options->ranges[options->range_count++]);
	case OPTION_MAPPING:
		if (options->mapping_count == PAGEOUT_RANGES)
			return failed(-EINVAL, "--mapping: accepted: at most %d", PAGEOUT_RANGES);
		options->mappings[options->mapping_count++] = argument;
		return 0;
	default:
		return -ENOENT;
	}
}

static int parse_pace(int key, const char *argument, struct pageout_options *options)
{
	static const char *const orders[] = {"sequential", "random", "zipf", NULL};
	int err, choice;

	switch (key) {
	case OPTION_RATE:
		return parse_rate(argument, &options->rate);
	case OPTION_BURST:
		err = units_parse_count(argument, 1, 1ull << 40, &options->burst);
		return err ? failed_in(err, "--burst") : 0;
	case OPTION_EVERY:
		err = units_parse_duration_within(argument, 1, UNITS_DURATION_MOST,
						  &options->every_ns);
		return err ? failed_in(err, "--every") : 0;
	case OPTION_DURATION:
		err = units_parse_duration_within(argument, 1, UNITS_DURATION_MOST,
						  &options->duration_ns);
		return err ? failed_in(err, "--duration") : 0;
	case OPTION_PAGES:
		err = units_parse_count(argument, 1, 1ull << 40, &options->pages);
		return err ? failed_in(err, "--pages") : 0;
	case 's':
		err = units_parse_count(argument, 0, UINT64_MAX, &options->seed);
		return err ? failed_in(err, "--seed") : 0;
	case OPTION_PATTERN:
		choice = parse_name("pattern", argument, orders);
		options->order = (enum order_kind)choice;
		return choice < 0 ? choice : 0;
	default:
		return -ENOENT;
	}
}

static int parse_way(int key, char *argument, struct pageout_options *options)
{
	static const char *const advices[] = {"pageout", "cold", NULL, NULL};
	int err, choice;

	switch (key) {
	case OPTION_ADVICE:
		choice = parse_name("advice", argument, advices);
		options->advice = (enum evict_advice)choice;
		return choice < 0 ? choice : 0;
	case OPTION_RECLAIM:
		options->reclaim = true;
		err = argument ? units_parse_size_within(argument, PAGE_BYTES, 1ull << 60,
							 &options->reclaim_bytes)
			       : 0;
		return err ? failed_in(err, "--reclaim") : 0;
	case OPTION_CGROUP:
		options->reclaim = true;
		options->cgroup = argument;
		return 0;
	default:
		return -ENOENT;
	}
}

static const char *contradiction(const struct pageout_options *options)
{
	if (!options->pid == !options->device)
		return "accepted: one of --pid and --device";
	if (options->rate > 0 && options->burst)
		return "accepted: one of --rate and --burst";
	if (!options->burst != !options->every_ns)
		return "--burst and --every: accepted: both of them, or neither";
	if (options->duration_ns && !(options->rate > 0) && !options->burst)
		return "--duration: accepted: with --rate or --burst";
	return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct pageout_options *options = state->input;
	const char *wrong;
	int err = -ENOENT;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->verb;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "%s: accepted: options only%s", argument,
			    destination_hint(&options->verb.results.to, argument));
		return 0;
	case ARGP_KEY_END:
		wrong = contradiction(options);
		if (wrong)
			usage_error(state, "%s", wrong);
		return 0;
	default:
		break;
	}
	err = parse_where(key, argument, options);
	if (err == -ENOENT)
		err = parse_pace(key, argument, options);
	if (err == -ENOENT)
		err = parse_way(key, argument, options);
	if (err == -ENOENT)
		return ARGP_ERR_UNKNOWN;
	if (err)
		usage_error(state, "%s", failure_text());
	return 0;
}

static int run(void *pageout)
{
	return pageout_run(pageout);
}

static int report(void *pageout, struct writer *writer)
{
	return pageout_report(pageout, writer);
}

int real_pageout(int argc, char **argv)
{
	static const struct argp_child children[] = {{&verb_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		options_of_pageout,
		parse,
		NULL,
		"Evicts pages of a process through the kernel's own reclaim, so that its next "
		"access to them, or that of a device which shares its page table, faults for real. "
		"Reports of every page what became of it.\v"
		"EXAMPLES:\n"
		"  sudo faultline-inject pageout -p 4711 --yes-i-mean-it 4711\n"
		"  sudo faultline-inject pageout -p 4711 --range 0x7f0000000000+64M \\\n"
		"       --rate 500/s --duration 10s --pattern zipf --yes-i-mean-it 4711\n"
		"  sudo faultline-inject pageout -d /dev/vfio/12 --burst 64 --every 1s \\\n"
		"       --duration 30s --yes-i-mean-it /dev/vfio/12\n"
		"  sudo faultline-inject pageout -p 4711 --mapping '*guest*' --dry-run\n",
		children,
		NULL,
		NULL};
	static struct pageout pageout;
	static struct pageout_options options;
	int err, code;

	options.seed = 1;
	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &options);
	err = pageout_open(&pageout, &options);
	if (err)
		return failure_report(err);
	if (options.verb.dry_run) {
		pageout_print(&pageout, stdout);
		code = EXIT_OK;
	} else {
		code = verb_run_and_report(&options.verb, "pageout", run, report, &pageout);
	}
	pageout_close(&pageout);
	return code;
}
