// SPDX-License-Identifier: GPL-2.0
/* faultline top: live view of devices by fault rate. This file reads the options. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "tools/common.h"
#include "tools/top/keys.h"
#include "tools/top/watch.h"
#include "tools/verbs.h"

enum { KEY_CSV = 1000, KEY_JSON, KEY_SPEED, KEY_VIEW, KEY_WINDOW, KEY_SINCE_START };

#define WINDOW_DEFAULT_NS (10 * NSEC_PER_SEC)
#define WINDOW_MOST_NS	  3600000000000ull

static const char doc[] =
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
	"4 privilege missing; 5 events were lost: numbers are floors; 7 interrupted.";

static const struct argp_option options[] = {
	{"device", 'd', "NAME", 0, "Only this device, or devices matching a pattern; repeatable",
	 0},
	{"pid", 'p', "PID", 0, "Only devices of this owner; its CPU faults one by one; repeatable",
	 0},
	{"view", KEY_VIEW, "NAME", 0,
	 "faults (default), iommu, dma, vfio or rdma: shown first, or printed", 0},
	{"window", KEY_WINDOW, "TIME", 0,
	 "Latencies of the last TIME, at least an interval (default: 10s)", 0},
	{"since-start", KEY_SINCE_START, NULL, 0, "Latencies since the start instead", 0},
	{"sort", 's', "COLUMN", 0,
	 "rate (default), total, p50, p99, max, blocked, footprint, slo or name; in other views "
	 "a column of theirs; -COLUMN turns the order",
	 0},
	{"rows", 'r', "N", 0, "At most N devices", 0},
	{"batch", 'b', NULL, 0, "Print instead of drawing", 0},
	{"input", 'i', "FILE", 0, "Replay a recording; - reads stdin", 0},
	{"output", 'o', "FILE", 0, "Record what is shown into this .flt file", 0},
	{"speed", KEY_SPEED, "X", 0,
	 "Replay at X times real time (default: as fast as it can be read)", 0},
	{"config", 'c', "FILE", 0, "Objectives to judge (SLO file)", 0},
	{"csv", KEY_CSV, "PATH", OPTION_ARG_OPTIONAL, "Batch output as CSV", 0},
	{"json", KEY_JSON, "PATH", OPTION_ARG_OPTIONAL, "Batch output as JSON", 0},
	{"verbose", 'v', NULL, 0, "Print what the kernel's verifier says of refused programs", 0},
	{0},
};

static const struct argp_child children[] = {{&memory_argp, 0, NULL, 0}, {0}};

struct asked {
	struct top_options top;
	const char *slo_file;
	const char *sort;
};

static int top_add_device(struct collect_filter *filter, const char *name)
{
	if (common_check_pattern(name))
		return failed_in(-EINVAL, "-d");
	if (filter->device_count == COLLECT_FILTERS)
		return failed(-EINVAL, "-d %s: at most %d devices can be named; use a pattern",
			      name, COLLECT_FILTERS);
	filter->devices[filter->device_count++] = name;
	return 0;
}

static int add_pid(struct collect_filter *filter, const char *text)
{
	__u64 pid;
	int error = units_parse_count(text, 1, 1 << 22, &pid);

	if (error)
		return failed_in(error, "-p");
	if (filter->pid_count == COLLECT_FILTERS)
		return failed(-EINVAL, "-p %s: at most %d owners can be named", text,
			      COLLECT_FILTERS);
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
	return failed(-EINVAL, "-s %s: no such column of view %s; accepted: %s", name, view->name,
		      accepted);
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
			      "-s %s: no such column; accepted: rate, total, p50, p99, max, "
			      "blocked, footprint, slo, name",
			      name);
	return 0;
}

static int set_view(struct top_options *top, const char *name)
{
	top->view = view_from(name);
	if (top->view == VIEWS)
		return failed(-EINVAL,
			      "--view %s: no such view; accepted: faults, iommu, dma, vfio, rdma",
			      name);
	return 0;
}

static int set_window(struct top_options *top, const char *text)
{
	__u64 ns;
	int error = units_parse_duration(text, &ns);

	if (error)
		return failed_in(error, "--window");
	if (!ns || ns > WINDOW_MOST_NS)
		return failed(-EINVAL, "--window %s: accepted: more than 0, at most 1h", text);
	top->window_ns = ns;
	return 0;
}

/* A positive decimal number within [low, high]. */
static int top_parse_real(const char *what, const char *text, double low, double high,
			  double *value)
{
	if (units_parse_real(text, value) || !(*value >= low && *value <= high))
		return failed(-EINVAL, "%s %s: accepted: a number from %g to %g", what, text, low,
			      high);
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

static int set_format(struct top_options *top, enum output_format format, const char *path,
		      const char *next)
{
	top->batch = true;
	return destination_choose(&top->to, format, path, next);
}

static int set_argument(struct top_options *top, unsigned int number, const char *text)
{
	int error;

	if (number == 0)
		error = parse_interval(text, &top->interval_s);
	else if (number > 1)
		error = failed(-EINVAL, "%s: unexpected; after the options come interval and count",
			       text);
	else if ((error = units_parse_count(text, 1, UINT64_MAX, &top->count)))
		failed_in(error, "count");
	return error ? failed(error, "%s%s", failure_text(), destination_hint(&top->to, text)) : 0;
}

static error_t top_parse(int key, char *argument, struct argp_state *state)
{
	struct asked *asked = state->input;
	struct top_options *top = &asked->top;
	__u64 rows;
	int error = 0;

	switch (key) {
	case 'd':
		return top_add_device(&top->filter, argument);
	case 'p':
		return add_pid(&top->filter, argument);
	case 's':
		asked->sort = argument;
		return 0;
	case KEY_VIEW:
		return set_view(top, argument);
	case KEY_WINDOW:
		return set_window(top, argument);
	case KEY_SINCE_START:
		top->span = LATENCY_SINCE_START;
		return 0;
	case 'r':
		error = units_parse_count(argument, 1, UINT32_MAX, &rows);
		top->rows = error ? 0 : (size_t)rows;
		return error ? failed_in(error, "--rows") : 0;
	case 'b':
		top->batch = true;
		return 0;
	case 'v':
		top->verbose = true;
		return 0;
	case 'i':
		top->input = argument;
		return 0;
	case 'o':
		return destination_name(&top->output, "--output", argument, false);
	case 'c':
		asked->slo_file = argument;
		return 0;
	case KEY_SPEED:
		return top_parse_real("--speed", argument, 0.001, 1e6, &top->speed);
	case KEY_CSV:
	case KEY_JSON:
		return set_format(top, key == KEY_CSV ? OUTPUT_CSV : OUTPUT_JSON, argument,
				  state->next < state->argc ? state->argv[state->next] : NULL);
	case ARGP_KEY_ARG:
		return set_argument(top, state->arg_num, argument);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int top_check(const struct top_options *top)
{
	if (top->span == LATENCY_SINCE_START && top->window_ns)
		return failed(-EINVAL, "--window and --since-start exclude each other");
	if (top->speed > 0 && !top->input)
		return failed(-EINVAL, "--speed needs a recording: -i FILE");
	if (top->output && top->input)
		return failed(-EINVAL, "-o %s records live views; this one replays %s", top->output,
			      top->input);
	return 0;
}

/* How many objectives had no device, or no probe for its faults: '-' in every row is easily overlooked. */
static size_t top_unwatched(const struct watch *watch, char (*texts)[SLO_UNMEASURED_TEXT])
{
	const struct slo *slo = watch->analysis ? watch->analysis->slo : NULL;
	size_t count = 0;

	for (size_t i = 0; slo && i < watch->options->slos->count; i++)
		count += slo_unwatched(slo, i, texts[count]) != NULL;
	return count;
}

/* Before any output is begun. It is not opened: of a pipe that would be its one reader gone. */
static int check_input(const char *path)
{
	struct stat status;
	int error = 0;

	if (!path || !strcmp(path, "-"))
		return 0;
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) || stat(path, &status))
		error = failed(-errno, "%s: cannot be opened: %s", path, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		error = failed(-EISDIR, "%s: is a directory; accepted: a recording", path);
	return failed_input(error);
}

static int top_end(struct watch *watch, int error)
{
	static char unmeasured[SLO_MAX][SLO_UNMEASURED_TEXT];
	size_t objectives = top_unwatched(watch, unmeasured);
	const struct live_summary *summary = &watch->model.summary;
	unsigned int floor = summary->floor | (memory_ran_out() ? 1u << FLOOR_MEMORY : 0);
	bool left = watch->options->count > watch->intervals;
	bool interrupted = watch_signal && left;
	const struct output_options output = {.to = watch->options->to};
	bool batch = watch->options->batch;
	char kept[KEPT_TEXT], stopped[STOPPED_TEXT] = "", asked[ASKED_TEXT] = "", why[FLOOR_TEXT];
	__u64 left_out = watch->left_out;
	int closing;

	snprintf(kept, sizeof(kept), "%s", watch->model.kept);
	if (batch && watch->analysis && !error)
		common_unknown(&output, watch->analysis->session);
	if (watch->analysis)
		session_stopped_text(watch->analysis->session, stopped);
	if (watch->analysis)
		asked_text(watch->analysis->session, asked);
	closing = watch_close(watch);
	if (error || closing)
		return common_failed(error ? error : closing);
	if (batch) {
		common_aside(&output, kept);
		common_aside(&output, asked);
	}
	if (*stopped)
		fprintf(stderr, "faultline: %s\n", stopped);
	if (left_out)
		fprintf(stderr,
			"faultline: %llu intervals are not shown one by one: more than a recording "
			"of this size can tell of\n",
			left_out);
	/* What was lost last may be in the end's account alone, behind all that was shown. */
	if (floor)
		fprintf(stderr, "faultline: counts are floors: %s\n", floor_text(floor, why));
	for (size_t i = 0; i < objectives; i++)
		fprintf(stderr, "faultline: %s\n", printable_of(unmeasured[i]).text);
	if (interrupted)
		return EXIT_INTERRUPTED;
	if (objectives)
		return EXIT_EXPECT;
	return floor ? EXIT_LOSS : EXIT_OK;
}

static int top_run(const struct top_options *top)
{
	struct watch watch;
	int error = watch_open(&watch, top);

	if (!error)
		error = top->input ? watch_replay(&watch) : watch_live(&watch);
	return top_end(&watch, error);
}

int verb_top(int argc, char **argv)
{
	static const struct argp argp = {options, top_parse, "[INTERVAL [COUNT]]", doc, children,
					 NULL,	  NULL};
	static struct slo_set slos;
	struct asked asked = {.top = {.interval_s = 1, .span = LATENCY_WINDOW}};
	int error;

	error = common_parse(&argp, 0, argc, argv, &asked);
	if (!error)
		error = top_check(&asked.top);
	/* Which columns there are depends on the view, which may be named later. */
	if (!error)
		error = set_sort(&asked.top, asked.sort);
	if (error) {
		common_failed(error);
		return EXIT_USAGE;
	}
	error = check_input(asked.top.input);
	if (error)
		return common_failed(error);
	if (!asked.top.window_ns)
		asked.top.window_ns = WINDOW_DEFAULT_NS;
	if (asked.slo_file) {
		if (slo_read(asked.slo_file, &slos)) {
			common_failed(-EBADMSG);
			return EXIT_INPUT;
		}
		asked.top.slos = &slos;
	}
	asked.top.batch |= !isatty(STDOUT_FILENO);
	return top_run(&asked.top);
}
