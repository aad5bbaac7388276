/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the schedule share.
 *
 *	schedule.c		threads, armed points
 *	schedule_evict.c	evictions
 *	schedule_vm.c		what QEMU carries out, in it schedule_balloon.c, schedule_suspend.c
 */
#ifndef FAULTLINE_JOB_SCHEDULE_PRIVATE_H
#define FAULTLINE_JOB_SCHEDULE_PRIVATE_H

#include <pthread.h>

#include "injectors/job/schedule.h"
#include "injectors/job/vm_monitor.h"
#include "lib/base/random.h"

#define SENTENCE 512

/* One injection's thread, or one of several that share the devices of an eviction. */
struct worker {
	struct schedule *schedule;
	const struct plan_injection *injection;
	__u32 first,
		step; /* serves devices[first], devices[first + step], ..., or tenants[first] */
	pthread_t thread;
};

struct schedule {
	const struct plan *plan;
	struct machine *machine;
	struct vms *vms;
	__u64 begin_ns;
	__u64 guests_ns; /* at which guests had begun; 0: not yet */
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

/* The whole of one worker, from begin to end: a function for each action (injections.def). */
void schedule_armed(struct worker *worker, __u64 begin_ns, __u64 end_ns);
void schedule_evict(struct worker *worker, __u64 begin_ns, __u64 end_ns);
void schedule_hog(struct worker *worker, __u64 begin_ns, __u64 end_ns);
void schedule_balloon(struct worker *worker, __u64 begin_ns, __u64 end_ns);
void schedule_suspend(struct worker *worker, __u64 begin_ns, __u64 end_ns);

/* Of a worker whose injection QEMU carries out: its virtual machine. */
struct schedule_vm {
	struct worker *worker;
	const struct tenant_config *config;
	struct vm_monitor *monitor;
	/* balloon */
	__u64 most;	/* pages of this time */
	__u64 grown_ns; /* when it was seen to have more of them than ever this time; 0: never */
	bool asked;
};

/* What is told to QEMU at each time. All return 0, or a negative errno with a sentence, as vm_monitor_execute(). */
struct vm_action {
	int (*begin)(struct schedule_vm *of);
	int (*hold)(struct schedule_vm *of, __u64 end_ns); /* until then, or the schedule's stop */
	int (*end)(struct schedule_vm *of);
	void (*told)(const struct schedule_vm *of); /* at the end of all; NULL: nothing */
};

/* A failure is the run's; that QEMU has gone is none. */
void schedule_vm_run(struct worker *worker, __u64 begin_ns, __u64 end_ns,
		     const struct vm_action *action);
/* Does nothing but wait. */
int schedule_vm_hold(struct schedule_vm *of, __u64 end_ns);
/* Adds to one of the schedule's totals. */
void schedule_vm_count(const struct schedule_vm *of, __u64 *total, __u64 more);

#endif
