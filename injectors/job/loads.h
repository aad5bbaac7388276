/* SPDX-License-Identifier: GPL-2.0 */
/* All of a plan that runs beside the machine, and ends the run: programs in networks, programs of guests, virtual machines. */
#ifndef FAULTLINE_JOB_LOADS_H
#define FAULTLINE_JOB_LOADS_H

#include "injectors/job/guest_programs.h"
#include "injectors/job/programs.h"
#include "injectors/job/vms.h"

struct schedule;

struct loads {
	struct programs *networks; /* in networks of devices */
	struct guest_programs *guests;
	struct vms *vms;
};

/*
 * 0 once all have ended as they should. All are looked at every 20 ms, so that one that fails is told at once, whatever the others do.
 * -EINTR without a sentence once `*stop` is nonzero; -ETIMEDOUT, or -EIO if one has failed, with one. The schedule is told when the
 * guests of all virtual machines have begun.
 */
int loads_wait(const struct loads *loads, struct schedule *schedule, __u64 timeout_ns,
	       const volatile sig_atomic_t *stop);

#endif
