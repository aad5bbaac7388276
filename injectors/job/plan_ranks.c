// SPDX-License-Identifier: GPL-2.0
/* Ranks of a plan: each group with its two devices, and whether it fits their memory. */
#include <errno.h>
#include <stdio.h>

#include "injectors/emu/ranks/rank_pattern.h"
#include "injectors/emu/ranks/rank_queues.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/job/plan_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

static bool has_ranks(const struct device_class *class)
{
	return class->peer != NULL;
}

static int takes_no_ranks(const struct plan_builder *b, const struct job_ranks *ranks, __u32 device)
{
	const struct plan_section section = {ranks->where, "ranks", ranks->name, ranks->device};

	return plan_model_refused(b, device, &section, "takes no ranks", has_ranks);
}

static int check_rank_memory(const struct plan_builder *b, const struct job_ranks *ranks,
			     const struct ranks_config *config, __u32 device)
{
	const struct device_config *on = &b->plan->machine.devices[device];
	__u64 share = plan_device_share(b, on);
	struct ranks_layout layout;
	char full[PLAN_DEVICE_NAME];

	ranks_plan(config, device == config->peer, share, &layout);
	if (layout.total <= share)
		return 0;
	return failed(-EBADMSG,
		      "%s: [ranks %s] takes %llu KiB of the memory of %s, whose share of its "
		      "tenant's is %llu KiB: %u ranks there with %llu KiB of buffers each, their "
		      "queues %llu KiB, bounce buffers %llu KiB; accepted: smaller sizes, depth or "
		      "buffer_bytes, fewer ranks or more memory",
		      ranks->where, ranks->name, (layout.total >> 10) + 1,
		      plan_device_name(b, device, full, sizeof(full)), share >> 10, layout.local,
		      layout.buffers >> 10, layout.queues >> 10, layout.bounce >> 10);
}

static int check_queues(const struct plan_builder *b, const struct job_ranks *ranks,
			const struct ranks_config *config, __u32 device)
{
	const struct device_config *on = &b->plan->machine.devices[device];
	const struct rdma_settings *settings = (const void *)on->settings.bytes;
	struct ranks_layout layout;
	char full[PLAN_DEVICE_NAME];
	__u32 depth;

	ranks_plan(config, device == config->peer, plan_device_share(b, on), &layout);
	if (layout.pairs > settings->queue_pairs)
		return failed(
			-EBADMSG,
			"%s: [ranks %s] takes %u queue pairs of %s, which has queue_pairs=%u; "
			"accepted: more of these, or fewer ranks",
			ranks->where, ranks->name, layout.pairs,
			plan_device_name(b, device, full, sizeof(full)), settings->queue_pairs);
	depth = rank_completions(layout.window, layout.pairs / layout.local / RANK_LANES);
	if (depth > VERBS_DEPTH_MAX)
		return failed(-EBADMSG,
			      "%s: [ranks %s] takes completion queues of %u entries; accepted: at "
			      "most %d, by fewer ranks or less depth",
			      ranks->where, ranks->name, depth, VERBS_DEPTH_MAX);
	return 0;
}

/* What buffers a rank needs at once, in each of the sizes that were given for them. */
static int check_buffers(const struct plan_builder *b, const struct job_ranks *ranks,
			 const struct ranks_config *config, __u32 device)
{
	const struct rank_pattern *pattern = rank_patterns[config->pattern];
	__u32 leases = pattern->streams ? config->depth : pattern->leases;
	const struct device_config *on = &b->plan->machine.devices[device];
	struct ranks_layout layout;
	__u64 least, in_use;

	ranks_plan(config, device == config->peer, plan_device_share(b, on), &layout);
	least = layout.slots * layout.largest;
	in_use = (__u64)layout.local * leases * layout.largest;
	if (config->buffer_bytes && config->buffer_bytes < least)
		return failed(-EBADMSG,
			      "%s: [ranks %s] buffer_bytes=%lluK: accepted: at least %lluK, %u "
			      "messages of %llu KiB at once",
			      ranks->where, ranks->name, config->buffer_bytes >> 10, least >> 10,
			      layout.slots, layout.largest >> 10);
	if (config->working_set &&
	    (config->working_set < least || config->working_set > layout.buffers))
		return failed(-EBADMSG,
			      "%s: [ranks %s] working_set=%lluK: accepted: %lluK to %lluK, the "
			      "buffers of a rank",
			      ranks->where, ranks->name, config->working_set >> 10, least >> 10,
			      layout.buffers >> 10);
	if (config->memory == RANKS_MEMORY_cache && config->cache_bytes < in_use)
		return failed(-EBADMSG,
			      "%s: [ranks %s] cache_bytes=%lluK: accepted: at least %lluK, what "
			      "messages of %u ranks use at once",
			      ranks->where, ranks->name, config->cache_bytes >> 10, in_use >> 10,
			      layout.local);
	return 0;
}

static int check_group_alone(const struct plan_builder *b, const struct job_ranks *ranks,
			     __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;
	char full[PLAN_DEVICE_NAME];

	for (__u32 i = 0; i < machine->ranks_count; i++)
		if (machine->ranks[i].device == device || machine->ranks[i].peer == device)
			return failed(
				-EBADMSG,
				"%s: [ranks %s] and [ranks %s] both are for %s; accepted: one "
				"ranks for a device and its peer",
				ranks->where, ranks->name, machine->ranks[i].name,
				plan_device_name(b, device, full, sizeof(full)));
	return 0;
}

static int plan_add_ranks(struct plan_builder *b, const struct job_ranks *ranks, __u32 device)
{
	struct machine_config *machine = &b->plan->machine;
	__u32 index = machine->ranks_count;
	struct device_config *on = &machine->devices[device];
	struct ranks_config *config;
	int err = check_group_alone(b, ranks, device);

	if (err)
		return err;
	if (!array_grow(&machine->ranks, &b->ranks_room, index + 1, sizeof(*config), ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for the ranks of %u devices", index + 1);
	config = &machine->ranks[index];
	*config = ranks->config;
	snprintf(config->name, sizeof(config->name), "%s", ranks->name);
	config->device = device;
	config->peer = *on->class->peer(&on->settings).index;
	if (!config->seed)
		config->seed = machine->seed * 4000037 + index + 1;
	machine->ranks_count++;
	for (int end = 0; !err && end < 2; end++) {
		__u32 at = end ? config->peer : device;

		err = check_buffers(b, ranks, config, at) ?: check_rank_memory(b, ranks, config, at)
							 ?: check_queues(b, ranks, config, at);
	}
	return err;
}

/* A pattern may fit both ends: the first is the device, the other its peer. */
static bool is_peer_of_own(const struct plan_builder *b, __u32 before, __u32 device)
{
	for (__u32 i = before; i < b->plan->machine.ranks_count; i++)
		if (b->plan->machine.ranks[i].peer == device)
			return true;
	return false;
}

int plan_ranks(struct plan_builder *b, const struct job_ranks *ranks)
{
	const struct machine_config *machine = &b->plan->machine;
	__u32 before = machine->ranks_count, other = machine->device_count;
	int err = 0;

	for (__u32 d = 0; !err && d < machine->device_count; d++) {
		if (!plan_device_fits(b, ranks->device, d) || is_peer_of_own(b, before, d))
			continue;
		if (has_ranks(machine->devices[d].class))
			err = plan_add_ranks(b, ranks, d);
		else if (other == machine->device_count)
			other = d;
	}
	if (err || machine->ranks_count > before || b->part)
		return err;
	return other < machine->device_count ? takes_no_ranks(b, ranks, other)
					     : plan_no_device(b, ranks->where, ranks->device);
}

/* Its guest's own, which finds the device by itself. */
static bool runs_a_program(const struct plan_builder *b, __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;
	const struct tenant_config *tenant = &machine->tenants[machine->devices[device].tenant];

	return tenant->own_process && *tenant->program;
}

int plan_check_ranks(const struct plan_builder *b, __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;
	char full[PLAN_DEVICE_NAME];

	if (!has_ranks(machine->devices[device].class))
		return 0;
	for (__u32 i = 0; i < machine->ranks_count; i++)
		if (machine->ranks[i].device == device || machine->ranks[i].peer == device)
			return 0;
	if (plan_has_verbs(b, device) || runs_a_program(b, device))
		return 0;
	return failed(
		-EBADMSG,
		"%s: %s has no [ranks NAME] and no [verbs NAME]; accepted: one for it or for its peer",
		b->device_origins[device].where, plan_device_name(b, device, full, sizeof(full)));
}

__u64 plan_ranks_pins(const struct plan_builder *b, __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;
	__u64 share = plan_device_share(b, &machine->devices[device]);
	struct ranks_layout layout;

	for (__u32 i = 0; i < machine->ranks_count; i++) {
		const struct ranks_config *config = &machine->ranks[i];

		if (config->device != device && config->peer != device)
			continue;
		ranks_plan(config, device == config->peer, share, &layout);
		return ranks_pinned(config, &layout);
	}
	return 0;
}
