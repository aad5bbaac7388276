// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/devtlb.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/translate/cache.h"

#define KEY_4K	    1
#define KEY_2M	    2
#define KEY_SIZE    3 /* mask */
#define KEY_PASID   2 /* shift: 20 bits and the one of PASID_NONE */
#define KEY_PAGE    23
#define PASID_MASK  0xfffffu
#define NO_PASID    (1u << 20)
#define PASID_NONE  (1u << 31) /* bpf/event.h */
#define ADDRESS_END (1ull << DEVTLB_IOVA_BITS)

struct devtlb {
	struct cache *cache;
	__u32 entries;
	__u32 set_mask;
	__u32 cached_2m; /* a lookup need not probe for a size that is not there */
	struct devtlb_stats stats;
	struct devtlb_translation translations[]; /* by slot of the cache */
};

static bool power_of_two(__u32 number)
{
	return number && !(number & (number - 1));
}

int devtlb_create(struct devtlb **devtlb, __u32 entries, __u32 ways)
{
	const struct cache_config config = {entries, ways, REPLACE_LRU, 0};
	struct devtlb *created;
	int error;

	if (!power_of_two(entries) || !power_of_two(ways) || entries > DEVTLB_ENTRIES_MAX ||
	    ways > DEVTLB_WAYS_MAX || ways > entries)
		return failed(-EINVAL,
			      "DevTLB with %u entries in %u ways: accepted: powers of two, at most "
			      "%u entries, at most %u ways and not more than entries",
			      entries, ways, DEVTLB_ENTRIES_MAX, DEVTLB_WAYS_MAX);
	created = calloc(1, sizeof(*created) + entries * sizeof(created->translations[0]));
	if (!created)
		return failed(-ENOMEM, "no memory for a DevTLB of %u entries", entries);
	error = cache_create(&created->cache, &config);
	if (error) {
		free(created);
		return error;
	}
	created->entries = entries;
	created->set_mask = entries / ways - 1;
	*devtlb = created;
	return 0;
}

void devtlb_destroy(struct devtlb *devtlb)
{
	if (!devtlb)
		return;
	cache_destroy(devtlb->cache);
	free(devtlb);
}

static __u64 key_of(__u32 pasid, __u64 iova, enum devtlb_page page)
{
	__u64 short_pasid = pasid == PASID_NONE ? NO_PASID : pasid & PASID_MASK;

	return iova >> page << (page - DEVTLB_4K) << KEY_PAGE | short_pasid << KEY_PASID |
	       (page == DEVTLB_2M ? KEY_2M : KEY_4K);
}

static __u32 set_of(const struct devtlb *devtlb, __u64 iova, enum devtlb_page page)
{
	return (__u32)(iova >> page) & devtlb->set_mask;
}

static __u32 find(const struct devtlb *devtlb, __u32 pasid, __u64 iova, enum devtlb_page page)
{
	return cache_find(devtlb->cache, set_of(devtlb, iova, page), key_of(pasid, iova, page));
}

bool devtlb_lookup(struct devtlb *devtlb, __u32 pasid, __u64 iova,
		   struct devtlb_translation *translation)
{
	__u32 slot = CACHE_NO_SLOT;

	if (iova < ADDRESS_END)
		slot = find(devtlb, pasid, iova, DEVTLB_4K);
	if (slot == CACHE_NO_SLOT && devtlb->cached_2m && iova < ADDRESS_END)
		slot = find(devtlb, pasid, iova, DEVTLB_2M);
	if (slot == CACHE_NO_SLOT) {
		devtlb->stats.misses++;
		return false;
	}
	devtlb->stats.hits++;
	cache_touch(devtlb->cache, slot, 0);
	*translation = devtlb->translations[slot];
	return true;
}

bool devtlb_insert(struct devtlb *devtlb, __u32 pasid, __u64 iova,
		   const struct devtlb_translation *translation)
{
	__u32 slot;
	__u64 evicted = 0;

	if (iova >= ADDRESS_END)
		return false;
	slot = find(devtlb, pasid, iova, translation->page);
	if (slot != CACHE_NO_SLOT) {
		cache_touch(devtlb->cache, slot, 0);
	} else {
		slot = cache_insert(devtlb->cache, set_of(devtlb, iova, translation->page),
				    key_of(pasid, iova, translation->page), 0, &evicted);
		devtlb->cached_2m += translation->page == DEVTLB_2M;
		devtlb->cached_2m -= (evicted & KEY_SIZE) == KEY_2M;
	}
	devtlb->translations[slot] = *translation;
	devtlb->stats.evictions += evicted != 0;
	return evicted;
}

static void drop(struct devtlb *devtlb, __u32 slot)
{
	devtlb->cached_2m -= (cache_key(devtlb->cache, slot) & KEY_SIZE) == KEY_2M;
	cache_remove(devtlb->cache, slot);
	devtlb->stats.invalidated++;
}

static bool overlaps(__u64 key, __u64 pasid, __u64 iova, __u64 last)
{
	enum devtlb_page page = (key & KEY_SIZE) == KEY_2M ? DEVTLB_2M : DEVTLB_4K;
	__u64 first = key >> KEY_PAGE << DEVTLB_4K;

	return key && (key >> KEY_PASID & ((NO_PASID << 1) - 1)) == pasid && first <= last &&
	       first + (1ull << page) - 1 >= iova;
}

/* [iova, last], so that a range may end with the address space. */
static __u32 invalidate(struct devtlb *devtlb, __u32 pasid, __u64 iova, __u64 last)
{
	__u64 before = devtlb->stats.invalidated;
	__u64 short_pasid = pasid == PASID_NONE ? NO_PASID : pasid & PASID_MASK;

	for (__u32 slot = 0; slot < devtlb->entries; slot++)
		if (overlaps(cache_key(devtlb->cache, slot), short_pasid, iova, last))
			drop(devtlb, slot);
	return (__u32)(devtlb->stats.invalidated - before);
}

__u32 devtlb_invalidate(struct devtlb *devtlb, __u32 pasid, __u64 iova, __u64 length)
{
	__u32 dropped = 0;

	if (!length)
		return 0;
	if (iova >> DEVTLB_4K != (iova + length - 1) >> DEVTLB_4K)
		return invalidate(devtlb, pasid, iova, iova + length - 1);
	/* One page, the usual case: two sets instead of the whole cache. */
	for (int i = 0; i < 2 && iova < ADDRESS_END; i++) {
		__u32 slot = find(devtlb, pasid, iova, i ? DEVTLB_2M : DEVTLB_4K);

		if (slot != CACHE_NO_SLOT) {
			drop(devtlb, slot);
			dropped++;
		}
	}
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
