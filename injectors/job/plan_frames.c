// SPDX-License-Identifier: GPL-2.0
/* Who makes the frames of a plan's NICs: traffic that is made up, or programs in their networks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/job/plan_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

static int traffic_refused(const struct plan_builder *b, const struct job_traffic *traffic,
			   __u32 device)
{
	const struct device_class *class = b->plan->machine.devices[device].class;
	const struct plan_section section = {traffic->where, "traffic", traffic->name,
					     traffic->device};
	char full[PLAN_DEVICE_NAME];

	if (class->has_frames)
		return failed(-EBADMSG,
			      "%s: [traffic %s] device=%s: %s carries the frames of programs; "
			      "accepted: devices with %s",
			      traffic->where, traffic->name, traffic->device,
			      plan_device_name(b, device, full, sizeof(full)), class->with_traffic);
	return plan_model_refused(b, device, &section, "has no frames", device_class_has_frames);
}

static int plan_add_traffic(struct plan_builder *b, const struct job_traffic *traffic, __u32 device)
{
	struct machine_config *machine = &b->plan->machine;
	const struct device_config *on = &machine->devices[device];
	__u32 index = machine->traffic_count;
	struct traffic_config *config;

	if (!on->class->has_frames || plan_networked(on))
		return traffic_refused(b, traffic, device);
	for (__u32 i = 0; i < index; i++)
		if (machine->traffics[i].device == device)
			return failed(
				-EBADMSG,
				"%s: [traffic %s] and [traffic %s] both are for %s; accepted: "
				"one traffic a device",
				traffic->where, traffic->name, machine->traffics[i].name, on->name);
	if (!array_grow(&machine->traffics, &b->traffic_room, index + 1, sizeof(*config),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for the traffic of %u devices", index + 1);
	config = &machine->traffics[index];
	*config = traffic->config;
	snprintf(config->name, sizeof(config->name), "%s", traffic->name);
	config->device = device;
	if (!config->seed)
		config->seed = machine->seed * 3000017 + index + 1;
	machine->traffic_count++;
	return plan_check_class(b, traffic->where, on, NULL, config);
}

int plan_traffic(struct plan_builder *b, const struct job_traffic *traffic)
{
	bool matched = false;
	int err = 0;

	for (__u32 d = 0; !err && d < b->plan->machine.device_count; d++) {
		if (!plan_device_fits(b, traffic->device, d))
			continue;
		matched = true;
		err = plan_add_traffic(b, traffic, d);
	}
	return err || matched ? err : plan_no_device(b, traffic->where, traffic->device);
}

static int plan_add_program(struct plan_builder *b, const struct job_program *program, __u32 device)
{
	struct plan *plan = b->plan;
	struct plan_program *planned;
	char full[PLAN_DEVICE_NAME];

	if (!array_grow(&plan->programs, &b->program_room, plan->program_count + 1,
			sizeof(*planned), ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %u programs", plan->program_count + 1);
	planned = &plan->programs[plan->program_count++];
	*planned = (struct plan_program){
		.config = program->config, .format = program->format, .device = device};
	/* Where there are several of them sentences say which. */
	if (plan->machine.device_count > 1)
		snprintf(planned->config.name, sizeof(planned->config.name), "%.20s of %.38s",
			 program->name, plan_device_name(b, device, full, sizeof(full)));
	return 0;
}

static int no_network(const struct plan_builder *b, const struct job_program *program, __u32 device)
{
	const struct device_class *class = b->plan->machine.devices[device].class;
	const struct plan_section section = {program->where, "program", program->name,
					     program->device};
	char full[PLAN_DEVICE_NAME];

	if (class->networked)
		return failed(-EBADMSG,
			      "%s: [program %s] device=%s: %s carries frames that are made up; "
			      "accepted: devices with %s",
			      program->where, program->name, program->device,
			      plan_device_name(b, device, full, sizeof(full)), class->with_network);
	return plan_model_refused(b, device, &section, "has no network", device_class_has_network);
}

int plan_program(struct plan_builder *b, const struct job_program *program)
{
	const struct machine_config *machine = &b->plan->machine;
	__u32 before = b->plan->program_count, other = machine->device_count;
	int err = 0;

	for (__u32 d = 0; !err && d < machine->device_count; d++) {
		if (!plan_device_fits(b, program->device, d))
			continue;
		if (plan_networked(&machine->devices[d]))
			err = plan_add_program(b, program, d);
		else if (other == machine->device_count)
			other = d;
	}
	if (err || b->plan->program_count > before || b->part)
		return err;
	return other < machine->device_count ? no_network(b, program, other)
					     : plan_no_device(b, program->where, program->device);
}

static bool has_traffic(const struct plan *plan, __u32 device)
{
	for (__u32 i = 0; i < plan->machine.traffic_count; i++)
		if (plan->machine.traffics[i].device == device)
			return true;
	return false;
}

static bool has_load(const struct plan *plan, __u32 device)
{
	for (__u32 i = 0; i < plan->machine.kvstore_count; i++)
		if (plan->machine.kvstores[i].device == device)
			return true;
	for (__u32 i = 0; i < plan->program_count; i++)
		if (plan->programs[i].device == device &&
		    plan->programs[i].config.role == PROGRAM_LOAD)
			return true;
	return false;
}

/* The run would be over before it has begun. */
int plan_check_frames(const struct plan_builder *b, __u32 device)
{
	const struct device_config *config = &b->plan->machine.devices[device];
	bool networked = plan_networked(config);
	char full[PLAN_DEVICE_NAME];

	/* A virtual machine's guest sends its own. */
	if (!config->class->has_frames || (networked && plan_is_vm(b, config->tenant)) ||
	    (networked ? has_load(b->plan, device) : has_traffic(b->plan, device)))
		return 0;
	plan_device_name(b, device, full, sizeof(full));
	if (networked)
		return failed(-EBADMSG,
			      "%s: %s has a network in which nothing runs; accepted: a [program "
			      "NAME] with role=load for it, a [kvstore NAME], or %s",
			      b->device_origins[device].where, full, config->class->with_traffic);
	return failed(-EBADMSG,
		      "%s: %s has no [traffic NAME]; accepted: one for it, or %s and programs",
		      b->device_origins[device].where, full, config->class->with_network);
}
