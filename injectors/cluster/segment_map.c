// SPDX-License-Identifier: GPL-2.0
/* Where a segment is mapped: for a device, by its lender, and for its owner's CPU. */
#include <errno.h>

#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/share_private.h"
#include "lib/base/fail.h"

static bool map_is(const struct segment_map *map, __u32 kind, __u32 function, __u32 adapter)
{
	return __atomic_load_n(&map->kind, __ATOMIC_ACQUIRE) == kind && map->adapter == adapter &&
	       (kind == SEGMENT_MAP_CPU || map->function == function);
}

static struct segment_map *map_find(struct segment_slot *slot, __u32 kind, __u32 function,
				    __u32 adapter)
{
	for (__u32 i = 0; i < SEGMENT_MAPS; i++)
		if (map_is(&slot->maps[i], kind, function, adapter))
			return &slot->maps[i];
	return NULL;
}

static struct segment_map *map_free(struct segment_slot *slot)
{
	for (__u32 i = 0; i < SEGMENT_MAPS; i++)
		if (slot->maps[i].kind == SEGMENT_MAP_NONE)
			return &slot->maps[i];
	return NULL;
}

void segment_undo_domains(struct cluster *cluster, const struct segment_slot *slot,
			  const struct segment_map *map)
{
	__u32 device = function_device(cluster, map->function);

	/* A reset came with domains of its own, and these have gone. */
	if (map->epoch != share_epoch(cluster, device))
		return;
	if (map->domain)
		host_iommu_unmap(cluster, map->lender, map->domain, map->address & ~0xfffull,
				 slot->segment.bytes, device);
	if (map->far_domain)
		host_iommu_unmap(cluster, slot->segment.host, map->far_domain,
				 slot->segment.address, slot->segment.bytes, device);
}

/* Undoes as much as there is. */
static void map_undo(struct cluster *cluster, struct segment_slot *slot, struct segment_map *map)
{
	segment_undo_domains(cluster, slot, map);
	if (map->requester)
		ntb_requester_remove_of(cluster, map->adapter, slot->segment.host,
					REQUESTER_FUNCTION(map->function), slot->segment.owner);
	if (map->window.bytes)
		ntb_unmap(cluster, &map->window);
	__atomic_store_n(&map->kind, SEGMENT_MAP_NONE, __ATOMIC_RELEASE);
	*map = (struct segment_map){0};
}

/* An adapter that has lost its tables has neither window nor entry to be given back. */
bool segment_map_stale(const struct cluster *cluster, const struct segment_map *map)
{
	return map->window.bytes && !ntb_mapped(cluster, &map->window);
}

bool segment_mapped_device(const struct cluster *cluster, __u32 segment, __u32 function,
			   __u32 adapter)
{
	struct segment_slot *slot = segment_of(cluster, segment, cluster->self);
	const struct segment_map *map =
		slot ? map_find(slot, SEGMENT_MAP_DEVICE, function, adapter) : NULL;

	return map && !segment_map_stale(cluster, map);
}

static int map_window(struct cluster *cluster, const struct segment_slot *slot,
		      struct segment_map *map, __u32 borrow, __u64 mask)
{
	struct ntb_window wanted = {.adapter = map->adapter,
				    .kind = WINDOW_SEGMENT,
				    .far_host = slot->segment.host,
				    .far = slot->segment.address,
				    .bytes = slot->segment.bytes,
				    .owner = slot->segment.owner,
				    .borrow = borrow};
	int err = ntb_map(cluster, &wanted, mask, &map->window);

	if (!err)
		map->address = map->window.address;
	return err;
}

static __u64 device_mask(const struct cluster *cluster, __u32 device)
{
	__u32 bits = cluster->config->devices[device].address_bits;

	return bits && bits < 64 ? (1ull << bits) - 1 : ~0ull;
}

/* In a domain that names it by its own address; one that is open to the function already is not this map's. */
static int map_domain(struct cluster *cluster, __u32 host, __u32 *domain, __u64 address,
		      __u64 bytes, __u32 device)
{
	int err = *domain ? host_iommu_map(cluster, host, *domain, address & ~0xfffull,
					   address & ~0xfffull, bytes,
					   HOST_IOMMU_READ | HOST_IOMMU_WRITE, device)
			  : 0;

	if (err)
		*domain = 0;
	return err == -EEXIST ? 0 : err;
}

/* The lender's, and where the manager has borrowed the function to the segment's host, that one's. */
static int map_domains(struct cluster *cluster, const struct segment_slot *slot,
		       struct segment_map *map)
{
	__u32 device = function_device(cluster, map->function);
	const struct share_controller *controller = share_controller(cluster, device);
	int err;

	map->epoch = share_epoch(cluster, device);
	map->domain = controller->lender_domain;
	map->far_domain = map->window.bytes && slot->segment.host == controller->manager
				  ? controller->borrower_domain
				  : 0;
	err = map_domain(cluster, map->lender, &map->domain, map->address, slot->segment.bytes,
			 device);
	return err ? err
		   : map_domain(cluster, slot->segment.host, &map->far_domain,
				slot->segment.address, slot->segment.bytes, device);
}

static int map_device(struct cluster *cluster, struct segment_slot *slot, struct segment_map *map)
{
	__u32 device = function_device(cluster, map->function);
	int err = 0;

	map->address = slot->segment.address;
	if (slot->segment.host != map->lender) {
		err = map_window(cluster, slot, map, share_controller(cluster, device)->borrow,
				 device_mask(cluster, device));
		if (err)
			return err;
		err = ntb_requester_add(cluster, map->adapter, slot->segment.host,
					REQUESTER_FUNCTION(map->function), slot->segment.owner);
		map->requester = !err;
	}
	return err ? err : map_domains(cluster, slot, map);
}

int share_serve_map(struct cluster *cluster, struct message *message)
{
	struct segment_slot *slot = segment_of(cluster, (__u32)message->words[0], message->from);
	__u32 function = (__u32)message->words[1], adapter = (__u32)message->words[2];
	struct segment_map *map, made = {.function = function, .adapter = adapter};
	int err;

	if (!slot)
		return -EACCES;
	map = map_find(slot, SEGMENT_MAP_DEVICE, function, adapter);
	if (map && segment_map_stale(cluster, map)) {
		*map = (struct segment_map){0};
		map = NULL;
	}
	message->words[1] = !map; /* a new one? */
	if (map) {
		message->words[0] = map->address;
		return map->epoch == share_epoch(cluster, function_device(cluster, function))
			       ? 0
			       : map_domains(cluster, slot, map);
	}
	map = map_free(slot);
	if (!map)
		return failed(-ENOSPC, "segment %u is mapped %u times", slot->segment.id,
			      SEGMENT_MAPS);
	made.lender = cluster->host;
	err = map_device(cluster, slot, &made);
	if (err) {
		map_undo(cluster, slot, &made);
		return err;
	}
	*map = made;
	__atomic_store_n(&map->kind, SEGMENT_MAP_DEVICE, __ATOMIC_RELEASE);
	message->words[0] = map->address;
	return 0;
}

int share_serve_unmap(struct cluster *cluster, struct message *message)
{
	struct segment_slot *slot = segment_of(cluster, (__u32)message->words[0], message->from);
	struct segment_map *map;

	if (!slot)
		return -EACCES;
	map = map_find(slot, SEGMENT_MAP_DEVICE, (__u32)message->words[1],
		       (__u32)message->words[2]);
	if (map && segment_map_stale(cluster, map))
		*map = (struct segment_map){0};
	else if (map)
		map_undo(cluster, slot, map);
	return 0;
}

int segment_map_device(struct cluster *cluster, __u32 segment, __u32 function, __u32 adapter,
		       __u64 *device_address)
{
	struct message message = {.type = MESSAGE_SHARE_MAP, .words = {segment, function, adapter}};
	int err;

	if (!segment_of(cluster, segment, cluster->self))
		return -EACCES;
	err = message_call(cluster, function_host(cluster, function), &message, 0);
	if (err)
		return failed(err, "segment %u cannot be mapped for %s by its lender's adapter %s",
			      segment,
			      cluster->config->devices[function_device(cluster, function)].name,
			      adapter < cluster->config->fabric->node_count
				      ? cluster->config->fabric->nodes[adapter].name
				      : "(none)");
	*device_address = message.words[0];
	share_counts(cluster, cluster->self)->windows_mapped += (__u32)message.words[1];
	return 0;
}

int segment_unmap_device(struct cluster *cluster, __u32 segment, __u32 function, __u32 adapter)
{
	struct message message = {.type = MESSAGE_SHARE_UNMAP,
				  .words = {segment, function, adapter}};

	return message_call(cluster, function_host(cluster, function), &message, 0);
}

int segment_map_cpu(struct cluster *cluster, const struct segment *segment, __u32 adapter,
		    __u64 *bus_address, void **memory)
{
	struct segment_slot *slot = segment_of(cluster, segment->id, cluster->self);
	struct segment_map *map;
	int err;

	if (!slot)
		return -EACCES;
	*memory = NULL;
	*bus_address = slot->segment.address;
	if (slot->segment.host == cluster->host) {
		*memory = host_memory(cluster, cluster->host, *bus_address, slot->segment.bytes);
		return 0;
	}
	map = map_find(slot, SEGMENT_MAP_CPU, 0, adapter);
	if (map && segment_map_stale(cluster, map)) {
		*map = (struct segment_map){0};
		map = NULL;
	}
	if (!map) {
		map = map_free(slot);
		if (!map)
			return failed(-ENOSPC, "segment %u is mapped %u times", segment->id,
				      SEGMENT_MAPS);
		map->adapter = adapter;
		err = map_window(cluster, slot, map, CLUSTER_NONE, ~0ull);
		if (err)
			return err;
		__atomic_store_n(&map->kind, SEGMENT_MAP_CPU, __ATOMIC_RELEASE);
	}
	*bus_address = map->address;
	return 0;
}

bool segment_covers(const struct cluster *cluster, __u32 owner, __u32 function, __u64 address,
		    __u64 bytes)
{
	for (__u32 i = 0; i < SEGMENTS_MAX; i++) {
		const struct segment_slot *slot = &cluster->shares->segments[i];

		for (__u32 j = 0; slot->claim == owner + 1 && j < SEGMENT_MAPS; j++) {
			const struct segment_map *map = &slot->maps[j];

			if (map->kind == SEGMENT_MAP_DEVICE && map->function == function &&
			    address >= map->address &&
			    bytes <= slot->segment.bytes - (address - map->address) &&
			    address - map->address <= slot->segment.bytes)
				return true;
		}
	}
	return false;
}

/* What is largest is data, and what its pages begin with a list. */
bool segment_of_others(const struct cluster *cluster, __u32 self, __u32 function, __u64 *address)
{
	__u64 most = 2ull * HOST_PAGE - 1;

	for (__u32 i = 0; i < SEGMENTS_MAX; i++) {
		const struct segment_slot *slot = &cluster->shares->segments[i];

		for (__u32 j = 0; slot->claim && slot->claim != self + 1 && j < SEGMENT_MAPS; j++) {
			const struct segment_map *map = &slot->maps[j];

			if (map->kind != SEGMENT_MAP_DEVICE || map->function != function ||
			    slot->segment.bytes <= most)
				continue;
			most = slot->segment.bytes;
			*address = map->address + HOST_PAGE;
		}
	}
	return most >= 2ull * HOST_PAGE;
}
