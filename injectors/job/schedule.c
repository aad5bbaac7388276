// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/schedule_private.h"

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

void schedule_fail(struct schedule *schedule, const struct plan_injection *planned, int error)
{
	record_error(schedule, failed_in(error, "[inject %s]", planned->job->name));
}

/* Sleeps until then; false if the schedule was stopped instead. */
bool schedule_wait(struct schedule *schedule, __u64 time_ns)
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
	case INJECTION_FRAME_LOSS:
		return INJECT_FRAME_LOSS;
	case INJECTION_PACKET_LOSS:
		return INJECT_PACKET_LOSS;
	case INJECTION_PACKET_DUPLICATE:
		return INJECT_PACKET_DUPLICATE;
	case INJECTION_NACK_LOST:
		return INJECT_NACK_LOST;
	case INJECTION_CPU_HOG:
		return INJECT_CPU_HOG;
	case INJECTION_EVICT:
		break;
	}
	return INJECT_EVICT;
}

static void announce_device(const struct plan_injection *planned, __u32 device, bool start)
{
	enum inject_point point = point_of(planned->job);

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

/* Once for a machine that is hit as a whole, else once for each device that is meant. */
static void schedule_announce(const struct plan_injection *planned, bool start)
{
	if (planned->every_device) {
		announce_device(planned, DEVICE_ALL, start);
		return;
	}
	for (__u32 i = 0; i < planned->device_count; i++)
		announce_device(planned, planned->devices[i], start);
}

static int schedule_arm(struct schedule *schedule, const struct plan_injection *planned)
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
	int err = schedule_arm(schedule, planned);
	__u64 fired;

	if (err)
		schedule_fail(schedule, planned, err);
	else
		schedule_wait(schedule, end_ns);
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
		schedule_fail(schedule, planned, err);
		return;
	}
	schedule_wait(schedule, end_ns);
	hog_stop(hog);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct schedule *schedule = worker->schedule;
	const struct job_injection *job = worker->injection->job;
	__u64 begin_ns = schedule->begin_ns + job->start_ns, end_ns = begin_ns + job->duration_ns;

	if (!schedule_wait(schedule, begin_ns))
		return NULL;
	if (worker->first == 0)
		schedule_announce(worker->injection, true);
	if (job->kind == INJECTION_EVICT)
		schedule_evict(worker, begin_ns, end_ns);
	else if (job->kind == INJECTION_CPU_HOG)
		run_hog(schedule, worker->injection, end_ns);
	else
		run_armed(schedule, worker->injection, end_ns);
	if (worker->first == 0)
		schedule_announce(worker->injection, false);
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

static int schedule_allocate(struct schedule *schedule, const struct plan *plan)
{
	size_t workers = 1;

	for (__u32 i = 0; i < plan->injection_count; i++)
		workers += workers_of(&plan->injections[i]);
	schedule->workers = calloc(workers, sizeof(*schedule->workers));
	schedule->draws = calloc(plan->injection_count + 1, sizeof(*schedule->draws));
	if (!schedule->workers || !schedule->draws)
		return failed(-ENOMEM, "no memory for %zu injection threads", workers);
	for (__u32 i = 0; i < plan->injection_count; i++)
		schedule->draws[i].random.state = plan->injections[i].seed;
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
	err = schedule_allocate(new, plan);
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
