// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "injectors/cluster/access_private.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/seen.h"
#include "lib/base/fail.h"

#define ROUTE_SLOTS  4096u
#define ROUTE_PROBES 8u

struct access_counter {
	__u64 way; /* 0: of none yet; WAY_USED | hops << 32 | roots << 16 | crossings */
	__u64 transactions, bytes, pieces, lost_writes, all_ones, refused;
};
#define WAY_USED (1ull << 63)

/* A way that was searched for once. Who is killed while he writes leaves a slot that nobody uses. */
struct route_slot {
	__u64 key; /* 0: free, 1: being written */
	struct route route;
};
#define ROUTE_WRITING 1u

int access_counts_create(struct cluster *cluster)
{
	struct accesses *accesses = shared_alloc(cluster, sizeof(*accesses));
	__u32 devices = cluster->config->device_count + 1;

	if (!accesses)
		return -ENOMEM;
	cluster->accesses = accesses;
	accesses->paths = shared_alloc(cluster, (size_t)devices * PURPOSES * PATH_WAYS *
							sizeof(*accesses->paths));
	accesses->users = shared_alloc(cluster, devices * sizeof(*accesses->users));
	accesses->stray_bytes = shared_alloc(cluster, devices * sizeof(*accesses->stray_bytes));
	accesses->routes = shared_alloc(cluster, ROUTE_SLOTS * sizeof(*accesses->routes));
	if (!accesses->paths || !accesses->users || !accesses->stray_bytes || !accesses->routes)
		return -ENOMEM;
	return peers_create(cluster);
}

static int route_search_for(const struct cluster *cluster, const struct access_tally *tally,
			    struct route *route)
{
	const __u32 through[2] = {tally->near, tally->far};

	if (tally->near == CLUSTER_NONE)
		return route_find(cluster->config->fabric, tally->from->node, tally->to, true, NULL,
				  route);
	return route_through(cluster->config->fabric, tally->from->node, tally->to, true, through,
			     2, route);
}

/* The way of what is being counted; `own` is used where there is no room for it. NULL: there is none. */
static const struct route *route_of(const struct access_tally *tally, struct route *own)
{
	struct route_slot *routes = tally->cluster->accesses->routes;
	__u64 key = 1ull << 63 | (__u64)(tally->from->node & 0x3ff) << 40 |
		    (__u64)(tally->to & 0x3ff) << 30 | (__u64)(tally->near & 0x7ff) << 15 |
		    (tally->far & 0x7ff);
	__u64 at = key * 0x9e3779b97f4a7c15ull >> 40;

	for (__u32 i = 0; i < ROUTE_PROBES; i++) {
		struct route_slot *slot = &routes[(at + i) % ROUTE_SLOTS];
		__u64 there = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);

		if (there == key)
			return slot->route.count ? &slot->route : NULL;
		if (there || !__atomic_compare_exchange_n(&slot->key, &there, ROUTE_WRITING, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (route_search_for(tally->cluster, tally, &slot->route))
			slot->route.count = 0;
		__atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
		return slot->route.count ? &slot->route : NULL;
	}
	return route_search_for(tally->cluster, tally, own) ? NULL : own;
}

void tally_begin(struct access_tally *tally, struct cluster *cluster, const struct initiator *from,
		 enum path_purpose purpose, bool write, __u64 address)
{
	*tally = (struct access_tally){
		.cluster = cluster,
		.from = from,
		.purpose = purpose,
		.write = write,
		.address = address,
		.device = from->device,
		.borrow = from->borrow,
		.to = CLUSTER_NONE,
		.lost_adapter = CLUSTER_NONE,
	};
	tally->result.far_host = from->host;
}

/* Prices what has gone one way. */
void tally_way(struct access_tally *tally)
{
	struct cluster *cluster = tally->cluster;
	struct transaction_cost cost;
	struct route own;
	const struct route *route;

	if (!tally->bytes)
		return;
	if (!tally->again) {
		ntb_count(cluster, tally->near, tally->bytes, 0, 0);
		tally->all_bytes += tally->bytes;
	}
	route = route_of(tally, &own);
	if (route) {
		const struct transaction transaction = {route, tally->write, tally->bytes};

		fabric_cost(cluster->config->fabric, cluster->costs, &transaction, &cost);
		tally->result.hops = route->hops;
		tally->result.roots = route->roots;
		tally->result.crossings = route->crossings;
		tally->result.pieces += tally->write ? 0 : cost.pieces;
		tally->result.model_ns += cost.total_ns;
		tally->result.follow_ns += cost.total_ns - cost.first_ns;
	}
	tally->bytes = 0;
}

static __u32 landing_node(const struct cluster *cluster, const struct landing *landing)
{
	if (landing->kind == LAND_BAR)
		return cluster->config->devices[function_device(cluster, landing->function)].node;
	return cluster->config->hosts[landing->host].root;
}

void tally_add(struct access_tally *tally, const struct landing *landing, __u64 address,
	       __u64 bytes)
{
	enum access_status status = landing->status;
	__u32 to;

	if (tally->device == CLUSTER_NONE && landing->function != CLUSTER_NONE &&
	    landing->kind != LAND_MSI)
		tally->device = function_device(tally->cluster, landing->function);
	if (status == ACCESS_LOST && !tally->write)
		status = ACCESS_ALL_ONES;
	if (status > tally->result.status)
		tally->result.status = status;
	if (status != ACCESS_DONE) {
		if (!tally->lost_bytes) {
			tally->lost_address = address;
			tally->lost_adapter = landing->near;
		}
		tally->lost_bytes += bytes;
		return;
	}
	to = landing_node(tally->cluster, landing);
	if (to != tally->to || landing->near != tally->near || landing->far != tally->far)
		tally_way(tally);
	tally->to = to;
	tally->near = landing->near;
	tally->far = landing->far;
	tally->bytes += bytes;
	tally->result.far_host = landing->host;
}

static struct access_counter *ways_of(const struct cluster *cluster, __u32 device,
				      enum path_purpose purpose)
{
	return &cluster->accesses->paths[((size_t)device * PURPOSES + purpose) * PATH_WAYS];
}

static struct access_counter *way_of(struct access_counter *ways,
				     const struct access_result *result)
{
	__u64 way = WAY_USED | (__u64)result->hops << 32 | (__u64)result->roots << 16 |
		    result->crossings;

	for (__u32 w = 0; w < PATH_WAYS - 1; w++) {
		__u64 there = __atomic_load_n(&ways[w].way, __ATOMIC_RELAXED);

		if (there == way ||
		    (!there && (__atomic_compare_exchange_n(&ways[w].way, &there, way, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
				there == way)))
			return &ways[w];
	}
	__atomic_store_n(&ways[PATH_WAYS - 1].way, way, __ATOMIC_RELAXED);
	return &ways[PATH_WAYS - 1];
}

static void count_in(struct access_counter *path, const struct access_tally *tally)
{
	const struct access_result *result = &tally->result;

	__atomic_add_fetch(&path->transactions, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&path->bytes, tally->all_bytes, __ATOMIC_RELAXED);
	if (result->pieces)
		__atomic_add_fetch(&path->pieces, result->pieces, __ATOMIC_RELAXED);
	if (!tally->lost_bytes)
		return;
	if (result->status == ACCESS_REFUSED)
		__atomic_add_fetch(&path->refused, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(tally->write ? &path->lost_writes : &path->all_ones, 1,
			   __ATOMIC_RELAXED);
}

static void tell_lost(const struct access_tally *tally)
{
	const struct cluster_truth truth = {
		.what = tally->write ? "lost_write" : "all_ones",
		.agent = tally->cluster->self,
		.device = tally->device,
		.borrow = tally->borrow,
		.queue = CLUSTER_NONE,
		.address = tally->lost_address,
		.length = tally->lost_bytes,
		.code = tally->result.status == ACCESS_REFUSED,
		.number = tally->lost_adapter,
	};

	ntb_count(tally->cluster, tally->lost_adapter, 0, tally->write, !tally->write);
	truth_cluster(tally->cluster, &truth);
}

void tally_end(struct access_tally *tally, struct access_result *result)
{
	struct cluster *cluster = tally->cluster;

	tally_way(tally);
	if (tally->device < cluster->config->device_count && tally->purpose < PURPOSES)
		count_in(way_of(ways_of(cluster, tally->device, tally->purpose), &tally->result),
			 tally);
	if (tally->lost_bytes)
		tell_lost(tally);
	if (result)
		*result = tally->result;
}

bool path_way_stats(const struct cluster *cluster, __u32 device, enum path_purpose purpose,
		    __u32 way, struct path_stats *stats)
{
	const struct access_counter *path = &ways_of(cluster, device, purpose)[way];
	__u64 key = __atomic_load_n(&path->way, __ATOMIC_RELAXED);

	*stats = (struct path_stats){
		.transactions = __atomic_load_n(&path->transactions, __ATOMIC_RELAXED),
		.bytes = __atomic_load_n(&path->bytes, __ATOMIC_RELAXED),
		.pieces = __atomic_load_n(&path->pieces, __ATOMIC_RELAXED),
		.lost_writes = __atomic_load_n(&path->lost_writes, __ATOMIC_RELAXED),
		.all_ones = __atomic_load_n(&path->all_ones, __ATOMIC_RELAXED),
		.refused = __atomic_load_n(&path->refused, __ATOMIC_RELAXED),
		.hops = (__u16)(key >> 32),
		.roots = (__u16)(key >> 16),
		.crossings = (__u16)key,
	};
	return key;
}

void path_stats(const struct cluster *cluster, __u32 device, enum path_purpose purpose,
		struct path_stats *stats)
{
	struct path_stats one;

	*stats = (struct path_stats){};
	for (__u32 w = 0; w < PATH_WAYS && path_way_stats(cluster, device, purpose, w, &one); w++) {
		stats->transactions += one.transactions;
		stats->bytes += one.bytes;
		stats->pieces += one.pieces;
		stats->lost_writes += one.lost_writes;
		stats->all_ones += one.all_ones;
		stats->refused += one.refused;
		if (one.hops < stats->hops)
			continue;
		stats->hops = one.hops;
		stats->roots = one.roots;
		stats->crossings = one.crossings;
	}
}

void access_user_set(struct cluster *cluster, __u32 device, __u32 agent, bool may)
{
	__u64 *words = cluster->accesses->users[device];

	if (agent >= CLUSTER_AGENTS_MAX)
		return;
	if (may)
		__atomic_or_fetch(&words[agent / 64], 1ull << (agent % 64), __ATOMIC_ACQ_REL);
	else
		__atomic_and_fetch(&words[agent / 64], ~(1ull << (agent % 64)), __ATOMIC_ACQ_REL);
}

static bool user_may(const struct cluster *cluster, __u32 device, __u32 agent)
{
	const __u64 *words = cluster->accesses->users[device];
	__u64 any = 0;

	for (int w = 0; w < 3; w++)
		any |= __atomic_load_n(&words[w], __ATOMIC_ACQUIRE);
	return !any ||
	       (agent < CLUSTER_AGENTS_MAX &&
		(__atomic_load_n(&words[agent / 64], __ATOMIC_ACQUIRE) >> (agent % 64) & 1));
}

void stray_check(struct cluster *cluster, const struct initiator *from,
		 const struct landing *landing, __u64 bytes)
{
	struct cluster_truth truth;
	__u32 owner;

	if (from->requester == REQUESTER_CPU || from->device >= cluster->config->device_count)
		return;
	owner = host_memory_owner(cluster, landing->host, landing->address);
	if (owner != CLUSTER_NONE && user_may(cluster, from->device, owner))
		return;
	__atomic_add_fetch(&cluster->accesses->stray_bytes[from->device], bytes, __ATOMIC_RELAXED);
	truth = (struct cluster_truth){
		.what = "stray_dma",
		.agent = owner,
		.device = from->device,
		.borrow = from->borrow,
		.queue = CLUSTER_NONE,
		.address = landing->address,
		.length = bytes,
		.number = landing->host,
	};
	truth_cluster(cluster, &truth);
	seen_stray(cluster, from->device, from->borrow, landing->host, landing->address, bytes);
}

__u64 access_stray_bytes(const struct cluster *cluster, __u32 device)
{
	return __atomic_load_n(&cluster->accesses->stray_bytes[device], __ATOMIC_RELAXED);
}
