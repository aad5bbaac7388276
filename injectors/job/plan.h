/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A job with its counts and patterns resolved: the machine's description and, for each injection,
 * the devices it acts on, for each program the network it runs in.
 */
#ifndef FAULTLINE_JOB_PLAN_H
#define FAULTLINE_JOB_PLAN_H

#include "injectors/job/job.h"

struct plan_injection {
	const struct job_injection *job;
	__u64 seed;
	__u32 id;	/* its section's index, from 1 */
	__u32 *devices; /* machine indices */
	__u32 device_count;
	bool *chosen; /* the same, by machine index */
	bool every_device;
	/* Of those done to virtual machines, whose devices are those above: indices of tenants. Else none. */
	__u32 *tenants;
	__u32 tenant_count;
};

/* A program in one device's network. */
struct plan_program {
	struct program_config config;
	enum result_format format;
	__u32 device; /* machine index */
};

struct plan {
	struct machine_config machine;
	struct plan_program *programs;
	__u32 program_count;
	struct plan_injection *injections; /* the enabled ones only */
	__u32 injection_count;
	__u64 timeout_ns;
	cpu_set_t handler_cpus; /* union of the tenants', never empty */
};

/* -EBADMSG for patterns that fit nothing and sizes that do not fit each other or this host. The
 * plan borrows from `job`. */
int plan_build(struct plan *plan, const struct job *job);
void plan_free(struct plan *plan);

#endif
