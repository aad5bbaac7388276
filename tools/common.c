// SPDX-License-Identifier: GPL-2.0
#include "tools/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/unknown.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/base/run_directory.h"
#include "lib/job/options.h"

#define NS_PER_DAY (86400 * NSEC_PER_SEC)

enum { KEY_SINCE = 0x200, KEY_UNTIL, KEY_MAX_MEMORY };

static const struct argp_option window_options[] = {
	{NULL, 0, NULL, 0, "Window:", 2},
	{"since", KEY_SINCE, "TIME", 0,
	 "Leave out what is before TIME, or began before: 2026-11-21T14:02:03Z, 14:02 (UTC), @SECONDS since 1970, "
	 "+90s after the start, -10m before the end",
	 0},
	{"until", KEY_UNTIL, "TIME", 0, "Leave out what is at TIME or later, or begins then", 0},
	{0},
};

/* Prints failure_text() behind the option and ends with EXIT_USAGE. */
static void common_option_failed(const struct argp_state *state, const char *option)
{
	usage_error(state, "%s: %s", option, failure_text());
}

static error_t parse_window(int key, char *argument, struct argp_state *state)
{
	struct window_options *window = state->input;

	switch (key) {
	case KEY_SINCE:
		window->has_since = true;
		window->since_text = argument;
		if (units_parse_time(argument, &window->since))
			common_option_failed(state, "--since");
		return 0;
	case KEY_UNTIL:
		window->has_until = true;
		window->until_text = argument;
		if (units_parse_time(argument, &window->until))
			common_option_failed(state, "--until");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp window_argp = {window_options, parse_window, NULL, NULL, NULL, NULL, NULL};

static const struct argp_option memory_options[] = {
	{NULL, 0, NULL, 0, "Memory:", 7},
	{"max-memory", KEY_MAX_MEMORY, "SIZE", 0,
	 "Stop where what is counted would need more than SIZE, such as 500M or 4G; counts are floors then "
	 "(half of the machine's memory)",
	 0},
	{0},
};

static error_t parse_memory(int key, char *argument, struct argp_state *state)
{
	__u64 bytes;

	switch (key) {
	case ARGP_KEY_INIT:
		memory_limit(memory_limit_default());
		return 0;
	case KEY_MAX_MEMORY:
		if (units_parse_size_within(argument, MEMORY_LIMIT_LEAST, 1ull << 60, &bytes))
			common_option_failed(state, "--max-memory");
		memory_limit(bytes);
		return 0;
	case ARGP_KEY_SUCCESS:
		memory_keep_to(UINT64_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp memory_argp = {memory_options, parse_memory, NULL, NULL, NULL, NULL, NULL};

int common_check_pattern(const char *pattern)
{
	if (!*pattern)
		return failed(-EINVAL, "'' matches no device; accepted: a name or a shell pattern, "
				       "such as 'tenant0/*'");
	if (strlen(pattern) > CAPTURE_PATTERN_MOST)
		return failed(-EINVAL, "'%.32s...' has %zu characters; accepted: up to %d", pattern,
			      strlen(pattern), CAPTURE_PATTERN_MOST);
	return 0;
}

void common_tell_run_directory(const struct capture *capture)
{
	const char *no_account = capture_no_account(capture);

	if (run_directory_is_missed())
		fprintf(stderr,
			"faultline: %s; emulated machines are not met: their names and I/Os are not seen\n",
			failure_text());
	else if (no_account[0])
		fprintf(stderr,
			"faultline: %s; emulated machines that end before they are met are not counted\n",
			printable_of(no_account).text);
}

int common_failed(int err)
{
	char most[UNITS_TEXT];

	if (err == -ENOMEM && memory_limit_now() != UINT64_MAX)
		failed(err, "%s; --max-memory is %s", failure_text(),
		       units_format_size(memory_limit_now(), most));
	return failure_report(err);
}

int common_print_keys(const struct option_table *table)
{
	options_help(table, stdout, NULL);
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	return common_failed(
		failed(-EIO, "standard output: cannot be written: %s", strerror(errno)));
}

/* The inputs' own names the writer knows; what a flight recorder keeps has others. */
static int check_segments(const char *output, const char *const *inputs)
{
	struct stat file;

	if (!output || stat(output, &file) || !S_ISREG(file.st_mode))
		return 0;
	for (; *inputs; inputs++)
		if (trace_has_segment(*inputs, &file))
			return failed(-EINVAL,
				      "%s: is a part of the input %s; choose another name for the "
				      "output",
				      output, *inputs);
	return 0;
}

int common_open_writer(struct writer **writer, const struct output_options *options,
		       const char *const *inputs, const char *const *tables)
{
	int err = check_segments(options->to.path, inputs);

	return err ? err : output_open(writer, options, inputs, tables);
}

/* The first such time of day that the recording may hold, as a wall-clock time. */
static __u64 time_of_day(const struct trace_summary *summary, __u64 start_ns, __u64 ns)
{
	__u64 start = wall_clock_at(&summary->clock, start_ns);
	__u64 time = start - start % NS_PER_DAY + ns;

	if (time < start && time + NS_PER_DAY <= wall_clock_at(&summary->clock, summary->last_ns))
		time += NS_PER_DAY;
	return time;
}

/* One bound of a window; `monotonic` is wall_clock_since() or wall_clock_until(). */
static int common_resolve(const struct trace_summary *summary, const struct units_time *time,
			  const char *text, __u64 (*monotonic)(const struct wall_clock *, __u64),
			  __u64 *ns)
{
	__u64 start_ns = summary->host.start_ns ? summary->host.start_ns : summary->first_ns;

	if ((time->base == UNITS_TIME_REALTIME || time->base == UNITS_TIME_OF_DAY) &&
	    !summary->clock.count)
		return failed(-EINVAL,
			      "time '%s': the recording knows no wall-clock; use +90s after its "
			      "start or -10m before its end",
			      text);
	switch (time->base) {
	case UNITS_TIME_REALTIME:
		*ns = monotonic(&summary->clock, time->ns);
		break;
	case UNITS_TIME_OF_DAY:
		*ns = monotonic(&summary->clock, time_of_day(summary, start_ns, time->ns));
		break;
	case UNITS_TIME_AFTER_START:
		*ns = start_ns + time->ns;
		break;
	case UNITS_TIME_BEFORE_END:
		*ns = summary->last_ns > time->ns ? summary->last_ns - time->ns : 0;
		break;
	}
	return 0;
}

int common_resolve_window(const struct window_options *window, const struct trace_summary *summary,
			  struct period *period)
{
	int err = 0;

	*period = (struct period){0};
	if (window->has_since)
		err = common_resolve(summary, &window->since, window->since_text, wall_clock_since,
				     &period->since_ns);
	if (err || !window->has_until)
		return err;
	err = common_resolve(summary, &window->until, window->until_text, wall_clock_until,
			     &period->until_ns);
	if (!err && period->until_ns <= period->since_ns)
		err = failed(-EINVAL, "--until %s is not after %s%s", window->until_text,
			     window->has_since ? "--since " : "the recording's start",
			     window->has_since ? window->since_text : "");
	return err;
}

int common_open_recording(const char *path, const struct window_options *window,
			  struct period *period, struct trace_summary *summary)
{
	int err = 0;

	memset(summary, 0, sizeof(*summary));
	*period = (struct period){0};
	if (strcmp(path, "-") != 0)
		err = failed_input(trace_summarize(path, summary));
	else if (window->has_since || window->has_until)
		err = failed(-EINVAL, "--since and --until need a file: standard input has no end "
				      "that could be known before");
	return err ? err : common_resolve_window(window, summary, period);
}

/* Where the first of them begins and the last one ends, in wall-clock time. */
static int span_of_hosts(struct trace_summary *const *hosts, size_t count, __u64 *from, __u64 *to)
{
	*from = UINT64_MAX;
	*to = 0;
	for (size_t i = 0; i < count; i++) {
		const struct trace_summary *host = hosts[i];
		__u64 start = wall_clock_at(&host->clock, host->host.start_ns ?: host->first_ns);
		__u64 end = wall_clock_at(&host->clock, host->last_ns);

		if (!host->clock.count)
			return failed(-EINVAL,
				      "--since and --until: the wall-clock of host %s is not "
				      "known; leave it out with --host",
				      host->host.hostname);
		*from = start < *from ? start : *from;
		*to = end > *to ? end : *to;
	}
	return 0;
}

static __u64 realtime_of(const struct units_time *time, __u64 from, __u64 to)
{
	__u64 day = from - from % NS_PER_DAY + time->ns;

	switch (time->base) {
	case UNITS_TIME_OF_DAY:
		return day < from && day + NS_PER_DAY <= to ? day + NS_PER_DAY : day;
	case UNITS_TIME_AFTER_START:
		return from + time->ns;
	case UNITS_TIME_BEFORE_END:
		return to > time->ns ? to - time->ns : 0;
	default:
		return time->ns;
	}
}

int common_resolve_hosts(const struct window_options *window, struct trace_summary *const *hosts,
			 struct period *periods, size_t count)
{
	__u64 from, to, since, until;
	int err;

	memset(periods, 0, count * sizeof(*periods));
	if (!window->has_since && !window->has_until)
		return 0;
	err = span_of_hosts(hosts, count, &from, &to);
	if (err)
		return err;
	since = window->has_since ? realtime_of(&window->since, from, to) : from;
	until = window->has_until ? realtime_of(&window->until, from, to) : UINT64_MAX;
	if (until <= since)
		return failed(-EINVAL, "--until %s is not after %s%s", window->until_text,
			      window->has_since ? "--since " : "the recording's start",
			      window->has_since ? window->since_text : "");
	for (size_t i = 0; i < count; i++) {
		const struct wall_clock *clock = &hosts[i]->clock;

		if (window->has_since)
			periods[i].since_ns = wall_clock_since(clock, since);
		/* Of a host that began later nothing is left: 0 would be all of it. */
		if (window->has_until)
			periods[i].until_ns = wall_clock_until(clock, until) ?: 1;
	}
	return 0;
}

void common_aside(const struct output_options *output, const char *sentence)
{
	if (output->to.format != OUTPUT_TEXT && *sentence)
		fprintf(stderr, "faultline: %s\n", printable_of(sentence).text);
}

void common_unknown(const struct output_options *output, const struct session *session)
{
	char text[UNKNOWN_TEXT];

	common_aside(output, unknown_kinds(session, text));
	for (size_t i = 0; i < session_probe_count(session); i++)
		common_aside(output, unknown_sentence(session, i, text));
}

const char *common_complete(const struct session *session)
{
	return memory_ran_out()			? "no: memory ran out before the recording's end"
	       : session_loss(session)->cut	? "no: the recording was cut"
	       : session_kept(session)->from_ns ? "no: what was before kept_from was let go"
						: "yes";
}

int common_limits(const struct output_options *output, const char *kept, unsigned int floor)
{
	char text[FLOOR_TEXT], floors[FLOOR_TEXT + 32] = "";

	if (floor)
		snprintf(floors, sizeof(floors), "counts are floors: %s", floor_text(floor, text));
	common_aside(output, kept);
	common_aside(output, floors);
	return floor ? EXIT_LOSS : EXIT_OK;
}

static int take_clock(void *self, const struct clock_anchor *anchor)
{
	writer_clock(self, anchor);
	return 0;
}

struct stream common_clock(struct writer *writer)
{
	static const struct stream_ops ops = {.clock = take_clock}, none;

	return (struct stream){writer ? &ops : &none, writer};
}

static int common_show_progress(void *self, const struct event *events, size_t count)
{
	struct progress *progress = self;
	char text[UNITS_TEXT];
	__u64 now;

	(void)events;
	progress->done += count;
	now = monotonic_ns();
	if (now - progress->started_ns < 2 * NSEC_PER_SEC ||
	    now - progress->shown_ns < NSEC_PER_SEC / 4)
		return 0;
	progress->shown_ns = now;
	units_format_count(progress->done, 6, text);
	if (progress->total)
		fprintf(stderr, "\r%s: %" PRIu64 "%%, %s events\033[K", progress->what,
			(uint64_t)(progress->done * 100 / progress->total), text);
	else
		fprintf(stderr, "\r%s: %s events\033[K", progress->what, text);
	return 0;
}

struct stream common_progress(struct progress *progress)
{
	static const struct stream_ops shown = {.events = common_show_progress}, hidden;

	progress->started_ns = monotonic_ns();
	return (struct stream){isatty(STDERR_FILENO) ? &shown : &hidden, progress};
}

void common_progress_end(struct progress *progress)
{
	if (progress->shown_ns)
		fputs("\r\033[K", stderr);
}
