// SPDX-License-Identifier: GPL-2.0
/* Workloads of a plan: each with its device, and whether the two fit each other. */
#include <errno.h>
#include <stdio.h>

#include "injectors/job/plan_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

__u64 plan_device_share(const struct plan_builder *b, const struct device_config *device)
{
	return b->plan->machine.tenants[device->tenant].memory / b->tenant_devices[device->tenant] &
	       ~(PAGE_BYTES - 1);
}

/* What the model itself asks of the device and of who drives it. */
int plan_check_class(const struct plan_builder *b, const char *where,
		     const struct device_config *device, const struct workload_config *workload,
		     const struct traffic_config *traffic)
{
	const struct device_check check = {.where = where,
					   .device = device,
					   .bytes = plan_device_share(b, device),
					   .vm = plan_is_vm(b, device->tenant),
					   .workload = workload,
					   .traffic = traffic};

	return device->class->check ? device->class->check(&check) : 0;
}

/* The memory that a device's I/O may use: its share of the tenant's less its rings. */
static int data_bytes(const struct plan_builder *b, const struct device_config *device,
		      __u64 *bytes)
{
	struct channel_config config = {
		.queues = device->queues,
		.queue_depth = device->queue_depth,
		.depth_max = (__u16)device->class->depth_max,
		.pasid = PASID_NONE,
		.bytes = plan_device_share(b, device),
	};
	struct channel *channel;
	int err = channel_create(&channel, &config);

	if (err)
		return -EBADMSG;
	*bytes = channel->data_bytes;
	channel_destroy(channel);
	return 0;
}

/* What the sizes of workload, device and tenant demand of each other. */
static int check_fit(const struct plan_builder *b, const struct job_workload *workload,
		     const struct workload_config *config, const struct device_config *device)
{
	__u64 largest = workload_largest(config), available, needed;
	int err;

	if (data_bytes(b, device, &available))
		return failed_in(-EBADMSG, "%s: [workload %s] on %s", workload->where,
				 workload->name, device->name);
	err = plan_check_class(b, workload->where, device, config, NULL);
	if (err)
		return err;
	/* A copy needs room for source and destination. */
	needed = device->class->io == DEVICE_IO_COPY ? 2 * largest : largest;
	if (config->depth > device->queue_depth)
		return failed(
			-EBADMSG,
			"%s: [workload %s] depth=%u: accepted: at most %u, the queue_depth of "
			"%s",
			workload->where, workload->name, config->depth, device->queue_depth,
			device->name);
	if (config->buffer_bytes > available ||
	    (config->buffer_bytes && config->buffer_bytes < needed))
		return failed(
			-EBADMSG,
			"%s: [workload %s] buffer_bytes=%llu: accepted: %llu to %llu, the memory "
			"that %s has for data",
			workload->where, workload->name, config->buffer_bytes, needed, available,
			device->name);
	if (needed > available)
		return failed(
			-EBADMSG,
			"%s: [workload %s] sizes=%llu: needs %llu bytes; %s has %llu for data; "
			"accepted: smaller sizes, fewer queues or more memory",
			workload->where, workload->name, largest, needed, device->name, available);
	return 0;
}

static int takes_no_workload(const struct plan_builder *b, const struct job_workload *workload,
			     __u32 device)
{
	const struct plan_section section = {workload->where, "workload", workload->name,
					     workload->device};

	return plan_model_refused(b, device, &section, "takes no workload",
				  device_class_takes_workload);
}

static int add_workload(struct plan_builder *b, const struct job_workload *workload, __u32 device)
{
	struct machine_config *machine = &b->plan->machine;
	const struct device_config *on = &machine->devices[device];
	__u32 index = machine->workload_count;
	struct workload_config *config;

	if (!device_class_takes_workload(on->class))
		return takes_no_workload(b, workload, device);
	if (!array_grow(&machine->workloads, &b->workload_room, index + 1, sizeof(*config),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %u workloads", index + 1);
	config = &machine->workloads[index];
	*config = workload->config;
	snprintf(config->name, sizeof(config->name), "%s", workload->name);
	config->device = device;
	if (!config->seed)
		config->seed = machine->seed * 1000003 + index + 1;
	machine->workload_count++;
	for (__u32 i = 0; i < index; i++)
		if (machine->workloads[i].device == device)
			return failed(-EBADMSG,
				      "%s: [workload %s] and [workload %s] both drive %s; "
				      "accepted: one workload a device",
				      workload->where, workload->name, machine->workloads[i].name,
				      on->name);
	return check_fit(b, workload, config, on);
}

int plan_workload(struct plan_builder *b, const struct job_workload *workload)
{
	__u32 before = b->plan->machine.workload_count;
	int err = 0;

	for (__u32 d = 0; !err && d < b->plan->machine.device_count; d++)
		if (plan_device_fits(b, workload->device, d))
			err = add_workload(b, workload, d);
	if (!err && b->plan->machine.workload_count == before)
		err = plan_no_device(b, workload->where, workload->device);
	return err;
}
