/* SPDX-License-Identifier: GPL-2.0 */
/* Making a plan: a file for each kind of section. */
#ifndef FAULTLINE_JOB_PLAN_PRIVATE_H
#define FAULTLINE_JOB_PLAN_PRIVATE_H

#include "injectors/job/plan.h"

/* One expanded member and the section that it came from. */
struct plan_origin {
	const char *section;
	const char *where;
};

struct plan_builder {
	struct plan *plan;
	const struct job *job;
	struct plan_origin *tenant_origins;
	struct plan_origin *device_origins;
	__u32 *tenant_devices; /* devices of each tenant */
	size_t device_room, origin_room, workload_room, traffic_room, program_room;
};

/* "vm3/net" */
#define PLAN_DEVICE_NAME (JOB_NAME * 2 + 2)
const char *plan_device_name(const struct plan_builder *b, __u32 device, char *out, size_t size);
bool plan_device_fits(const struct plan_builder *b, const char *pattern, __u32 device);
/* The pattern fits none: -EBADMSG. */
int plan_no_device(const struct plan_builder *b, const char *where, const char *pattern);

/* What the model itself asks of the device and of who drives it. */
int plan_check_class(const struct plan_builder *b, const char *where,
		     const struct device_config *device, const struct workload_config *workload,
		     const struct traffic_config *traffic);

/* Each adds one for every device that its pattern fits. */
int plan_workload(struct plan_builder *b, const struct job_workload *workload);
int plan_traffic(struct plan_builder *b, const struct job_traffic *traffic);
int plan_program(struct plan_builder *b, const struct job_program *program);

/* Whether somebody makes the frames of a device that has some. */
int plan_check_frames(const struct plan_builder *b, __u32 device);

/* Whether its frames are a network's. */
static inline bool plan_networked(const struct device_config *device)
{
	return device->class->networked && device->class->networked(&device->settings);
}

#endif
