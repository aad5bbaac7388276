// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/workload.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "injectors/emu/workload_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define WINDOW_NS (100 * NSEC_PER_MSEC)

static bool workload_stopping(const struct workload *w)
{
	return __atomic_load_n(&w->stopping, __ATOMIC_ACQUIRE);
}

/* Closes the windows before `window`; those without a completion count as 0. */
static void window_close(struct workload *w, __u64 window)
{
	if (window <= w->window)
		return;
	if (!w->windows_closed || w->window_ios < w->result.window_min_ios)
		w->result.window_min_ios = w->window_ios;
	if (window > w->window + 1)
		w->result.window_min_ios = 0;
	w->windows_closed += window - w->window;
	w->window = window;
	w->window_ios = 0;
}

static void log_life(const struct workload *w, __u64 time_ns, __u8 what, __u64 value)
{
	truth_log((struct truth_record){
		.time_ns = time_ns,
		.value = value,
		.device = w->config.device,
		.pasid = PASID_NONE,
		.queue = QUEUE_NONE,
		.who = TRUTH_GUEST,
		.what = what,
	});
}

static void log_io(const struct workload *w, __u16 q, const struct workload_io *io, int status,
		   __u64 now, __u64 latency_ns)
{
	truth_log((struct truth_record){
		.time_ns = now,
		.address = io->memory,
		.length = io->length,
		.value = latency_ns,
		.device = w->config.device,
		.pasid = w->channel->config.pasid,
		.queue = q,
		.who = TRUTH_GUEST,
		.what = TRUTH_GUEST_IO,
		.code = (__u8)status,
	});
}

static void workload_account(struct workload *w, __u16 q, const struct workload_io *io, int status,
			     __u64 now)
{
	__u64 window = (now - w->result.start_ns) / WINDOW_NS;
	__u64 latency_ns = now > io->due_ns ? now - io->due_ns : 0;

	w->result.ios++;
	histogram_add(&w->result.latency, latency_ns);
	log_io(w, q, io, status, now, latency_ns);
	if (status == RING_OK)
		w->result.bytes += io->length;
	else
		w->result.errors++;
	if (w->config.duration_ns && window >= w->config.duration_ns / WINDOW_NS)
		return;
	window_close(w, window);
	w->window_ios++;
}

static bool workload_reap(struct workload *w)
{
	bool any = false;

	for (__u16 q = 0; q < w->channel->config.queues; q++) {
		struct driver_queue *driver = &w->queue[q].driver;
		const struct workload_io *io;
		__u64 now = 0;
		int status;

		while ((io = driver_reap(driver, &status))) {
			any = true;
			if (status < 0) {
				w->result.errors++;
				continue;
			}
			if (!now || w->verify)
				now = monotonic_ns();
			workload_account(w, q, io, status, now);
			if (w->verify)
				w->result.mismatches +=
					verify_end(w->verify, io, status == RING_OK);
		}
	}
	return any;
}

/* When a duration ends, UINT64_MAX without one. */
static __u64 end_of_duration(const struct workload *w)
{
	return w->config.duration_ns ? w->result.start_ns + w->config.duration_ns : UINT64_MAX;
}

/* With a rate, I/O number k has time k / rate, and queue k % queues. */
static __u64 time_of(const struct workload *w, __u64 number)
{
	return w->result.start_ns + (__u64)((double)number * NSEC_PER_SEC / w->config.rate);
}

/* When queue q's next I/O is due. */
static __u64 workload_next_due(const struct workload *w, __u16 q)
{
	__u64 number = w->queue[q].scheduled * w->channel->config.queues + q;

	if (w->config.count && number >= w->config.count)
		return UINT64_MAX;
	return time_of(w, number);
}

static bool all_issued(const struct workload *w, __u64 now)
{
	if (w->config.count && w->issued >= w->config.count)
		return true;
	return now >= end_of_duration(w);
}

/* Fills queue q as far as depth, schedule and end allow. *due: when it wants to be called again. */
static bool workload_submit(struct workload *w, __u16 q, __u64 now, __u64 *due)
{
	struct driver_queue *driver = &w->queue[q].driver;
	bool any = false;

	while (driver->in_flight < w->config.depth && !all_issued(w, now)) {
		struct workload_io io = {.due_ns = now};

		if (w->config.rate > 0) {
			io.due_ns = workload_next_due(w, q);
			if (io.due_ns >= end_of_duration(w))
				break;
			if (io.due_ns > now) {
				if (io.due_ns < *due)
					*due = io.due_ns;
				break;
			}
		}
		if (!workload_next_io(w, &io))
			break;
		driver_submit(driver, &io, now);
		w->queue[q].scheduled++;
		w->issued++;
		any = true;
	}
	driver_kick(driver);
	return any;
}

static __u32 in_flight(const struct workload *w)
{
	__u32 sum = 0;

	for (__u16 q = 0; q < w->channel->config.queues; q++)
		sum += w->queue[q].driver.in_flight;
	return sum;
}

static void workload_loop(struct workload *w)
{
	struct doorbell *interrupt = &w->channel->interrupt;

	while (!workload_stopping(w)) {
		__u32 seen = doorbell_count(interrupt);
		bool progress = workload_reap(w);
		__u64 now = monotonic_ns(), due = UINT64_MAX;

		if (ahead_state(w) == AHEAD_ASKED)
			workload_list_ahead(w);
		for (__u16 q = 0; q < w->channel->config.queues; q++)
			progress |= workload_submit(w, q, now, &due);
		if (all_issued(w, now)) {
			if (!in_flight(w))
				return;
		} else if (end_of_duration(w) < due) {
			due = end_of_duration(w);
		}
		if (!progress)
			doorbell_wait(interrupt, seen, due == UINT64_MAX ? 0 : due);
	}
}

/* I/O number `number` of queue q's schedule waited so long when nobody would send it any more. */
static __u64 io_waited(const struct workload *w, __u16 q, __u64 number, __u64 end_ns)
{
	__u64 due_ns = time_of(w, number * w->channel->config.queues + q);

	return end_ns > due_ns ? end_ns - due_ns : 0;
}

/* I/Os of queue q's schedule that were due before the end. */
static __u64 ios_planned(const struct workload *w, __u16 q, __u64 end_ns)
{
	__u64 low = 0, high = (__u64)((double)(end_ns - w->result.start_ns) * w->config.rate /
				      NSEC_PER_SEC) +
			      2;

	while (low < high) {
		__u64 middle = low + (high - low) / 2;
		__u64 number = middle * w->channel->config.queues + q;

		if ((!w->config.count || number < w->config.count) &&
		    io_waited(w, q, middle, end_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * What a rate had scheduled up to the end and was never sent: the queue was full, or the guest late.
 * It has waited at least until the end, and counts so: percentiles without it would be those of the
 * I/Os that fared well. A stretch of a bucket at a time, as there may be billions.
 */
static void account_unsent(struct workload *w)
{
	double step = NSEC_PER_SEC / w->config.rate * w->channel->config.queues;
	__u64 end_ns = end_of_duration(w);

	if (end_ns > w->result.end_ns)
		end_ns = w->result.end_ns;
	for (__u16 q = 0; q < w->channel->config.queues; q++) {
		__u64 number = w->queue[q].scheduled, end = ios_planned(w, q, end_ns);

		if (end > number)
			w->result.unsent += end - number;
		while (number < end) {
			__u64 high = io_waited(w, q, number, end_ns);
			__u64 floor = histogram_bucket_low(histogram_bucket(high));
			__u64 next = number + 1 + (__u64)((double)(high - floor) / step);

			if (next > end)
				next = end;
			histogram_add_spread(&w->result.latency, io_waited(w, q, next - 1, end_ns),
					     high, next - number);
			number = next;
		}
	}
}

static void *workload_thread(void *argument)
{
	struct workload *w = argument;
	__u64 whole;

	w->result.start_ns = monotonic_ns();
	log_life(w, w->result.start_ns, TRUTH_GUEST_START, (__u64)ceil(w->config.rate));
	workload_loop(w);
	w->result.end_ns = monotonic_ns();
	if (w->config.rate > 0)
		account_unsent(w);
	log_life(w, w->result.end_ns, TRUTH_GUEST_END, w->result.unsent);
	whole = w->result.end_ns - w->result.start_ns;
	if (w->config.duration_ns && whole > w->config.duration_ns)
		whole = w->config.duration_ns;
	window_close(w, whole / WINDOW_NS);
	for (__u16 q = 0; q < w->channel->config.queues; q++)
		w->result.blocked_ns +=
			__atomic_load_n(&w->channel->queue[q].blocked_ns, __ATOMIC_RELAXED);
	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_broadcast(&w->ended);
	pthread_cond_broadcast(&w->ahead_changed);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int workload_create(struct workload **workload, const struct workload_config *config,
		    struct guest_memory *memory, struct channel *channel)
{
	struct workload *w;
	int err;

	err = workload_check(config);
	if (err)
		return err;
	w = calloc(1, sizeof(*w) + channel->config.queues * sizeof(w->queue[0]));
	if (!w)
		return failed(-ENOMEM, "no memory for workload %s", config->name);
	w->config = *config;
	w->memory = memory;
	w->channel = channel;
	w->random.state = config->seed;
	histogram_init(&w->result.latency);
	for (__u32 i = 0; i < config->size_count; i++)
		w->weight_sum += config->size_weights[i];
	err = workload_plan(w);
	if (!err && config->verify)
		err = verify_create(&w->verify, memory, channel, w->data_bytes, config->seed);
	if (err) {
		free(w);
		return err;
	}
	pthread_mutex_init(&w->lock, NULL);
	monotonic_cond_init(&w->ended);
	monotonic_cond_init(&w->ahead_changed);
	*workload = w;
	return 0;
}

__u64 workload_buffer_bytes(const struct workload *w)
{
	return w->data_bytes;
}

int workload_start(struct workload *w)
{
	int err;

	for (__u16 q = 0; q < w->channel->config.queues; q++)
		driver_init(&w->queue[q].driver, w->channel, q, w->memory);
	err = thread_start(&w->thread, NULL, workload_thread, w, "guest-%s", w->config.name);
	if (err)
		return failed_in(err, "workload %s", w->config.name);
	w->started = true;
	return 0;
}

int workload_wait(struct workload *w, __u64 timeout_ns)
{
	__u64 deadline = monotonic_ns() + timeout_ns;
	bool done;

	pthread_mutex_lock(&w->lock);
	while (!w->done && monotonic_cond_wait_until(&w->ended, &w->lock, deadline))
		;
	done = w->done;
	pthread_mutex_unlock(&w->lock);
	return done ? 0 : -ETIMEDOUT;
}

void workload_stop(struct workload *w)
{
	if (!w->started || w->joined)
		return;
	__atomic_store_n(&w->stopping, true, __ATOMIC_RELEASE);
	doorbell_ring(&w->channel->interrupt);
	pthread_join(w->thread, NULL);
	w->joined = true;
}

const struct workload_result *workload_result(const struct workload *w)
{
	return &w->result;
}

void workload_destroy(struct workload *w)
{
	if (!w)
		return;
	workload_stop(w);
	pthread_cond_destroy(&w->ended);
	pthread_cond_destroy(&w->ahead_changed);
	pthread_mutex_destroy(&w->lock);
	verify_destroy(w->verify);
	free(w->ahead.io);
	free(w->ahead.listed);
	free(w);
}
