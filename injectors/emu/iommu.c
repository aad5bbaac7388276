// SPDX-License-Identifier: GPL-2.0
/*
 * Who changes tables takes turns (`update`), so it reads entries relaxed. Walkers take no lock:
 * entries are written with release and read with acquire, so that who is led to a table sees it
 * filled. Tables stay until their domain goes, as a walker may be inside.
 */
#include "injectors/emu/iommu_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

#define LEVELS	      4
#define ENTRIES	      512
#define IOVA_BITS     48
#define PERMISSIONS   (IOMMU_READ | IOMMU_WRITE)
#define ENTRY_HUGE    (1ull << 7)
#define ACCESSED      (1ull << 8)
#define ENTRY_ADDRESS 0x000ffffffffff000ull
#define WITHDRAWN     (1ull << 52) /* bits 52 and up are the software's in the format */

static __u64 level_bytes(unsigned int level)
{
	return 1ull << (PAGE_BITS + 9 * (level - 1));
}

static unsigned int level_index(__u64 iova, unsigned int level)
{
	return (iova >> (PAGE_BITS + 9 * (level - 1))) & (ENTRIES - 1);
}

static bool is_table(__u64 entry)
{
	return (entry & PERMISSIONS) && !(entry & ENTRY_HUGE);
}

static _Atomic __u64 *table_of(__u64 entry)
{
	return (_Atomic __u64 *)(entry & ENTRY_ADDRESS);
}

static _Atomic __u64 *table_create(void)
{
	void *table = aligned_alloc(PAGE_BYTES, PAGE_BYTES);

	if (table)
		memset(table, 0, PAGE_BYTES);
	return table;
}

static void table_destroy(_Atomic __u64 *table, unsigned int level)
{
	for (unsigned int i = 0; level > 1 && i < ENTRIES; i++) {
		__u64 entry = atomic_load_explicit(&table[i], memory_order_relaxed);

		if (is_table(entry))
			table_destroy(table_of(entry), level - 1);
	}
	free((void *)table);
}

int iommu_domain_create(struct iommu_domain **domain)
{
	struct iommu_domain *created = calloc(1, sizeof(*created));

	if (!created || !(created->root = table_create())) {
		free(created);
		return failed(-ENOMEM, "no memory for an I/O page table");
	}
	pthread_mutex_init(&created->update, NULL);
	*domain = created;
	return 0;
}

void iommu_domain_destroy(struct iommu_domain *domain)
{
	if (!domain)
		return;
	iotlb_detach(domain);
	table_destroy(domain->root, LEVELS);
	pthread_mutex_destroy(&domain->update);
	free(domain);
}

/*
 * Puts a table under an entry of `level`. What the entry said holds for all entries of the table, so
 * that a walker beside us finds the same translation before and after.
 */
static int iommu_grow(struct iommu_domain *domain, _Atomic __u64 *entry, unsigned int level)
{
	__u64 old = atomic_load_explicit(entry, memory_order_relaxed);
	__u64 bytes = level_bytes(level - 1);
	_Atomic __u64 *table = table_create();

	if (!table)
		return -ENOMEM;
	for (unsigned int i = 0; old && i < ENTRIES; i++) {
		__u64 leaf = old & (PERMISSIONS | WITHDRAWN | ACCESSED);

		if (old & PERMISSIONS)
			leaf |= (old & ENTRY_ADDRESS) + i * bytes;
		atomic_store_explicit(&table[i], leaf, memory_order_relaxed);
	}
	atomic_store_explicit(entry, (__u64)table | PERMISSIONS, memory_order_release);
	domain->stats.splits += !!(old & PERMISSIONS);
	return 0;
}

/* The entry for `iova` at `level`; NULL if no table reaches so deep and `create` is unset, or no
 * memory for it. */
static _Atomic __u64 *iommu_entry_at(struct iommu_domain *domain, __u64 iova, unsigned int level,
				     bool create)
{
	_Atomic __u64 *table = domain->root;

	for (unsigned int l = LEVELS; l > level; l--) {
		_Atomic __u64 *entry = &table[level_index(iova, l)];

		if (!is_table(atomic_load_explicit(entry, memory_order_relaxed)) &&
		    (!create || iommu_grow(domain, entry, l)))
			return NULL;
		table = table_of(atomic_load_explicit(entry, memory_order_relaxed));
	}
	return &table[level_index(iova, level)];
}

static bool range_valid(__u64 iova, __u64 length)
{
	const __u64 end = 1ull << IOVA_BITS;

	return length && !((iova | length) & (PAGE_BYTES - 1)) && iova < end &&
	       length <= end - iova;
}

/* Writes a leaf. True if the IOTLB may know what it said before. */
static bool iommu_replace_leaf(_Atomic __u64 *entry, __u64 leaf)
{
	__u64 old = atomic_load_explicit(entry, memory_order_relaxed);

	atomic_store_explicit(entry, leaf, memory_order_release);
	return (old & PERMISSIONS) && (old & ~ACCESSED) != leaf;
}

/* A leaf of `bytes` was written where none was. */
static void count_mapped(struct iommu_domain *domain, __u64 bytes)
{
	domain->stats.mapped += bytes;
	if (domain->stats.mapped > domain->stats.mapped_most)
		domain->stats.mapped_most = domain->stats.mapped;
}

static bool grants(const _Atomic __u64 *entry)
{
	return atomic_load_explicit(entry, memory_order_relaxed) & PERMISSIONS;
}

/* Maps one page as large as allowed; returns its size, 0 without memory. */
static __u64 iommu_map_one(struct iommu_domain *domain, __u64 iova, __u64 physical, __u64 length,
			   __u64 permissions, bool huge)
{
	_Atomic __u64 *entry;

	if (huge && length >= HUGE_BYTES && !((iova | physical) & (HUGE_BYTES - 1))) {
		entry = iommu_entry_at(domain, iova, 2, true);
		if (!entry)
			return 0;
		/* Where a table stands already it stays: a walker may be inside. */
		if (!is_table(atomic_load_explicit(entry, memory_order_relaxed))) {
			if (!grants(entry))
				count_mapped(domain, HUGE_BYTES);
			if (iommu_replace_leaf(entry, physical | permissions | ENTRY_HUGE))
				iotlb_forget(domain, iova, HUGE_BYTES);
			domain->stats.huge++;
			return HUGE_BYTES;
		}
	}
	entry = iommu_entry_at(domain, iova, 1, true);
	if (!entry)
		return 0;
	if (!grants(entry))
		count_mapped(domain, PAGE_BYTES);
	if (iommu_replace_leaf(entry, physical | permissions))
		iotlb_forget(domain, iova, PAGE_BYTES);
	return PAGE_BYTES;
}

int iommu_map(struct iommu_domain *domain, __u64 iova, __u64 physical, __u64 length,
	      __u64 permissions, bool huge)
{
	__u64 done = 0, step = PAGE_BYTES;

	if (!range_valid(iova, length) || (physical & ~ENTRY_ADDRESS) || !permissions ||
	    (permissions & ~PERMISSIONS))
		return failed(-EINVAL,
			      "cannot map iova 0x%llx length 0x%llx to 0x%llx permissions 0x%llx: "
			      "accepted: whole pages below 2^48, read and write",
			      iova, length, physical, permissions);
	pthread_mutex_lock(&domain->update);
	for (; done < length && step; done += step)
		step = iommu_map_one(domain, iova + done, physical + done, length - done,
				     permissions, huge);
	pthread_mutex_unlock(&domain->update);
	if (!step)
		return failed(-ENOMEM, "no memory for an I/O page table at iova 0x%llx",
			      iova + done);
	return 0;
}

/*
 * The entry to change for the range that starts at `iova`, and in `*bytes` how far it reaches. A
 * huge entry hit partly is split; without memory for that the whole entry is given: to take too
 * much away is safe, the device faults again.
 */
static _Atomic __u64 *entry_to_change(struct iommu_domain *domain, __u64 iova, __u64 length,
				      __u64 *bytes)
{
	_Atomic __u64 *entry = iommu_entry_at(domain, iova, 2, false), *split;
	__u64 value = entry ? atomic_load_explicit(entry, memory_order_relaxed) : 0;

	*bytes = HUGE_BYTES - (iova & (HUGE_BYTES - 1));
	if (!(value & PERMISSIONS))
		return NULL;
	if (!is_table(value) && *bytes == HUGE_BYTES && length >= HUGE_BYTES)
		return entry;
	split = iommu_entry_at(domain, iova, 1, true);
	if (!split)
		return entry;
	*bytes = PAGE_BYTES;
	return split;
}

void iommu_domain_stats(struct iommu_domain *domain, struct iommu_domain_stats *stats)
{
	pthread_mutex_lock(&domain->update);
	*stats = domain->stats;
	pthread_mutex_unlock(&domain->update);
}

void iommu_withdraw(struct iommu_domain *domain, __u64 iova, __u64 length)
{
	__u64 bytes;

	if (!range_valid(iova, length))
		return;
	pthread_mutex_lock(&domain->update);
	for (__u64 done = 0; done < length; done += bytes) {
		_Atomic __u64 *entry = entry_to_change(domain, iova + done, length - done, &bytes);

		if (entry && (atomic_load_explicit(entry, memory_order_relaxed) & PERMISSIONS))
			atomic_fetch_or(entry, WITHDRAWN);
	}
	iotlb_forget(domain, iova, length);
	pthread_mutex_unlock(&domain->update);
}

__u64 iommu_unmap(struct iommu_domain *domain, __u64 iova, __u64 length)
{
	__u64 bytes, unmapped = 0;

	if (!range_valid(iova, length))
		return 0;
	pthread_mutex_lock(&domain->update);
	for (__u64 done = 0; done < length; done += bytes) {
		_Atomic __u64 *entry = entry_to_change(domain, iova + done, length - done, &bytes);
		__u64 old = entry ? atomic_load_explicit(entry, memory_order_relaxed) : 0;

		if (!(old & PERMISSIONS))
			continue;
		atomic_store_explicit(entry, old & WITHDRAWN, memory_order_release);
		domain->stats.mapped -= old & ENTRY_HUGE ? HUGE_BYTES : PAGE_BYTES;
		unmapped += bytes;
	}
	iotlb_forget(domain, iova, length);
	pthread_mutex_unlock(&domain->update);
	return unmapped;
}

/* The leaf that stands for `iova` now: where it is, what it says and on which level it is. */
struct leaf {
	_Atomic __u64 *place;
	__u64 entry;
	unsigned int level;
};

static struct leaf find_leaf(const struct iommu_domain *domain, __u64 iova)
{
	struct leaf leaf = {.level = LEVELS};
	_Atomic __u64 *table = domain->root;

	for (;; leaf.level--) {
		leaf.place = &table[level_index(iova, leaf.level)];
		leaf.entry = atomic_load_explicit(leaf.place, memory_order_acquire);
		if (leaf.level == 1 || !is_table(leaf.entry))
			return leaf;
		table = table_of(leaf.entry);
	}
}

static int translate_leaf(struct leaf leaf, __u64 iova, __u64 permissions,
			  struct iommu_translation *translation)
{
	__u64 entry = leaf.entry, offset;
	unsigned int level = leaf.level;

	translation->levels = LEVELS + 1 - level;
	translation->permissions = entry & PERMISSIONS;
	if (!translation->permissions)
		return entry & WITHDRAWN ? -ESTALE : -ENOENT;
	offset = iova & (level_bytes(level) - 1);
	translation->physical = (entry & ENTRY_ADDRESS) + offset;
	translation->bytes = level_bytes(level) - offset;
	if (entry & WITHDRAWN)
		return -ESTALE;
	return permissions & ~entry ? -EACCES : 0;
}

int iommu_walk(const struct iommu_domain *domain, __u64 iova, __u64 permissions,
	       struct iommu_translation *translation)
{
	*translation = (struct iommu_translation){0};
	if (iova >> IOVA_BITS)
		return -ENOENT;
	return translate_leaf(find_leaf(domain, iova), iova, permissions, translation);
}

void iommu_use(const struct iommu_domain *domain, __u64 iova, struct iommu_translation *translation)
{
	struct leaf leaf;

	*translation = (struct iommu_translation){0};
	if (iova >> IOVA_BITS)
		return;
	leaf = find_leaf(domain, iova);
	/* Read first: queues would take the line from each other. An entry that changes just now is marked by the next. */
	if ((leaf.entry & PERMISSIONS) && !(leaf.entry & ACCESSED))
		atomic_compare_exchange_strong(leaf.place, &leaf.entry, leaf.entry | ACCESSED);
	(void)translate_leaf(leaf, iova, 0, translation);
}

void iommu_take_accessed(struct iommu_domain *domain, __u64 iova, __u32 pages, bool *used)
{
	__u64 at = iova, end = iova + ((__u64)pages << PAGE_BITS), next;

	pthread_mutex_lock(&domain->update);
	for (; at < end && !(at >> IOVA_BITS); at = next) {
		struct leaf leaf = find_leaf(domain, at);
		bool accessed = false;

		next = (at & ~(level_bytes(leaf.level) - 1)) + level_bytes(leaf.level);
		next = next < end ? next : end;
		if (leaf.entry & ACCESSED)
			accessed = atomic_fetch_and(leaf.place, ~ACCESSED) & ACCESSED;
		for (__u64 page = at; accessed && page < next; page += PAGE_BYTES)
			used[(page - iova) >> PAGE_BITS] = true;
	}
	pthread_mutex_unlock(&domain->update);
}
