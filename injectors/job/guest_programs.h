/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The programs of a plan's tenants with process=own: each in a process that has its tenant's devices, all in one network namespace
 * of the machine's. They begin with the loads, and the run is over when they are.
 */
#ifndef FAULTLINE_JOB_GUEST_PROGRAMS_H
#define FAULTLINE_JOB_GUEST_PROGRAMS_H

#include <signal.h>

#include "injectors/job/plan.h"

struct guest_programs;

/* 0 or a negative errno with a sentence; *guests NULL: the plan has none, which all of these take. */
int guest_programs_open(struct guest_programs **guests, const struct plan *plan);
/* Starts them in the order of their tenants. -EINTR without a sentence once `*stop` is nonzero. */
int guest_programs_begin(struct guest_programs *guests, struct machine *machine,
			 const volatile sig_atomic_t *stop);
/* 0 once all have ended with status 0; -ETIMEDOUT without a sentence while one runs, for up to `wait_ns`; -EIO with one if one has failed. */
int guest_programs_look(struct guest_programs *guests, __u64 wait_ns);
/* -ETIMEDOUT with a sentence about one that runs, of which there has to be one, after `timeout_ns`. */
int guest_programs_too_long(const struct guest_programs *guests, __u64 timeout_ns);
/* Kills those that run. Before the machine is stopped. */
void guest_programs_stop(struct guest_programs *guests);
/* From the first one's begin to the last one's end; NAN: there was none. */
double guest_programs_seconds(const struct guest_programs *guests);
/* What they have printed, each line with its tenant's name before it; of each its last lines, as far as there is room. */
void guest_programs_printed(const struct guest_programs *guests, char *text, size_t size);
void guest_programs_close(struct guest_programs *guests);

#endif
