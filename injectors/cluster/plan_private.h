/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of plan.h share. */
#ifndef FAULTLINE_CLUSTER_PLAN_PRIVATE_H
#define FAULTLINE_CLUSTER_PLAN_PRIVATE_H

#include "injectors/cluster/options.h"
#include "injectors/cluster/plan.h"

/* "file:line: key=value: accepted: ..."; of a key that is not there, its section's place. */
int plan_wrong(const struct job_section *section, const char *key, const char *accepted);
/* Names to numbers; `text` is the value of `key`. */
int plan_find_host(const struct cluster_plan *plan, const struct job_section *section,
		   const char *key, const char *text, __u32 *host);
int plan_find_device(const struct cluster_plan *plan, const struct job_section *section,
		     const char *key, const char *text, __u32 *device);
/* Empty: CLUSTER_NONE. */
int plan_find_adapter(const struct cluster_plan *plan, const struct job_section *section,
		      const char *key, const char *text, __u32 *adapter);

/* Sections of users, each into its place in the configuration; plan_users.c. */
int plan_add_borrow(struct cluster_plan *plan, const struct job_section *section);
int plan_add_vm(struct cluster_plan *plan, const struct job_section *section);
int plan_add_client(struct cluster_plan *plan, const struct job_section *section);
int plan_add_manager(struct cluster_plan *plan, const struct job_section *section);
int plan_add_target(struct cluster_plan *plan, const struct job_section *section);
/* plan_inject.c, after all users. */
int plan_add_injection(struct cluster_plan *plan, const struct job_section *section);
/* Where a user's I/Os have their data (plan_check.c). */
struct plan_room {
	const char *type;   /* of its section */
	__u32 device, host; /* host: that has the memory, of a target its initiator's */
	__u64 bytes;
	const char *what;
};
struct plan_room plan_room_of(const struct cluster_config *config, const struct plan_user *user);
/* plan_check.c: users whose I/Os could never be. */
int plan_check_users(const struct cluster_plan *plan);
/* plan_hardware.c: adapters that could not be, and users that nothing leads to their device. */
int plan_check_hardware(const struct cluster_plan *plan);
/* What no section can say by itself. */
int plan_check(const struct cluster_plan *plan);

#endif
