// SPDX-License-Identifier: GPL-2.0
/* What the hardware that a job describes cannot be, or cannot do for its users: known before anything runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/plan_private.h"
#include "lib/base/fail.h"
#include "lib/fabric/route.h"

#define WINDOW_LEAST 4096ull /* bytes: a page */

static int plan_check_windows(const struct cluster_plan *plan, const struct fabric_node *adapter)
{
	char accepted[128];

	if (adapter->windows <= adapter->bar_bytes / WINDOW_LEAST)
		return 0;
	snprintf(accepted, sizeof(accepted), "up to %llu, a page each of its bar=%llu",
		 adapter->bar_bytes / WINDOW_LEAST, adapter->bar_bytes);
	return plan_wrong(job_text_section(plan->text, "adapter", adapter->name), "windows",
			  accepted);
}

/* BARs are powers of two, and lie largest first: only before the first is something wasted. */
static int plan_check_low_bars(const struct cluster_plan *plan, __u32 host)
{
	const struct fabric *fabric = plan->config.fabric;
	const struct fabric_node *largest = NULL;
	__u64 sum = 0, begin = BUS_LOW_MMIO;
	char accepted[192];

	for (__u32 n = 0; n < fabric->node_count; n++) {
		const struct fabric_node *node = &fabric->nodes[n];

		if (node->kind != FABRIC_ADAPTER || node->host != host || node->bar_high)
			continue;
		sum += node->bar_bytes;
		largest = !largest || node->bar_bytes > largest->bar_bytes ? node : largest;
	}
	if (!largest)
		return 0;
	begin = (begin + largest->bar_bytes - 1) / largest->bar_bytes * largest->bar_bytes;
	if (begin < MSI_ADDRESS && sum <= MSI_ADDRESS - begin)
		return 0;
	snprintf(accepted, sizeof(accepted),
		 "less, or bar_high=yes: those of %s below 4 GiB have %llu bytes from %#llx on",
		 plan->config.hosts[host].name, MSI_ADDRESS - BUS_LOW_MMIO, BUS_LOW_MMIO);
	return plan_wrong(job_text_section(plan->text, "adapter", largest->name), "bar", accepted);
}

/* A device is reached from there, or a host that has to answer. */
static int plan_check_way(const struct cluster_plan *plan, const struct job_section *section,
			  const char *key, __u32 from, __u32 to)
{
	const struct host_config *hosts = plan->config.hosts;
	struct route route;
	char accepted[256];

	if (from == to || route_find(plan->config.fabric, hosts[from].root, hosts[to].root, false,
				     NULL, &route) != -ENETUNREACH)
		return 0;
	snprintf(accepted, sizeof(accepted),
		 "what adapters and links join: there is no way from %s to %s", hosts[from].name,
		 hosts[to].name);
	return plan_wrong(section, key, accepted);
}

static int plan_check_vm(const struct cluster_plan *plan, const struct job_section *section,
			 const struct vm_config *vm)
{
	const struct cluster_config *config = &plan->config;
	const struct host_config *lender = &config->hosts[config->devices[vm->device].host];
	const struct host_config *borrower = &config->hosts[vm->host];
	char accepted[256];

	if (lender->iommu && borrower->iommu)
		return 0;
	snprintf(accepted, sizeof(accepted),
		 "one of a host with iommu=yes, which its own has as well: that of %s is off",
		 lender->iommu ? borrower->name : lender->name);
	return plan_wrong(section, "device", accepted);
}

/* A target sits where its device does. */
static int plan_check_reach(const struct cluster_plan *plan, const struct plan_user *user)
{
	const struct cluster_config *config = &plan->config;
	const struct plan_room room = plan_room_of(config, user);
	const struct job_section *section = job_text_section(plan->text, room.type, user->name);
	int err = 0;

	if (user->kind == USER_VM)
		err = plan_check_vm(plan, section, &config->vms[user->index]);
	return err
		       ?: plan_check_way(plan, section,
					 user->kind == USER_TARGET ? "initiator" : "device",
					 room.host, config->devices[room.device].host);
}

/* By the section's place among those of its kind: it has no name of its own in the configuration. */
static int plan_check_managers(const struct cluster_plan *plan)
{
	const struct cluster_config *config = &plan->config;
	__u32 number = 0;
	int err = 0;

	for (size_t i = 0; !err && i < plan->text->section_count; i++) {
		const struct job_section *section = &plan->text->sections[i];

		if (strcmp(section->type, "manager") != 0)
			continue;
		err = plan_check_way(plan, section, "host", config->managers[number].host,
				     config->devices[config->managers[number].device].host);
		number++;
	}
	return err;
}

int plan_check_hardware(const struct cluster_plan *plan)
{
	const struct fabric *fabric = plan->config.fabric;
	int err = 0;

	for (__u32 n = 0; !err && n < fabric->node_count; n++)
		if (fabric->nodes[n].kind == FABRIC_ADAPTER)
			err = plan_check_windows(plan, &fabric->nodes[n]);
	for (__u32 h = 0; !err && h < plan->config.host_count; h++)
		err = plan_check_low_bars(plan, h);
	for (__u32 i = 0; !err && i < plan->user_count; i++)
		err = plan_check_reach(plan, &plan->users[i]);
	return err ? err : plan_check_managers(plan);
}
