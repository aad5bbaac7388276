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
	bool part; /* tenants that machine.tenants does not name are left out: what fits none of the others is, too */
	struct plan_origin *tenant_origins;
	struct plan_origin *device_origins;
	__u32 *tenant_devices; /* devices of each tenant */
	size_t device_room, origin_room, workload_room, traffic_room, kvstore_room, program_room;
	size_t ranks_room, verbs_room;
};

/* "vm3/net" */
#define PLAN_DEVICE_NAME (JOB_NAME * 2 + 2)
const char *plan_device_name(const struct plan_builder *b, __u32 device, char *out, size_t size);
bool plan_device_fits(const struct plan_builder *b, const char *pattern, __u32 device);
bool plan_tenant_fits(const struct plan_builder *b, const char *pattern, __u32 tenant);
/* The pattern fits none: -EBADMSG, or 0 if that is because tenants were left out. */
int plan_no_device(const struct plan_builder *b, const char *where, const char *pattern);

/* A section whose device= names devices. */
struct plan_section {
	const char *where, *type, *name, *device;
};
/* Its devices must be of other models than this one: -EBADMSG. `lacks` is such as "takes no ranks". */
int plan_model_refused(const struct plan_builder *b, __u32 device,
		       const struct plan_section *section, const char *lacks,
		       bool (*accepted)(const struct device_class *class));

/* What the model itself asks of the device and of who drives it. */
int plan_check_class(const struct plan_builder *b, const char *where,
		     const struct device_config *device, const struct workload_config *workload,
		     const struct traffic_config *traffic);

/* The devices of a tenant share its memory. */
__u64 plan_device_share(const struct plan_builder *b, const struct device_config *device);
/* Whether tenants with a process of their own have what it takes. After all that drives devices. */
int plan_check_guests(const struct plan_builder *b);
/* Whether virtual machines can be started so, and all that is said of them is for them. Likewise. */
int plan_check_vms(const struct plan_builder *b);
/* Whether each tenant's memlock allows what its devices pin before anything runs. */
int plan_check_memlock(const struct plan_builder *b);

/* Each adds one for every device that its pattern fits. */
int plan_workload(struct plan_builder *b, const struct job_workload *workload);
int plan_traffic(struct plan_builder *b, const struct job_traffic *traffic);
int plan_kvstore(struct plan_builder *b, const struct job_kvstore *store);
int plan_program(struct plan_builder *b, const struct job_program *program);
/* One for every device that its pattern fits and the peer of that. */
int plan_ranks(struct plan_builder *b, const struct job_ranks *ranks);
int plan_injection(struct plan_builder *b, const struct job_injection *injection,
		   __u32 id); /* plan_inject.c */
int plan_vm_injection(struct plan_builder *b, const struct job_injection *injection,
		      __u32 id); /* plan_inject_vm.c, of those that are done to virtual machines */
/* One more, for which devices are chosen then. -ENOMEM with a sentence. */
int plan_injection_add(struct plan_builder *b, const struct job_injection *injection, __u32 id,
		       struct plan_injection **added);
/* In the order of their numbers. */
void plan_injection_choose(const struct plan_builder *b, struct plan_injection *planned,
			   __u32 device);

/* Likewise; the peer is what it needs there. */
int plan_verbs(struct plan_builder *b, const struct job_verbs *verbs);
/* Whether the device is one of a [verbs] or of its peer. */
bool plan_has_verbs(const struct plan_builder *b, __u32 device);
/* Bytes that these pin at most. */
__u64 plan_verbs_pins(const struct plan_builder *b, __u32 device);

/* Whether the host can be what memory_limit asks for. */
int plan_check_limit(const struct plan_builder *b);

/* Whether somebody makes the frames of a device that has some. */
int plan_check_frames(const struct plan_builder *b, __u32 device);
/* Whether there are ranks on a device that is driven by some. */
int plan_check_ranks(const struct plan_builder *b, __u32 device);
/* Bytes that its ranks pin at most. */
__u64 plan_ranks_pins(const struct plan_builder *b, __u32 device);

/* Finds the peers of devices that are connected in pairs. */
int plan_peers(struct plan_builder *b);

/* Whether it is a virtual machine. */
static inline bool plan_is_vm(const struct plan_builder *b, __u32 tenant)
{
	return b->plan->machine.tenants[tenant].backend == MEMORY_VM;
}

/* Whether its frames are a network's. */
static inline bool plan_networked(const struct device_config *device)
{
	return device->class->networked && device->class->networked(&device->settings);
}

#endif
