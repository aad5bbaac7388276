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

/* When the injection begins, counted from what it is to be counted from; false if the schedule was stopped before that is known. */
static bool schedule_begin_of(struct schedule *schedule, const struct job_injection *job,
			      __u64 *begin_ns)
{
	bool go_on = true;

	*begin_ns = schedule->begin_ns;
	if (job->from_guests) {
		pthread_mutex_lock(&schedule->lock);
		while (!schedule->stop && !schedule->guests_ns)
			pthread_cond_wait(&schedule->stopped, &schedule->lock);
		go_on = !schedule->stop;
		*begin_ns = schedule->guests_ns;
		pthread_mutex_unlock(&schedule->lock);
	}
	*begin_ns += job->start_ns;
	return go_on;
}

void schedule_guests_begun(struct schedule *schedule)
{
	pthread_mutex_lock(&schedule->lock);
	if (!schedule->guests_ns) {
		schedule->guests_ns = monotonic_ns();
		pthread_cond_broadcast(&schedule->stopped);
	}
	pthread_mutex_unlock(&schedule->lock);
}

enum workers { ONE, EACH_DEVICE, EACH_VM };

static const struct injection_action {
	enum inject_point point;
	void (*run)(struct worker *worker, __u64 begin_ns, __u64 end_ns);
	enum workers workers;
} actions[INJECTIONS] = {
#define INJECTION(id, action, point, run, workers) {point, run, workers},
#include "injectors/job/injections.def"
#undef INJECTION
};

static enum inject_point point_of(const struct job_injection *injection)
{
	return injection->kind == INJECTION_DELAY ? injection->stage
						  : actions[injection->kind].point;
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
void schedule_armed(struct worker *worker, __u64 begin_ns, __u64 end_ns)
{
	struct schedule *schedule = worker->schedule;
	const struct plan_injection *planned = worker->injection;
	bool armed = schedule->shared[planned - schedule->plan->injections].armed;
	int err = armed ? 0 : schedule_arm(schedule, planned);
	__u64 fired;

	(void)begin_ns;
	if (err)
		schedule_fail(schedule, planned, err);
	else
		schedule_wait(schedule, end_ns);
	fired = inject_disarm(machine_injections(schedule->machine), planned->id);
	pthread_mutex_lock(&schedule->lock);
	schedule->totals.fired += fired;
	pthread_mutex_unlock(&schedule->lock);
}

void schedule_hog(struct worker *worker, __u64 begin_ns, __u64 end_ns)
{
	struct schedule *schedule = worker->schedule;
	const struct job_injection *job = worker->injection->job;
	const cpu_set_t *cpus = CPU_COUNT(&job->cpus) ? &job->cpus : &schedule->plan->handler_cpus;
	struct hog *hog;
	int err = hog_start(&hog, cpus, job->threads, job->load);

	(void)begin_ns;
	if (err) {
		schedule_fail(schedule, worker->injection, err);
		return;
	}
	schedule_wait(schedule, end_ns);
	hog_stop(hog);
}

struct shared_state *schedule_shared(const struct worker *worker)
{
	return &worker->schedule->shared[worker->injection - worker->schedule->plan->injections];
}

/* Its first worker announces it, and none of the others acts before that. */
static void begin_injection(struct worker *worker)
{
	struct shared_state *shared = schedule_shared(worker);

	pthread_mutex_lock(&worker->schedule->lock);
	if (!shared->announced)
		schedule_announce(worker->injection, true);
	shared->announced = true;
	pthread_mutex_unlock(&worker->schedule->lock);
}

/* Its last worker says that it is over, none of the others acting any more. */
static void end_injection(struct worker *worker)
{
	struct shared_state *shared = schedule_shared(worker);

	pthread_mutex_lock(&worker->schedule->lock);
	if (++shared->ended == worker->step && shared->announced)
		schedule_announce(worker->injection, false);
	pthread_mutex_unlock(&worker->schedule->lock);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct schedule *schedule = worker->schedule;
	const struct job_injection *job = worker->injection->job;
	__u64 begin_ns, end_ns;
	bool begins = schedule_begin_of(schedule, job, &begin_ns);

	if ((begins && schedule_wait(schedule, begin_ns)) || schedule_shared(worker)->armed) {
		end_ns = begin_ns + job->duration_ns;
		begin_injection(worker);
		actions[job->kind].run(worker, begin_ns, end_ns);
	}
	end_injection(worker);
	return NULL;
}

static bool begins_armed(const struct job_injection *job)
{
	return !job->start_ns && !job->from_guests && actions[job->kind].run == schedule_armed;
}

static int arm_first(struct schedule *schedule)
{
	int err = 0;

	for (__u32 i = 0; i < schedule->plan->injection_count && !err; i++) {
		const struct plan_injection *planned = &schedule->plan->injections[i];

		if (!begins_armed(planned->job))
			continue;
		schedule_announce(planned, true);
		schedule->shared[i].announced = true;
		err = schedule_arm(schedule, planned);
		schedule->shared[i].armed = !err;
		if (err)
			schedule_fail(schedule, planned, err);
	}
	return err;
}

static __u32 workers_of(const struct plan_injection *planned)
{
	switch (actions[planned->job->kind].workers) {
	case EACH_DEVICE:
		return planned->device_count < EVICTORS_MAX ? planned->device_count : EVICTORS_MAX;
	case EACH_VM:
		return planned->tenant_count;
	case ONE:
		break;
	}
	return 1;
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
	free(schedule->shared);
	free(schedule);
}

static int schedule_allocate(struct schedule *schedule, const struct plan *plan)
{
	size_t workers = 1;

	for (__u32 i = 0; i < plan->injection_count; i++)
		workers += workers_of(&plan->injections[i]);
	schedule->workers = calloc(workers, sizeof(*schedule->workers));
	schedule->shared = calloc(plan->injection_count + 1, sizeof(*schedule->shared));
	if (!schedule->workers || !schedule->shared)
		return failed(-ENOMEM, "no memory for %zu injection threads", workers);
	for (__u32 i = 0; i < plan->injection_count; i++)
		schedule->shared[i].random.state = plan->injections[i].seed;
	return 0;
}

int schedule_create(struct schedule **schedule, const struct plan *plan, struct machine *machine,
		    struct vms *vms)
{
	struct schedule *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for the injections");
	new->plan = plan;
	new->machine = machine;
	new->vms = vms;
	pthread_mutex_init(&new->lock, NULL);
	monotonic_cond_init(&new->stopped);
	err = schedule_allocate(new, plan);
	if (err)
		record_error(new, err);
	else
		err = arm_first(new);
	if (err)
		return schedule_stop(new, NULL);
	*schedule = new;
	return 0;
}

int schedule_start(struct schedule *schedule)
{
	int err;

	schedule->begin_ns = monotonic_ns();
	err = start_workers(schedule);
	if (err)
		record_error(schedule, err);
	return err;
}

/* Of those that were armed ahead and got no worker; the others' have disarmed them. */
static void disarm_rest(struct schedule *schedule)
{
	for (__u32 i = 0; i < schedule->plan->injection_count && schedule->shared; i++) {
		const struct plan_injection *planned = &schedule->plan->injections[i];

		if (!schedule->shared[i].announced || schedule->shared[i].ended)
			continue;
		(void)inject_disarm(machine_injections(schedule->machine), planned->id);
		schedule_announce(planned, false);
	}
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
	disarm_rest(schedule);
	if (totals)
		*totals = schedule->totals;
	err = schedule->error;
	if (err)
		failed(err, "%s", schedule->sentence);
	free_schedule(schedule);
	return err;
}
