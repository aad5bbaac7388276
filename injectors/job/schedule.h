/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Carries out a plan's injections on a running machine: each begins and ends at its own time, is
 * announced by the inject_start/stop probes and the truth log, and is undone when it ends.
 */
#ifndef FAULTLINE_JOB_SCHEDULE_H
#define FAULTLINE_JOB_SCHEDULE_H

#include "injectors/job/plan.h"

struct schedule;
struct vms;

struct schedule_totals {
	__u64 evict_asked, evicted; /* pages */
	__u64 evict_missed;	    /* events that found nothing to evict until the next was due */
	__u64 fired;		    /* of the points inside the machine */
	__u64 ballooned;	    /* pages that balloons have had at most, each time */
	__u64 suspensions;	    /* times that a virtual machine stood still and went on */
};

/*
 * Before machine_start() and after machine_prepare(): points of injections that begin with the machine are armed, and announced, so
 * that no load is there before them. The plan, the machine and its virtual machines (NULL: none) must outlive the schedule.
 */
int schedule_create(struct schedule **schedule, const struct plan *plan, struct machine *machine,
		    struct vms *vms);
/* Times count from now. Also if this fails schedule_stop() is due. */
int schedule_start(struct schedule *schedule);
/* The guests of all virtual machines have begun: what counts from that counts from now. Told again it is nothing. */
void schedule_guests_begun(struct schedule *schedule);
/*
 * Ends everything that still acts and frees. 0, or the first thing that went wrong with its
 * sentence: an injection that could not be made, or pages that were asked for and not evicted.
 */
int schedule_stop(struct schedule *schedule, struct schedule_totals *totals);

#endif
