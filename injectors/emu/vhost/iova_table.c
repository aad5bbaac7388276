// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vhost/iova_table.h"

#include <stdlib.h>
#include <string.h>

/* Sorted by addresses, none of which is in two. */
struct iova_table {
	__u32 entries, count;
	__u64 uses; /* so far */
	struct iova_entry {
		struct iova_range range;
		__u64 used; /* which of the uses was its last */
	} entry[];
};

struct iova_table *iova_table_create(__u32 entries)
{
	struct iova_table *table =
		entries ? calloc(1, sizeof(*table) + entries * sizeof(table->entry[0])) : NULL;

	if (table)
		table->entries = entries;
	return table;
}

void iova_table_destroy(struct iova_table *table)
{
	free(table);
}

/* The first entry that ends at `iova` or behind it; table->count: none. */
static __u32 first_from(const struct iova_table *table, __u64 iova)
{
	__u32 low = 0, high = table->count;

	while (low < high) {
		__u32 middle = low + (high - low) / 2;

		if (table->entry[middle].range.last < iova)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void entries_remove(struct iova_table *table, __u32 from, __u32 count)
{
	memmove(&table->entry[from], &table->entry[from + count],
		(table->count - from - count) * sizeof(table->entry[0]));
	table->count -= count;
}

__u32 iova_table_drop(struct iova_table *table, __u64 first, __u64 last)
{
	__u32 from = first_from(table, first), count = 0;

	while (from + count < table->count && table->entry[from + count].range.first <= last)
		count++;
	entries_remove(table, from, count);
	return count;
}

static void iova_table_make_room(struct iova_table *table)
{
	__u32 oldest = 0;

	for (__u32 i = 1; i < table->count; i++)
		if (table->entry[i].used < table->entry[oldest].used)
			oldest = i;
	entries_remove(table, oldest, 1);
}

bool iova_table_add(struct iova_table *table, const struct iova_range *range)
{
	bool full;
	__u32 at;

	iova_table_drop(table, range->first, range->last);
	full = table->count == table->entries;
	if (full)
		iova_table_make_room(table);
	at = first_from(table, range->first);
	memmove(&table->entry[at + 1], &table->entry[at],
		(table->count - at) * sizeof(table->entry[0]));
	table->entry[at] = (struct iova_entry){*range, ++table->uses};
	table->count++;
	return full;
}

bool iova_table_find(struct iova_table *table, __u64 iova, __u32 permissions,
		     struct iova_range *range)
{
	__u32 at = first_from(table, iova);
	struct iova_entry *entry = &table->entry[at];

	if (at == table->count || entry->range.first > iova ||
	    permissions & ~entry->range.permissions)
		return false;
	entry->used = ++table->uses;
	*range = entry->range;
	return true;
}

bool iova_table_contradicts(const struct iova_table *table, const struct iova_range *range)
{
	for (__u32 i = first_from(table, range->first); i < table->count; i++) {
		const struct iova_range *there = &table->entry[i].range;

		if (there->first > range->last)
			break;
		if (there->guest_address - there->first != range->guest_address - range->first ||
		    there->permissions & ~range->permissions)
			return true;
	}
	return false;
}

__u32 iova_table_count(const struct iova_table *table)
{
	return table->count;
}
