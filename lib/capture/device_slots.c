// SPDX-License-Identifier: GPL-2.0
/*
 * Which devices are there and whose they are; slots and all else that the kernel side keeps for a device
 * go back when it, or its process, is no more.
 */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/base/array.h"
#include "lib/capture/devices_private.h"

static struct owner_key owner_key_of(const struct device_key *key)
{
	return (struct owner_key){.pid = key->owner, .start = key->owner_start};
}

static struct device_owner *find_owner(const struct device_table *table,
				       const struct owner_key *key)
{
	struct device_owner *owner;

	HASH_FIND(hh, table->owners, key, sizeof(*key), owner);
	return owner;
}

struct device_owner *device_owner_find(const struct device_table *table,
				       const struct device_key *key)
{
	const struct owner_key owner = owner_key_of(key);

	return find_owner(table, &owner);
}

static struct device_owner *get_owner(struct device_table *table, const struct device_key *key)
{
	struct device_owner *owner = device_owner_find(table, key);

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->key = owner_key_of(key);
	HASH_ADD(hh, table->owners, key, sizeof(owner->key), owner);
	if (owner->hh.tbl)
		return owner;
	free(owner);
	return NULL;
}

struct device_entry *device_entry_find(const struct device_table *table,
				       const struct device_key *key)
{
	struct device_entry *entry;

	HASH_FIND(hh, table->entries, key, sizeof(*key), entry);
	return entry;
}

struct device_entry *device_entry_get(struct device_table *table, const struct device_key *key)
{
	struct device_entry *entry = device_entry_find(table, key);
	struct device_owner *owner;

	if (entry)
		return entry;
	owner = get_owner(table, key);
	entry = owner ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	entry->key = *key;
	HASH_ADD(hh, table->entries, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	DL_APPEND2(owner->entries, entry, previous, next);
	return entry;
}

static void device_entry_drop(struct device_table *table, struct device_entry *entry)
{
	struct device_owner *owner = device_owner_find(table, &entry->key);

	DL_DELETE2(owner->entries, entry, previous, next);
	HASH_DEL(table->entries, entry);
	free(entry);
}

bool device_is_there(const struct device_table *table, const struct device_entry *entry)
{
	struct device_state state;

	return !bpf_map_lookup_elem(table->map, &entry->key, &state) && state.id == entry->id;
}

void device_table_gave_up(struct device_table *table, __u32 id)
{
	if (array_grow(&table->gave_up, &table->gave_up_room, (size_t)id + 1, sizeof(bool),
		       ARRAY_ZEROED))
		table->gave_up[id] = true;
}

__u32 device_table_next_gone(struct device_table *table)
{
	return table->gone_count ? table->gone[--table->gone_count] : 0;
}

static void add_number(__u32 **list, size_t *room, size_t *count, __u32 number)
{
	if (!array_grow(list, room, *count + 1, sizeof(number), ARRAY_ZEROED))
		return;
	(*list)[(*count)++] = number;
}

void device_has_gone(struct device_table *table, const struct device_entry *entry)
{
	if (!entry->key.owner)
		add_number(&table->former, &table->former_room, &table->former_count, entry->id);
	if (entry->id < table->gave_up_room && table->gave_up[entry->id] &&
	    entry->handle != HANDLE_DROPPED)
		add_number(&table->gone, &table->gone_room, &table->gone_count, entry->handle);
}

/* What is left out is not asked for. A hello always names the model. */
static bool is_stranger(const struct device_table *table, const struct device_owner *owner)
{
	const struct device_entry *entry;

	for (entry = owner->entries; entry; entry = entry->next)
		if (entry->key.kind == DEVICE_EMULATED && entry->handle &&
		    entry->handle != HANDLE_DROPPED && !table->infos[entry->handle - 1].model[0])
			return true;
	return false;
}

__u64 device_table_strangers(const struct device_table *table)
{
	__u64 count = table->strangers;

	for (const struct device_owner *o = table->owners; o; o = o->hh.next)
		count += is_stranger(table, o);
	return count;
}

void device_table_forget_owner(struct device_table *table, __u32 pid, __u64 start)
{
	const struct owner_key key = {.pid = pid, .start = start};
	struct device_owner *owner = find_owner(table, &key);
	struct owner_share share = {0};
	struct device_entry *entry, *next;

	if (bpf_map_lookup_elem(table->owner_shares, &key, &share))
		share.entered = 0;
	/* First its account: what it enters from now on makes another one, and will be looked at. */
	bpf_map_delete_elem(table->owner_shares, &key);
	/* What was not asked for yet is met now, for events that are still on their way. */
	if (share.entered > (owner ? owner->met : 0))
		device_table_meet_new(table);
	owner = find_owner(table, &key);
	if (!owner)
		return;
	table->strangers += is_stranger(table, owner);
	DL_FOREACH_SAFE2(owner->entries, entry, next, next) {
		if (!bpf_map_delete_elem(table->map, &entry->key))
			__atomic_fetch_sub(&table->state->slots, 1, __ATOMIC_RELAXED);
		device_has_gone(table, entry);
		HASH_DEL(table->entries, entry);
		free(entry);
	}
	HASH_DEL(table->owners, owner);
	free(owner);
}

static int by_number(const void *a, const void *b)
{
	const __u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return (x > y) - (x < y);
}

/* Domains that were known by a device which has gone: theirs may be another's address by now. */
static void forget_domains(struct device_table *table)
{
	struct domain_state state;
	__u64 domain, next;
	int end;

	if (!table->former_count)
		return;
	end = bpf_map_get_next_key(table->domains, NULL, &next);
	qsort(table->former, table->former_count, sizeof(table->former[0]), by_number);
	while (!end) {
		domain = next;
		end = bpf_map_get_next_key(table->domains, &domain, &next);
		if (!bpf_map_lookup_elem(table->domains, &domain, &state) &&
		    bsearch(&state.device, table->former, table->former_count,
			    sizeof(table->former[0]), by_number))
			bpf_map_delete_elem(table->domains, &domain);
	}
	table->former_count = 0;
}

/* The kernel side gives these back by itself; slots of others go with their process. */
static bool goes_by_itself(const struct device_key *key)
{
	return !key->owner || key->kind == DEVICE_VFIO_CONTAINER;
}

void device_table_forget_gone(struct device_table *table)
{
	__u32 gone = __atomic_load_n(&table->state->gone, __ATOMIC_RELAXED);
	struct device_entry *entry, *next;

	/* Most hosts never lose a device, and none has to be asked about. */
	if (gone == table->gone_seen)
		return;
	table->gone_seen = gone;
	HASH_ITER(hh, table->entries, entry, next) {
		if (!goes_by_itself(&entry->key) || entry->unplaced ||
		    device_is_there(table, entry))
			continue;
		device_has_gone(table, entry);
		device_entry_drop(table, entry);
	}
	forget_domains(table);
}
