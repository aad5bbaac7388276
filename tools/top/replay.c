// SPDX-License-Identifier: GPL-2.0
/*
 * Source of the live view: a recording. The stream is cut where an interval of the recording's own
 * time ends, so that what is shown does not depend on how fast it is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/analyze/analysis.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tools/top/watch.h"

#define FRAME_NS 50000000ull /* between drawings when reading as fast as possible */
#define KEYS_MS	 50
/* Time without a word, not even that it passed: a gap of the recording, or a claim, is not shown. */
#define GAP_NS	     (10 * NSEC_PER_SEC)
#define PACE_STEP_NS 100000000ull
/*
 * That time passes is a claim, too: a frame of a few hundred bytes may tell of days. A recorder writes some 500 bytes
 * a second while nothing happens; whoever asks for more rows than so many for each byte has made them up.
 */
#define ROWS_MOST     50000
#define ROWS_PER_BYTE 32

struct replay {
	struct top_watch *watch;
	struct stream to;
	__u64 next_ns;	/* end of the interval under way, 0 before anything came */
	__u64 kept_ns;	/* a flight recorder let go what was before */
	__u64 drawn_ns; /* own clock */
	__u64 rows;	/* that may still be shown */
	__u64 left_out; /* intervals, for want of these */
};

/* Of standard input it is not known how much there is, nor will it be: all of its time is shown. */
static int replay_find_rows(const char *path, __u64 *rows)
{
	struct trace_summary summary;
	int error;

	*rows = UINT64_MAX;
	if (!strcmp(path, "-"))
		return 0;
	error = failed_input(trace_summarize(path, &summary));
	if (!error)
		*rows = ROWS_MOST + ROWS_PER_BYTE * summary.bytes;
	trace_summary_free(&summary);
	return error;
}

/* Waits as long as the interval lasts at the speed asked for, and while the screen is paused. */
static int replay_pace(struct replay *replay)
{
	struct top_watch *watch = replay->watch;
	double speed = watch->options->speed;
	__u64 until = monotonic_ns();
	int error = 0;

	if (speed > 0)
		until += (__u64)(watch->view.interval_s / speed * 1e9);
	do {
		__u64 now = monotonic_ns();
		__u64 left = until > now ? until - now : 0;

		if (left > PACE_STEP_NS || (!watch->batch && watch->view.paused))
			left = PACE_STEP_NS;
		if (watch->batch)
			nanosleep(&(struct timespec){0, (long)left}, NULL);
		else
			error = watch_keys(watch, (int)(left / NSEC_PER_MSEC));
	} while (!error && !watch_done(watch) && (watch->view.paused || monotonic_ns() < until));
	return error;
}

/* Drawing every interval would take longer than reading the recording. */
static bool is_due(struct replay *replay)
{
	__u64 now = monotonic_ns();

	if (replay->watch->options->speed <= 0 && now < replay->drawn_ns + FRAME_NS)
		return false;
	replay->drawn_ns = now;
	return true;
}

/* Takes the rows of an interval from those that are left: false if there are not as many. */
static bool may_show(struct replay *replay)
{
	__u64 rows = 1 + session_device_count(replay->watch->analysis->session);

	if (replay->rows < rows)
		return false;
	replay->rows -= rows;
	return true;
}

/* What is not shown of these intervals is part of the next that is. */
static void pass_over(struct replay *replay, __u64 time_ns, __u64 interval)
{
	__u64 intervals = (time_ns - replay->next_ns) / interval + 1;

	replay->rows = 0;
	replay->left_out += intervals;
	replay->next_ns += intervals * interval;
}

/* The recording has come to time_ns: shows every interval that ends there or before. */
static int replay_reach(struct replay *replay, __u64 time_ns)
{
	struct top_watch *watch = replay->watch;
	__u64 interval = watch_interval_ns(watch);
	int error = 0;

	if (time_ns > UINT64_MAX - 2 * interval)
		time_ns = UINT64_MAX - 2 * interval;
	if (!replay->next_ns)
		replay->next_ns = time_ns + interval;
	if (time_ns > replay->next_ns && time_ns - replay->next_ns > GAP_NS + interval)
		replay->next_ns = time_ns - (time_ns - replay->next_ns) % interval;
	while (!error && time_ns >= replay->next_ns) {
		if (!may_show(replay)) {
			pass_over(replay, time_ns, interval);
			break;
		}
		error = watch_interval(watch, replay->next_ns, is_due(replay));
		replay->next_ns += watch_interval_ns(watch);
		if (!error)
			error = replay_pace(replay);
		if (!error && watch_done(watch))
			error = -ECANCELED;
	}
	return error;
}

static int replay_on_host(void *self, const struct host_info *host)
{
	struct replay *replay = self;

	__u64 from = host->start_ns > replay->kept_ns ? host->start_ns : replay->kept_ns;

	if (host->start_ns)
		replay->next_ns = from + watch_interval_ns(replay->watch);
	return replay->to.ops->host ? replay->to.ops->host(replay->to.self, host) : 0;
}

static int replay_on_clock(void *self, const struct clock_anchor *anchor)
{
	struct replay *replay = self;

	return replay->to.ops->clock ? replay->to.ops->clock(replay->to.self, anchor) : 0;
}

static int replay_on_probe(void *self, const struct probe_info *probe)
{
	struct replay *replay = self;

	return replay->to.ops->probe ? replay->to.ops->probe(replay->to.self, probe) : 0;
}

static int replay_on_device(void *self, const struct device_info *device)
{
	struct replay *replay = self;

	return replay->to.ops->device ? replay->to.ops->device(replay->to.self, device) : 0;
}

static int replay_on_stack(void *self, const struct stack_info *stack)
{
	struct replay *replay = self;

	return replay->to.ops->stack ? replay->to.ops->stack(replay->to.self, stack) : 0;
}

static int replay_on_process(void *self, const struct process_info *process)
{
	struct replay *replay = self;

	return replay->to.ops->process ? replay->to.ops->process(replay->to.self, process) : 0;
}

static int replay_on_flow(void *self, const struct flow_info *flow)
{
	struct replay *replay = self;

	return replay->to.ops->flow ? replay->to.ops->flow(replay->to.self, flow) : 0;
}

static int replay_on_kept(void *self, const struct kept_info *kept)
{
	struct replay *replay = self;

	replay->kept_ns = kept->from_ns;
	return replay->to.ops->kept ? replay->to.ops->kept(replay->to.self, kept) : 0;
}

static int replay_on_events(void *self, const struct event *events, size_t count)
{
	struct replay *replay = self;
	size_t from = 0;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (events[i].time_ns < replay->next_ns || events[i].flags & EVENT_LATE)
			continue;
		if (i > from)
			error = stream_events(replay->to, events + from, i - from);
		from = i;
		if (!error)
			error = replay_reach(replay, events[i].time_ns);
	}
	if (!error && count > from)
		error = stream_events(replay->to, events + from, count - from);
	return error;
}

static int replay_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct replay *replay = self;

	return replay->to.ops->aggregate ? replay->to.ops->aggregate(replay->to.self, frame) : 0;
}

static int replay_on_loss(void *self, const struct loss_info *loss)
{
	struct replay *replay = self;

	return replay->to.ops->loss ? replay->to.ops->loss(replay->to.self, loss) : 0;
}

static int replay_on_tick(void *self, __u64 now_ns)
{
	struct replay *replay = self;
	int error = replay->to.ops->tick ? replay->to.ops->tick(replay->to.self, now_ns) : 0;

	return error ? error : replay_reach(replay, now_ns);
}

static int replay_on_end(void *self, __u64 end_ns)
{
	struct replay *replay = self;
	int error = replay->next_ns && end_ns ? replay_reach(replay, end_ns - 1) : 0;

	if (!error && replay->to.ops->end)
		error = replay->to.ops->end(replay->to.self, end_ns);
	replay->watch->model.ended = true;
	/* What is left is shown as a last interval, however short. */
	if (!error)
		error = watch_interval(replay->watch, end_ns, true);
	return error;
}

_Static_assert(sizeof(struct stream_ops) == 13 * sizeof(void (*)(void)), "all calls are passed on");

static const struct stream_ops replay_ops = {
	.host = replay_on_host,
	.clock = replay_on_clock,
	.probe = replay_on_probe,
	.device = replay_on_device,
	.stack = replay_on_stack,
	.process = replay_on_process,
	.flow = replay_on_flow,
	.kept = replay_on_kept,
	.events = replay_on_events,
	.aggregate = replay_on_aggregate,
	.loss = replay_on_loss,
	.tick = replay_on_tick,
	.end = replay_on_end,
};

int watch_replay(struct top_watch *watch)
{
	struct trace_read_config config = {.path = watch->options->input};
	struct replay replay = {.watch = watch, .to = watch_stream(watch)};
	int error = replay_find_rows(config.path, &replay.rows), damage;

	error = error ?: hosts_choose_one(&watch->options->hosts, config.path, &config.host);

	if (!error)
		error = watch_start(watch);
	if (error)
		return error;
	damage = trace_read(&config, (struct stream){&replay_ops, &replay});
	watch->left_out = replay.left_out;
	if (damage == -ECANCELED)
		return 0;
	if (damage && damage != -EBADMSG)
		return damage;
	while (!watch->batch && !error && !watch_done(watch))
		error = watch_keys(watch, KEYS_MS);
	/* The sentence about damage is the last that was recorded, unless there is a worse one. */
	return error ? error : damage;
}
