// SPDX-License-Identifier: GPL-2.0
/* One run: the devices set up, the processes led through it, the log read. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "injectors/real/iopf.h"
#include "lib/base/clock.h"

bool iopf_is_paused_first(const struct iopf_options *options)
{
	return options->what == IOPF_UNMAP || options->what == IOPF_EXIT ||
	       options->what == IOPF_FLOOD || options->pause_ns;
}

static __u32 iopf_milliseconds(__u64 ns)
{
	return (__u32)((ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

int iopf_configure(const struct iopf_run *run)
{
	const struct iopf_options *options = run->options;
	struct faultline_configure change = {
		.set = FAULTLINE_SET_GROUP_LIMIT | FAULTLINE_SET_TIMEOUT | FAULTLINE_SET_DELAY |
		       FAULTLINE_SET_WITHHOLD,
		.group_limit = options->group_numbers,
		.timeout_ms = iopf_milliseconds(options->timeout_ns),
		.delay_ms = iopf_milliseconds(options->delay_ns),
		.withhold = options->withhold,
		.prq_size = options->prq_size,
		.prq_paused = iopf_is_paused_first(options),
	};
	int err = 0;

	if (options->prq_size)
		change.set |= FAULTLINE_SET_PRQ_SIZE;
	if (change.prq_paused)
		change.set |= FAULTLINE_SET_PRQ_PAUSED;
	for (__u32 i = 0; i < options->device_count && !err; i++) {
		change.device = options->devices[i];
		err = iopf_call(&run->device, FAULTLINE_IOC_CONFIGURE, &change,
				"cannot set up the device (is another program using it?)");
		change.set &= ~(FAULTLINE_SET_PRQ_SIZE | FAULTLINE_SET_PRQ_PAUSED);
	}
	return err;
}

static int iopf_resume(const struct iopf_run *run)
{
	struct faultline_configure change = {.device = run->options->devices[0],
					     .set = FAULTLINE_SET_PRQ_PAUSED};

	if (!iopf_is_paused_first(run->options))
		return 0;
	if (run->options->pause_ns && verb_sleep_until(monotonic_ns() + run->options->pause_ns))
		return failed(-EINTR, "interrupted");
	return iopf_call(&run->device, FAULTLINE_IOC_CONFIGURE, &change, "cannot resume the queue");
}

static int await_answers(const struct iopf_run *run)
{
	int err = 0;

	for (__u32 i = 0; i < run->options->device_count && !err; i++) {
		struct faultline_wait wait = {.device = run->options->devices[i],
					      .timeout_ns = run->options->wait_ns};

		err = iopf_call(&run->device, FAULTLINE_IOC_WAIT, &wait, "cannot wait");
		if (err == -ETIME)
			err = failed(-ETIME, "%u groups of %s were not answered within --wait",
				     wait.waiting, iopf_device_name(&run->device, wait.device));
	}
	return err;
}

/* A device gives up in work of its kernel, which a busy machine may hold up: its counters tell. */
static int await_give_up(const struct iopf_run *run, __u32 device)
{
	const struct faultline_counters *before = &run->before[device];
	__u64 end = monotonic_ns() + run->options->timeout_ns + run->options->wait_ns;
	struct faultline_counters now = {.device = device};
	int err;

	for (;;) {
		err = iopf_call(&run->device, FAULTLINE_IOC_COUNTERS, &now,
				"cannot read the counters");
		if (err || now.timeouts - before->timeouts >= now.withheld - before->withheld)
			return err;
		if (monotonic_ns() > end)
			return failed(-ETIME, "%s has not given up its groups within --wait",
				      iopf_device_name(&run->device, device));
		if (verb_sleep_until(monotonic_ns() + 5 * NSEC_PER_MSEC))
			return failed(-EINTR, "interrupted");
	}
}

/* The answers come late only when the devices have given up before. */
static int iopf_release(const struct iopf_run *run)
{
	const struct iopf_options *options = run->options;
	int err = 0;

	if (!options->withhold)
		return 0;
	for (__u32 i = 0; i < options->device_count && options->timeout_ns && !err; i++)
		err = await_give_up(run, options->devices[i]);
	for (__u32 i = 0; i < options->device_count && !err; i++) {
		struct faultline_release let = {.device = options->devices[i]};

		err = iopf_call(&run->device, FAULTLINE_IOC_RELEASE, &let, "cannot release");
	}
	return err;
}

static int remember_counters(struct iopf_run *run)
{
	int err = 0;

	for (__u32 i = 0; i < run->options->device_count && !err; i++) {
		struct faultline_counters *counters = &run->before[run->options->devices[i]];

		counters->device = run->options->devices[i];
		err = iopf_call(&run->device, FAULTLINE_IOC_COUNTERS, counters,
				"cannot read the counters");
	}
	return err;
}

static int iopf_lead(struct iopf_run *run)
{
	bool stays = run->options->what != IOPF_EXIT;
	int err = iopf_processes_start(run);

	if (!err)
		iopf_open_gate(run, IOPF_GATE_RAISE);
	/* Processes that are to end by themselves with requests pending say nothing any more. */
	if (!err)
		err = stays ? iopf_await_ready(run) : iopf_processes_end(run, false);
	if (!err)
		err = iopf_resume(run);
	if (!err)
		err = await_answers(run);
	if (!err)
		err = iopf_release(run);
	return err;
}

int iopf_remember(struct iopf_run *run)
{
	struct faultline_info info;
	int err = iopf_call(&run->device, FAULTLINE_IOC_INFO, &info, "cannot read the log's state");

	run->log_first = info.log_first + info.log_used;
	return err ? err : remember_counters(run);
}

int iopf_run_requests(struct iopf_run *run)
{
	int err = iopf_plan_make(&run->plan, run->options), ended;
	char sentence[256];

	if (!err)
		err = iopf_configure(run);
	if (!err)
		err = iopf_remember(run);
	if (err)
		return err;
	err = iopf_lead(run);
	strncpy(sentence, failure_text(), sizeof(sentence) - 1);
	sentence[sizeof(sentence) - 1] = '\0';
	ended = iopf_processes_end(run, err != 0);
	/* Why a process ended says more than that it did. */
	if (err && (err != -ECHILD || !ended))
		return failed(err, "%s", sentence);
	return ended;
}
