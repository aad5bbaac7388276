// SPDX-License-Identifier: GPL-2.0
/* faultline-inject pageout: its options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/pageout.h"
#include "injectors/real/real.h"
#include "lib/base/units.h"

static int pageout_parse_range(const char *text, void *fields)
{
	struct pageout_options *options = fields;
	struct address_range *range = &options->ranges[options->range_count];
	char *end;
	int err = 0;
	__u64 length = 0;

	if (options->range_count == PAGEOUT_RANGES)
		return failed(-EINVAL, "accepted: at most %d times", PAGEOUT_RANGES);
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
			"invalid range '%s'; accepted: START-END or START+LENGTH with START below END, "
			"such as 0x7f0000000000+64M",
			text);
	range->start &= ~(PAGE_BYTES - 1);
	range->end = (range->end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	options->range_count++;
	return 0;
}

static int pageout_parse_rate(const char *text, void *rate)
{
	double value;
	int err = units_parse_rate(text, &value);

	if (err)
		return err;
	if (!(value > 0) || value > 1e7)
		return failed(-EINVAL,
			      "invalid rate '%s'; accepted: more than 0, at most 10000000/s", text);
	*(double *)rate = value;
	return 0;
}

static int pageout_parse_reclaim(const char *text, void *fields)
{
	struct pageout_options *options = fields;

	options->reclaim = true;
	return text ? units_parse_size_within(text, PAGE_BYTES, 1ull << 60, &options->reclaim_bytes)
		    : 0;
}

static const char *const advices[] = {"pageout", "cold", NULL};

#define PAGEOUT(member) CLI_FIELD(struct pageout_options, member)

static const struct cli_option pageout_options[] = {
	{.help = "Whose pages:", .group = 1},
	{"pid", 'p', "PID", "Of this process", CLI_COUNT, PAGEOUT(pid), 1, 1 << 22},
	{"device", 'd', "DEVICE",
	 "Of every process that has this character device open (/dev/vfio/12, "
	 "/dev/infiniband/uverbs0), or of the emulated machine that has this device (tenant/device)",
	 CLI_TEXT, PAGEOUT(device)},
	{"range", 0, "START-END", "Only these addresses, also as START+LENGTH; repeatable", CLI_OWN,
	 .parse = pageout_parse_range},
	{"mapping", 0, "PATTERN",
	 "Only mappings whose name in /proc/PID/maps matches this shell pattern; repeatable",
	 CLI_LIST, PAGEOUT(mappings), .most = PAGEOUT_RANGES,
	 .count = offsetof(struct pageout_options, mapping_count)},
	{.help = "How many, and when:", .group = 2},
	{"rate", 0, "PAGES/s", "So many pages a second", CLI_OWN, PAGEOUT(rate),
	 .parse = pageout_parse_rate},
	{"burst", 0, "PAGES", "So many pages at once", CLI_COUNT, PAGEOUT(burst), 1, 1ull << 40},
	{"every", 0, "TIME", "A burst each TIME", CLI_TIME, PAGEOUT(every_ns), 1},
	{"duration", 0, "TIME", "End after TIME", CLI_TIME, PAGEOUT(duration_ns), 1},
	{"pages", 0, "N", "End after N pages", CLI_COUNT, PAGEOUT(pages), 1, 1ull << 40},
	{"pattern", 0, "ORDER", "sequential (default), random or zipf", CLI_CHOICE, PAGEOUT(order),
	 .names = order_names},
	{"seed", 's', "N", "The same seed makes the same choices", CLI_COUNT, PAGEOUT(seed)},
	{.help = "How:", .group = 3},
	{"advice", 0, "ADVICE",
	 "pageout (default) or cold, which leaves it to reclaim to take the page", CLI_CHOICE,
	 PAGEOUT(advice), .names = advices},
	{"reclaim", 0, "BYTES",
	 "Then have the process's cgroup reclaim BYTES (default: as many as were asked for): "
	 "empties the swap cache, which MADV_PAGEOUT does not",
	 CLI_OWN, .optional = true, .parse = pageout_parse_reclaim},
	{"cgroup", 0, "DIRECTORY", "Reclaim from this one instead", CLI_TEXT, PAGEOUT(cgroup)},
	{0},
};

static int pageout_check(void *input)
{
	struct pageout_options *options = input;

	options->reclaim |= options->cgroup != NULL;
	if (!options->pid == !options->device)
		return failed(-EINVAL, "accepted: one of --pid and --device");
	if (options->rate > 0 && options->burst)
		return failed(-EINVAL, "accepted: one of --rate and --burst");
	if (!options->burst != !options->every_ns)
		return failed(-EINVAL, "--burst and --every: accepted: both of them, or neither");
	if (options->duration_ns && !(options->rate > 0) && !options->burst)
		return failed(-EINVAL, "--duration: accepted: with --rate or --burst");
	return verb_check(&options->verb);
}

int real_pageout(int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{pageout_options}, VERB_TABLES(struct pageout_options), {0}};
	const struct cli cli = {
		.tables = tables,
		.children = VERB_CHILDREN(struct pageout_options),
		.check = pageout_check,
		.about =
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
	};
	static const struct verb_work work = {"pageout",   pageout_open,   pageout_print,
					      pageout_run, pageout_report, pageout_close};
	static struct pageout_options options = {.seed = 1};
	static struct pageout pageout = {.options = &options};

	cli_parse(&cli, argc, argv, &options);
	return verb_perform(&work, &options.verb, &pageout);
}
