// SPDX-License-Identifier: GPL-2.0
/* The options of faultline top. */
#include "tools/top/options.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/cli/cli.h"
#include "tools/common.h"
#include "tools/top/keys.h"

#define WINDOW_DEFAULT_NS (10 * NSEC_PER_SEC)
#define WINDOW_MOST_NS	  3600000000000ull
#define SPEED_LEAST	  0.001
#define SPEED_MOST	  1e6

/* Options, and what is settled when all are known. */
struct asked {
	struct top_options top;
	const char *sort;
	bool since_start;
};

static int top_check_pattern(const char *text, void *field)
{
	(void)field;
	return common_check_pattern(text);
}

static int top_add_pid(const char *text, void *field)
{
	struct collect_filter *filter = field;
	__u64 pid;
	int error = units_parse_count(text, 1, 1 << 22, &pid);

	if (error)
		return error;
	if (filter->pid_count == COLLECT_FILTERS)
		return failed(-EINVAL, "accepted: at most %d times", COLLECT_FILTERS);
	filter->pids[filter->pid_count++] = (__u32)pid;
	return 0;
}

/* What a view can be sorted by, as its table calls the columns. */
static int no_column(const struct view *view, const char *name)
{
	char accepted[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < view_column_count(view) && used < sizeof(accepted); i++)
		used += (size_t)snprintf(accepted + used, sizeof(accepted) - used, "%s%s",
					 i ? ", " : "", view->columns[i].head);
	return failed(-EINVAL, "--sort %s: no such column of view %s; accepted: %s", name,
		      view->name, accepted);
}

static int set_sort(struct top_options *top, const char *name)
{
	const struct view *view = views[top->view];

	top->reverse = name && *name == '-';
	if (top->view != VIEW_FAULTS) {
		top->sort = view_sort_from(view, name ? name + top->reverse : view->sort);
		return top->sort == VIEW_COLUMNS ? no_column(view, name) : 0;
	}
	top->sort = name ? top_sort_from(name + top->reverse) : SORT_RATE;
	if (top->sort == SORT_COUNT)
		return failed(-EINVAL,
			      "--sort %s: no such column; accepted: rate, total, p50, p99, max, "
			      "blocked, footprint, slo, name",
			      name);
	return 0;
}

static int top_parse_view(const char *text, void *field)
{
	unsigned int *view = field;

	*view = view_from(text);
	if (*view == VIEWS)
		return failed(
			-EINVAL,
			"no view '%s'; accepted: faults, iommu, dma, vfio, rdma, nic, qp, lent, "
			"pins",
			text);
	return 0;
}

static int top_check_output(const char *text, void *field)
{
	(void)field;
	return destination_check(text, false);
}

static int top_parse_speed(const char *text, void *field)
{
	double *speed = field;

	if (units_parse_real(text, speed) || !(*speed >= SPEED_LEAST && *speed <= SPEED_MOST))
		return failed(-EINVAL, "invalid speed '%s'; accepted: a number from %g to %g", text,
			      SPEED_LEAST, SPEED_MOST);
	return 0;
}

/* "500ms", "2s", or a bare number of seconds. */
static int parse_interval(const char *text, double *seconds)
{
	__u64 ns;

	if (units_parse_real(text, seconds)) {
		if (units_parse_duration(text, &ns))
			return failed_in(-EINVAL, "interval");
		*seconds = (double)ns / 1e9;
	}
	if (!(*seconds >= TOP_INTERVAL_MIN && *seconds <= TOP_INTERVAL_MAX))
		return failed(-EINVAL, "interval %s: accepted: 100ms to 1h, or seconds", text);
	return 0;
}

static int top_take_argument(void *input, unsigned int number, const char *text)
{
	struct top_options *top = &((struct asked *)input)->top;
	int error;

	if (number == 0)
		return parse_interval(text, &top->interval_s);
	if (number > 1)
		return failed(-EINVAL, "%s: unexpected; after the options come interval and count",
			      text);
	error = units_parse_count(text, 1, UINT64_MAX, &top->count);
	return error ? failed_in(error, "count") : 0;
}

static int top_check(void *input)
{
	struct asked *asked = input;
	struct top_options *top = &asked->top;

	if (asked->since_start && top->window_ns)
		return failed(-EINVAL, "--window and --since-start exclude each other");
	if (top->speed > 0 && !top->input)
		return failed(-EINVAL, "--speed needs a recording: -i FILE");
	if (top->hosts.count && !top->input)
		return failed(-EINVAL, "--host needs a recording: -i FILE");
	if (top->output && top->input)
		return failed(-EINVAL, "-o %s records live views; this one replays %s", top->output,
			      top->input);
	top->span = asked->since_start ? LATENCY_SINCE_START : LATENCY_WINDOW;
	if (!top->window_ns)
		top->window_ns = WINDOW_DEFAULT_NS;
	top->batch |= top->to.format != OUTPUT_TEXT;
	/* Which columns there are depends on the view, which may be named later. */
	return set_sort(top, asked->sort);
}

#define TOP(member) CLI_FIELD(struct asked, top.member)

static const struct cli_option top_option_list[] = {
	{"device", 'd', "NAME", "Only this device, or devices matching a pattern; repeatable",
	 CLI_LIST, TOP(filter.devices), .most = COLLECT_FILTERS,
	 .count = offsetof(struct asked, top.filter.device_count), .parse = top_check_pattern},
	{"pid", 'p', "PID", "Only devices of this owner; its CPU faults one by one; repeatable",
	 CLI_OWN, TOP(filter), .parse = top_add_pid},
	{"view", 0, "NAME",
	 "faults (default), iommu, dma, vfio, rdma, nic, qp or lent: shown first, or printed",
	 CLI_OWN, TOP(view), .parse = top_parse_view},
	{"window", 0, "TIME", "Latencies of the last TIME, at least an interval (default: 10s)",
	 CLI_TIME, TOP(window_ns), 1, WINDOW_MOST_NS},
	{"since-start", 0, NULL, "Latencies since the start instead", CLI_FLAG,
	 CLI_FIELD(struct asked, since_start)},
	{"sort", 's', "COLUMN",
	 "rate (default), total, p50, p99, max, blocked, footprint, slo or name; in other views "
	 "a column of theirs; -COLUMN turns the order",
	 CLI_TEXT, CLI_FIELD(struct asked, sort)},
	{"rows", 'r', "N", "At most N devices", CLI_COUNT, TOP(rows), 1, UINT32_MAX},
	{"batch", 'b', NULL, "Print instead of drawing", CLI_FLAG, TOP(batch)},
	{"input", 'i', "FILE", "Replay a recording; - reads stdin", CLI_TEXT, TOP(input)},
	{"output", 'o', "FILE", "Record what is shown into this .flt file", CLI_TEXT, TOP(output),
	 .parse = top_check_output},
	{"speed", 0, "X", "Replay at X times real time (default: as fast as it can be read)",
	 CLI_OWN, TOP(speed), .parse = top_parse_speed},
	{"config", 'c', "FILE", "Objectives to judge (SLO file)", CLI_TEXT, TOP(slo_file)},
	{"tcp", 0, NULL, "TCP of all of the host, not only of emulated machines' networks",
	 CLI_FLAG, TOP(tcp)},
	{"verbose", 'v', NULL, "Print what the kernel's verifier says of refused programs",
	 CLI_FLAG, TOP(verbose)},
	{0},
};

static const struct cli top_cli = {
	.tables = (const struct cli_table[]){{top_option_list}, {0}},
	.children =
		(const struct cli_child[]){{&batch_argp, offsetof(struct asked, top.to), true},
					   {&memory_argp, 0, true},
					   {&hosts_argp, offsetof(struct asked, top.hosts), true},
					   {0}},
	.arguments = "[INTERVAL [COUNT]]",
	.take = top_take_argument,
	.check = top_check,
	.about =
		"Devices by I/O page fault rate, with latency percentiles, the slowest stage, blocked "
		"queues and SLO state; unrecoverable IOMMU faults, DMA mappings, VFIO and RDMA (Tab); and "
		"the worst finding in one sentence. Live, or from a recording. Batch output when stdout "
		"is no terminal.\v"
		"EXAMPLES:\n"
		"  sudo faultline top                    live, every second\n"
		"  sudo faultline top -d 'tenant0/*' 5   one tenant's devices, every 5 s\n"
		"  sudo faultline top 500ms              twice a second\n"
		"  sudo faultline top -b --csv 1 60 > minute.csv\n"
		"  faultline top -i run.flt --speed 1    a recording, as fast as it happened\n"
		"  faultline top -i run.flt -b -s p99    a recording, as text\n"
		"  sudo faultline top --view vfio        who is near a limit of locked memory?\n\n"
		"Exit status: 0 done; 1 the system refused; 2 wrong option; 3 missing or damaged input;\n"
		"4 privilege missing; 5 events were lost: numbers are floors; 7 interrupted.",
};

int top_options_parse(struct top_options *options, int argc, char **argv)
{
	struct asked asked = {.top.interval_s = 1};
	int err = cli_parse(&top_cli, argc, argv, &asked);

	*options = asked.top;
	return err;
}
