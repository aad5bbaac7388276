// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/rdma/regions.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

#define KEY_GENERATION_BITS 8
#define KEY_GENERATIONS	    ((1u << KEY_GENERATION_BITS) - 1) /* 0 is none */

/* `key` last and first: what it stands for is written before it is there, and stays until it is free again. */
struct region_entry {
	_Atomic __u32 key; /* 0: nobody finds it */
	__u32 generation;
	bool used;
	struct region region;
};

struct region_table {
	pthread_mutex_t lock; /* of all that the engine's thread does not read */
	struct region_counters counters;
	__u32 capacity;
	__u32 oldest, free; /* of free_indices, a ring */
	__u32 *free_indices;
	struct region_entry entries[];
};

int region_table_create(struct region_table **table, __u32 regions)
{
	struct region_table *new;

	if (!regions || regions > VERBS_REGIONS_MAX)
		return failed(-EINVAL, "%u memory regions: accepted: 1 to %d", regions,
			      VERBS_REGIONS_MAX);
	new = calloc(1, sizeof(*new) + regions * sizeof(new->entries[0]));
	if (new)
		new->free_indices = calloc(regions, sizeof(*new->free_indices));
	if (!new || !new->free_indices) {
		free(new);
		return failed(-ENOMEM, "no memory for %u memory regions", regions);
	}
	new->capacity = regions;
	new->free = regions;
	for (__u32 i = 0; i < regions; i++)
		new->free_indices[i] = i;
	pthread_mutex_init(&new->lock, NULL);
	*table = new;
	return 0;
}

void region_table_destroy(struct region_table *table)
{
	if (!table)
		return;
	for (__u32 i = 0; i < table->capacity; i++)
		free((void *)table->entries[i].region.pages);
	pthread_mutex_destroy(&table->lock);
	free(table->free_indices);
	free(table);
}

static bool pages_valid(const struct region *region)
{
	__u64 first = region->address >> PAGE_BITS,
	      last = (region->address + region->bytes - 1) >> PAGE_BITS;

	if (!region->pages)
		return !region->page_count;
	if (last - first + 1 != region->page_count)
		return false;
	for (__u32 i = 0; i < region->page_count; i++)
		if (region->pages[i] & (PAGE_BYTES - 1))
			return false;
	return true;
}

static bool region_valid(const struct region *region)
{
	return region->bytes && region->address + region->bytes > region->address &&
	       region->kind < VERBS_REGIONS &&
	       !(region->rights &
		 ~(unsigned int)(VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE | VERBS_REMOTE_READ)) &&
	       pages_valid(region);
}

/* With the lock held. All of memory is not counted as registered: nobody asked for each of its pages. */
static void count_region(struct region_counters *counters, const struct region *region)
{
	if (++counters->regions > counters->regions_most)
		counters->regions_most = counters->regions;
	counters->bytes[region->kind] += region->bytes;
	if (region->kind == VERBS_IMPLICIT)
		return;
	counters->registered += region->bytes;
	if (counters->registered > counters->registered_most)
		counters->registered_most = counters->registered;
}

static void uncount_region(struct region_counters *counters, const struct region *region)
{
	counters->regions--;
	counters->bytes[region->kind] -= region->bytes;
	if (region->kind != VERBS_IMPLICIT)
		counters->registered -= region->bytes;
}

static int copy_pages(struct region *region)
{
	__u64 *pages;

	if (!region->pages)
		return 0;
	pages = calloc(region->page_count, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	memcpy(pages, region->pages, region->page_count * sizeof(*pages));
	region->pages = pages;
	return 0;
}

/* With the lock held, of a region whose pages are the table's. */
static void region_enter(struct region_table *table, const struct region *region, __u32 *key)
{
	struct region_entry *entry;
	__u32 index;

	index = table->free_indices[table->oldest];
	table->oldest = (table->oldest + 1) % table->capacity;
	table->free--;
	entry = &table->entries[index];
	entry->generation = entry->generation % KEY_GENERATIONS + 1;
	entry->region = *region;
	entry->used = true;
	count_region(&table->counters, region);
	*key = index << KEY_GENERATION_BITS | entry->generation;
	atomic_store_explicit(&entry->key, *key, memory_order_release);
}

int region_register(struct region_table *table, const struct region *region, __u32 *key)
{
	struct region own = *region;
	int error = region_valid(region) ? copy_pages(&own) : -EINVAL;

	if (error)
		return error;
	pthread_mutex_lock(&table->lock);
	if (table->free)
		region_enter(table, &own, key);
	else
		error = -ENOSPC;
	pthread_mutex_unlock(&table->lock);
	if (error)
		free((void *)own.pages);
	return error;
}

static struct region_entry *region_entry_of(const struct region_table *table, __u32 key)
{
	__u32 index = key >> KEY_GENERATION_BITS;

	return index < table->capacity ? (struct region_entry *)&table->entries[index] : NULL;
}

int region_query(const struct region_table *table, __u32 key, struct region *region)
{
	const struct region_entry *entry = region_entry_of(table, key);

	if (!key || !entry || atomic_load_explicit(&entry->key, memory_order_acquire) != key)
		return -ENOENT;
	*region = entry->region;
	return 0;
}

int region_retire(struct region_table *table, __u32 key)
{
	struct region_entry *entry = region_entry_of(table, key);
	__u32 expected = key;

	return key && entry && atomic_compare_exchange_strong(&entry->key, &expected, 0) ? 0
											 : -ENOENT;
}

void region_free(struct region_table *table, __u32 key)
{
	struct region_entry *entry = region_entry_of(table, key);

	pthread_mutex_lock(&table->lock);
	if (entry && entry->used && entry->generation == (key & KEY_GENERATIONS) &&
	    !atomic_load(&entry->key)) {
		entry->used = false;
		uncount_region(&table->counters, &entry->region);
		free((void *)entry->region.pages);
		entry->region.pages = NULL;
		table->free_indices[(table->oldest + table->free++) % table->capacity] =
			key >> KEY_GENERATION_BITS;
	}
	pthread_mutex_unlock(&table->lock);
}

void region_counters(const struct region_table *table, struct region_counters *counters)
{
	pthread_mutex_lock((pthread_mutex_t *)&table->lock);
	*counters = table->counters;
	pthread_mutex_unlock((pthread_mutex_t *)&table->lock);
}

int region_check(const struct region_table *table, const struct region_range *range,
		 const struct region **found)
{
	const struct region_entry *entry = region_entry_of(table, range->key);
	const struct region *region;

	if (!range->key || !entry ||
	    atomic_load_explicit(&entry->key, memory_order_acquire) != range->key)
		return -EACCES;
	region = &entry->region;
	if ((region->rights & range->rights) != range->rights ||
	    (region->domain && region->domain != range->domain))
		return -EACCES;
	if (found)
		*found = region;
	if (!range->bytes)
		return 0;
	if (range->address < region->address || range->bytes > region->bytes ||
	    range->address - region->address > region->bytes - range->bytes)
		return -EINVAL;
	return 0;
}

__u64 region_run(const struct region *region, __u64 address, __u64 bytes, __u64 *iova)
{
	__u64 page, run;

	if (!region->pages) {
		*iova = address;
		return bytes;
	}
	page = (address >> PAGE_BITS) - (region->address >> PAGE_BITS);
	*iova = region->pages[page] + (address & (PAGE_BYTES - 1));
	run = PAGE_BYTES - (address & (PAGE_BYTES - 1));
	while (run < bytes && region->pages[page + 1] == region->pages[page] + PAGE_BYTES) {
		run += PAGE_BYTES;
		page++;
	}
	return run < bytes ? run : bytes;
}
