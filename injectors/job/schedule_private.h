/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the schedule share: schedule.c (threads, armed points), schedule_evict.c. */
#ifndef FAULTLINE_JOB_SCHEDULE_PRIVATE_H
#define FAULTLINE_JOB_SCHEDULE_PRIVATE_H

#include <pthread.h>

#include "injectors/job/schedule.h"
#include "lib/base/random.h"

#define SENTENCE 512

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
	struct shared_state *shared; /* one per injection of the plan */
	struct worker *workers;
	__u32 worker_count;
};

/* What the workers of one injection share, under the lock: fault_attr counts for all of its devices together. */
struct shared_state {
	struct random random;
	__u64 candidates, drawn;
	bool announced, armed;
	__u32 ended; /* workers */
};

/* Keeps the first failure of all, with the thread's sentence; `error` as failed() gave it. */
void schedule_fail(struct schedule *schedule, const struct plan_injection *planned, int error);
struct shared_state *schedule_shared(const struct worker *worker);
/* Sleeps until then; false if the schedule was stopped instead. */
bool schedule_wait(struct schedule *schedule, __u64 time_ns);

/* The whole of one eviction worker, from begin to end. */
void schedule_evict(struct worker *worker, __u64 begin_ns, __u64 end_ns);

#endif
