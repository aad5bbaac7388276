// SPDX-License-Identifier: GPL-2.0
/* Memory regions: which there are, and which one has a page. */
#include "lib/analyze/odp_private.h"
#include "lib/analyze/packets.h"
#include "lib/base/memory.h"

#define PAGE_BYTES 4096ull

bool odp_is_emulated(const struct odp *odp, __u32 device)
{
	return packets_device(session_device(odp->session, device));
}

/* An emulated device that registers for every transfer has had many regions. */
static void forget_gone(struct odp *odp)
{
	struct odp_entry *entry, *next;

	HASH_ITER(hh, odp->regions, entry, next) {
		const struct odp_totals *totals = &entry->region.totals;

		if (!entry->region.gone || totals->faults || totals->prefetches ||
		    totals->invalidations)
			continue;
		HASH_DEL(odp->regions, entry);
		memory_free(entry->region.totals.newest);
		memory_free(entry);
		odp->forgotten++;
	}
}

struct odp_region *odp_region_make(struct odp *odp, __u32 device, __u32 key)
{
	const struct odp_region_key wanted = {device, key};
	struct odp_entry *entry;

	HASH_FIND(hh, odp->regions, &wanted, sizeof(wanted), entry);
	if (entry)
		return &entry->region;
	if (HASH_COUNT(odp->regions) >= ODP_REGIONS_MAX)
		forget_gone(odp);
	entry = HASH_COUNT(odp->regions) < ODP_REGIONS_MAX ? memory_calloc(1, sizeof(*entry))
							   : NULL;
	if (entry) {
		entry->key = wanted;
		HASH_ADD(hh, odp->regions, key, sizeof(entry->key), entry);
		if (entry->hh.tbl) {
			entry->region.device = device;
			entry->region.key = key;
			histogram_init(&entry->region.totals.latency);
			return &entry->region;
		}
		memory_free(entry);
	}
	odp->dropped++;
	return NULL;
}

/* Whether it pages on demand and has had this page at that time. */
static bool region_has(const struct odp_region *region, __u32 device, __u64 address, __u64 time_ns)
{
	return region->device == device && region->kind != REGION_PINNED &&
	       time_ns >= region->from_ns && (!region->gone || time_ns < region->gone_ns) &&
	       address + PAGE_BYTES > region->address &&
	       (address < region->address || address - region->address < region->length);
}

/* Of an emulated device; NULL: none, or it is not known which. */
struct odp_region *odp_region_at(const struct odp *odp, __u32 device, __u64 address, __u64 time_ns)
{
	struct odp_region *explicit = NULL, *implicit = NULL;
	unsigned int found = 0;

	for (struct odp_entry *entry = odp->regions; entry; entry = entry->hh.next) {
		struct odp_region *region = &entry->region;

		if (!region_has(region, device, address, time_ns))
			continue;
		if (region->implicit) {
			implicit = region;
		} else {
			explicit = region;
			found++;
		}
	}
	if (found > 1)
		return NULL;
	return explicit ?: implicit;
}

void odp_take_region(struct odp *odp, const struct event *e)
{
	struct odp_region *region;

	if (period_is_after(session_period(odp->session), e->time_ns))
		return;
	region = odp_region_make(odp, e->device, e->group);
	if (!region)
		return;
	region->pid = e->pid;
	if (e->code == ODP_REGION_PART) {
		region->implicit = true;
		region->length += e->length;
	} else {
		region->address = e->address;
		region->length = e->length;
		region->gone = e->code == ODP_REGION_GONE;
	}
	if (region->gone)
		region->gone_ns = e->time_ns;
	else if (e->code == ODP_REGION_NEW)
		region->from_ns = e->time_ns;
	if (odp_is_emulated(odp, e->device) && e->value <= REGION_IMPLICIT) {
		region->kind = (enum region_kind)e->value;
		region->implicit = region->kind == REGION_IMPLICIT;
	}
}

const struct odp_region *odp_region(const struct odp *odp, __u32 device, __u32 key)
{
	const struct odp_region_key wanted = {device, key};
	const struct odp_entry *entry;

	HASH_FIND(hh, odp->regions, &wanted, sizeof(wanted), entry);
	return entry ? &entry->region : NULL;
}

size_t odp_region_count(const struct odp *odp)
{
	return HASH_COUNT(odp->regions);
}

__u64 odp_regions_dropped(const struct odp *odp)
{
	return odp->dropped;
}

__u64 odp_regions_forgotten(const struct odp *odp)
{
	return odp->forgotten;
}
