// SPDX-License-Identifier: GPL-2.0
/* Counters so far of a host's machine: its windows, paths, adapters and users. */
#include "injectors/cluster/seen_private.h"
#include "lib/base/clock.h"

static __u64 gauge_key(__u32 index, __u16 queue, __u8 code)
{
	return index | (__u64)queue << 32 | (__u64)code << 48;
}

static __u32 at_most(__u64 value, __u32 most)
{
	return value < most ? value : most;
}

static struct seen_record gauge(const struct cluster *cluster, __u32 kind, __u32 pasid)
{
	struct seen_record record = {.kind = kind};

	record.at[5] = pasid | (__u64)cluster->sights->run << 32;
	return record;
}

static void tell_adapter(struct cluster *cluster, __u32 adapter)
{
	struct seen_record record;
	struct ntb_stats stats;

	ntb_stats(cluster, adapter, &stats);
	record = gauge(cluster, EVENT_ADAPTER_STATE, stats.windows);
	record.at[0] = gauge_key(seen_adapter(cluster, adapter), QUEUE_NONE, 0);
	record.at[1] = (__u64)at_most(stats.lost_writes, SEEN_NONE) << 32 |
		       at_most(stats.all_ones, SEEN_NONE);
	record.at[2] = stats.bytes;
	record.at[3] = stats.bytes_mapped;
	record.at[4] = at_most(stats.windows_used, 0xffff) << 16 |
		       at_most(stats.windows_most, 0xffff) |
		       (__u64)(at_most(stats.requesters_used, 0xffff) << 16 |
			       at_most(stats.requesters, 0xffff))
			       << 32;
	seen_post(cluster, cluster->host, &record);
}

static void tell_path(struct cluster *cluster, __u32 device, enum path_purpose purpose, __u32 way)
{
	struct seen_record record;
	struct path_stats stats;

	if (!path_way_stats(cluster, device, purpose, way, &stats) || !stats.transactions)
		return;
	record = gauge(cluster, EVENT_PATH_STATE, at_most(stats.refused, SEEN_NONE));
	record.at[0] = gauge_key(seen_device(cluster, cluster->host, device), QUEUE_NONE, purpose);
	record.at[1] = (__u64)at_most(stats.lost_writes, SEEN_NONE) << 32 |
		       at_most(stats.all_ones, SEEN_NONE);
	record.at[2] = stats.pieces;
	record.at[3] = stats.bytes;
	record.at[4] = (__u32)stats.hops << 16 | at_most(stats.roots, 0xff) << 8 |
		       at_most(stats.crossings, 0xff) | (__u64)(__u32)stats.transactions << 32;
	seen_post(cluster, cluster->host, &record);
}

void seen_window_state(struct cluster *cluster, __u32 host, __u32 index)
{
	struct seen_gauges *g = seen_gauges(cluster, host, index);
	struct seen_record record = gauge(cluster, EVENT_WINDOW_STATE, PASID_NONE);

	if (!g || !atomic_load(&g->charged_most))
		return;
	record.at[0] = gauge_key(index, QUEUE_NONE, 0);
	record.at[1] = atomic_load(&g->window);
	record.at[2] = atomic_load(&g->charged_most);
	record.at[3] = atomic_load(&g->charged);
	record.at[4] = atomic_load(&g->borrow);
	seen_post(cluster, host, &record);
}

/* An agent is told of from its first I/O on or once it is over. */
static void tell_user(struct cluster *cluster, __u32 index, __u32 agent)
{
	const struct seen_gauges *g = seen_gauges(cluster, cluster->host, index);
	struct seen_record record;
	__u64 ended, now = monotonic_ns();
	bool over = false;

	if (!g)
		return;
	if (agent < agent_count(cluster)) /* SEEN_NONE: the host itself, of a device */
		over = agent_state(cluster, agent) > AGENT_RUNS;
	if (!atomic_load(&g->ios) && !atomic_load(&g->errors) && !over)
		return;
	ended = atomic_load(&g->ended_ns);
	record = gauge(cluster, EVENT_CLIENT_STATE,
		       ended && now > ended ? at_most((now - ended) / NSEC_PER_MSEC, PASID_NONE - 1)
					    : 0);
	record.at[0] = gauge_key(index, QUEUE_NONE, over);
	record.at[1] = atomic_load(&g->longest_ns);
	record.at[2] = atomic_load(&g->bytes);
	record.at[3] = atomic_load(&g->ios);
	record.at[4] = (__u64)at_most(atomic_load(&g->errors), SEEN_NONE) << 32;
	seen_post(cluster, cluster->host, &record);
}

static void tell_gauges(struct cluster *cluster, __u32 device)
{
	__u32 index = seen_device(cluster, cluster->host, device);

	if (index == SEEN_NONE)
		return;
	seen_window_state(cluster, cluster->host, index);
	tell_user(cluster, index, SEEN_NONE);
	if (cluster->config->devices[device].host != cluster->host)
		return;
	for (unsigned int purpose = 0; purpose < PURPOSES; purpose++)
		for (__u32 way = 0; way < PATH_WAYS; way++)
			tell_path(cluster, device, purpose, way);
}

void seen_gauges_fire(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;

	for (__u32 device = 0; device < config->device_count; device++)
		tell_gauges(cluster, device);
	for (__u32 node = 0; node < config->fabric->node_count; node++)
		if (config->fabric->nodes[node].kind == FABRIC_ADAPTER &&
		    config->fabric->nodes[node].host == cluster->host)
			tell_adapter(cluster, node);
	for (__u32 agent = config->host_count; agent < agent_count(cluster); agent++)
		if (agent_info(cluster, agent)->host == cluster->host &&
		    agent_info(cluster, agent)->kind != AGENT_TARGET) /* its I/Os are others' */
			tell_user(cluster, seen_agent(cluster, agent), agent);
}
