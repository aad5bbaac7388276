// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/page_table.h"

#include <string.h>
#include <xxhash.h>

#include "lib/base/memory.h"

#define CAPACITY_FIRST 1024

static size_t page_table_slot_of(const struct page_table *table, __u32 device, __u32 pasid,
				 __u64 page)
{
	const struct {
		__u64 page;
		__u32 device, pasid;
	} key = {page, device, pasid};
	size_t mask = table->capacity - 1;
	size_t i = XXH3_64bits(&key, sizeof(key)) & mask;

	for (;; i = (i + 1) & mask) {
		const struct page_entry *e = &table->entries[i];

		if (!e->accesses || (e->page == page && e->device == device && e->pasid == pasid))
			return i;
	}
}

static int page_table_grow(struct page_table *table)
{
	struct page_table larger = {
		.capacity = table->capacity ? 2 * table->capacity : CAPACITY_FIRST,
		.used = table->used,
	};

	larger.entries = memory_calloc(larger.capacity, sizeof(*larger.entries));
	if (!larger.entries)
		return -1;
	for (size_t i = 0; i < table->capacity; i++) {
		const struct page_entry *e = &table->entries[i];

		if (e->accesses)
			larger.entries[page_table_slot_of(&larger, e->device, e->pasid, e->page)] =
				*e;
	}
	memory_free(table->entries);
	*table = larger;
	return 0;
}

const struct page_entry *page_table_find(const struct page_table *table, __u32 device, __u32 pasid,
					 __u64 page)
{
	const struct page_entry *entry;

	if (!table->used)
		return NULL;
	entry = &table->entries[page_table_slot_of(table, device, pasid, page)];
	return entry->accesses ? entry : NULL;
}

struct page_entry *page_table_make(struct page_table *table, __u32 device, __u32 pasid, __u64 page)
{
	struct page_entry *entry;

	if ((table->used + 1) * 4 > table->capacity * 3 && page_table_grow(table))
		return NULL;
	entry = &table->entries[page_table_slot_of(table, device, pasid, page)];
	if (!entry->accesses) {
		*entry = (struct page_entry){.page = page, .device = device, .pasid = pasid};
		table->used++;
	}
	return entry;
}

void page_table_free(struct page_table *table)
{
	memory_free(table->entries);
	memset(table, 0, sizeof(*table));
}
