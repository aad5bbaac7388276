// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/access.h"

#include <stdint.h>
#include <string.h>

#include "injectors/cluster/access_private.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/seen.h"

#define CROSSINGS_MAX 3

struct initiator cpu_of(const struct cluster *cluster, __u32 host)
{
	return (struct initiator){host, cluster->config->hosts[host].root, REQUESTER_CPU,
				  CLUSTER_NONE, CLUSTER_NONE};
}

struct initiator function_initiator(const struct cluster *cluster, __u32 function)
{
	__u32 device = function_device(cluster, function);

	return (struct initiator){
		function_host(cluster, function), cluster->config->devices[device].node,
		REQUESTER_FUNCTION(function), device, function_borrow(cluster, function)};
}

static bool is_msi(__u64 address)
{
	return address - MSI_ADDRESS < (__u64)FUNCTIONS_MAX * HOST_PAGE;
}

static void shorten(struct landing *landing, __u64 run)
{
	if (run < landing->run)
		landing->run = run;
}

/* False: the host's IOMMU lets it not through. */
static bool translate(struct cluster *cluster, const struct initiator *from, __u32 requester,
		      bool write, struct landing *landing)
{
	__u64 physical, run;

	if (!cluster->config->hosts[landing->host].iommu || requester == REQUESTER_CPU ||
	    is_msi(landing->address))
		return true;
	if (host_iommu_translate(cluster, landing->host, requester, landing->address, write,
				 &physical, &run)) {
		landing->status = ACCESS_REFUSED;
		seen_iommu_fault(cluster, landing->host, from->device, landing->address, write);
		return false;
	}
	landing->address = physical;
	shorten(landing, run);
	return true;
}

/* What a host's own bus has at the address; false: nothing, but perhaps an adapter. */
static bool land(const struct cluster *cluster, bool write, struct landing *landing)
{
	__u64 ram = cluster->config->hosts[landing->host].memory;

	if (landing->address < ram) {
		landing->kind = LAND_RAM;
		shorten(landing, ram - landing->address);
	} else if (function_at(cluster, landing->host, landing->address, &landing->function,
			       &landing->bar, &landing->offset)) {
		landing->kind = LAND_BAR;
		shorten(landing, function_bar_bytes(cluster, landing->function, landing->bar) -
					 landing->offset);
	} else if (write && is_msi(landing->address)) {
		landing->kind = LAND_MSI;
		landing->function = (__u32)((landing->address - MSI_ADDRESS) / HOST_PAGE);
	} else {
		return false;
	}
	landing->status = ACCESS_DONE;
	return true;
}

/* False: this was the last host. */
static bool cross(struct cluster *cluster, __u32 *requester, struct landing *landing)
{
	struct ntb_hit hit;

	if (!ntb_hit(cluster, landing->host, *requester, landing->address, &hit))
		return false;
	landing->near = hit.adapter;
	landing->far = hit.far_adapter;
	shorten(landing, hit.run);
	if (hit.lost) {
		/* Whose registers are not reached is told all the same. */
		if (hit.far_host != CLUSTER_NONE &&
		    !function_at(cluster, hit.far_host, hit.far, &landing->function, &landing->bar,
				 &landing->offset))
			landing->function = CLUSTER_NONE;
		return false;
	}
	landing->host = hit.far_host;
	landing->address = hit.far;
	*requester = hit.requester;
	return true;
}

void landing_find(struct cluster *cluster, const struct initiator *from, __u64 address, bool write,
		  struct landing *landing)
{
	__u32 requester = from->requester;

	*landing = (struct landing){
		.status = ACCESS_LOST,
		.host = from->host,
		.address = address,
		.run = HOST_PAGE - address % HOST_PAGE,
		.function = CLUSTER_NONE,
		.near = CLUSTER_NONE,
		.far = CLUSTER_NONE,
	};
	for (int crossed = 0; crossed < CROSSINGS_MAX; crossed++) {
		__u32 adapter;

		if (!translate(cluster, from, requester, write, landing) ||
		    land(cluster, write, landing))
			return;
		landing->group = crossed || !write ? NTB_NO_GROUP
						   : ntb_multicast_at(cluster, landing->host,
								      landing->address,
								      &landing->offset, &adapter);
		if (landing->group != NTB_NO_GROUP) {
			landing->kind = LAND_GROUP;
			landing->near = adapter;
			landing->status = ACCESS_DONE;
			return;
		}
		if (!cross(cluster, &requester, landing))
			return;
	}
}

/* What lies behind the end of all addresses is nowhere, and not at their beginning. */
static void find_from(struct cluster *cluster, const struct initiator *from, __u64 address,
		      __u64 done, bool write, struct landing *landing)
{
	landing_find(cluster, from, address + done, write, landing);
	if (address + done >= address)
		return;
	landing->kind = LAND_NOWHERE;
	landing->status = ACCESS_LOST;
}

/* Registers and whatever is as small and aligned go as one copy. */
static void copy_bytes(void *to, const void *from, __u64 bytes)
{
	if (bytes == 4 && !(((uintptr_t)to | (uintptr_t)from) & 3))
		__atomic_store_n((__u32 *)to,
				 __atomic_load_n((const __u32 *)from, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	else if (bytes == 8 && !(((uintptr_t)to | (uintptr_t)from) & 7))
		__atomic_store_n((__u64 *)to,
				 __atomic_load_n((const __u64 *)from, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	else
		memcpy(to, from, bytes);
}

static void *landing_memory(const struct cluster *cluster, const struct landing *landing,
			    __u64 bytes)
{
	if (landing->kind == LAND_RAM)
		return host_memory(cluster, landing->host, landing->address, bytes);
	return (__u8 *)function_bar(cluster, landing->function, landing->bar) + landing->offset;
}

static void deliver(struct cluster *cluster, const struct initiator *from,
		    const struct landing *landing, const void *data, __u64 bytes)
{
	__u32 vector = 0;

	if (landing->kind == LAND_MSI) {
		memcpy(&vector, data, bytes < sizeof(vector) ? bytes : sizeof(vector));
		interrupt_post(cluster, landing->host, landing->function, vector);
		return;
	}
	copy_bytes(landing_memory(cluster, landing, bytes), data, bytes);
	/* What was posted before is there before what comes next. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (landing->kind == LAND_BAR)
		function_written(cluster, landing->function);
	else
		stray_check(cluster, from, landing, bytes);
}

/* Where one member of a group has it; its host's IOMMU is asked as for any other write from there. */
static void land_member(struct cluster *cluster, const struct initiator *from,
			const struct landing *group, __u32 host, __u64 overlay, __u32 far,
			struct landing *landing)
{
	__u32 seen = ntb_requester_seen(cluster, group->near, host, from->requester);

	*landing = *group;
	landing->host = host;
	landing->address = overlay + group->offset;
	landing->function = CLUSTER_NONE;
	landing->far = far;
	landing->kind = LAND_NOWHERE;
	landing->status = ACCESS_LOST;
	if (ntb_way_up(cluster, group->near, far) &&
	    translate(cluster, from,
		      seen == CLUSTER_NONE ? REQUESTER_ENTRY(group->near, 0, 0) : seen, true,
		      landing))
		land(cluster, true, landing);
}

/*
 * One write of its source leaves by all ports; what a member does not take whole is lost there. It is counted once, and lasts as
 * long as its longest way. Returns deliveries.
 */
static __u32 deliver_group(struct access_tally *tally, const struct landing *group, __u64 address,
			   const void *data, __u64 bytes)
{
	struct cluster *cluster = tally->cluster;
	__u32 host, far, deliveries = 0;
	struct access_result begin, longest;
	__u64 overlay;

	tally_way(tally);
	begin = longest = tally->result;
	for (__u32 n = 0; ntb_multicast_member(cluster, group->group, n, &host, &overlay, &far);
	     n++) {
		struct landing landing;

		land_member(cluster, tally->from, group, host, overlay, far, &landing);
		if (landing.status == ACCESS_DONE && landing.run < bytes)
			landing.status = ACCESS_LOST;
		if (landing.status == ACCESS_DONE) {
			deliver(cluster, tally->from, &landing, data, bytes);
			deliveries++;
		}
		tally_add(tally, &landing, address, bytes);
		tally_way(tally);
		tally->again = deliveries > 0;
		if (tally->result.model_ns > longest.model_ns)
			longest = tally->result;
		tally->result.model_ns = begin.model_ns;
		tally->result.follow_ns = begin.follow_ns;
	}
	tally->again = false;
	tally->result.model_ns = longest.model_ns;
	tally->result.follow_ns = longest.follow_ns;
	return deliveries;
}

void access_write(struct cluster *cluster, const struct initiator *from, enum path_purpose purpose,
		  __u64 address, const void *data, __u64 bytes, struct access_result *result)
{
	__u32 deliveries = 0;
	struct access_tally tally;
	__u64 done = 0;

	tally_begin(&tally, cluster, from, purpose, true, address);
	while (done < bytes) {
		struct landing landing;
		__u64 run;

		find_from(cluster, from, address, done, true, &landing);
		run = landing.run < bytes - done ? landing.run : bytes - done;
		if (landing.kind == LAND_GROUP) {
			__u32 members = deliver_group(&tally, &landing, address + done,
						      (const __u8 *)data + done, run);

			deliveries = members > deliveries ? members : deliveries;
		} else {
			if (landing.status == ACCESS_DONE)
				deliver(cluster, from, &landing, (const __u8 *)data + done, run);
			tally_add(&tally, &landing, address + done, run);
		}
		done += run;
	}
	tally_end(&tally, result);
	if (deliveries)
		seen_multicast(cluster, tally.device, deliveries, bytes);
}

void access_read(struct cluster *cluster, const struct initiator *from, enum path_purpose purpose,
		 __u64 address, void *data, __u64 bytes, struct access_result *result)
{
	struct access_tally tally;
	__u64 done = 0;

	tally_begin(&tally, cluster, from, purpose, false, address);
	while (done < bytes) {
		struct landing landing;
		__u64 run;

		find_from(cluster, from, address, done, false, &landing);
		run = landing.run < bytes - done ? landing.run : bytes - done;
		if (landing.status == ACCESS_DONE) {
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			copy_bytes((__u8 *)data + done, landing_memory(cluster, &landing, run),
				   run);
			if (landing.kind == LAND_RAM)
				stray_check(cluster, from, &landing, run);
		} else {
			memset((__u8 *)data + done, 0xff, run);
		}
		tally_add(&tally, &landing, address + done, run);
		done += run;
	}
	tally_end(&tally, result);
}

__u64 access_read_register(struct cluster *cluster, const struct initiator *from, __u64 address,
			   __u32 bytes)
{
	__u64 value = 0;

	access_read(cluster, from, PURPOSE_MMIO, address, &value, bytes <= 8 ? bytes : 8, NULL);
	return value;
}

void access_write_register(struct cluster *cluster, const struct initiator *from, __u64 address,
			   __u32 bytes, __u64 value)
{
	access_write(cluster, from, PURPOSE_MMIO, address, &value, bytes <= 8 ? bytes : 8, NULL);
}
