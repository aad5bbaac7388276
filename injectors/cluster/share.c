// SPDX-License-Identifier: GPL-2.0
/* What shared controllers are made of, and what is done about clients that have died. */
#include <errno.h>

#include "injectors/cluster/share_manager.h"
#include "injectors/cluster/share_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

int shares_create(struct cluster *cluster)
{
	size_t bytes = sizeof(struct shares) +
		       cluster->config->device_count * sizeof(struct share_controller);

	cluster->shares = shared_alloc(cluster, bytes);
	if (!cluster->shares)
		return -ENOMEM;
	for (__u32 device = 0; device < cluster->config->device_count; device++)
		cluster->shares->controllers[device].manager = CLUSTER_NONE;
	return 0;
}

struct share_controller *share_controller(const struct cluster *cluster, __u32 device)
{
	return &cluster->shares->controllers[device];
}

struct share_counts *share_counts(const struct cluster *cluster, __u32 agent)
{
	return &cluster->shares->counts[agent % CLUSTER_AGENTS_MAX];
}

const struct share_counts *share_counts_of(const struct cluster *cluster, __u32 agent)
{
	return share_counts(cluster, agent);
}

__u32 share_epoch(const struct cluster *cluster, __u32 device)
{
	return __atomic_load_n(&share_controller(cluster, device)->epoch, __ATOMIC_ACQUIRE);
}

__u32 share_pairs(const struct cluster *cluster, __u32 device)
{
	const struct share_controller *controller = share_controller(cluster, device);
	__u32 pairs = 0;

	for (__u32 i = 1; i <= SHARE_QUEUES; i++)
		pairs += __atomic_load_n(&controller->pairs[i].claim, __ATOMIC_ACQUIRE) != 0;
	return pairs;
}

static bool share_joined(const struct fabric *fabric, __u32 node, __u32 lender, __u32 from,
			 __u32 depth, __u32 *found)
{
	for (__u32 i = 0; i < fabric->link_count; i++) {
		const __u32 *ends = fabric->links[i].ends;
		__u32 far = ends[0] == node ? ends[1] : ends[0];

		if ((ends[0] != node && ends[1] != node) || far == from)
			continue;
		if (fabric->nodes[far].kind == FABRIC_ADAPTER) {
			*found = far;
			if (fabric->nodes[far].host == lender)
				return true;
		} else if (depth < 8 && share_joined(fabric, far, lender, node, depth + 1, found)) {
			return true;
		}
	}
	return false;
}

__u32 share_far_adapter(const struct cluster *cluster, __u32 adapter, __u32 lender)
{
	__u32 found;

	return adapter < cluster->config->fabric->node_count &&
			       share_joined(cluster->config->fabric, adapter, lender, FABRIC_NONE,
					    0, &found)
		       ? found
		       : CLUSTER_NONE;
}

__u32 share_near_adapter(const struct cluster *cluster, __u32 host, __u32 lender)
{
	const struct fabric *fabric = cluster->config->fabric;

	for (__u32 node = 0; node < fabric->node_count; node++)
		if (fabric->nodes[node].kind == FABRIC_ADAPTER &&
		    fabric->nodes[node].host == host &&
		    share_far_adapter(cluster, node, lender) != CLUSTER_NONE)
			return node;
	return CLUSTER_NONE;
}

bool share_managed(const struct cluster *cluster, __u32 device)
{
	const struct share_controller *controller = share_controller(cluster, device);

	return __atomic_load_n(&controller->state, __ATOMIC_ACQUIRE) == SHARE_READY &&
	       controller->manager < CLUSTER_AGENTS_MAX &&
	       agent_state(cluster, controller->manager) <= AGENT_RUNS &&
	       agent_life(cluster, controller->manager) == controller->life;
}

static bool share_has_pairs(const struct cluster *cluster, __u32 device, __u32 agent)
{
	const struct share_controller *controller = share_controller(cluster, device);

	for (__u32 i = 1; i <= SHARE_QUEUES; i++)
		if (__atomic_load_n(&controller->pairs[i].claim, __ATOMIC_ACQUIRE) == agent + 1)
			return true;
	return false;
}

/*
 * Controllers first, windows next, memory last: what a controller may still do must end before others have the pages. Where no
 * manager lives its pairs cannot be deleted: they lie idle in the controller until it is reset, without windows.
 */
static void share_look_after(struct cluster *cluster, __u32 device, __u32 agent, bool patient)
{
	__u64 *dead_ns = &cluster->shares->dead_ns[agent], now = monotonic_ns();

	if (!share_has_pairs(cluster, device, agent) && !segments_left(cluster, agent))
		return;
	if (!__atomic_load_n(dead_ns, __ATOMIC_RELAXED))
		__atomic_store_n(dead_ns, now, __ATOMIC_RELAXED);
	if (share_managed(cluster, device)) {
		if (!manager_delete_pairs(cluster, device, agent))
			return;
	} else if (patient && now - *dead_ns < cluster->config->dead_ns) {
		return;
	}
	share_group_destroy(cluster, agent);
	segments_release(cluster, agent);
	access_user_set(cluster, device, agent, false);
	cluster_step(cluster, &(struct step){.step = STEP_CLIENT_DEAD,
					     .device = device,
					     .borrow = share_controller(cluster, device)->borrow,
					     .other_host = agent_info(cluster, agent)->host,
					     .took_ns = now - *dead_ns});
}

/* Its manager's host, or its lender, or where that is dead as well the first that lives. */
static __u32 share_cleaner(const struct cluster *cluster, __u32 device)
{
	__u32 host = cluster->config->devices[device].host;

	if (share_managed(cluster, device))
		return share_controller(cluster, device)->manager;
	for (__u32 i = 0;
	     agent_state(cluster, host) > AGENT_RUNS && i < cluster->config->host_count; i++)
		host = i;
	return host;
}

static void share_clean(struct cluster *cluster, bool last)
{
	for (__u32 i = cluster->config->host_count; i < agent_count(cluster); i++) {
		const struct agent_info *info = agent_info(cluster, i);
		__u32 device;

		if (info->kind != AGENT_CLIENT || agent_state(cluster, i) < AGENT_DONE)
			continue;
		device = cluster->config->clients[info->config].device;
		if (share_cleaner(cluster, device) == cluster->self)
			share_look_after(cluster, device, i, !last);
	}
}

void share_look(struct cluster *cluster)
{
	share_clean(cluster, false);
}

void share_end(struct cluster *cluster)
{
	share_clean(cluster, true);
}
