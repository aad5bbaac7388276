// SPDX-License-Identifier: GPL-2.0
/* Evictions in time: when each device is due, and what it was asked to give. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "injectors/emu/thread.h"
#include "injectors/job/schedule_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define RETRY_NS NSEC_PER_MSEC /* until a device with nothing to evict is asked again */

/* One device's next event. */
struct arrival_state {
	__u64 due_ns, following_ns; /* the event, and the one after it */
	__u64 try_ns;
	struct random random;
	bool open; /* it is due, was drawn, and has found nothing to evict yet */
};

/* One event for one device: `burst` evictions back to back. Pages aimed at or skipped, or a negative errno. */
static long schedule_evict_pages(struct schedule *schedule, const struct job_injection *job,
				 struct random *random, __u32 device)
{
	const struct machine_config *machine = &schedule->plan->machine;
	const struct device_config *config = &machine->devices[device];
	struct evict_order order = {
		.choice = job->what, .kind = job->evict, .pages = job->pages, .sides = job->sides};
	long aimed = 0;

	for (__u32 i = 0; i < job->burst; i++) {
		struct evict_outcome outcome;
		long evicted;

		order.seed = random_next(random) | 1;
		evicted = machine_evict(schedule->machine, device, &order, &outcome);
		if (evicted < 0)
			return evicted;
		/* What is pinned was found, and is not asked for again. */
		aimed += outcome.asked + outcome.skipped;
		pthread_mutex_lock(&schedule->lock);
		schedule->totals.evict_asked += outcome.asked;
		schedule->totals.evicted += (__u64)evicted;
		pthread_mutex_unlock(&schedule->lock);
		if (evicted != (long)outcome.asked)
			return failed_in(
				-EIO, "asked to evict %u pages of %s/%s, proved the absence of %ld",
				outcome.asked, machine->tenants[config->tenant].name, config->name,
				evicted);
	}
	return aimed;
}

/* fault_attr's order: times, interval, probability. */
static bool schedule_draws(struct worker *worker)
{
	const struct job_injection *job = worker->injection->job;
	struct schedule *schedule = worker->schedule;
	struct shared_state *shared = schedule_shared(worker);
	bool drawn = false;

	pthread_mutex_lock(&schedule->lock);
	if ((job->times < 0 || shared->drawn < (__u64)job->times) &&
	    ++shared->candidates % job->interval == 0 &&
	    (job->probability == 100 || random_next(&shared->random) % 100 < job->probability)) {
		shared->drawn++;
		drawn = true;
	}
	pthread_mutex_unlock(&schedule->lock);
	return drawn;
}

static void schedule_advance(const struct job_injection *job, struct arrival_state *state)
{
	double gap = NSEC_PER_SEC / job->rate;

	if (job->arrival == ARRIVAL_RANDOM)
		gap *= -log(random_unit_above_0(&state->random));
	state->due_ns = state->following_ns;
	state->following_ns += (__u64)gap;
	state->try_ns = state->due_ns;
	state->open = false;
}

/*
 * The device is due. With what=next its next I/Os may not be sent yet, or their pages be gone, at this instant: it is asked again
 * until its next event is due, so that a rate of faults is one also on a device that idles.
 */
static int schedule_serve(struct worker *worker, struct arrival_state *state, __u32 device)
{
	const struct job_injection *job = worker->injection->job;
	struct schedule *schedule = worker->schedule;
	long aimed = 0;

	if (state->open || schedule_draws(worker)) {
		aimed = schedule_evict_pages(schedule, job, &state->random, device);
		/* Held by another injection just now, or the machine is stopping. */
		if (aimed == -EBUSY || aimed == -ESHUTDOWN)
			aimed = 0;
		if (aimed < 0)
			return (int)aimed;
		state->open = aimed == 0;
	}
	if (state->open && job->what == EVICT_NEXT &&
	    monotonic_ns() + RETRY_NS < state->following_ns) {
		state->try_ns = monotonic_ns() + RETRY_NS;
		return 0;
	}
	if (state->open) {
		pthread_mutex_lock(&schedule->lock);
		schedule->totals.evict_missed++;
		pthread_mutex_unlock(&schedule->lock);
	}
	schedule_advance(job, state);
	return 0;
}

static void evict_loop(struct worker *worker, struct arrival_state *states, __u64 end_ns)
{
	const struct plan_injection *planned = worker->injection;

	for (;;) {
		__u32 next = worker->first;
		int err;

		for (__u32 d = worker->first; d < planned->device_count; d += worker->step)
			if (states[d].try_ns < states[next].try_ns)
				next = d;
		if (states[next].try_ns >= end_ns) {
			schedule_wait(worker->schedule, end_ns);
			return;
		}
		if (!schedule_wait(worker->schedule, states[next].try_ns))
			return;
		err = schedule_serve(worker, &states[next], planned->devices[next]);
		if (err) {
			schedule_fail(worker->schedule, planned, err);
			return;
		}
	}
}

void schedule_evict(struct worker *worker, __u64 begin_ns, __u64 end_ns)
{
	const struct plan_injection *planned = worker->injection;
	const struct job_injection *job = planned->job;
	struct arrival_state *states;

	if (job->rate == 0) {
		schedule_wait(worker->schedule, end_ns);
		return;
	}
	states = calloc(planned->device_count, sizeof(*states));
	if (!states) {
		schedule_fail(worker->schedule, planned,
			      failed(-ENOMEM, "no memory for its devices"));
		return;
	}
	for (__u32 d = worker->first; d < planned->device_count; d += worker->step) {
		states[d] = (struct arrival_state){.following_ns = begin_ns,
						   .random = {planned->seed + (d + 1) * 7919ull}};
		/* Even arrivals begin at once, random ones a random gap later. */
		schedule_advance(job, &states[d]);
		if (job->arrival == ARRIVAL_RANDOM)
			schedule_advance(job, &states[d]);
	}
	evict_loop(worker, states, end_ns);
	free(states);
}
