/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plan's programs: servers run from before the first injection until after the last, loads begin with the
 * injections' clock and end the run.
 */
#ifndef FAULTLINE_JOB_PROGRAMS_H
#define FAULTLINE_JOB_PROGRAMS_H

#include <signal.h>

#include "injectors/job/plan.h"

struct programs;

/* What a load has come to. */
struct load_outcome {
	const struct plan_program *planned;
	__u64 begin_ns, end_ns;
};

/* Before the machine has any memory. The plan must outlive it. 0 or a negative errno with a sentence. */
int programs_open(struct programs **programs, const struct plan *plan);
/* Starts the servers and waits until they are ready. -EINTR without a sentence once `*stop` is nonzero. */
int programs_serve(struct programs *programs, const struct machine *machine,
		   const volatile sig_atomic_t *stop);
/* Starts the loads. */
int programs_begin(struct programs *programs, const struct machine *machine);
/*
 * 0 once every load has ended as it should; -ETIMEDOUT without a sentence while one runs, for which it waits up to `wait_ns`; -EIO with
 * one if a program has failed.
 */
int programs_look(struct programs *programs, __u64 wait_ns);
/* -ETIMEDOUT with a sentence about a load that runs, of which there has to be one, after `timeout_ns`. */
int programs_too_long(const struct programs *programs, __u64 timeout_ns);
/* Ends all that run; leaves the sentence of a failure as it is. */
void programs_stop(struct programs *programs);

/* The next load from `*index` on, which is advanced; false if there is none any more. */
bool programs_outcome(const struct programs *programs, __u32 *index, struct load_outcome *outcome);
/* What that load has printed, as of program_output(); `index` as programs_outcome() left it. */
char *programs_output(const struct programs *programs, __u32 index, size_t *size);

/* Stops what still runs and frees; may be NULL. */
/* The memory cgroup that programs of guests begin in; "": none. Before any is started. */
void programs_in_group(struct programs *programs, const char *directory);
void programs_close(struct programs *programs);

#endif
