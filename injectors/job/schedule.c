// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/schedule.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "injectors/job/hog.h"
#include "lib/base/fail.h"

/* An eviction may wait for its device; so many devices are waited for at a time. */
#define EVICTORS_MAX 32
#define SENTENCE     512

/* One injection's thread, or one of several that share the devices of an eviction. */
struct worker {
	struct schedule *schedule;
	const struct plan_injection *injection;
	__u32 first, step; /* serves devices[first], devices[first + step], ... */
	pthread_t thread;
};

struct schedule {
	const struct plan *plan;
	struct machine *machine;
	__u64 begin_ns;
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool stop;
	int error; /* the first */
	char sentence[SENTENCE];
	struct schedule_totals totals;
	struct draw *draws; /* one per injection of the plan */
	struct worker *workers;
	__u32 worker_count;
};

/* What the devices of one eviction share: fault_attr counts for all of them together. */
struct draw {
	__u64 random, candidates, drawn;
};

/* When one device is next due for an eviction. */
struct arrival_state {
	__u64 next_ns;
	__u64 random;
};

/* SplitMix64, as in the injection table. */
static __u64 random_next(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Keeps the first error; its sentence belongs to this thread. */
static void record_error(struct schedule *schedule, int error)
{
	pthread_mutex_lock(&schedule->lock);
	if (!schedule->error) {
		schedule->error = error;
		snprintf(schedule->sentence, sizeof(schedule->sentence), "%s", failure_text());
	}
	pthread_mutex_unlock(&schedule->lock);
}

static void record_failure(struct schedule *schedule, const struct plan_injection *planned,
			   int error)
{
	record_error(schedule, failed_in(error, "[inject %s]", planned->job->name));
}

/* Sleeps until then; false if the schedule was stopped instead. */
static bool wait_until(struct schedule *schedule, __u64 time_ns)
{
	bool go_on;

	pthread_mutex_lock(&schedule->lock);
	while (!schedule->stop && monotonic_ns() < time_ns)
		monotonic_cond_wait_until(&schedule->stopped, &schedule->lock, time_ns);
	go_on = !schedule->stop;
	pthread_mutex_unlock(&schedule->lock);
	return go_on;
}

static enum inject_point point_of(const struct job_injection *injection)
{
	switch (injection->kind) {
	case INJECTION_DELAY:
		return injection->stage;
	case INJECTION_RESPONSE_LOST:
		return INJECT_RESPONSE_LOST;
	case INJECTION_RESPONSE_FAILURE:
		return INJECT_RESPONSE_FAILURE;
	case INJECTION_OVERFLOW:
		return INJECT_OVERFLOW;
	case INJECTION_DUPLICATE:
		return INJECT_DUPLICATE;
	case INJECTION_CPU_HOG:
		return INJECT_CPU_HOG;
	case INJECTION_EVICT:
		break;
	}
	return INJECT_EVICT;
}

static void announce(const struct plan_injection *planned, bool start)
{
	enum inject_point point = point_of(planned->job);
	__u32 device = planned->every_device ? DEVICE_ALL : planned->devices[0];

	if (start)
		INJECT_PROBE(start, device, point, planned->id);
	else
		INJECT_PROBE(stop, device, point, planned->id);
	truth_log((struct truth_record){
		.who = TRUTH_INJECTOR,
		.what = start ? TRUTH_INJECT_START : TRUTH_INJECT_STOP,
		.device = device,
		.pasid = PASID_NONE,
		.queue = QUEUE_NONE,
		.code = (__u8)point,
		.value = planned->id,
	});
}

static int arm(struct schedule *schedule, const struct plan_injection *planned)
{
	const struct job_injection *job = planned->job;
	struct injection injection = {
		.point = point_of(job),
		.id = planned->id,
		.probability = job->probability,
		.interval = job->interval,
		.times = job->times,
		.distribution = job->distribution,
		.delay_ns = job->delay_ns,
		.delay_max_ns = job->delay_max_ns,
		.device = DEVICE_ALL,
		.devices = planned->every_device ? NULL : planned->chosen,
		.seed = planned->seed,
	};

	return inject_arm(machine_injections(schedule->machine), &injection);
}

/* Armed points act by themselves: arm, wait, disarm. */
static void run_armed(struct schedule *schedule, const struct plan_injection *planned, __u64 end_ns)
{
	int err = arm(schedule, planned);
	__u64 fired;

	if (err)
		record_failure(schedule, planned, err);
	else
		wait_until(schedule, end_ns);
	fired = inject_disarm(machine_injections(schedule->machine), planned->id);
	pthread_mutex_lock(&schedule->lock);
	schedule->totals.fired += fired;
	pthread_mutex_unlock(&schedule->lock);
}

static void run_hog(struct schedule *schedule, const struct plan_injection *planned, __u64 end_ns)
{
	const struct job_injection *job = planned->job;
	const cpu_set_t *cpus = CPU_COUNT(&job->cpus) ? &job->cpus : &schedule->plan->handler_cpus;
	struct hog *hog;
	int err = hog_start(&hog, cpus, job->threads, job->load);

	if (err) {
		record_failure(schedule, planned, err);
		return;
	}
	wait_until(schedule, end_ns);
	hog_stop(hog);
}

/* One event for one device: `burst` evictions back to back. */
static int evict(struct schedule *schedule, const struct job_injection *job, __u32 device)
{
	const struct machine_config *machine = &schedule->plan->machine;
	const struct device_config *config = &machine->devices[device];

	for (__u32 i = 0; i < job->burst; i++) {
		__u32 asked = 0;
		long evicted = machine_evict(schedule->machine, device, job->what, job->pages,
					     job->evict, &asked);
		int err = evicted < 0 ? (int)evicted : 0;

		if (err == -ESHUTDOWN)
			return 0;
		if (!err && evicted != (long)asked)
			err = failed(-EBUSY,
				     "asked to evict %u pages of %s/%s, proved the absence of %ld",
				     asked, machine->tenants[config->tenant].name, config->name,
				     evicted);
		pthread_mutex_lock(&schedule->lock);
		schedule->totals.evict_asked += asked;
		schedule->totals.evicted += evicted > 0 ? (__u64)evicted : 0;
		pthread_mutex_unlock(&schedule->lock);
		if (err)
			return err;
	}
	return 0;
}

/* fault_attr's order: times, interval, probability. */
static bool draws(struct worker *worker)
{
	const struct job_injection *job = worker->injection->job;
	struct schedule *schedule = worker->schedule;
	struct draw *draw = &schedule->draws[worker->injection - schedule->plan->injections];
	bool drawn = false;

	pthread_mutex_lock(&schedule->lock);
	if ((job->times < 0 || draw->drawn < (__u64)job->times) &&
	    ++draw->candidates % job->interval == 0 &&
	    (job->probability == 100 || random_next(&draw->random) % 100 < job->probability)) {
		draw->drawn++;
		drawn = true;
	}
	pthread_mutex_unlock(&schedule->lock);
	return drawn;
}

static void advance(const struct job_injection *job, struct arrival_state *state)
{
	double gap = 1e9 / job->rate;

	if (job->arrival == ARRIVAL_RANDOM)
		gap *= -log((double)((random_next(&state->random) >> 11) + 1) * 0x1p-53);
	state->next_ns += (__u64)gap;
}

static void evict_loop(struct worker *worker, struct arrival_state *states, __u64 end_ns)
{
	const struct plan_injection *planned = worker->injection;
	struct schedule *schedule = worker->schedule;

	for (;;) {
		__u32 next = worker->first;
		int err;

		for (__u32 d = worker->first; d < planned->device_count; d += worker->step)
			if (states[d].next_ns < states[next].next_ns)
				next = d;
		if (states[next].next_ns >= end_ns) {
			wait_until(schedule, end_ns);
			return;
		}
		if (!wait_until(schedule, states[next].next_ns))
			return;
		if (draws(worker)) {
			err = evict(schedule, planned->job, planned->devices[next]);
			if (err) {
				record_failure(schedule, planned, err);
				return;
			}
		}
		advance(planned->job, &states[next]);
	}
}

static void run_evict(struct worker *worker, __u64 begin_ns, __u64 end_ns)
{
	const struct plan_injection *planned = worker->injection;
	const struct job_injection *job = planned->job;
	struct arrival_state *states;

	if (job->rate == 0) {
		wait_until(worker->schedule, end_ns);
		return;
	}
	states = calloc(planned->device_count, sizeof(*states));
	if (!states) {
		record_failure(worker->schedule, planned,
			       failed(-ENOMEM, "no memory for its devices"));
		return;
	}
	for (__u32 d = worker->first; d < planned->device_count; d += worker->step) {
		states[d] = (struct arrival_state){.next_ns = begin_ns,
						   .random = planned->seed + (d + 1) * 7919ull};
		if (job->arrival == ARRIVAL_RANDOM)
			advance(job, &states[d]);
	}
	evict_loop(worker, states, end_ns);
	free(states);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct schedule *schedule = worker->schedule;
	const struct job_injection *job = worker->injection->job;
	__u64 begin_ns = schedule->begin_ns + job->start_ns, end_ns = begin_ns + job->duration_ns;

	if (!wait_until(schedule, begin_ns))
		return NULL;
	if (worker->first == 0)
		announce(worker->injection, true);
	if (job->kind == INJECTION_EVICT)
		run_evict(worker, begin_ns, end_ns);
	else if (job->kind == INJECTION_CPU_HOG)
		run_hog(schedule, worker->injection, end_ns);
	else
		run_armed(schedule, worker->injection, end_ns);
	if (worker->first == 0)
		announce(worker->injection, false);
	return NULL;
}

static __u32 workers_of(const struct plan_injection *planned)
{
	if (planned->job->kind != INJECTION_EVICT)
		return 1;
	return planned->device_count < EVICTORS_MAX ? planned->device_count : EVICTORS_MAX;
}

static int start_workers(struct schedule *schedule)
{
	int err = 0;

	for (__u32 i = 0; i < schedule->plan->injection_count; i++) {
		const struct plan_injection *planned = &schedule->plan->injections[i];
		__u32 step = workers_of(planned);

		for (__u32 first = 0; !err && first < step; first++) {
			struct worker *worker = &schedule->workers[schedule->worker_count];

			*worker = (struct worker){schedule, planned, first, step, 0};
			err = thread_start(&worker->thread, NULL, worker_main, worker, "inject%u",
					   planned->id);
			schedule->worker_count += !err;
		}
	}
	return err;
}

static void free_schedule(struct schedule *schedule)
{
	pthread_cond_destroy(&schedule->stopped);
	pthread_mutex_destroy(&schedule->lock);
	free(schedule->workers);
	free(schedule->draws);
	free(schedule);
}

static int allocate(struct schedule *schedule, const struct plan *plan)
{
	size_t workers = 1;

	for (__u32 i = 0; i < plan->injection_count; i++)
		workers += workers_of(&plan->injections[i]);
	schedule->workers = calloc(workers, sizeof(*schedule->workers));
	schedule->draws = calloc(plan->injection_count + 1, sizeof(*schedule->draws));
	if (!schedule->workers || !schedule->draws)
		return failed(-ENOMEM, "no memory for %zu injection threads", workers);
	for (__u32 i = 0; i < plan->injection_count; i++)
		schedule->draws[i].random = plan->injections[i].seed;
	return 0;
}

int schedule_start(struct schedule **schedule, const struct plan *plan, struct machine *machine)
{
	struct schedule *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for the injections");
	new->plan = plan;
	new->machine = machine;
	new->begin_ns = monotonic_ns();
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->stopped);
	err = allocate(new, plan);
	if (!err)
		err = start_workers(new);
	if (err) {
		record_error(new, err);
		return schedule_stop(new, NULL);
	}
	*schedule = new;
	return 0;
}

int schedule_stop(struct schedule *schedule, struct schedule_totals *totals)
{
	int err;

	pthread_mutex_lock(&schedule->lock);
	schedule->stop = true;
	pthread_cond_broadcast(&schedule->stopped);
	pthread_mutex_unlock(&schedule->lock);
	for (__u32 i = 0; i < schedule->worker_count; i++)
		pthread_join(schedule->workers[i].thread, NULL);
	if (totals)
		*totals = schedule->totals;
	err = schedule->error;
	if (err)
		failed(err, "%s", schedule->sentence);
	free_schedule(schedule);
	return err;
}
