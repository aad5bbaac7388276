// SPDX-License-Identifier: GPL-2.0
/* Loads of verbs of a plan: each with its two devices, and whether it fits their memory. */
#include <errno.h>
#include <stdio.h>

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/emu/verbs_load/verbs_load.h"
#include "injectors/job/plan_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

static bool has_verbs(const struct device_class *class)
{
	return class->peer != NULL;
}

static const struct verbs_load_config *verbs_of(const struct plan_builder *b, __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;

	for (__u32 i = 0; i < machine->verbs_count; i++)
		if (machine->verbs[i].device == device || machine->verbs[i].peer == device)
			return &machine->verbs[i];
	return NULL;
}

bool plan_has_verbs(const struct plan_builder *b, __u32 device)
{
	return verbs_of(b, device) != NULL;
}

static int check_verbs_room(const struct plan_builder *b, const struct job_verbs *verbs,
			    const struct verbs_load_config *config, __u32 device)
{
	const struct device_config *on = &b->plan->machine.devices[device];
	const struct rdma_settings *settings = (const void *)on->settings.bytes;
	__u64 share = plan_device_share(b, on);
	__u64 bytes = verbs_load_bytes(config, device == config->peer);
	char full[PLAN_DEVICE_NAME];

	plan_device_name(b, device, full, sizeof(full));
	/* Requests and page lists lie in the guest's memory, too. */
	if (settings->mode > RDMA_MODE_NATIVE)
		bytes += HYV_CONTROL_BYTES;
	if (bytes > share)
		return failed(
			-EBADMSG,
			"%s: [verbs %s] takes %llu KiB of the memory of %s, whose share of its "
			"tenant's is %llu KiB; accepted: smaller size, outstanding, keys or "
			"working_set, or more memory",
			verbs->where, verbs->name, (bytes >> 10) + 1, full, share >> 10);
	if (verbs_load_pairs(config) > settings->queue_pairs)
		return failed(
			-EBADMSG,
			"%s: [verbs %s] takes %u queue pairs of %s, which has queue_pairs=%u; "
			"accepted: as many",
			verbs->where, verbs->name, verbs_load_pairs(config), full,
			settings->queue_pairs);
	return 0;
}

/* Its guests have no page faults: what they register is pinned. */
static int check_demand(const struct plan_builder *b, const struct job_verbs *verbs, __u32 device)
{
	const struct device_config *on = &b->plan->machine.devices[device];
	const struct rdma_settings *settings = (const void *)on->settings.bytes;
	char full[PLAN_DEVICE_NAME];

	if (verbs->config.memory != LOAD_MEMORY_DEMAND || settings->mode != RDMA_MODE_HYBRID)
		return 0;
	return failed(-EBADMSG,
		      "%s: [verbs %s] memory=demand, and %s has mode=hybrid, which pins all that "
		      "is registered; accepted: memory=mode or pin, or a device with mode=odp",
		      verbs->where, verbs->name, plan_device_name(b, device, full, sizeof(full)));
}

static int check_alone(const struct plan_builder *b, const struct job_verbs *verbs, __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;
	const struct verbs_load_config *other = verbs_of(b, device);
	char full[PLAN_DEVICE_NAME];

	plan_device_name(b, device, full, sizeof(full));
	for (__u32 i = 0; i < machine->ranks_count; i++)
		if (machine->ranks[i].device == device || machine->ranks[i].peer == device)
			return failed(-EBADMSG,
				      "%s: [verbs %s] and [ranks %s] both are for %s; accepted: "
				      "either of them for a device and its peer",
				      verbs->where, verbs->name, machine->ranks[i].name, full);
	if (!other)
		return 0;
	return failed(-EBADMSG,
		      "%s: [verbs %s] and [verbs %s] both are for %s; accepted: one for a device "
		      "and its peer",
		      verbs->where, verbs->name, other->name, full);
}

static int plan_add_verbs(struct plan_builder *b, const struct job_verbs *verbs, __u32 device)
{
	struct machine_config *machine = &b->plan->machine;
	__u32 index = machine->verbs_count;
	struct device_config *on = &machine->devices[device];
	__u32 peer = *on->class->peer(&on->settings).index;
	struct verbs_load_config *config;
	int err = check_demand(b, verbs, device) ?: check_demand(b, verbs, peer);

	if (!err)
		err = check_alone(b, verbs, device) ?: check_alone(b, verbs, peer);

	if (err)
		return err;
	if (!array_grow(&machine->verbs, &b->verbs_room, index + 1, sizeof(*config), ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for the loads of %u devices", index + 1);
	config = &machine->verbs[index];
	*config = verbs->config;
	snprintf(config->name, sizeof(config->name), "%s", verbs->name);
	config->device = device;
	config->peer = peer;
	if (!config->seed)
		config->seed = machine->seed * 5000011 + index + 1;
	machine->verbs_count++;
	return check_verbs_room(b, verbs, config, device)
		       ?: check_verbs_room(b, verbs, config, peer);
}

/* A pattern may fit both ends: the first is the device, the other its peer. */
static bool is_verbs_peer_of_own(const struct plan_builder *b, __u32 before, __u32 device)
{
	for (__u32 i = before; i < b->plan->machine.verbs_count; i++)
		if (b->plan->machine.verbs[i].peer == device)
			return true;
	return false;
}

int plan_verbs(struct plan_builder *b, const struct job_verbs *verbs)
{
	const struct plan_section section = {verbs->where, "verbs", verbs->name, verbs->device};
	const struct machine_config *machine = &b->plan->machine;
	__u32 before = machine->verbs_count, other = machine->device_count;
	int err = 0;

	for (__u32 d = 0; !err && d < machine->device_count; d++) {
		if (!plan_device_fits(b, verbs->device, d) || is_verbs_peer_of_own(b, before, d))
			continue;
		if (has_verbs(machine->devices[d].class))
			err = plan_add_verbs(b, verbs, d);
		else if (other == machine->device_count)
			other = d;
	}
	if (err || machine->verbs_count > before || b->part)
		return err;
	return other < machine->device_count
		       ? plan_model_refused(b, other, &section, "takes no verbs", has_verbs)
		       : plan_no_device(b, verbs->where, verbs->device);
}

__u64 plan_verbs_pins(const struct plan_builder *b, __u32 device)
{
	const struct verbs_load_config *config = verbs_of(b, device);
	__u64 bytes;

	if (!config)
		return 0;
	bytes = verbs_load_bytes(config, device == config->peer) - LOAD_RESERVED;
	/* A region more than memlock allows is a result of these. */
	if (config->test == LOAD_register || config->test == LOAD_pressure ||
	    config->memory == LOAD_MEMORY_DEMAND)
		bytes -= verbs_load_memory_bytes(config, device == config->peer);
	return bytes;
}
