// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/devices.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/device_name.h"
#include "lib/base/fail.h"
#include "lib/capture/devices_private.h"

/* Its name was forgotten before it was asked for. */
#define HANDLE_FORGOTTEN (HANDLE_DROPPED - 1)

int device_table_create(struct device_table **table, const struct capture_config *config,
			const struct shared_maps *maps, device_ask_fn ask, void *self)
{
	struct device_table *t = calloc(1, sizeof(*t));

	if (t)
		t->batch = malloc(sizeof(*t->batch));
	if (!t || !t->batch) {
		free(t);
		return failed(-ENOMEM, "no memory for the device dictionary");
	}
	t->map = maps->devices;
	t->past = maps->devices_gone;
	t->owner_shares = maps->owners;
	t->domains = maps->domains;
	t->state = maps->state;
	t->patterns = config->devices;
	t->pattern_count = config->device_count;
	t->ask = ask;
	t->ask_self = self;
	*table = t;
	return 0;
}

void device_table_destroy(struct device_table *table)
{
	struct device_owner *owner, *next_owner;
	struct device_entry *entry, *next;

	if (!table)
		return;
	HASH_ITER(hh, table->entries, entry, next) {
		HASH_DEL(table->entries, entry);
		free(entry);
	}
	HASH_ITER(hh, table->owners, owner, next_owner) {
		HASH_DEL(table->owners, owner);
		free(owner);
	}
	free(table->batch);
	free(table->handles);
	free(table->infos);
	free(table->renamed);
	free(table->gone);
	free(table->gave_up);
	free(table->former);
	free(table);
}

static bool wanted(const struct device_table *table, const struct device_info *info)
{
	if (!table->pattern_count)
		return true;
	for (size_t i = 0; i < table->pattern_count; i++)
		if (device_name_fits(info, table->patterns[i]))
			return true;
	return false;
}

/* The device that is called so now, 0: none. One that has gone may have had the same name. */
static __u32 present(const struct device_table *table, const struct device_info *info)
{
	const struct device_owner *kernel =
		device_owner_find(table, &(struct device_key){.owner = 0});

	for (const struct device_entry *entry = kernel ? kernel->entries : NULL; entry;
	     entry = entry->next) {
		const struct device_info *other;

		if (!entry->handle || entry->handle == HANDLE_DROPPED)
			continue;
		other = &table->infos[entry->handle - 1];
		if (other->kind == info->kind && !strcmp(other->name, info->name) &&
		    device_is_there(table, entry))
			return entry->handle;
	}
	return 0;
}

static bool is_met(const struct device_table *table, __u32 id)
{
	return id < table->handle_room && table->handles[id];
}

static bool has_room(struct device_table *table, __u32 id)
{
	return array_grow(&table->handles, &table->handle_room, (size_t)id + 1, sizeof(__u32),
			  ARRAY_ZEROED) &&
	       array_grow(&table->infos, &table->info_room, table->info_count + 1,
			  sizeof(struct device_info), ARRAY_ZEROED);
}

/* From now on this number means this handle; 0: one of its own, unless the filter leaves it out. */
static __u32 name_number(struct device_table *table, __u32 id, __u32 handle,
			 const struct device_info *info)
{
	if (!handle && wanted(table, info)) {
		struct device_info *copy = &table->infos[table->info_count++];

		*copy = *info;
		handle = copy->handle = table->info_count;
	}
	if (!handle)
		handle = HANDLE_DROPPED;
	table->handles[id] = handle;
	return handle;
}

static __u32 device_table_keep(struct device_table *table, const struct device_key *key, __u32 id,
			       const struct device_info *info)
{
	struct device_entry *entry = has_room(table, id) ? device_entry_get(table, key) : NULL;
	__u32 handle = 0;

	if (!entry)
		return 0;
	/* What this key meant when there was no slot for it. */
	if (entry->unplaced)
		handle = entry->handle;
	else if (entry->id && entry->id != id && !key->owner)
		device_has_gone(table, entry);
	/* The kernel side met it by its place and by its address. */
	if (info->kind == DEVICE_PCI)
		handle = present(table, info);
	entry->unplaced = false;
	entry->id = id;
	entry->handle = name_number(table, id, handle, info);
	return entry->handle;
}

/* Likewise, of one that the kernel side has met by itself. */
static __u32 keep_met(struct device_table *table, const struct device_key *key, __u32 id,
		      const struct device_info *info)
{
	__u32 handle = device_table_keep(table, key, id, info);
	struct device_owner *owner = handle ? device_owner_find(table, key) : NULL;

	if (owner)
		owner->met++;
	return handle;
}

/* Met by an event before its machine's hello was read: it has a name now, and the filter another answer. */
static __u32 name_late(struct device_table *table, const struct device_key *key,
		       struct device_state *state, const struct device_info *info)
{
	__u32 handle = table->handles[state->id];
	struct device_info *known;
	__u64 first_ns;

	if (handle == HANDLE_DROPPED && wanted(table, info)) {
		state->verdict = DEVICE_PASS;
		bpf_map_update_elem(table->map, key, state, BPF_EXIST);
		return device_table_keep(table, key, state->id, info);
	}
	known = handle == HANDLE_DROPPED ? NULL : &table->infos[handle - 1];
	if (!known || !strcmp(known->name, info->name) ||
	    !array_grow(&table->renamed, &table->renamed_room, table->renamed_count + 1,
			sizeof(__u32), ARRAY_ZEROED))
		return handle;
	if (handle <= table->info_told)
		table->renamed[table->renamed_count++] = handle;
	first_ns = known->first_ns;
	*known = *info;
	known->handle = handle;
	known->first_ns = first_ns;
	return handle;
}

/* Gives it a slot under this number; false: the kernel side has met it (`state`), or there is none. */
static bool device_table_place(struct device_table *table, const struct device_key *key,
			       struct device_state *state)
{
	if (bpf_map_update_elem(table->map, key, state, BPF_NOEXIST))
		return false;
	__atomic_fetch_add(&table->state->slots, 1, __ATOMIC_RELAXED);
	return true;
}

/* The kernel side does not know it. Without a slot its I/O is seen all the same; what the kernel side sees
 * of it is counted as lost. */
static __u32 enter_fresh(struct device_table *table, const struct device_key *key,
			 const struct device_info *info)
{
	struct device_entry *entry = device_entry_find(table, key);
	struct device_state state = {.verdict = wanted(table, info) ? DEVICE_PASS : DEVICE_DROP};
	bool placed;

	if (entry && entry->unplaced)
		state.id = entry->id;
	else
		state.id = __atomic_add_fetch(&table->state->devices, 1, __ATOMIC_RELAXED);
	placed = device_table_place(table, key, &state);
	if (!entry || !entry->unplaced) {
		if (!device_table_keep(table, key, state.id, info))
			return 0;
		entry = device_entry_find(table, key);
	}
	entry->unplaced = !placed;
	return entry->handle;
}

__u32 device_table_enter(struct device_table *table, const struct device_key *key,
			 const struct device_info *info)
{
	struct device_state state;

	if (bpf_map_lookup_elem(table->map, key, &state))
		return enter_fresh(table, key, info);
	if (is_met(table, state.id))
		return name_late(table, key, &state, info);
	return keep_met(table, key, state.id, info);
}

__u32 device_table_number(const struct device_table *table, const struct device_key *key)
{
	const struct device_entry *entry = device_entry_find(table, key);

	return entry ? entry->id : DEVICE_NONE;
}

static void device_table_meet(struct device_table *table, const struct device_key *key,
			      struct device_state *state)
{
	struct device_info info;

	device_describe(key, state, &info);
	if (keep_met(table, key, state->id, &info) != HANDLE_DROPPED)
		return;
	state->verdict = DEVICE_DROP;
	bpf_map_update_elem(table->map, key, state, BPF_EXIST);
}

/* Before any of these is met: the answers enter devices, some of them as likely as not. */
static void ask_machines(struct device_table *table, const struct device_batch *batch, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		if (batch->keys[i].kind == DEVICE_EMULATED && !is_met(table, batch->states[i].id))
			table->ask(table->ask_self, batch->keys[i].owner);
}

void device_table_meet_new(struct device_table *table)
{
	struct device_batch *batch = table->batch;
	__u32 at = 0, count;
	int end = 0;

	for (bool first = true; !end; first = false) {
		count = SCAN_BATCH;
		end = bpf_map_lookup_batch(table->map, first ? NULL : &at, &at, batch->keys,
					   batch->states, &count, NULL);
		if (end && errno != ENOENT)
			return;
		ask_machines(table, batch, count);
		for (__u32 i = 0; i < count; i++)
			if (!is_met(table, batch->states[i].id))
				device_table_meet(table, &batch->keys[i], &batch->states[i]);
	}
}

/* One that has given its slot back: its key may mean another by now. */
static bool meet_past(struct device_table *table, __u32 id)
{
	struct device_owner *owner;
	struct device_past past;
	struct device_info info;

	if (bpf_map_lookup_elem(table->past, &id, &past))
		return false;
	device_describe(&past.key, &past.state, &info);
	if (!has_room(table, id))
		return false;
	name_number(table, id, 0, &info);
	owner = device_owner_find(table, &past.key);
	if (owner && past.key.owner)
		owner->met++;
	return true;
}

__u32 device_table_handle(struct device_table *table, __u32 id)
{
	if (id == DEVICE_NONE)
		return DEVICE_NONE;
	/* Ids that were never given out come only from damaged state: no endless search. */
	if (!is_met(table, id) && id > __atomic_load_n(&table->state->devices, __ATOMIC_RELAXED))
		return DEVICE_NONE;
	/* It may go while it is looked for. */
	if (!is_met(table, id) && !meet_past(table, id)) {
		device_table_meet_new(table);
		if (!is_met(table, id) && !meet_past(table, id) && has_room(table, id)) {
			table->handles[id] = HANDLE_FORGOTTEN;
			__atomic_fetch_add(&table->state->state_failed, 1, __ATOMIC_RELAXED);
		}
	}
	if (!is_met(table, id) || table->handles[id] == HANDLE_FORGOTTEN)
		return DEVICE_NONE;
	return table->handles[id];
}

const struct device_info *device_table_next_new(struct device_table *table)
{
	if (table->renamed_count)
		return &table->infos[table->renamed[--table->renamed_count] - 1];
	if (table->info_told == table->info_count)
		return NULL;
	return &table->infos[table->info_told++];
}
