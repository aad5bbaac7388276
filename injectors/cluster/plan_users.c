// SPDX-License-Identifier: GPL-2.0
/* Sections of those who use devices. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "injectors/cluster/plan_private.h"
#include "lib/base/fail.h"

/* The group is a part of names of columns. */
static int plan_user_group(struct cluster_plan *plan, const struct job_section *section,
			   const char *name, __u32 *group)
{
	char clean[CLUSTER_NAME];

	snprintf(clean, sizeof(clean), "%s", name);
	for (char *c = clean; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	for (*group = 0; *group < plan->group_count; ++*group)
		if (!strcmp(plan->groups[*group].name, clean))
			return 0;
	if (!isalpha((unsigned char)*clean))
		return plan_wrong(section, "group", "a name that begins with a letter");
	if (plan->group_count == PLAN_GROUPS)
		return plan_wrong(section, "group", "up to 12 groups, with group= or count=");
	snprintf(plan->groups[plan->group_count].name, CLUSTER_NAME, "%s", clean);
	plan->groups[plan->group_count++].where = section->where;
	return 0;
}

static int plan_add_user(struct cluster_plan *plan, const struct job_section *section,
			 enum plan_user_kind kind, __u32 index, struct io_config *io,
			 const struct user_io_keys *keys)
{
	struct plan_user *user = &plan->users[plan->user_count++];

	*io = keys->config;
	io->rate = (__u64)keys->rate;
	*user = (struct plan_user){.kind = kind, .index = index, .name = section->name, .io = io};
	return plan_user_group(plan, section, *keys->group ? keys->group : section->name,
			       &user->group);
}

/* "A B": one or two. */
static int plan_find_adapters(const struct cluster_plan *plan, const struct job_section *section,
			      const char *text, __u32 adapters[2])
{
	char names[2][CLUSTER_NAME] = {"", ""}, more[2];
	int err;

	_Static_assert(CLUSTER_NAME == 64, "63 below");
	if (sscanf(text, "%63s %63s %1s", names[0], names[1], more) > 2)
		return plan_wrong(section, "adapters", "one or two names");
	if (*names[0] && !strcmp(names[0], names[1]))
		return plan_wrong(section, "adapters", "each once");
	err = plan_find_adapter(plan, section, "adapters", names[0], &adapters[0]);
	return err ? err : plan_find_adapter(plan, section, "adapters", names[1], &adapters[1]);
}

static int plan_check_adapter(const struct cluster_plan *plan, const struct job_section *section,
			      __u32 adapter, __u32 host)
{
	char accepted[160];

	if (adapter == CLUSTER_NONE || plan->config.fabric->nodes[adapter].host == host)
		return 0;
	snprintf(accepted, sizeof(accepted), "instead of %s, an adapter of host %s",
		 plan->config.fabric->nodes[adapter].name, plan->config.hosts[host].name);
	return plan_wrong(section, "adapters", accepted);
}

static int plan_check_function(const struct cluster_plan *plan, const struct job_section *section,
			       __u32 device, __u32 function)
{
	char accepted[160];

	if (function < plan->config.devices[device].functions)
		return 0;
	snprintf(accepted, sizeof(accepted), "0 to %u, as %s has functions=%u",
		 plan->config.devices[device].functions - 1, plan->config.devices[device].name,
		 plan->config.devices[device].functions);
	return plan_wrong(section, "function", accepted);
}

static int plan_check_model(const struct cluster_plan *plan, const struct job_section *section,
			    const char *key, __u32 device, enum cluster_model model)
{
	if (plan->config.devices[device].model == model)
		return 0;
	return plan_wrong(section, key,
			  model == MODEL_NVME ? "a device with model=nvme"
					      : "a device with model=accel");
}

/* Without an IOMMU a device is given physical addresses: its window has to have them all (PV 7.1.1). */
static int plan_check_window(const struct cluster_plan *plan, const struct job_section *section,
			     const struct borrow_config *borrow)
{
	const struct host_config *host = &plan->config.hosts[borrow->host];
	char accepted[160];

	if (host->iommu || borrow->window >= host->memory ||
	    plan->config.devices[borrow->device].host == borrow->host)
		return 0;
	snprintf(accepted, sizeof(accepted),
		 "at least %llu, all of the memory of %s, as it has iommu=no",
		 (unsigned long long)host->memory, host->name);
	return plan_wrong(section, "window", accepted);
}

int plan_add_borrow(struct cluster_plan *plan, const struct job_section *section)
{
	__u32 index = plan->config.borrow_count++;
	struct borrow_config *borrow = &plan->config.borrows[index];
	struct borrow_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	if (err)
		return err;
	*borrow = keys.config;
	snprintf(borrow->name, sizeof(borrow->name), "%s", section->name);
	err = plan_find_host(plan, section, "host", keys.host, &borrow->host)
		      ?: plan_find_device(plan, section, "device", keys.device, &borrow->device);
	if (!err)
		err = plan_find_adapters(plan, section, keys.adapters, borrow->adapters);
	borrow->peer = CLUSTER_NONE;
	if (!err && *keys.peer)
		err = plan_find_device(plan, section, "peer", keys.peer, &borrow->peer)
			      ?: plan_check_model(plan, section, "peer", borrow->peer, MODEL_ACCEL)
			      ?: plan_check_model(plan, section, "device", borrow->device,
						  MODEL_ACCEL);
	if (!err)
		err = plan_check_function(plan, section, borrow->device, borrow->function);
	if (!err)
		err = plan_check_adapter(plan, section, borrow->adapters[0], borrow->host)
			      ?: plan_check_adapter(plan, section, borrow->adapters[1],
						    plan->config.devices[borrow->device].host)
			      ?: plan_check_window(plan, section, borrow);
	return err ? err : plan_add_user(plan, section, USER_BORROW, index, &borrow->io, &keys.io);
}

int plan_add_vm(struct cluster_plan *plan, const struct job_section *section)
{
	__u32 index = plan->config.vm_count++;
	struct vm_config *vm = &plan->config.vms[index];
	struct vm_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	if (err)
		return err;
	*vm = keys.config;
	snprintf(vm->name, sizeof(vm->name), "%s", section->name);
	err = plan_find_host(plan, section, "host", keys.host, &vm->host)
		      ?: plan_find_device(plan, section, "device", keys.device, &vm->device)
		      ?: plan_check_model(plan, section, "device", vm->device, MODEL_NVME)
		      ?: plan_check_function(plan, section, vm->device, vm->function);
	return err ? err : plan_add_user(plan, section, USER_VM, index, &vm->io, &keys.io);
}

int plan_add_client(struct cluster_plan *plan, const struct job_section *section)
{
	__u32 index = plan->config.client_count++;
	struct client_config *client = &plan->config.clients[index];
	struct client_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	if (err)
		return err;
	*client = keys.config;
	snprintf(client->name, sizeof(client->name), "%s", section->name);
	client->queue_peer = CLUSTER_NONE;
	err = plan_find_host(plan, section, "host", keys.host, &client->host)
		      ?: plan_find_device(plan, section, "device", keys.device, &client->device)
		      ?: plan_check_model(plan, section, "device", client->device, MODEL_NVME)
		      ?: plan_find_adapters(plan, section, keys.adapters, client->adapters)
		      ?: plan_check_adapter(plan, section, client->adapters[0], client->host)
		      ?: plan_check_adapter(plan, section, client->adapters[1], client->host);
	if (!err && client->queue_hint == HINT_PEER)
		err = plan_find_device(plan, section, "queue_peer", keys.queue_peer,
				       &client->queue_peer)
			      ?: plan_check_model(plan, section, "queue_peer", client->queue_peer,
						  MODEL_ACCEL);
	return err ? err : plan_add_user(plan, section, USER_CLIENT, index, &client->io, &keys.io);
}

/* A manager and a target have it for the whole run. */
static int plan_check_held(const struct cluster_plan *plan, const struct job_section *section,
			   __u32 device, __u32 managers, __u32 targets)
{
	const struct cluster_config *config = &plan->config;
	bool held = false;

	for (__u32 i = 0; i < managers; i++)
		held |= config->managers[i].device == device;
	for (__u32 i = 0; i < targets; i++)
		held |= config->targets[i].device == device;
	return held ? plan_wrong(section, "device",
				 "one that no other [manager] or [target] has for the whole run")
		    : 0;
}

int plan_add_manager(struct cluster_plan *plan, const struct job_section *section)
{
	__u32 index = plan->config.manager_count++;
	struct manager_config *manager = &plan->config.managers[index];
	struct manager_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	if (err)
		return err;
	err = plan_find_host(plan, section, "host", keys.host, &manager->host)
		      ?: plan_find_device(plan, section, "device", keys.device, &manager->device)
		      ?: plan_check_model(plan, section, "device", manager->device, MODEL_NVME);
	return err ?: plan_check_held(plan, section, manager->device, index, 0);
}

int plan_add_target(struct cluster_plan *plan, const struct job_section *section)
{
	__u32 index = plan->config.target_count++;
	struct target_config *target = &plan->config.targets[index];
	struct target_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	if (err)
		return err;
	snprintf(target->name, sizeof(target->name), "%s", section->name);
	target->stage_ns = keys.stage_ns;
	err = plan_find_host(plan, section, "host", keys.host, &target->host)
		      ?: plan_find_device(plan, section, "device", keys.device, &target->device)
		      ?: plan_check_model(plan, section, "device", target->device, MODEL_NVME)
		      ?: plan_find_host(plan, section, "initiator", keys.initiator,
					&target->initiator_host)
		      ?: plan_check_held(plan, section, target->device, plan->config.manager_count,
					 index);
	if (!err && plan->config.devices[target->device].host != target->host)
		err = plan_wrong(section, "host", "the host that its device sits in");
	return err ? err : plan_add_user(plan, section, USER_TARGET, index, &target->io, &keys.io);
}
