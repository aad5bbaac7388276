// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "injectors/cluster/futex.h"
#include "injectors/cluster/ntb_private.h"
#include "injectors/cluster/seen.h"
#include "lib/base/fail.h"

/* Breadth first from an adapter by cables and switches between hosts alone: how each node was come to. */
struct cable_search {
	const struct fabric *fabric;
	__u32 from[FABRIC_NODES_MAX]; /* node before; CLUSTER_NONE: not seen */
	__u32 link[FABRIC_NODES_MAX];
	__u32 queue[FABRIC_NODES_MAX];
	__u32 head, tail;
};

static void look_around(struct cable_search *search, __u32 node)
{
	const struct fabric *fabric = search->fabric;

	for (__u32 l = 0; l < fabric->link_count; l++) {
		const __u32 *ends = fabric->links[l].ends;
		__u32 next = ends[0] == node ? ends[1] : ends[0];

		if ((ends[0] != node && ends[1] != node) || search->from[next] != CLUSTER_NONE)
			continue;
		search->from[next] = node;
		search->link[next] = l;
		search->queue[search->tail++] = next;
	}
}

static void search_cables(struct cable_search *search, __u32 node)
{
	for (__u32 n = 0; n < search->fabric->node_count; n++)
		search->from[n] = CLUSTER_NONE;
	search->head = search->tail = 0;
	search->from[node] = node;
	look_around(search, node);
	while (search->head < search->tail) {
		__u32 next = search->queue[search->head++];

		if (search->fabric->nodes[next].kind == FABRIC_SWITCH)
			look_around(search, next);
	}
}

static int note_way(const struct cable_search *search, const struct ntb_adapter *near,
		    const struct ntb_adapter *far, struct ntb_way *way)
{
	if (search->from[far->node] == CLUSTER_NONE)
		return 0;
	for (__u32 n = far->node; n != near->node; n = search->from[n]) {
		if (way->count == NTB_WAY_LINKS)
			return failed(-E2BIG, "more than %u cables between two adapters",
				      NTB_WAY_LINKS);
		way->links[way->count++] = (__u16)search->link[n];
	}
	return 0;
}

int ntb_ways_create(struct cluster *cluster)
{
	struct ntbs *ntbs = cluster->ntbs;
	struct cable_search search;
	int err = 0;

	search.fabric = cluster->config->fabric;
	ntbs->ways = shared_alloc(cluster,
				  ((size_t)ntbs->count * ntbs->count + 1) * sizeof(*ntbs->ways));
	if (!ntbs->ways)
		return -ENOMEM;
	for (__u32 a = 0; !err && a < ntbs->count; a++) {
		struct ntb_adapter *near = &ntbs->adapters[a];

		search_cables(&search, near->node);
		for (__u32 b = 0; !err && b < ntbs->count; b++)
			if (b != a)
				err = note_way(&search, near, &ntbs->adapters[b],
					       &ntbs->ways[a * ntbs->count + b]);
		/* A network is named by the first adapter that is in it. */
		for (__u32 b = ntbs->count; b-- > 0;)
			if (b == a || search.from[ntbs->adapters[b].node] != CLUSTER_NONE)
				near->network = b + 1;
		if (ntbs->count && search.tail &&
		    search.fabric->nodes[search.queue[0]].kind != FABRIC_SWITCH)
			near->network = 0;
	}
	return err;
}

bool ntb_way_is_up(const struct cluster *cluster, __u32 near_index, __u32 far_index)
{
	const struct ntbs *ntbs = cluster->ntbs;
	const struct ntb_way *way = &ntbs->ways[near_index * ntbs->count + far_index];

	for (__u32 i = 0; i < way->count; i++)
		if (__atomic_load_n(&ntbs->down[way->links[i]], __ATOMIC_ACQUIRE))
			return false;
	return way->count > 0;
}

bool ntb_way_up(const struct cluster *cluster, __u32 adapter, __u32 far_adapter)
{
	const struct ntb_adapter *near = ntb_adapter(cluster, adapter);
	const struct ntb_adapter *far = ntb_adapter(cluster, far_adapter);
	const struct ntb_adapter *first = cluster->ntbs->adapters;

	return near && far && ntb_way_is_up(cluster, (__u32)(near - first), (__u32)(far - first));
}

__u32 ntb_far_adapter(const struct cluster *cluster, const struct ntb_adapter *adapter,
		      __u32 far_host)
{
	const struct ntbs *ntbs = cluster->ntbs;
	__u32 near = (__u32)(adapter - ntbs->adapters), best = CLUSTER_NONE;

	if (far_host >= cluster->config->host_count)
		return CLUSTER_NONE;
	for (__u32 i = ntbs->host_first[far_host]; i < ntbs->host_first[far_host + 1]; i++) {
		__u32 far = ntbs->host_adapters[i];

		if (ntb_way_is_up(cluster, near, far) &&
		    (best == CLUSTER_NONE || ntbs->ways[near * ntbs->count + far].count <
						     ntbs->ways[near * ntbs->count + best].count))
			best = far;
	}
	return best;
}

bool ntb_reaches(const struct cluster *cluster, __u32 host, __u32 far_host, __u32 adapter)
{
	const struct ntbs *ntbs = cluster->ntbs;

	if (host == far_host)
		return true;
	if (host >= cluster->config->host_count)
		return false;
	for (__u32 i = ntbs->host_first[host]; i < ntbs->host_first[host + 1]; i++) {
		const struct ntb_adapter *at = &ntbs->adapters[ntbs->host_adapters[i]];

		if ((adapter == CLUSTER_NONE || at->node == adapter) &&
		    ntb_far_adapter(cluster, at, far_host) != CLUSTER_NONE)
			return true;
	}
	return false;
}

static void link_tell(struct cluster *cluster, __u32 node, bool up, bool wiped)
{
	const struct cluster_truth truth = {
		.what = up ? "link_up" : "link_down",
		.agent = CLUSTER_NONE,
		.device = CLUSTER_NONE,
		.borrow = CLUSTER_NONE,
		.queue = CLUSTER_NONE,
		.value = wiped,
		.number = node,
	};

	truth_cluster(cluster, &truth);
	seen_link(cluster, node, up, wiped);
}

void ntb_link_set(struct cluster *cluster, __u32 link, bool up, bool wipe)
{
	const struct fabric *fabric = cluster->config->fabric;
	struct ntbs *ntbs = cluster->ntbs;

	if (link >= fabric->link_count)
		return;
	/* A link that comes back finds its tables empty; one that goes takes them first. */
	if (!up)
		__atomic_store_n(&ntbs->down[link], 1, __ATOMIC_SEQ_CST);
	for (int end = 0; end < 2; end++) {
		struct ntb_adapter *adapter = ntb_adapter(cluster, fabric->links[link].ends[end]);

		if (adapter && wipe) {
			ntb_windows_wipe(cluster, adapter);
			ntb_entries_wipe(cluster, adapter);
		}
	}
	if (up)
		__atomic_store_n(&ntbs->down[link], 0, __ATOMIC_SEQ_CST);
	for (int end = 0; end < 2; end++)
		if (ntb_adapter(cluster, fabric->links[link].ends[end]))
			link_tell(cluster, fabric->links[link].ends[end], up, wipe);
	shared_counter_add(&ntbs->events);
}

bool ntb_link_up(const struct cluster *cluster, __u32 link)
{
	return link < cluster->config->fabric->link_count &&
	       !__atomic_load_n(&cluster->ntbs->down[link], __ATOMIC_ACQUIRE);
}

__u32 ntb_link_events(const struct cluster *cluster)
{
	return shared_counter(&cluster->ntbs->events);
}

int ntb_link_wait(const struct cluster *cluster, __u32 seen, __u64 timeout_ns)
{
	return shared_counter_wait(&cluster->ntbs->events, seen, timeout_ns);
}
