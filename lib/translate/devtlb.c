// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/devtlb.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

struct entry {
	__u64 page; /* iova >> bits */
	__u64 physical;
	__u64 used; /* time of last use, counted in uses */
	__u32 pasid;
	__u32 permissions;
	__u8 bits; /* enum devtlb_page, 0: free */
};

struct devtlb {
	__u32 ways;
	__u32 set_mask;
	__u32 cached_2m; /* a lookup need not probe for a size that is not there */
	__u64 clock;
	struct devtlb_stats stats;
	struct entry entries[];
};

static bool power_of_two(__u32 number)
{
	return number && !(number & (number - 1));
}

int devtlb_create(struct devtlb **devtlb, __u32 entries, __u32 ways)
{
	struct devtlb *created;

	if (!power_of_two(entries) || !power_of_two(ways) || entries > DEVTLB_ENTRIES_MAX ||
	    ways > DEVTLB_WAYS_MAX || ways > entries)
		return failed(-EINVAL,
			      "DevTLB with %u entries in %u ways: accepted: powers of two, at most "
			      "%u entries, at most %u ways and not more than entries",
			      entries, ways, DEVTLB_ENTRIES_MAX, DEVTLB_WAYS_MAX);
	created = calloc(1, sizeof(*created) + entries * sizeof(created->entries[0]));
	if (!created)
		return failed(-ENOMEM, "no memory for a DevTLB of %u entries", entries);
	created->ways = ways;
	created->set_mask = entries / ways - 1;
	*devtlb = created;
	return 0;
}

void devtlb_destroy(struct devtlb *devtlb)
{
	free(devtlb);
}

static struct entry *set_of(struct devtlb *devtlb, __u64 page)
{
	return &devtlb->entries[(page & devtlb->set_mask) * devtlb->ways];
}

static struct entry *find(struct devtlb *devtlb, __u32 pasid, __u64 iova, __u8 bits)
{
	__u64 page = iova >> bits;
	struct entry *entry = set_of(devtlb, page);

	for (__u32 way = 0; way < devtlb->ways; way++, entry++) {
		if (entry->page == page && entry->bits == bits && entry->pasid == pasid)
			return entry;
	}
	return NULL;
}

bool devtlb_lookup(struct devtlb *devtlb, __u32 pasid, __u64 iova,
		   struct devtlb_translation *translation)
{
	struct entry *entry = find(devtlb, pasid, iova, DEVTLB_4K);

	if (!entry && devtlb->cached_2m)
		entry = find(devtlb, pasid, iova, DEVTLB_2M);
	if (!entry) {
		devtlb->stats.misses++;
		return false;
	}
	devtlb->stats.hits++;
	entry->used = ++devtlb->clock;
	translation->physical = entry->physical;
	translation->permissions = entry->permissions;
	translation->page = entry->bits;
	return true;
}

/* A free way if the set has one, else the least recently used. */
static struct entry *victim(struct devtlb *devtlb, __u64 page)
{
	struct entry *entry = set_of(devtlb, page), *oldest = entry;

	for (__u32 way = 0; way < devtlb->ways; way++, entry++) {
		if (!entry->bits)
			return entry;
		if (entry->used < oldest->used)
			oldest = entry;
	}
	return oldest;
}

static void drop(struct devtlb *devtlb, struct entry *entry)
{
	devtlb->cached_2m -= entry->bits == DEVTLB_2M;
	entry->bits = 0;
}

bool devtlb_insert(struct devtlb *devtlb, __u32 pasid, __u64 iova,
		   const struct devtlb_translation *translation)
{
	struct entry *entry = find(devtlb, pasid, iova, translation->page);
	bool evicts = false;

	if (!entry) {
		entry = victim(devtlb, iova >> translation->page);
		evicts = entry->bits != 0;
		devtlb->stats.evictions += evicts;
	}
	drop(devtlb, entry);
	*entry = (struct entry){
		.page = iova >> translation->page,
		.physical = translation->physical,
		.used = ++devtlb->clock,
		.pasid = pasid,
		.permissions = translation->permissions,
		.bits = translation->page,
	};
	devtlb->cached_2m += entry->bits == DEVTLB_2M;
	return evicts;
}

static bool overlaps(const struct entry *entry, __u64 iova, __u64 last)
{
	return entry->bits && entry->page >= iova >> entry->bits &&
	       entry->page <= last >> entry->bits;
}

/* [iova, last], so that a range may end with the address space. */
static __u32 invalidate(struct devtlb *devtlb, __u32 pasid, __u64 iova, __u64 last)
{
	__u32 count = (devtlb->set_mask + 1) * devtlb->ways, dropped = 0;

	for (struct entry *entry = devtlb->entries; entry < devtlb->entries + count; entry++) {
		if (entry->pasid == pasid && overlaps(entry, iova, last)) {
			drop(devtlb, entry);
			dropped++;
		}
	}
	devtlb->stats.invalidated += dropped;
	return dropped;
}

__u32 devtlb_invalidate(struct devtlb *devtlb, __u32 pasid, __u64 iova, __u64 length)
{
	struct entry *entry;
	__u32 dropped = 0;

	if (!length)
		return 0;
	if (iova >> DEVTLB_4K != (iova + length - 1) >> DEVTLB_4K)
		return invalidate(devtlb, pasid, iova, iova + length - 1);
	/* One page, the usual case: two sets instead of the whole cache. */
	for (int i = 0; i < 2; i++) {
		entry = find(devtlb, pasid, iova, i ? DEVTLB_2M : DEVTLB_4K);
		if (entry) {
			drop(devtlb, entry);
			dropped++;
		}
	}
	devtlb->stats.invalidated += dropped;
	return dropped;
}

__u32 devtlb_invalidate_pasid(struct devtlb *devtlb, __u32 pasid)
{
	return invalidate(devtlb, pasid, 0, ~0ull);
}

void devtlb_stats(const struct devtlb *devtlb, struct devtlb_stats *stats)
{
	*stats = devtlb->stats;
}
