/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual machines of a plan: those that the job says how to start are started and ended, the others are waited for. The
 * run is over when all have ended, or have run for as long as the job says.
 */
#ifndef FAULTLINE_JOB_VMS_H
#define FAULTLINE_JOB_VMS_H

#include <signal.h>

#include "injectors/job/plan.h"
#include "injectors/job/vm_console.h"

struct vms;

/*
 * `log`: path of a file that gets what they print, or NULL. 0 or a negative errno with a sentence; *vms NULL: the plan has none,
 * which all of these take. The plan must outlive it.
 */
int vms_open(struct vms **vms, const struct plan *plan, const char *log);
/*
 * After machine_listen(): forks those of ours, which do not run yet, and waits for the others, which it says. The machine
 * knows their processes then. -EINTR without a sentence once `*stop` is nonzero; -ECONNREFUSED, -ETIMEDOUT with one.
 */
int vms_meet(struct vms *vms, struct machine *machine, __u64 timeout_ns,
	     const volatile sig_atomic_t *stop);
/* Lets those of ours go. */
int vms_begin(struct vms *vms);
/*
 * Never waits. 0 once all have ended as they should, or by us after their duration; -ETIMEDOUT without a sentence while one runs; -EIO
 * with one if one has ended in another way.
 */
int vms_look(struct vms *vms);
/* -ETIMEDOUT with a sentence about one that runs, of which there has to be one, after `timeout_ns`. */
int vms_too_long(const struct vms *vms, __u64 timeout_ns);
/* There are some, and the guests of all of them have said on their consoles that their loads begin. */
bool vms_begun(struct vms *vms);
/* Ends those of ours. Before the machine is stopped; leaves a sentence as it is. */
void vms_stop(struct vms *vms);
void vms_close(struct vms *vms);

/* Of a tenant that an injection of the plan is for; after vms_meet(). */
struct vm_monitor;
struct vm_monitor *vms_monitor(struct vms *vms, __u32 tenant);
/* It cannot be as the job says: vms_look() returns this thread's sentence. Any thread. */
void vms_fail(struct vms *vms, __u32 tenant, int error);

/* What they have come to, once they are stopped. */
struct vms_outcome {
	double seconds; /* from the first one's begin to the last one's end; NAN: there was none */
	__u32 ended;	/* by themselves, as guests do that power off */
	__u64 plugged;	/* pages that were plugged in */
	__u32 panicked; /* whose guest's kernel has printed so */
	__u32 sound;	/* ended by themselves, whose guest has told that nothing was wrong */
	double values[GUEST_KEYS]; /* NAN: no guest has told of it */
};
void vms_outcome(const struct vms *vms, struct vms_outcome *outcome);
/* Adds what guests have told that is no column, each line with its tenant's name before it, behind the text that is there. */
void vms_told(const struct vms *vms, char *text, size_t size);

#endif
