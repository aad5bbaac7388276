// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/workload.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/workload_driver.h"
#include "injectors/emu/workload_pattern.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define WINDOW_NS   (100 * NSEC_PER_MSEC)
#define PLACE_TRIES 64 /* verify: other places tried before waiting for a completion */

struct workload {
	struct workload_config config;
	struct guest_memory *memory;
	struct channel *channel;
	__u64 data_bytes;
	struct verify *verify; /* NULL unless asked for */
	struct pattern memory_pattern, target_pattern;
	__u64 target_base; /* copy: guest address of the destinations */
	struct random random;
	__u32 weight_sum;
	__u64 issued;
	/* window_min_ios */
	__u64 window, window_ios, windows_closed;
	struct workload_result result;
	pthread_t thread;
	bool started, joined;
	bool stopping;
	bool done; /* under lock */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct {
		struct driver_queue driver;
		__u64 scheduled; /* I/Os of the absolute schedule taken so far */
	} queue[];
};

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

static void account(struct workload *w, const struct workload_io *io, int status, __u64 now)
{
	__u64 window = (now - w->result.start_ns) / WINDOW_NS;

	w->result.ios++;
	histogram_add(&w->result.latency, now > io->due_ns ? now - io->due_ns : 0);
	if (status == RING_OK)
		w->result.bytes += io->length;
	else
		w->result.errors++;
	if (w->config.duration_ns && window >= w->config.duration_ns / WINDOW_NS)
		return;
	window_close(w, window);
	w->window_ios++;
}

static bool reap(struct workload *w)
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
			account(w, io, status, now);
			if (w->verify)
				w->result.mismatches +=
					verify_end(w->verify, io, status == RING_OK);
		}
	}
	return any;
}

static __u32 pick_length(struct workload *w)
{
	__u64 pick;

	if (w->config.size_count == 1)
		return (__u32)w->config.sizes[0];
	pick = random_below(&w->random, w->weight_sum);
	for (__u32 i = 0; i + 1 < w->config.size_count; i++) {
		if (pick < w->config.size_weights[i])
			return (__u32)w->config.sizes[i];
		pick -= w->config.size_weights[i];
	}
	return (__u32)w->config.sizes[w->config.size_count - 1];
}

/* Chooses what the next I/O does and where. false: verify found no free place for it now. */
static bool compose(struct workload *w, struct workload_io *io)
{
	io->length = pick_length(w);
	if (!w->channel->disk_bytes)
		io->opcode = RING_COPY;
	else
		io->opcode = random_below(&w->random, 100) < w->config.read_percent ? RING_READ
										    : RING_WRITE;
	for (int i = 0; i < PLACE_TRIES; i++) {
		io->memory =
			w->channel->data_address + pattern_next(&w->memory_pattern, io->length);
		io->target = w->target_base + pattern_next(&w->target_pattern, io->length);
		if (!w->verify || verify_begin(w->verify, io))
			return true;
	}
	return false;
}

/* When a duration ends, UINT64_MAX without one. */
static __u64 end_of_duration(const struct workload *w)
{
	return w->config.duration_ns ? w->result.start_ns + w->config.duration_ns : UINT64_MAX;
}

/* When queue q's next I/O is due; with a rate, I/O number k has time k / rate and queue k % queues. */
static __u64 next_due(const struct workload *w, __u16 q)
{
	__u64 number = w->queue[q].scheduled * w->channel->config.queues + q;

	if (w->config.count && number >= w->config.count)
		return UINT64_MAX;
	return w->result.start_ns + (__u64)((double)number * (NSEC_PER_SEC / w->config.rate));
}

static bool all_issued(const struct workload *w, __u64 now)
{
	if (w->config.count && w->issued >= w->config.count)
		return true;
	return now >= end_of_duration(w);
}

/* Fills queue q as far as depth, schedule and end allow. *due: when it wants to be called again. */
static bool submit(struct workload *w, __u16 q, __u64 now, __u64 *due)
{
	struct driver_queue *driver = &w->queue[q].driver;
	bool any = false;

	while (driver->in_flight < w->config.depth && !all_issued(w, now)) {
		struct workload_io io = {.due_ns = now};

		if (w->config.rate > 0) {
			io.due_ns = next_due(w, q);
			if (io.due_ns >= end_of_duration(w))
				break;
			if (io.due_ns > now) {
				if (io.due_ns < *due)
					*due = io.due_ns;
				break;
			}
		}
		if (!compose(w, &io))
			break;
		driver_submit(driver, &io);
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

static void run(struct workload *w)
{
	struct doorbell *interrupt = &w->channel->interrupt;

	while (!workload_stopping(w)) {
		__u32 seen = doorbell_count(interrupt);
		bool progress = reap(w);
		__u64 now = monotonic_ns(), due = UINT64_MAX;

		for (__u16 q = 0; q < w->channel->config.queues; q++)
			progress |= submit(w, q, now, &due);
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

/* What a rate had scheduled up to the end, but a full queue kept from the device. */
static __u64 count_unsent(const struct workload *w, __u64 now)
{
	__u64 end = end_of_duration(w), unsent = 0;

	if (w->config.rate <= 0)
		return 0;
	if (end > now)
		end = now;
	for (__u16 q = 0; q < w->channel->config.queues; q++) {
		__u64 due = next_due(w, q);

		if (due < end)
			unsent += (__u64)ceil((double)(end - due) * w->config.rate / NSEC_PER_SEC /
					      w->channel->config.queues);
	}
	if (w->config.count && unsent > w->config.count - w->issued)
		unsent = w->config.count - w->issued;
	return unsent;
}

static void *workload_thread(void *argument)
{
	struct workload *w = argument;
	__u64 whole;

	w->result.start_ns = monotonic_ns();
	run(w);
	w->result.end_ns = monotonic_ns();
	w->result.unsent = count_unsent(w, w->result.end_ns);
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
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* The rules that need no device. */
static int check_config(const struct workload_config *c)
{
	__u64 weights = 0;

	if (c->size_count < 1 || c->size_count > WORKLOAD_SIZES)
		return failed(-EINVAL, "workload %s: %u block sizes: accepted: 1 to %d", c->name,
			      c->size_count, WORKLOAD_SIZES);
	for (__u32 i = 0; i < c->size_count; i++) {
		if (!c->sizes[i] || c->sizes[i] % PAGE_BYTES || c->sizes[i] > RING_BYTES_MAX)
			return failed(-EINVAL,
				      "workload %s: block size %llu: accepted: multiples of 4096 "
				      "up to 2 MiB",
				      c->name, c->sizes[i]);
		weights += c->size_weights[i];
	}
	if (c->size_count > 1 && (!weights || weights > UINT32_MAX))
		return failed(-EINVAL, "workload %s: the weights of the block sizes sum to %llu",
			      c->name, weights);
	if (c->read_percent > 100)
		return failed(-EINVAL, "workload %s: read_percent=%u: accepted: 0 to 100", c->name,
			      c->read_percent);
	if (c->pattern == PATTERN_ZIPF &&
	    !(c->zipf_theta > 0 && c->zipf_theta < 2 && c->zipf_theta != 1))
		return failed(-EINVAL,
			      "workload %s: zipf_theta=%g: accepted: above 0, below 2, "
			      "not 1",
			      c->name, c->zipf_theta);
	if (!(c->rate >= 0 && c->rate <= 1e9))
		return failed(-EINVAL, "workload %s: rate=%g: accepted: 0 to 1e9 I/Os a second",
			      c->name, c->rate);
	if (!c->count && !c->duration_ns)
		return failed(-EINVAL, "workload %s: needs a count or a duration", c->name);
	return 0;
}

/* The spans that the patterns run over, from what the device and its memory have. */
static int plan(struct workload *w, __u64 *data_bytes)
{
	const struct workload_config *c = &w->config;
	__u64 disk = w->channel->disk_bytes, largest = 0, smallest = UINT64_MAX, needed, span;

	if (c->depth < 1 || c->depth > w->channel->config.queue_depth)
		return failed(-EINVAL, "workload %s: depth=%u: accepted: 1 to the queue's %u",
			      c->name, c->depth, w->channel->config.queue_depth);
	for (__u32 i = 0; i < c->size_count; i++) {
		largest = c->sizes[i] > largest ? c->sizes[i] : largest;
		smallest = c->sizes[i] < smallest ? c->sizes[i] : smallest;
	}
	/* A copy engine has its sources in the lower half and its destinations in the upper. */
	needed = disk ? largest : 2 * largest;
	*data_bytes = c->buffer_bytes;
	if (!*data_bytes) {
		*data_bytes = w->channel->data_bytes / 2;
		if (*data_bytes < needed)
			*data_bytes = w->channel->data_bytes;
	}
	*data_bytes &= ~(PAGE_BYTES - 1);
	if (*data_bytes > w->channel->data_bytes || *data_bytes < needed)
		return failed(-EINVAL,
			      "workload %s: buffer of %llu bytes: accepted: %llu to the device's "
			      "share of %llu",
			      c->name, *data_bytes, needed, w->channel->data_bytes);
	if (disk && disk / PAGE_BYTES * PAGE_BYTES < largest)
		return failed(-EINVAL,
			      "workload %s: the disk of %llu bytes is smaller than an I/O "
			      "of %llu",
			      c->name, disk, largest);
	span = disk ? *data_bytes : *data_bytes / 2 & ~(PAGE_BYTES - 1);
	pattern_init(&w->memory_pattern, c->pattern, span, smallest, c->zipf_theta,
		     random_next(&w->random));
	w->target_base = disk ? 0 : w->channel->data_address + span;
	pattern_init(&w->target_pattern, c->pattern, disk ? disk : span, smallest, c->zipf_theta,
		     random_next(&w->random));
	return 0;
}

int workload_create(struct workload **workload, const struct workload_config *config,
		    struct guest_memory *memory, struct channel *channel)
{
	struct workload *w;
	int err;

	err = check_config(config);
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
	err = plan(w, &w->data_bytes);
	if (!err && config->verify)
		err = verify_create(&w->verify, memory, channel, w->data_bytes, config->seed);
	if (err) {
		free(w);
		return err;
	}
	pthread_mutex_init(&w->lock, NULL);
	monotonic_cond_init(&w->ended);
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
	pthread_mutex_destroy(&w->lock);
	verify_destroy(w->verify);
	free(w);
}
