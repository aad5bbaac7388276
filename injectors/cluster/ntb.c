// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/ntb.h"

#include <errno.h>
#include <string.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/ntb_private.h"
#include "lib/base/fail.h"

static int adapter_check(const struct fabric_node *node)
{
	__u64 window = node->windows ? node->bar_bytes / node->windows : 0;

	if (window < 4096 || window % 4096 || window * node->windows != node->bar_bytes ||
	    node->bar_bytes & (node->bar_bytes - 1))
		return failed(
			-EINVAL,
			"%s: a BAR of %llu bytes in %u windows: accepted: a power of two, and "
			"windows of whole pages",
			node->name, node->bar_bytes, node->windows);
	if (node->requesters <= NTB_CPU_ENTRIES || node->requesters > NTB_REQUESTERS_MAX)
		return failed(-EINVAL, "%s: %u requesters: accepted: %u to %u", node->name,
			      node->requesters, NTB_CPU_ENTRIES + 1, NTB_REQUESTERS_MAX);
	return 0;
}

static int adapter_create(struct cluster *cluster, struct ntb_adapter *adapter, __u32 index)
{
	const struct fabric_node *node = &cluster->config->fabric->nodes[index];
	int err = adapter_check(node);

	if (err)
		return err;
	adapter->node = index;
	adapter->host = node->host;
	adapter->bar_bytes = node->bar_bytes;
	adapter->windows = node->windows;
	adapter->window_bytes = node->bar_bytes / node->windows;
	adapter->requesters = node->requesters;
	adapter->lut = shared_alloc(cluster, node->windows * sizeof(*adapter->lut));
	adapter->slots = shared_alloc(cluster, node->windows * sizeof(*adapter->slots));
	return adapter->lut && adapter->slots ? 0 : -ENOMEM;
}

/* A BAR lies at a multiple of its size: largest first, nothing is wasted. */
static int place_bars(struct cluster *cluster, __u32 host, bool high)
{
	struct ntbs *ntbs = cluster->ntbs;
	__u64 next = high ? BUS_HIGH_MMIO : BUS_LOW_MMIO, below = ~0ull;

	for (;;) {
		__u64 largest = 0;

		for (__u32 i = 0; i < ntbs->count; i++) {
			const struct ntb_adapter *at = &ntbs->adapters[i];

			if (at->host == host && at->bar_bytes < below && at->bar_bytes > largest &&
			    cluster->config->fabric->nodes[at->node].bar_high == high)
				largest = at->bar_bytes;
		}
		if (!largest)
			break;
		next = (next + largest - 1) / largest * largest;
		for (__u32 i = 0; i < ntbs->count; i++) {
			struct ntb_adapter *at = &ntbs->adapters[i];

			if (at->host != host || at->bar_bytes != largest ||
			    cluster->config->fabric->nodes[at->node].bar_high != high)
				continue;
			at->bar = next;
			next += largest;
			if (!high && next > MSI_ADDRESS)
				return failed(
					-ENOSPC,
					"%s: its BAR of %llu bytes does not fit below 4 GiB of "
					"%s: accepted: a smaller one, or high",
					ntb_name(cluster, at), largest,
					cluster->config->hosts[host].name);
		}
		below = largest;
	}
	ntbs->ends[host][high] = next;
	return 0;
}

/* Those of a host one after the other, for who looks for an address. */
static void index_by_host(struct cluster *cluster)
{
	struct ntbs *ntbs = cluster->ntbs;
	__u32 n = 0;

	for (__u32 h = 0; h < CLUSTER_HOSTS_MAX; h++) {
		ntbs->host_first[h] = n;
		for (__u32 i = 0; i < ntbs->count; i++)
			if (ntbs->adapters[i].host == h)
				ntbs->host_adapters[n++] = i;
	}
	ntbs->host_first[CLUSTER_HOSTS_MAX] = n;
}

static int adapters_create(struct cluster *cluster)
{
	const struct fabric *fabric = cluster->config->fabric;
	struct ntbs *ntbs = cluster->ntbs;
	int err = 0;

	for (__u32 n = 0; !err && n < fabric->node_count; n++) {
		ntbs->index[n] = CLUSTER_NONE;
		if (fabric->nodes[n].kind != FABRIC_ADAPTER)
			continue;
		ntbs->index[n] = ntbs->count;
		err = adapter_create(cluster, &ntbs->adapters[ntbs->count++], n);
	}
	for (__u32 h = 0; !err && h < cluster->config->host_count; h++) {
		err = place_bars(cluster, h, false);
		if (!err)
			err = place_bars(cluster, h, true);
	}
	return err;
}

int ntbs_create(struct cluster *cluster)
{
	const struct fabric *fabric = cluster->config->fabric;
	struct ntbs *ntbs = shared_alloc(cluster, sizeof(*ntbs));
	int err;

	if (!ntbs)
		return -ENOMEM;
	cluster->ntbs = ntbs;
	ntbs->adapters = shared_alloc(cluster, (fabric->node_count + 1) * sizeof(*ntbs->adapters));
	ntbs->host_adapters =
		shared_alloc(cluster, (fabric->node_count + 1) * sizeof(*ntbs->host_adapters));
	ntbs->index = shared_alloc(cluster, (fabric->node_count + 1) * sizeof(*ntbs->index));
	ntbs->down = shared_alloc(cluster, (fabric->link_count + 1) * sizeof(*ntbs->down));
	if (!ntbs->adapters || !ntbs->host_adapters || !ntbs->index || !ntbs->down)
		return -ENOMEM;
	err = adapters_create(cluster);
	if (err)
		return err;
	index_by_host(cluster);
	return ntb_ways_create(cluster);
}

struct ntb_adapter *ntb_adapter(const struct cluster *cluster, __u32 node)
{
	const struct ntbs *ntbs = cluster->ntbs;
	__u32 index = node < cluster->config->fabric->node_count ? ntbs->index[node] : CLUSTER_NONE;

	return index == CLUSTER_NONE ? NULL : &ntbs->adapters[index];
}

const char *ntb_name(const struct cluster *cluster, const struct ntb_adapter *adapter)
{
	return cluster->config->fabric->nodes[adapter->node].name;
}

__u64 ntb_claim(struct cluster *cluster, __u32 owner, __u32 *id)
{
	*id = __atomic_add_fetch(&cluster->ntbs->next_id, 1, __ATOMIC_RELAXED);
	return (__u64)(owner + 1) << 32 | *id;
}

__u64 ntb_bars_end(const struct cluster *cluster, __u32 host, bool high)
{
	return cluster->ntbs->ends[host][high];
}

static void hit_slot(const struct cluster *cluster, const struct ntb_adapter *adapter,
		     __u32 requester, __u64 offset, struct ntb_hit *hit)
{
	const struct ntbs *ntbs = cluster->ntbs;
	__u64 word =
		__atomic_load_n(&adapter->lut[offset / adapter->window_bytes], __ATOMIC_ACQUIRE);
	__u32 index = LUT_ADAPTER(word), slot = 0;

	hit->adapter = adapter->node;
	hit->run = adapter->window_bytes - offset % adapter->window_bytes;
	hit->far = LUT_FAR(word) + offset % adapter->window_bytes;
	hit->lost = true;
	hit->far_adapter = hit->far_host = hit->requester = CLUSTER_NONE;
	if (!(word & LUT_VALID) || index >= ntbs->count)
		return;
	hit->far_adapter = ntbs->adapters[index].node;
	hit->far_host = ntbs->adapters[index].host;
	if (requester != REQUESTER_CPU)
		slot = ntb_entry_of(cluster, adapter, requester);
	if (slot == CLUSTER_NONE)
		return;
	hit->requester = REQUESTER_ENTRY(
		adapter->node, slot,
		requester == REQUESTER_CPU ? 0 : function_number(cluster, requester));
	hit->lost = !ntb_way_is_up(cluster, (__u32)(adapter - ntbs->adapters), index);
}

bool ntb_hit(const struct cluster *cluster, __u32 host, __u32 requester, __u64 address,
	     struct ntb_hit *hit)
{
	const struct ntbs *ntbs = cluster->ntbs;

	for (__u32 i = ntbs->host_first[host]; i < ntbs->host_first[host + 1]; i++) {
		const struct ntb_adapter *adapter = &ntbs->adapters[ntbs->host_adapters[i]];

		if (address - adapter->bar >= adapter->bar_bytes)
			continue;
		hit_slot(cluster, adapter, requester, address - adapter->bar, hit);
		return true;
	}
	return false;
}

void ntb_count(struct cluster *cluster, __u32 adapter, __u64 bytes, __u64 lost_writes,
	       __u64 all_ones)
{
	struct ntb_adapter *at = ntb_adapter(cluster, adapter);

	if (!at)
		return;
	__atomic_add_fetch(&at->bytes, bytes, __ATOMIC_RELAXED);
	if (lost_writes)
		__atomic_add_fetch(&at->lost_writes, lost_writes, __ATOMIC_RELAXED);
	if (all_ones)
		__atomic_add_fetch(&at->all_ones, all_ones, __ATOMIC_RELAXED);
}

__u32 ntb_release(struct cluster *cluster, __u32 agent)
{
	peers_release(cluster, agent);
	ntb_entries_release(cluster, agent);
	ntb_groups_release(cluster, agent);
	return ntb_windows_release(cluster, agent);
}

__u32 ntb_generation(const struct cluster *cluster, __u32 adapter)
{
	const struct ntb_adapter *at = ntb_adapter(cluster, adapter);

	return at ? __atomic_load_n(&at->generation, __ATOMIC_ACQUIRE) : 0;
}

void ntb_stats(const struct cluster *cluster, __u32 adapter, struct ntb_stats *stats)
{
	const struct ntb_adapter *at = ntb_adapter(cluster, adapter);

	memset(stats, 0, sizeof(*stats));
	if (!at)
		return;
	stats->windows = at->windows;
	stats->windows_used = ntb_windows_used(at);
	stats->windows_most = __atomic_load_n(&at->windows_most, __ATOMIC_RELAXED);
	stats->requesters = at->requesters;
	stats->requesters_used = ntb_entries_used(at);
	for (__u32 s = 0; s < at->windows; s++)
		if (__atomic_load_n(&at->slots[s].claim, __ATOMIC_ACQUIRE))
			stats->bytes_mapped +=
				__atomic_load_n(&at->slots[s].bytes, __ATOMIC_RELAXED);
	stats->bytes = __atomic_load_n(&at->bytes, __ATOMIC_RELAXED);
	stats->lost_writes = __atomic_load_n(&at->lost_writes, __ATOMIC_RELAXED);
	stats->all_ones = __atomic_load_n(&at->all_ones, __ATOMIC_RELAXED);
}

void ntb_pretend_full(struct cluster *cluster, __u32 adapter, bool windows, bool requesters)
{
	struct ntb_adapter *at = ntb_adapter(cluster, adapter);

	if (!at)
		return;
	__atomic_store_n(&at->windows_full, windows, __ATOMIC_RELAXED);
	__atomic_store_n(&at->requesters_full, requesters, __ATOMIC_RELAXED);
}
