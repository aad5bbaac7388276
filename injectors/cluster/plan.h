/* SPDX-License-Identifier: GPL-2.0 */
/* One point of a job that emulates hosts: its configuration, in which every name has become a number. */
#ifndef FAULTLINE_CLUSTER_PLAN_H
#define FAULTLINE_CLUSTER_PLAN_H

#include <stdio.h>

#include "injectors/cluster/config.h"
#include "lib/fabric/cost.h"
#include "lib/job/text.h"

#define PLAN_GROUPS 12

/* Users whose results are told together. */
struct plan_group {
	char name[64];
	const char *where;
};
/* Who asks for I/Os, whatever it is. */
enum plan_user_kind { USER_BORROW, USER_VM, USER_CLIENT, USER_TARGET };
struct plan_user {
	enum plan_user_kind kind;
	__u32 index; /* of its config */
	__u32 group;
	const char *name;
	const struct io_config *io;
};

struct cluster_plan {
	struct cluster_config config;
	struct fabric_costs costs;
	__u64 duration_ns;
	struct job_text *text; /* expanded; its own */
	__u32 user_count, group_count;
	struct plan_user *users;
	struct plan_group groups[PLAN_GROUPS];
};

/* -EBADMSG or -EINVAL with "file:line: key=value: accepted: ..." for the first thing wrong. */
int cluster_plan_build(struct cluster_plan *plan, const struct job_text *text);
void cluster_plan_free(struct cluster_plan *plan);
/* Each value by itself, also one that a sweep replaces. */
int cluster_plan_check_values(const struct job_text *text);
void cluster_plan_print(const struct cluster_plan *plan, FILE *file);

#endif
