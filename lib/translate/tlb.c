// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/tlb.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

#define KEY_4K	    1
#define KEY_2M	    2
#define KEY_SIZE    3 /* mask */
#define KEY_SPACE   2 /* shift: 20 bits and the one of PASID_NONE */
#define KEY_PAGE    23
#define SPACE_MASK  (TLB_SPACES - 1)
#define NO_SPACE    (1u << 20)
#define PASID_NONE  (1u << 31) /* bpf/event.h */
#define ADDRESS_END (1ull << TLB_IOVA_BITS)

struct tlb {
	struct cache *cache;
	__u32 entries;
	__u32 set_mask;
	__u32 cached_2m; /* a lookup need not probe for a size that is not there */
	struct tlb_translation translations[]; /* by slot of the cache */
};

static bool power_of_two(__u32 number)
{
	return number && !(number & (number - 1));
}

static int tlb_check(const struct cache_config *config)
{
	if (!power_of_two(config->entries) || !power_of_two(config->ways) ||
	    config->entries > TLB_ENTRIES_MAX || config->ways > TLB_WAYS_MAX ||
	    config->ways > config->entries)
		return failed(
			-EINVAL,
			"TLB of %u entries in sets of %u ways: accepted: powers of two, at most "
			"%u entries, at most %u ways and not more than entries",
			config->entries, config->ways, TLB_ENTRIES_MAX, TLB_WAYS_MAX);
	if (config->policy >= REPLACE_BELADY)
		return failed(-EINVAL,
			      "TLB with replacement policy %s: accepted: lru, lfu, random, fifo",
			      replacement_name(config->policy));
	return 0;
}

int tlb_create(struct tlb **tlb, const struct cache_config *config)
{
	struct tlb *created;
	int error = tlb_check(config);

	if (error)
		return error;
	created = calloc(1, sizeof(*created) + config->entries * sizeof(created->translations[0]));
	if (!created)
		return failed(-ENOMEM, "no memory for a TLB of %u entries", config->entries);
	error = cache_create(&created->cache, config);
	if (error) {
		free(created);
		return error;
	}
	created->entries = config->entries;
	created->set_mask = cache_sets(created->cache) - 1;
	*tlb = created;
	return 0;
}

void tlb_destroy(struct tlb *tlb)
{
	if (!tlb)
		return;
	cache_destroy(tlb->cache);
	free(tlb);
}

static __u64 tlb_key(__u32 space, __u64 iova, enum tlb_page page)
{
	__u64 short_space = space == PASID_NONE ? NO_SPACE : space & SPACE_MASK;

	return iova >> page << (page - TLB_4K) << KEY_PAGE | short_space << KEY_SPACE |
	       (page == TLB_2M ? KEY_2M : KEY_4K);
}

static __u32 tlb_set_of(const struct tlb *tlb, __u64 iova, enum tlb_page page)
{
	return (__u32)(iova >> page) & tlb->set_mask;
}

static __u32 tlb_find(const struct tlb *tlb, __u32 space, __u64 iova, enum tlb_page page)
{
	return cache_find(tlb->cache, tlb_set_of(tlb, iova, page), tlb_key(space, iova, page));
}

bool tlb_lookup(struct tlb *tlb, __u32 space, __u64 iova, struct tlb_translation *translation)
{
	__u32 slot = CACHE_NO_SLOT;

	if (iova < ADDRESS_END)
		slot = tlb_find(tlb, space, iova, TLB_4K);
	if (slot == CACHE_NO_SLOT && tlb->cached_2m && iova < ADDRESS_END)
		slot = tlb_find(tlb, space, iova, TLB_2M);
	if (slot == CACHE_NO_SLOT)
		return false;
	cache_touch(tlb->cache, slot, 0);
	*translation = tlb->translations[slot];
	return true;
}

bool tlb_insert(struct tlb *tlb, __u32 space, __u64 iova, const struct tlb_translation *translation)
{
	__u32 slot;
	__u64 evicted = 0;

	if (iova >= ADDRESS_END)
		return false;
	slot = tlb_find(tlb, space, iova, translation->page);
	if (slot != CACHE_NO_SLOT) {
		cache_touch(tlb->cache, slot, 0);
	} else {
		slot = cache_insert(tlb->cache, tlb_set_of(tlb, iova, translation->page),
				    tlb_key(space, iova, translation->page), 0, &evicted);
		tlb->cached_2m += translation->page == TLB_2M;
		tlb->cached_2m -= (evicted & KEY_SIZE) == KEY_2M;
	}
	tlb->translations[slot] = *translation;
	return evicted;
}

static void tlb_drop(struct tlb *tlb, __u32 slot)
{
	tlb->cached_2m -= (cache_key(tlb->cache, slot) & KEY_SIZE) == KEY_2M;
	cache_remove(tlb->cache, slot);
}

static bool tlb_overlaps(__u64 key, __u64 space, __u64 iova, __u64 last)
{
	enum tlb_page page = (key & KEY_SIZE) == KEY_2M ? TLB_2M : TLB_4K;
	__u64 first = key >> KEY_PAGE << TLB_4K;

	return key && (key >> KEY_SPACE & ((NO_SPACE << 1) - 1)) == space && first <= last &&
	       first + (1ull << page) - 1 >= iova;
}

/* [iova, last], so that a range may end with the address space. */
static __u32 tlb_invalidate_range(struct tlb *tlb, __u32 space, __u64 iova, __u64 last)
{
	__u64 short_space = space == PASID_NONE ? NO_SPACE : space & SPACE_MASK;
	__u32 dropped = 0;

	for (__u32 slot = 0; slot < tlb->entries; slot++)
		if (tlb_overlaps(cache_key(tlb->cache, slot), short_space, iova, last)) {
			tlb_drop(tlb, slot);
			dropped++;
		}
	return dropped;
}

__u32 tlb_invalidate(struct tlb *tlb, __u32 space, __u64 iova, __u64 length)
{
	__u32 dropped = 0;

	if (!length)
		return 0;
	if (iova >> TLB_4K != (iova + length - 1) >> TLB_4K)
		return tlb_invalidate_range(tlb, space, iova, iova + length - 1);
	/* One page, the usual case: two sets instead of the whole cache. */
	for (int i = 0; i < 2 && iova < ADDRESS_END; i++) {
		__u32 slot = tlb_find(tlb, space, iova, i ? TLB_2M : TLB_4K);

		if (slot != CACHE_NO_SLOT) {
			tlb_drop(tlb, slot);
			dropped++;
		}
	}
	return dropped;
}

__u32 tlb_invalidate_space(struct tlb *tlb, __u32 space)
{
	return tlb_invalidate_range(tlb, space, 0, ~0ull);
}
