// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "injectors/cluster/access_private.h"
#include "injectors/cluster/agent.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/fail.h"

#define PEERS 256u

/* What one function reaches another's BAR by. */
struct peer_window {
	__u64 claim; /* owner + 1 << 32 | id; 0: free */
	__u32 source, target, bar, borrow;
	bool requester;		  /* has an entry by the window's adapter */
	struct ntb_window window; /* bytes 0: none, the same host */
	__u32 domain, far_domain; /* of the source's host and the target's; 0: nothing mapped */
	__u64 address, bytes;	  /* for the source */
};

int peers_create(struct cluster *cluster)
{
	cluster->accesses->peers = shared_alloc(cluster, PEERS * sizeof(struct peer_window));
	return cluster->accesses->peers ? 0 : -ENOMEM;
}

static struct peer_window *peer_claim(struct cluster *cluster)
{
	for (__u32 p = 0; p < PEERS; p++) {
		struct peer_window *peer = &cluster->accesses->peers[p];
		__u64 nobody = 0, claim = (__u64)(cluster->self + 1) << 32 | 1;

		if (!__atomic_compare_exchange_n(&peer->claim, &nobody, claim, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		*peer = (struct peer_window){.claim = claim};
		return peer;
	}
	return NULL;
}

static void peer_drop(struct cluster *cluster, struct peer_window *peer)
{
	__u32 host = function_host(cluster, peer->source);

	if (peer->domain)
		host_iommu_unmap(cluster, host, peer->domain, peer->address, peer->bytes,
				 function_device(cluster, peer->source));
	if (peer->far_domain)
		host_iommu_unmap(cluster, peer->window.far_host, peer->far_domain, peer->window.far,
				 peer->bytes, function_device(cluster, peer->source));
	if (peer->window.bytes)
		ntb_unmap(cluster, &peer->window);
	if (peer->requester)
		ntb_requester_remove(cluster, peer->window.adapter, peer->window.far_host,
				     peer->source);
	__atomic_store_n(&peer->claim, 0, __ATOMIC_RELEASE);
}

/* An adapter of the source's host that leads there; CLUSTER_NONE: none. The first in the job's order. */
static __u32 adapter_towards(const struct cluster *cluster, __u32 host, __u32 far_host)
{
	const struct fabric *fabric = cluster->config->fabric;

	for (__u32 n = 0; n < fabric->node_count; n++)
		if (fabric->nodes[n].kind == FABRIC_ADAPTER && fabric->nodes[n].host == host &&
		    ntb_reaches(cluster, host, far_host, n))
			return n;
	return CLUSTER_NONE;
}

/* Where the target's host translates what comes from the source, its BAR has to be there, at its own address. */
static int map_far(struct cluster *cluster, struct peer_window *peer)
{
	__u32 host = peer->window.far_host, seen, domain;
	int err;

	if (!cluster->config->hosts[host].iommu)
		return 0;
	seen = ntb_requester_seen(cluster, peer->window.adapter, host, peer->source);
	domain = host_iommu_domain_of(cluster, host, seen);
	if (!domain || domain == HOST_IOMMU_BLOCKED)
		return 0;
	err = host_iommu_map(cluster, host, domain, peer->window.far, peer->window.far, peer->bytes,
			     HOST_IOMMU_READ | HOST_IOMMU_WRITE,
			     function_device(cluster, peer->source));
	if (!err)
		peer->far_domain = domain;
	return err == -EEXIST ? 0 : err;
}

static int peer_map_window(struct cluster *cluster, struct peer_window *peer, __u64 mask)
{
	__u32 host = function_host(cluster, peer->source);
	__u32 far_host = function_host(cluster, peer->target);
	const struct ntb_window wanted = {
		.adapter = adapter_towards(cluster, host, far_host),
		.kind = WINDOW_PEER,
		.far_host = far_host,
		.far = function_bar_address(cluster, peer->target, peer->bar),
		.bytes = peer->bytes,
		.owner = cluster->self,
		.borrow = peer->borrow,
	};
	int err;

	if (wanted.adapter == CLUSTER_NONE)
		return failed(-ENETUNREACH, "%s has no adapter with a way that is up to %s",
			      cluster->config->hosts[host].name,
			      cluster->config->hosts[far_host].name);
	err = ntb_map(cluster, &wanted, mask, &peer->window);
	if (err) {
		peer->window.bytes = 0;
		return err;
	}
	err = ntb_requester_add(cluster, wanted.adapter, far_host, peer->source, cluster->self);
	if (err)
		return err;
	peer->requester = true;
	peer->address = peer->window.address;
	err = map_far(cluster, peer);
	cluster_step(cluster, &(struct step){.step = STEP_PEER_WINDOW,
					     .device = function_device(cluster, peer->source),
					     .borrow = peer->borrow,
					     .other_host = far_host,
					     .address = peer->address,
					     .error = -err});
	return err;
}

/* Where the source's own host translates it, the address is one of its domain: the same, or the guest's own. */
static int map_near(struct cluster *cluster, struct peer_window *peer, __u64 wanted)
{
	__u32 host = function_host(cluster, peer->source);
	__u32 domain = host_iommu_domain_of(cluster, host, REQUESTER_FUNCTION(peer->source));
	__u64 bus = peer->address;
	int err;

	if (!cluster->config->hosts[host].iommu || !domain || domain == HOST_IOMMU_BLOCKED)
		return wanted && wanted != bus
			       ? failed(-EINVAL,
					"no IOMMU of %s has function %u in a domain: "
					"its peer cannot be at 0x%llx",
					cluster->config->hosts[host].name, peer->source, wanted)
			       : 0;
	if (wanted)
		peer->address = wanted;
	err = host_iommu_map(cluster, host, domain, peer->address, bus, peer->bytes,
			     HOST_IOMMU_READ | HOST_IOMMU_WRITE,
			     function_device(cluster, peer->source));
	if (!err)
		peer->domain = domain;
	return err;
}

static struct peer_window *peer_find(const struct cluster *cluster, __u32 source, __u32 target,
				     __u32 bar, __u32 borrow)
{
	for (__u32 p = 0; p < PEERS; p++) {
		struct peer_window *peer = &cluster->accesses->peers[p];

		if (__atomic_load_n(&peer->claim, __ATOMIC_ACQUIRE) && peer->source == source &&
		    peer->target == target && peer->bar == bar && peer->borrow == borrow)
			return peer;
	}
	return NULL;
}

static int peer_map(struct cluster *cluster, struct peer_window *peer, __u64 wanted)
{
	__u32 host = function_host(cluster, peer->source);
	__u32 bits = cluster->config->devices[function_device(cluster, peer->source)].address_bits;
	__u64 mask = bits && bits < 64 ? (1ull << bits) - 1 : ~0ull;
	bool translated = cluster->config->hosts[host].iommu &&
			  host_iommu_domain_of(cluster, host, REQUESTER_FUNCTION(peer->source));
	int err = 0;

	peer->bytes = function_bar_bytes(cluster, peer->target, peer->bar);
	if (host == function_host(cluster, peer->target))
		peer->address = function_bar_address(cluster, peer->target, peer->bar);
	else
		err = peer_map_window(cluster, peer, translated ? ~0ull : mask);
	if (!err)
		err = map_near(cluster, peer, wanted);
	if (!err && (peer->address > mask || mask - peer->address < peer->bytes - 1))
		err = failed(-ERANGE,
			     "the peer's BAR at 0x%llx is above 0x%llx, what function %u can "
			     "address",
			     peer->address, mask, peer->source);
	return err;
}

int peer_resolve_at(struct cluster *cluster, __u32 source_function, __u32 target_function,
		    __u32 bar, __u32 borrow, __u64 wanted, __u64 *address)
{
	struct peer_window *peer;
	int err;

	if (!function_bar_bytes(cluster, target_function, bar))
		return failed(-EINVAL, "function %u has no BAR %u", target_function, bar);
	if (lend_state(cluster, source_function) == LEND_UNREGISTERED)
		return failed(
			-EPERM,
			"function %u is not registered: accepted as a source: devices that are "
			"lent or can be",
			source_function);
	peer = peer_find(cluster, source_function, target_function, bar, borrow);
	if (peer && (!peer->window.bytes || ntb_mapped(cluster, &peer->window))) {
		*address = peer->address;
		return 0;
	}
	if (peer)
		peer_drop(cluster, peer);
	peer = peer_claim(cluster);
	if (!peer)
		return failed(-ENOSPC, "all %u peers are in use", PEERS);
	peer->source = source_function;
	peer->target = target_function;
	peer->bar = bar;
	peer->borrow = borrow;
	err = peer_map(cluster, peer, wanted);
	if (err)
		peer_drop(cluster, peer);
	else
		*address = peer->address;
	return err;
}

int peer_resolve(struct cluster *cluster, __u32 source_function, __u32 target_function, __u32 bar,
		 __u32 borrow, __u64 *address)
{
	return peer_resolve_at(cluster, source_function, target_function, bar, borrow, 0, address);
}

void peer_release(struct cluster *cluster, __u32 source_function, __u32 borrow)
{
	for (__u32 p = 0; p < PEERS; p++) {
		struct peer_window *peer = &cluster->accesses->peers[p];

		if (__atomic_load_n(&peer->claim, __ATOMIC_ACQUIRE) &&
		    peer->source == source_function && peer->borrow == borrow)
			peer_drop(cluster, peer);
	}
}

void peers_release(struct cluster *cluster, __u32 agent)
{
	for (__u32 p = 0; p < PEERS; p++) {
		struct peer_window *peer = &cluster->accesses->peers[p];
		__u64 claim = __atomic_load_n(&peer->claim, __ATOMIC_ACQUIRE);

		if (claim && (__u32)(claim >> 32) == agent + 1)
			peer_drop(cluster, peer);
	}
}
