// SPDX-License-Identifier: GPL-2.0
/* Source of the live view: this host, now. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/run_directory.h"
#include "lib/capture/capture.h"
#include "lib/trace/trace.h"
#include "tools/common.h"
#include "tools/top/watch.h"

#define POLL_MS 20 /* how often the rings are drained; keys are seen at once */

/*
 * Rings for POLL_MS and a slow terminal, not for a recorder's minutes of a busy disk: what is mapped
 * counts as our memory. Shared by all CPUs, at least RING_LEAST each.
 */
#define RINGS_BYTES (8u << 20)
#define RING_LEAST  (256u << 10)

static int wait_until(struct top_watch *watch, __u64 next)
{
	__u64 now = monotonic_ns();
	int timeout = next <= now ? 0 : (int)((next - now) / NSEC_PER_MSEC + 1);
	struct timespec pause;

	if (timeout > POLL_MS)
		timeout = POLL_MS;
	if (!watch->batch)
		return watch_keys(watch, timeout);
	pause = (struct timespec){0, timeout * 1000000L};
	nanosleep(&pause, NULL); /* a signal ends it early, which is welcome */
	return 0;
}

static int live_follow(struct top_watch *watch, struct capture *capture, struct stream sink)
{
	__u64 next = monotonic_ns() + watch_interval_ns(watch);
	int error = 0;

	while (!error && !watch_done(watch) && !memory_ran_out()) {
		__u64 interval = watch_interval_ns(watch);
		__u64 now;

		error = capture_poll(capture, sink);
		if (error < 0)
			break;
		error = 0;
		now = monotonic_ns();
		/* The user may have made the interval shorter. */
		if (next > now + interval)
			next = now + interval;
		if (now >= next) {
			error = watch_interval(watch, now, true);
			/* After a stop (SIGTSTP) the missed intervals are not made up for. */
			next = next + interval > now ? next + interval : now + interval;
		}
		if (!error && !watch_done(watch))
			error = wait_until(watch, next);
	}
	return error;
}

static size_t live_ring_bytes(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes = RINGS_BYTES;

	while (cpus > 1 && bytes > RING_LEAST && bytes * (size_t)cpus > RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

/*
 * What came since the last interval is in the recording: shown as one more, however short, as a replay
 * does; unless as many as were asked for have been shown.
 */
static int live_finish(struct top_watch *watch, struct capture *capture, struct stream sink)
{
	bool all = watch->options->count && watch->intervals >= watch->options->count;
	int error = capture_finish(capture, sink);

	watch->model.ended = true;
	return error || all || !watch->batch ? error : watch_interval(watch, monotonic_ns(), true);
}

/* Captures into `sink` until the view is done; `writer`, if any, is one of its parts. */
static int capture_into(struct top_watch *watch, struct trace_writer *writer, struct stream sink)
{
	const struct collect_filter *filter = &watch->options->filter;
	struct capture_config config = {.device_count = filter->device_count,
					.pid_count = filter->pid_count,
					.ring_bytes = live_ring_bytes(),
					.tcp = watch->options->tcp,
					.verbose = watch->options->verbose};
	struct capture *capture;
	int error;

	_Static_assert(COLLECT_FILTERS <= CAPTURE_FILTERS, "all filters fit");
	for (size_t i = 0; i < filter->device_count; i++)
		config.devices[i] = filter->devices[i];
	for (size_t i = 0; i < filter->pid_count; i++)
		config.pids[i] = filter->pids[i];
	error = run_directory_check() ?: capture_open(&capture, &config);
	if (error)
		return error;
	common_tell_run_directory(capture);
	error = capture_attach(capture, sink);
	if (!error && writer)
		error = trace_writer_commit(writer);
	if (!error)
		error = watch_start(watch);
	if (!error)
		error = live_follow(watch, capture, sink);
	if (!error && watch->options->output)
		error = live_finish(watch, capture, sink);
	capture_close(capture);
	return error;
}

int watch_live(struct top_watch *watch)
{
	struct trace_writer_config config = {.path = watch->options->output, .held = true};
	struct stream_fan fan = {.sinks = {watch_stream(watch)}, .count = 1};
	struct trace_writer *writer;
	int error, closing;

	if (!config.path)
		return capture_into(watch, NULL, watch_stream(watch));
	error = trace_writer_open(&writer, &config);
	if (error)
		return error;
	error = stream_fan_add(&fan, trace_writer_stream(writer));
	error = error ?: capture_into(watch, writer, stream_fan(&fan));
	closing = trace_writer_close(writer);
	return error ? error : closing;
}
