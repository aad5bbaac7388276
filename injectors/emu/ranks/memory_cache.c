// SPDX-License-Identifier: GPL-2.0
/*
 * A pin-down cache (Tezuka 1998; as MPI libraries have): a buffer is registered and pinned when it is first used and stays so
 * until the room is needed for another; of those that no message uses, the one that was used least recently goes.
 * The ranks of a device share one.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/page.h"
#include "injectors/emu/ranks/ranks_memory.h"
#include "lib/base/fail.h"

#define PIN_BUCKETS 1024

struct pin_entry {
	struct verbs_mr region;
	__u64 start, bytes; /* whole pages */
	__u32 users;
	struct pin_entry *next;		 /* of its bucket */
	struct pin_entry *newer, *older; /* of all, by use */
};

struct pin_cache {
	__u64 bytes; /* of all entries */
	struct pin_entry *newest, *oldest;
	struct pin_entry *bucket[PIN_BUCKETS];
};

static struct pin_entry **pin_bucket(struct pin_cache *cache, __u64 start)
{
	return &cache->bucket[(start >> PAGE_BITS) * 0x9e3779b97f4a7c15ull >> 54];
}

static void pin_unlink(struct pin_cache *cache, struct pin_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void pin_link_newest(struct pin_cache *cache, struct pin_entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static struct pin_entry *find_pinned(struct pin_cache *cache, __u64 start, __u64 bytes)
{
	struct pin_entry *entry = *pin_bucket(cache, start);

	while (entry && (entry->start != start || entry->bytes < bytes))
		entry = entry->next;
	return entry;
}

static int drop_pinned(struct rank_memory *memory, struct pin_entry *entry)
{
	struct pin_cache *cache = memory->own;
	struct pin_entry **link = pin_bucket(cache, entry->start);
	int err = verbs_dereg_mr(memory->device, &entry->region);

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	pin_unlink(cache, entry);
	cache->bytes -= entry->bytes;
	free(entry);
	return err;
}

/* The one that was used least recently of those that no message uses; -ENOENT: messages use all. */
static int drop_idle(struct rank_memory *memory)
{
	struct pin_cache *cache = memory->own;
	struct pin_entry *entry = cache->oldest;

	while (entry && entry->users)
		entry = entry->newer;
	if (!entry)
		return -ENOENT;
	memory->overflows++;
	return drop_pinned(memory, entry);
}

/* Until `bytes` more fit. */
static int pin_make_room(struct rank_memory *memory, __u64 bytes)
{
	struct pin_cache *cache = memory->own;
	int err = 0;

	while (!err && cache->bytes + bytes > memory->cache_bytes)
		err = drop_idle(memory);
	return err == -ENOENT
		       ? failed(-ENOBUFS,
				"a pin-down cache of %llu bytes has %llu in use and %llu to add",
				memory->cache_bytes, cache->bytes, bytes)
		       : err;
}

/* A host that lets no more be pinned, as others have pinned meanwhile, makes the cache smaller. */
static int register_pinned(struct rank_memory *memory, struct pin_entry *entry)
{
	int err;

	do {
		err = verbs_reg_mr(memory->device, &entry->region, entry->start, entry->bytes,
				   VERBS_PINNED, MEMORY_RIGHTS);
	} while (err == -ENOMEM && !drop_idle(memory));
	return err;
}

static int add_pinned(struct rank_memory *memory, struct pin_entry **entry, __u64 start,
		      __u64 bytes)
{
	struct pin_cache *cache = memory->own;
	struct pin_entry *new;
	int err = pin_make_room(memory, bytes);

	if (err)
		return err;
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for a pin-down cache");
	new->start = start;
	new->bytes = bytes;
	err = register_pinned(memory, new);
	if (err) {
		free(new);
		return err;
	}
	new->next = *pin_bucket(cache, start);
	*pin_bucket(cache, start) = new;
	pin_link_newest(cache, new);
	cache->bytes += bytes;
	*entry = new;
	return 0;
}

static int cache_open(struct rank_memory *memory)
{
	memory->own = calloc(1, sizeof(struct pin_cache));
	return memory->own ? 0 : failed(-ENOMEM, "no memory for a pin-down cache");
}

static void cache_close(struct rank_memory *memory)
{
	struct pin_cache *cache = memory->own;

	while (cache && cache->oldest)
		drop_pinned(memory, cache->oldest);
	free(cache);
	memory->own = NULL;
}

static int cache_get(struct rank_memory *memory, struct memory_lease *lease)
{
	__u64 start = lease->address & ~(PAGE_BYTES - 1);
	__u64 end = whole_pages(lease->address + lease->bytes);
	struct pin_cache *cache = memory->own;
	struct pin_entry *entry;
	int err = 0;

	pthread_mutex_lock(&memory->lock);
	entry = find_pinned(cache, start, end - start);
	if (entry) {
		memory->hits++;
		pin_unlink(cache, entry);
		pin_link_newest(cache, entry);
	} else {
		memory->misses++;
		err = add_pinned(memory, &entry, start, end - start);
	}
	if (!err) {
		entry->users++;
		lease->own = entry;
		lease->sge = memory_piece(&entry->region, start, lease->address, lease->bytes);
	}
	pthread_mutex_unlock(&memory->lock);
	return err;
}

static int cache_put(struct rank_memory *memory, struct memory_lease *lease, __u64 bytes)
{
	struct pin_entry *entry = lease->own;

	(void)bytes;
	pthread_mutex_lock(&memory->lock);
	entry->users--;
	pthread_mutex_unlock(&memory->lock);
	return 0;
}

const struct memory_mode cache_memory = {
	.name = "cache",
	.open = cache_open,
	.close = cache_close,
	.get = cache_get,
	.put = cache_put,
};
