// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/capture.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/kinds.h"
#include "lib/base/mount.h"
#include "lib/base/proc.h"
#include "lib/capture/capture_private.h"
#include "lib/capture/groups.h"
#include "lib/capture/host.h"
#include "lib/capture/permission.h"
#include "lib/capture/pid_namespace.h"
#include "lib/capture/process.h"

#define SLOW_IO_NS (10 * NSEC_PER_MSEC)
#define UNFINISHED (60 * NSEC_PER_SEC)
#define ANCHOR_NS  (60 * NSEC_PER_SEC)
#define SETTLE_NS  (200 * NSEC_PER_MSEC) /* for programs still running while we detach */
#define BATCH	   4096

int capture_open(struct capture **capture, const struct capture_config *config)
{
	struct capture *c;
	int error;

	objects_quiet();
	if (permission_lacking())
		return failed(-EPERM, "%s; %s", permission_lacking(), permission_remedy());
	if (mount_lacking())
		return failed(-EPERM, "%s, so nothing can be watched: %s", mount_lacking(),
			      mount_remedy());
	c = calloc(1, sizeof(*c));
	if (!c)
		return failed(-ENOMEM, "no memory for a capture");
	c->config = *config;
	if (!c->config.slow_io_ns)
		c->config.slow_io_ns = SLOW_IO_NS;
	if (!c->config.unfinished_ns)
		c->config.unfinished_ns = UNFINISHED;
	objects_verbose(config->verbose);
	error = probe_set_create(&c->probes, &c->config);
	if (!error)
		error = shared_maps_create(&c->maps, config->ring_bytes);
	if (!error)
		error = merge_create(&c->merge, c->maps.cpus + SOURCES_BESIDE_RINGS);
	if (!error)
		error = device_table_create(&c->devices, &c->config, &c->maps, capture_ask_machine,
					    c);
	if (!error)
		error = windows_create(&c->windows, &c->maps, c->devices, monotonic_ns());
	if (!error)
		error = paths_take(c, STEP_OPEN, monotonic_ns());
	if (!error) {
		c->rings = calloc(c->maps.cpus, sizeof(c->rings[0]));
		c->batch = malloc(BATCH * sizeof(c->batch[0]));
		if (!c->rings || !c->batch)
			error = failed(-ENOMEM, "no memory for %d rings", c->maps.cpus);
	}
	for (int cpu = 0; !error && cpu < c->maps.cpus; cpu++)
		error = ring_open(&c->rings[cpu], c->maps.ring_fds[cpu], c->maps.ring_bytes);
	for (size_t i = 0; !error && i < config->pid_count; i++)
		error = capture_add_pid(c, config->pids[i]);
	if (error) {
		capture_close(c);
		return error;
	}
	*capture = c;
	return 0;
}

int capture_add_pid(struct capture *capture, __u32 pid)
{
	__u32 kernel = process_start(pid) ? pid_to_kernel(pid) : 0;
	__u8 wanted = 1;

	if (!proc_is_ours())
		return failed_in(-ENOTSUP, "pid %u", pid);
	if (!process_start(pid))
		return failed(-ESRCH, "pid %u: there is no such process", pid);
	if (!kernel)
		return failed_in(-ENOTSUP, "pid %u", pid);
	if (bpf_map_update_elem(capture->maps.pids, &kernel, &wanted, BPF_ANY))
		return failed(failed_system(-errno),
			      "pid %u: cannot be watched: %s (at most %d processes)", pid,
			      strerror(errno), PIDS_MAX);
	__atomic_store_n(&capture->maps.state->pid, kernel, __ATOMIC_RELAXED);
	probe_set_expect_processes(capture->probes);
	return 0;
}

static int report_devices(struct capture *c, struct stream sink)
{
	const struct device_info *info;
	int error = 0;

	while (!error && (info = device_table_next_new(c->devices)))
		error = sink.ops->device ? sink.ops->device(sink.self, info) : 0;
	return error;
}

static int report_anchor(struct capture *c, struct stream sink, __u64 now)
{
	struct clock_anchor anchor;

	host_anchor(&anchor);
	if (now < c->next_anchor_ns && !host_clock_stepped(&c->anchor, &anchor))
		return 0;
	c->next_anchor_ns = now + ANCHOR_NS;
	c->anchor = anchor;
	return sink.ops->clock ? sink.ops->clock(sink.self, &anchor) : 0;
}

static bool any_probe_on(const struct capture *c)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		if (probe_set_info(c->probes, i)->state == PROBE_ON)
			return true;
	return false;
}

/* Emulated machines could be watched almost anywhere: why they cannot is the reason told. */
static int nothing_watched(const struct capture *c)
{
	const struct probe_info *first = NULL;

	for (int i = 0; i < PROBE_COUNT && !first; i++)
		if (probe_set_info(c->probes, i)->state == PROBE_OFF)
			first = probe_set_info(c->probes, i);
	return failed(-ENODEV, "no probe could be attached%s%s; `faultline doctor` tells of each",
		      first ? ", the first for this: " : "", first ? first->reason : "");
}

static void describe_filter(const struct capture_config *config, struct host_info *host)
{
	size_t used = 0;

	_Static_assert((size_t)CAPTURE_FILTERS * (CAPTURE_PATTERN_MOST + 2) < sizeof(host->devices),
		       "all filters fit");
	for (size_t i = 0; i < config->device_count && used < sizeof(host->devices); i++)
		used += (size_t)snprintf(host->devices + used, sizeof(host->devices) - used, "%s%s",
					 i ? ", " : "", config->devices[i]);
	kinds_format(&config->kinds, host->kinds, sizeof(host->kinds));
}

/* From here on programs do their work: this is when the recording begins. */
static int capture_begin(struct capture *c, struct stream sink)
{
	struct host_info host;
	int error;

	host_describe(&host);
	describe_filter(&c->config, &host);
	error = paths_take(c, STEP_BEGIN, monotonic_ns());
	if (!error)
		error = capture_let_go(c);
	if (error)
		return error;
	host.start_ns = c->start_ns;
	c->attached = true;
	c->next_second_ns = host.start_ns + NSEC_PER_SEC;
	error = sink.ops->host ? sink.ops->host(sink.self, &host) : 0;
	if (!error)
		error = report_anchor(c, sink, host.start_ns);
	/* Devices that are there already belong into the dictionary even if they stay silent. */
	if (!error)
		error = paths_take(c, STEP_POLL, host.start_ns);
	return error ? error : capture_report_probes(c, sink);
}

int capture_attach(struct capture *capture, struct stream sink)
{
	int error = probe_set_load(capture->probes, &capture->maps);

	if (error)
		return error;
	probe_set_attach(capture->probes);
	error = paths_take(capture, STEP_ATTACHED, monotonic_ns());
	if (!error && !any_probe_on(capture))
		error = nothing_watched(capture);
	if (!error)
		error = capture_prepare_deadline(capture);
	return error ? error : capture_begin(capture, sink);
}

/* An event as the kernel side wrote it: its device becomes a handle, then it waits its turn. */
static int capture_accept(struct capture *c, size_t source, const struct event *event)
{
	struct event copy = *event;

	copy.device = device_table_handle(c->devices, event->device);
	if (copy.device == HANDLE_DROPPED) {
		if (copy.kind >= EVENT_FAULT_DETECT && copy.kind <= EVENT_FAULT_HANDLER)
			c->dropped[copy.kind - EVENT_FAULT_DETECT]++;
		return 0;
	}
	return merge_push(c->merge, source, &copy);
}

/* A ring that is drained, a source of the merge. */
struct drain {
	struct capture *capture;
	size_t source;
};

static int take_event(void *self, const struct event *event)
{
	const struct drain *drain = self;
	struct capture *c = drain->capture;

	c->loss.received++;
	if (event->kind >= EVENT_FAULT_DETECT && event->kind <= EVENT_FAULT_HANDLER)
		c->taken[event->kind - EVENT_FAULT_DETECT]++;
	owners_notice(c->owners, event);
	return capture_accept(c, drain->source, event);
}

int capture_take_unfinished(void *self, const struct event *event)
{
	struct capture *c = self;

	device_table_gave_up(c->devices, event->device);
	return capture_accept(c, source_local(c), event);
}

int capture_report_gone(struct capture *c, __u64 now_ns)
{
	struct event event = {.time_ns = now_ns,
			      .kind = EVENT_DEVICE_GONE,
			      .pasid = PASID_NONE,
			      .queue = QUEUE_NONE};
	int error = 0;

	while (!error && (event.device = device_table_next_gone(c->devices)))
		error = merge_push(c->merge, source_local(c), &event);
	return error;
}

static int drain_rings(struct capture *c, __u64 now)
{
	for (int cpu = 0; cpu < c->maps.cpus; cpu++) {
		struct drain drain = {c, cpu};
		bool blocked;
		long taken = ring_drain(&c->rings[cpu], take_event, &drain, &blocked);

		if (taken < 0)
			return (int)taken;
		if (blocked)
			merge_promise_last(c->merge, cpu);
		else
			merge_promise(c->merge, cpu, now);
	}
	merge_promise(c->merge, source_local(c), now);
	capture_promise_access(c, now);
	return 0;
}

static int capture_release(struct capture *c, struct stream sink, __u64 watermark_ns)
{
	int pushed = 0;
	size_t count;

	do {
		int error = report_devices(c, sink);

		if (error)
			return error;
		count = merge_take(c->merge, watermark_ns, c->batch, BATCH);
		if (count && c->batch[count - 1].time_ns > c->last_ns)
			c->last_ns = c->batch[count - 1].time_ns;
		error = owners_report(c->owners, c->batch, count, sink);
		error = error ? error : flows_report(c->flows, c->batch, count, sink);
		if (error)
			return error;
		error = count ? stream_events(sink, c->batch, count) : 0;
		if (error)
			return error;
		pushed += count;
	} while (count == BATCH);
	return pushed;
}

static int every_second(struct capture *c, struct stream sink, __u64 now)
{
	int error;

	if (now < c->next_second_ns)
		return 0;
	c->next_second_ns = now + NSEC_PER_SEC;
	probe_set_look_again(c->probes);
	error = capture_return_slots(c);
	if (!error)
		error = groups_sweep(c->maps.groups, now, c->config.unfinished_ns, NULL,
				     capture_take_unfinished, c);
	if (!error)
		error = paths_take(c, STEP_SECOND, now);
	if (!error)
		error = report_anchor(c, sink, now);
	return error ? error : capture_account(c, sink);
}

int capture_poll(struct capture *capture, struct stream sink)
{
	const __u64 logs_ns = monotonic_ns();
	__u64 now, watermark;
	int pushed, error;

	error = every_second(capture, sink, logs_ns);
	if (error)
		return error;
	error = paths_take(capture, STEP_POLL, logs_ns);
	/* What was attached just now is told before the first event of it. */
	if (!error)
		error = capture_report_probes(capture, sink);
	if (!error)
		error = capture_forget_ended(capture);
	if (error)
		return error;
	now = monotonic_ns();
	error = drain_rings(capture, now);
	if (error)
		return error;
	watermark = merge_watermark(capture->merge, now);
	pushed = capture_release(capture, sink, watermark);
	if (pushed < 0)
		return pushed;
	error = windows_close(capture->windows, logs_ns, sink);
	if (error)
		return error;
	/* Polling goes on while what was recorded is ended: that time was not watched. */
	if (capture_was_over(capture, watermark))
		watermark = capture_stopped_ns(capture);
	error = sink.ops->tick ? sink.ops->tick(sink.self, watermark) : 0;
	return error ? error : pushed;
}

/*
 * Waits for programs that have begun: the kernel does so whenever a map of maps is changed. Detaching
 * afterwards takes its time and loses nothing.
 */
static void stop_programs(struct capture *c)
{
	int rings = bpf_object__find_map_fd_by_name(c->maps.object, "rings");
	__u32 first = 0;

	capture_stop(c);
	bpf_map_update_elem(rings, &first, &c->maps.ring_fds[0], BPF_ANY);
}

/* A program that can sleep may still be writing its record. */
static int drain_settled(struct capture *c)
{
	__u64 deadline = monotonic_ns() + SETTLE_NS;
	struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};

	for (;;) {
		__u64 now = monotonic_ns();
		struct probe_totals totals;
		int error = drain_rings(c, now);

		if (!error)
			error = probe_set_count(c->probes, &totals);
		if (error || totals.emitted == c->loss.received || now > deadline)
			return error;
		nanosleep(&pause, NULL);
	}
}

int capture_finish(struct capture *capture, struct stream sink)
{
	__u64 end_ns;
	int error, pushed;

	if (!capture->attached)
		return 0;
	stop_programs(capture);
	capture->attached = false;
	error = drain_settled(capture);
	if (!error)
		error = paths_take(capture, STEP_FINISH, monotonic_ns());
	if (!error)
		error = capture_forget_ended(capture);
	/* Not now: who records may have waited since for the command that it has recorded. */
	end_ns = capture->stopped_ns;
	if (error)
		return error;
	/* A recorder that was held up has more windows open than the two that the last call closes. */
	pushed = capture_release(capture, sink, end_ns);
	error = pushed < 0 ? pushed : windows_close(capture->windows, end_ns, sink);
	if (!error)
		error = paths_take(capture, STEP_RELEASED, end_ns);
	if (error)
		return error;
	pushed = capture_release(capture, sink, UINT64_MAX);
	if (pushed < 0)
		return pushed;
	error = windows_close(capture->windows, UINT64_MAX, sink);
	if (!error)
		error = capture_account(capture, sink);
	/* A program that was running when all were stopped may have stamped its event after that. */
	end_ns = capture->stopped_ns > capture->last_ns ? capture->stopped_ns : capture->last_ns;
	if (!error && sink.ops->end)
		error = sink.ops->end(sink.self, end_ns);
	return error;
}

void capture_close(struct capture *capture)
{
	if (!capture)
		return;
	capture_forget_deadline(capture);
	probe_set_destroy(capture->probes);
	for (int cpu = 0; capture->rings && cpu < capture->maps.cpus; cpu++)
		ring_close(&capture->rings[cpu]);
	free(capture->rings);
	free(capture->batch);
	merge_destroy(capture->merge);
	windows_destroy(capture->windows);
	paths_take(capture, STEP_CLOSE, monotonic_ns());
	device_table_destroy(capture->devices);
	free(capture->ended.list);
	shared_maps_destroy(&capture->maps);
	free(capture);
}
