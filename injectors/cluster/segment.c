// SPDX-License-Identifier: GPL-2.0
/* Memory that is registered with the cluster: where it lies, whose it is, and who may name it to what. */
#include <errno.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/share_private.h"
#include "lib/base/fail.h"

static __u64 page_rounded(__u64 bytes)
{
	return (bytes + HOST_PAGE - 1) & ~(__u64)(HOST_PAGE - 1);
}

static struct segment_slot *segment_claim(struct cluster *cluster)
{
	for (__u32 i = 0; i < SEGMENTS_MAX; i++) {
		struct segment_slot *slot = &cluster->shares->segments[i];
		__u32 none = 0;

		if (__atomic_compare_exchange_n(&slot->claim, &none, cluster->self + 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return slot;
	}
	return NULL;
}

/* Cleared last: who finds it claimed by a dead agent does all of this again. */
static void segment_unclaim(struct segment_slot *slot)
{
	__atomic_store_n(&slot->live, 0, __ATOMIC_RELEASE);
	for (__u32 i = 0; i < SEGMENT_MAPS; i++)
		__atomic_store_n(&slot->maps[i].kind, SEGMENT_MAP_NONE, __ATOMIC_RELEASE);
	slot->group = 0;
	__atomic_store_n(&slot->claim, 0, __ATOMIC_RELEASE);
}

static int peer_alloc(struct cluster *cluster, __u32 peer, __u64 bytes, struct segment *segment)
{
	__u32 function = function_of(cluster, peer, 0);
	__u64 bar = function_bar_bytes(cluster, function, FUNCTION_MEMORY_BAR);
	struct share_controller *controller = share_controller(cluster, peer);

	if (bytes > SEGMENT_PEER_BYTES || !bar)
		return failed(
			-EINVAL,
			"%llu bytes in a peer's memory: accepted: at most %u, of an accelerator",
			(unsigned long long)bytes, SEGMENT_PEER_BYTES);
	for (__u32 i = 0; i < SHARE_PEER_SLOTS && (i + 1ull) * SEGMENT_PEER_BYTES <= bar / 2; i++) {
		__u32 none = 0;

		if (!__atomic_compare_exchange_n(&controller->peer_claims[i], &none,
						 cluster->self + 1, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		segment->host = function_host(cluster, function);
		segment->address = function_bar_address(cluster, function, FUNCTION_MEMORY_BAR) +
				   bar - (i + 1ull) * SEGMENT_PEER_BYTES;
		return 0;
	}
	return failed(-ENOSPC, "no room for a segment is left in the memory of %s",
		      cluster->config->devices[peer].name);
}

static void peer_free(struct cluster *cluster, __u32 peer, __u32 owner)
{
	struct share_controller *controller = share_controller(cluster, peer);

	for (__u32 i = 0; i < SHARE_PEER_SLOTS; i++) {
		__u32 claim = owner + 1;

		__atomic_compare_exchange_n(&controller->peer_claims[i], &claim, 0, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

/* Of one segment of a peer's memory that its owner gives back while it has others there. */
static void peer_free_one(struct cluster *cluster, __u32 peer, const struct segment *segment)
{
	__u32 function = function_of(cluster, peer, 0);
	__u64 end = function_bar_address(cluster, function, FUNCTION_MEMORY_BAR) +
		    function_bar_bytes(cluster, function, FUNCTION_MEMORY_BAR);
	__u64 index = (end - segment->address) / SEGMENT_PEER_BYTES - 1;

	if (index < SHARE_PEER_SLOTS)
		__atomic_store_n(&share_controller(cluster, peer)->peer_claims[index], 0,
				 __ATOMIC_RELEASE);
}

static int segment_make(struct cluster *cluster, __u32 host, __u32 peer, __u64 bytes, bool group,
			struct segment *segment)
{
	struct segment_slot *slot = segment_claim(cluster);
	struct segment made = {.host = host, .owner = cluster->self, .bytes = page_rounded(bytes)};
	__u32 index;
	int err;

	if (!slot)
		return failed(-ENOSPC, "all %u segments of the cluster are in use", SEGMENTS_MAX);
	slot->peer = peer;
	if (peer == CLUSTER_NONE)
		err = host_memory_alloc(cluster, host, made.bytes, &made.address);
	else
		err = peer_alloc(cluster, peer, made.bytes, &made);
	if (err) {
		segment_unclaim(slot);
		return err;
	}
	index = (__u32)(slot - cluster->shares->segments);
	made.id = (__atomic_fetch_add(&cluster->shares->next_segment, 1, __ATOMIC_RELAXED) + 1) *
			  SEGMENTS_MAX +
		  index;
	slot->segment = made;
	slot->group = group;
	__atomic_store_n(&slot->live, made.id, __ATOMIC_RELEASE);
	*segment = made;
	return 0;
}

int segment_create(struct cluster *cluster, enum segment_hint hint, __u32 device, __u32 peer,
		   __u64 bytes, struct segment *segment)
{
	const struct cluster_config *config = cluster->config;
	__u32 of = hint == HINT_PEER ? peer : device;

	if (of >= config->device_count || !bytes)
		return failed(-EINVAL, "a segment of %llu bytes for device %u: accepted: 0 to %u",
			      (unsigned long long)bytes, of, config->device_count);
	if (hint == HINT_PEER && config->devices[peer].model != MODEL_ACCEL)
		return failed(-EINVAL, "%s has no memory for a segment: accepted: an accelerator's",
			      config->devices[peer].name);
	if (hint == HINT_DEVICE_READS)
		return segment_make(cluster, config->devices[device].host, CLUSTER_NONE, bytes,
				    false, segment);
	return segment_make(cluster, cluster->host, hint == HINT_PEER ? peer : CLUSTER_NONE, bytes,
			    false, segment);
}

int segment_create_on(struct cluster *cluster, __u32 host, __u64 bytes, struct segment *segment)
{
	return segment_make(cluster, host, CLUSTER_NONE, bytes, true, segment);
}

struct segment_slot *segment_of(const struct cluster *cluster, __u32 id, __u32 owner)
{
	struct segment_slot *slot = &cluster->shares->segments[id % SEGMENTS_MAX];

	if (id && __atomic_load_n(&slot->live, __ATOMIC_ACQUIRE) == id &&
	    slot->segment.owner == owner)
		return slot;
	failed(-EACCES, "segment %u: not registered, or not by who names it", id);
	return NULL;
}

void segment_destroy(struct cluster *cluster, struct segment *segment)
{
	struct segment_slot *slot = segment_of(cluster, segment->id, cluster->self);

	if (!slot)
		return;
	for (__u32 i = 0; i < SEGMENT_MAPS; i++) {
		const struct segment_map *map = &slot->maps[i];

		if (map->kind == SEGMENT_MAP_DEVICE &&
		    segment_unmap_device(cluster, segment->id, map->function, map->adapter))
			return;
	}
	for (__u32 i = 0; i < SEGMENT_MAPS; i++)
		if (slot->maps[i].kind == SEGMENT_MAP_CPU &&
		    !segment_map_stale(cluster, &slot->maps[i]))
			ntb_unmap(cluster, &slot->maps[i].window);
	if (slot->peer == CLUSTER_NONE)
		host_memory_free(cluster, slot->segment.host, slot->segment.address,
				 slot->segment.bytes);
	else
		peer_free_one(cluster, slot->peer, &slot->segment);
	segment_unclaim(slot);
	segment->id = 0;
}

__u32 segments_left(const struct cluster *cluster, __u32 agent)
{
	__u32 left = 0;

	for (__u32 i = 0; i < SEGMENTS_MAX; i++) {
		__u32 claim =
			__atomic_load_n(&cluster->shares->segments[i].claim, __ATOMIC_ACQUIRE);

		left += claim && (agent == CLUSTER_NONE || claim == agent + 1);
	}
	return left;
}

/* May be done again by another process, from wherever one was killed: nothing here undoes twice what counts. */
__u32 segments_release(struct cluster *cluster, __u32 agent)
{
	struct segment_slot *slots = cluster->shares->segments;
	__u32 released = 0;

	for (__u32 i = 0; i < SEGMENTS_MAX; i++)
		for (__u32 j = 0; slots[i].claim == agent + 1 && j < SEGMENT_MAPS; j++) {
			const struct segment_map *map = &slots[i].maps[j];

			if (map->kind == SEGMENT_MAP_DEVICE)
				segment_undo_domains(cluster, &slots[i], map);
		}
	ntb_release(cluster, agent);
	host_memory_release(cluster, agent);
	for (__u32 device = 0; device < cluster->config->device_count; device++)
		peer_free(cluster, device, agent);
	for (__u32 i = 0; i < SEGMENTS_MAX; i++)
		if (slots[i].claim == agent + 1) {
			segment_unclaim(&slots[i]);
			released++;
		}
	return released;
}
