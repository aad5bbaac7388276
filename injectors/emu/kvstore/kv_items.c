// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/kvstore/kv_items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

#define NO_ITEM 0xffffffffu

_Static_assert(sizeof(struct kv_item) == KVSTORE_HEADER, "as the documentation says");

/* What finds an item is not in guest memory: only the one that is meant is touched. */
struct kv_place {
	__u32 hash;
	__u32 chain;	    /* next of its bucket */
	__u32 newer, older; /* by use */
};

struct kv_items {
	unsigned char *memory;
	__u32 item_bytes, count, used, mask;
	__u32 newest, oldest;
	__u64 replaced;
	__u32 *buckets;
	struct kv_place *places;
};

/* FNV-1a */
static __u32 key_hash(const char *key, size_t length)
{
	__u32 hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)key[i]) * 16777619u;
	return hash;
}

int kv_items_create(struct kv_items **items, void *memory, __u64 count, __u32 item_bytes)
{
	struct kv_items *new = calloc(1, sizeof(*new));
	__u64 buckets = 16;

	if (!new || count >= NO_ITEM)
		goto no_memory;
	while (buckets < count)
		buckets *= 2;
	new->memory = memory;
	new->item_bytes = item_bytes;
	new->count = (__u32)count;
	new->mask = (__u32)(buckets - 1);
	new->newest = new->oldest = NO_ITEM;
	new->buckets = malloc(buckets * sizeof(*new->buckets));
	new->places = calloc(count, sizeof(*new->places));
	if (!new->buckets || !new->places)
		goto no_memory;
	memset(new->buckets, 0xff, buckets * sizeof(*new->buckets));
	*items = new;
	return 0;
no_memory:
	kv_items_destroy(new);
	return failed(-ENOMEM, "no memory for the table of %llu items", count);
}

void kv_items_destroy(struct kv_items *items)
{
	if (!items)
		return;
	free(items->buckets);
	free(items->places);
	free(items);
}

static struct kv_item *item_at(struct kv_items *items, __u32 index)
{
	return (struct kv_item *)(items->memory + (size_t)index * items->item_bytes);
}

static void use_remove(struct kv_items *items, __u32 index)
{
	const struct kv_place *place = &items->places[index];

	*(place->newer == NO_ITEM ? &items->newest : &items->places[place->newer].older) =
		place->older;
	*(place->older == NO_ITEM ? &items->oldest : &items->places[place->older].newer) =
		place->newer;
}

static void use_add(struct kv_items *items, __u32 index)
{
	struct kv_place *place = &items->places[index];

	place->newer = NO_ITEM;
	place->older = items->newest;
	*(items->newest == NO_ITEM ? &items->oldest : &items->places[items->newest].newer) = index;
	items->newest = index;
}

static __u32 place_of(struct kv_items *items, __u32 hash, const char *key, size_t length)
{
	__u32 index = items->buckets[hash & items->mask];

	for (; index != NO_ITEM; index = items->places[index].chain) {
		const struct kv_item *item = item_at(items, index);

		if (items->places[index].hash == hash && item->key_bytes == length &&
		    !memcmp(item->key, key, length))
			break;
	}
	return index;
}

struct kv_item *kv_items_find(struct kv_items *items, const char *key, size_t length)
{
	__u32 index = place_of(items, key_hash(key, length), key, length);

	if (index == NO_ITEM)
		return NULL;
	use_remove(items, index);
	use_add(items, index);
	return item_at(items, index);
}

static void unchain(struct kv_items *items, __u32 index)
{
	__u32 *link = &items->buckets[items->places[index].hash & items->mask];

	while (*link != index)
		link = &items->places[*link].chain;
	*link = items->places[index].chain;
}

/* One that was never used, or the one that was used longest ago. */
static __u32 free_place(struct kv_items *items)
{
	__u32 index;

	if (items->used < items->count)
		return items->used++;
	index = items->oldest;
	use_remove(items, index);
	unchain(items, index);
	items->replaced++;
	return index;
}

struct kv_item *kv_items_take(struct kv_items *items, const char *key, size_t length)
{
	struct kv_item *item = kv_items_find(items, key, length);
	__u32 hash = key_hash(key, length), index;

	if (item)
		return item;
	index = free_place(items);
	items->places[index].hash = hash;
	items->places[index].chain = items->buckets[hash & items->mask];
	items->buckets[hash & items->mask] = index;
	use_add(items, index);
	item = item_at(items, index);
	item->key_bytes = (__u8)length;
	memcpy(item->key, key, length);
	return item;
}

__u64 kv_items_replaced(const struct kv_items *items)
{
	return items->replaced;
}
