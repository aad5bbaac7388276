// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/devices.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/device_name.h"
#include "lib/base/fail.h"
#include "lib/capture/process.h"
#include "lib/capture/rdma_counters.h"

/* A device as the kernel side numbers it. */
struct entry {
	struct device_key key;
	__u32 id;
	__u32 handle; /* or HANDLE_DROPPED */
};

struct device_table {
	int map, owners, domains;
	bool unplaced; /* some device got no slot: the kernel side may meet it again */
	struct capture_state *state;
	const char *const *patterns;
	size_t pattern_count;
	device_namer_fn namer;
	void *namer_self;
	__u32 *handles; /* by kernel-side number */
	size_t handle_room;
	bool *gave_up; /* likewise: a fault of it was */
	size_t gave_up_room;
	struct entry *entries;
	size_t entry_count, entry_room;
	struct device_info *infos; /* by handle - 1 */
	size_t info_count, info_room, info_told;
	__u32 *renamed; /* handles to be told again */
	size_t renamed_count, renamed_room;
	__u32 *gone; /* handles to be told so */
	size_t gone_count, gone_room;
};

int device_table_create(struct device_table **table, const struct capture_config *config,
			const struct shared_maps *maps, device_namer_fn namer, void *self)
{
	struct device_table *t = calloc(1, sizeof(*t));

	if (!t)
		return failed(-ENOMEM, "no memory for the device dictionary");
	t->map = maps->devices;
	t->owners = maps->owners;
	t->domains = maps->domains;
	t->state = maps->state;
	t->patterns = config->devices;
	t->pattern_count = config->device_count;
	t->namer = namer;
	t->namer_self = self;
	*table = t;
	return 0;
}

void device_table_destroy(struct device_table *table)
{
	if (!table)
		return;
	free(table->handles);
	free(table->entries);
	free(table->infos);
	free(table->renamed);
	free(table->gave_up);
	free(table->gone);
	free(table);
}

/* Grows an array to hold `needed` elements; new ones are zero. */
static bool grow(void *array, size_t *room, size_t needed, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	char *grown;

	if (needed <= *room)
		return true;
	if (more < needed)
		more = needed;
	grown = realloc(*(void **)array, more * size);
	if (!grown)
		return false;
	memset(grown + *room * size, 0, (more - *room) * size);
	*(void **)array = grown;
	*room = more;
	return true;
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

/* Whether the kernel side still means this device by this key. */
static bool is_there(const struct device_table *table, const struct entry *entry)
{
	struct device_state state;

	return !bpf_map_lookup_elem(table->map, &entry->key, &state) && state.id == entry->id;
}

/* The device that is called so now, 0: none. One that has gone may have had the same name. */
static __u32 present(const struct device_table *table, const struct device_info *info)
{
	for (size_t i = 0; i < table->entry_count; i++) {
		const struct entry *entry = &table->entries[i];
		const struct device_info *other;

		if (!entry->handle || entry->handle == HANDLE_DROPPED ||
		    entry->key.kind & DEVICE_GONE)
			continue;
		other = &table->infos[entry->handle - 1];
		if (other->kind == info->kind && !strcmp(other->name, info->name) &&
		    is_there(table, entry))
			return entry->handle;
	}
	return 0;
}

/* What this key meant when there was no slot for it, 0: nothing. */
static __u32 without_slot(const struct device_table *table, const struct device_key *key)
{
	for (size_t i = 0; table->unplaced && key->owner && i < table->entry_count; i++)
		if (!memcmp(&table->entries[i].key, key, sizeof(*key)))
			return table->entries[i].handle;
	return 0;
}

static bool is_met(const struct device_table *table, __u32 id)
{
	return id < table->handle_room && table->handles[id];
}

static __u32 keep(struct device_table *table, const struct device_key *key, __u32 id,
		  const struct device_info *info)
{
	__u32 handle = without_slot(table, key);
	struct device_info *copy;

	if (!grow(&table->handles, &table->handle_room, id + 1, sizeof(__u32)) ||
	    !grow(&table->entries, &table->entry_room, table->entry_count + 1,
		  sizeof(struct entry)) ||
	    !grow(&table->infos, &table->info_room, table->info_count + 1, sizeof(*copy)))
		return 0;
	/* The kernel side met it by its place and by its address. */
	if (info->kind == DEVICE_PCI && !(key->kind & DEVICE_GONE))
		handle = present(table, info);
	if (!handle && wanted(table, info)) {
		copy = &table->infos[table->info_count++];
		*copy = *info;
		handle = copy->handle = table->info_count;
	}
	if (!handle)
		handle = HANDLE_DROPPED;
	table->handles[id] = handle;
	table->entries[table->entry_count++] =
		(struct entry){.key = *key, .id = id, .handle = handle};
	return handle;
}

/* Met by an event before its machine's hello was read: it has a name now, and the filter another answer. */
static __u32 name_late(struct device_table *table, const struct device_key *key,
		       struct device_state *state, const struct device_info *info)
{
	__u32 handle = table->handles[state->id];
	struct device_info *known;
	__u64 first_ns;
	size_t i = 0;

	if (handle == HANDLE_DROPPED && wanted(table, info)) {
		while (i < table->entry_count && table->entries[i].id != state->id)
			i++;
		if (i < table->entry_count)
			table->entries[i] = table->entries[--table->entry_count];
		state->verdict = DEVICE_PASS;
		bpf_map_update_elem(table->map, key, state, BPF_EXIST);
		return keep(table, key, state->id, info);
	}
	known = handle == HANDLE_DROPPED ? NULL : &table->infos[handle - 1];
	if (!known || !strcmp(known->name, info->name) ||
	    !grow(&table->renamed, &table->renamed_room, table->renamed_count + 1, sizeof(__u32)))
		return handle;
	if (handle <= table->info_told)
		table->renamed[table->renamed_count++] = handle;
	first_ns = known->first_ns;
	*known = *info;
	known->handle = handle;
	known->first_ns = first_ns;
	return handle;
}

__u32 device_table_enter(struct device_table *table, const struct device_key *key,
			 const struct device_info *info)
{
	struct device_state state = {.verdict = DEVICE_PASS};

	state.id = __atomic_fetch_add(&table->state->devices, 1, __ATOMIC_RELAXED) + 1;
	if (!wanted(table, info))
		state.verdict = DEVICE_DROP;
	if (!bpf_map_update_elem(table->map, key, &state, BPF_NOEXIST))
		return keep(table, key, state.id, info);
	/* Its I/O is seen all the same; what the kernel side sees of it is counted as lost. */
	if (errno != EEXIST || bpf_map_lookup_elem(table->map, key, &state))
		table->unplaced = true;
	if (is_met(table, state.id))
		return name_late(table, key, &state, info);
	return keep(table, key, state.id, info);
}

/* "0000:00:02.0" as one number: domain, bus, device and function. */
static __u64 pci_address(const char *name)
{
	unsigned int domain, bus, device, function;

	if (sscanf(name, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return 0;
	return (__u64)domain << 16 | bus << 8 | device << 3 | function;
}

static __s32 iommu_group(const char *bus, const char *name)
{
	char path[128], target[128];
	const char *number;
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s/iommu_group", bus, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return -1;
	target[length] = '\0';
	number = strrchr(target, '/');
	return number ? atoi(number + 1) : -1;
}

/* A function that only the number of its place names; its driver is asked of sysfs. */
static void describe_function(struct device_info *info)
{
	__u64 rid = info->source_id;
	char path[128], target[128];
	ssize_t length;

	snprintf(info->name, sizeof(info->name), "%04llx:%02llx:%02llx.%llx", rid >> 16,
		 rid >> 8 & 0xff, rid >> 3 & 0x1f, rid & 7);
	info->iommu_group = iommu_group("pci", info->name);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", info->name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	snprintf(info->model, sizeof(info->model), "%.*s", NAME_TEXT - 1,
		 strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

/* What the kernel's own names of a device tell. Its address in the kernel stays inside. */
static void describe_by_bus(const struct device_state *state, struct device_info *info)
{
	info->kind = DEVICE_UNKNOWN;
	info->source_id = 0;
	if (!strcmp(state->bus, "pci")) {
		info->kind = DEVICE_PCI;
		info->source_id = pci_address(state->name);
	} else if (!strcmp(state->bus, "platform")) {
		info->kind = DEVICE_PLATFORM;
	}
	if (state->bus[0])
		info->iommu_group = iommu_group(state->bus, state->name);
}

static void describe(struct device_table *table, const struct device_key *key,
		     const struct device_state *state, struct device_info *info)
{
	memset(info, 0, sizeof(*info));
	info->first_ns = monotonic_ns();
	info->iommu_group = -1;
	info->kind = key->kind;
	info->pid = key->owner;
	info->pid_start_ns = key->owner_start * PROCESS_TICK_NS;
	info->source_id = key->source;
	if (key->owner)
		process_describe(key->owner, info->comm, &info->cgroup);
	snprintf(info->model, sizeof(info->model), "%s", state->driver);
	if (key->kind == DEVICE_VFIO_CONTAINER) {
		/* Its owner may be gone by now: the kernel side has kept the name. */
		if (!info->comm[0])
			snprintf(info->comm, sizeof(info->comm), "%s", state->bus);
		snprintf(info->name, sizeof(info->name), "%s/%u.%u",
			 strcmp(state->driver, "iommufd") != 0 ? "vfio" : "iommufd", key->owner,
			 (__u32)key->source);
		return;
	}
	if (key->kind == DEVICE_EMULATED && table->namer(table->namer_self, key, info))
		return;
	if (key->kind == DEVICE_BY_ADDRESS)
		describe_by_bus(state, info);
	if (key->kind == DEVICE_PCI) {
		describe_function(info);
		return;
	}
	if (state->name[0])
		snprintf(info->name, sizeof(info->name), "%s", state->name);
	else
		snprintf(info->name, sizeof(info->name), "emulated:%u/%llu", key->owner,
			 key->source);
	if (key->kind == DEVICE_IB) {
		info->source_id = 0; /* of the name */
		rdma_device_model(state->name, info->model);
	}
}

static __u32 meet(struct device_table *table, struct device_key *key, struct device_state *state)
{
	struct device_key was = *key;
	struct device_info info;
	__u32 handle;

	if (was.kind & DEVICE_GONE) {
		was.kind &= ~DEVICE_GONE;
		was.source = was.owner_start;
		was.owner_start = 0;
	}
	describe(table, &was, state, &info);
	/* Naming may have brought the hello of its machine, and with it this very device. */
	if (is_met(table, state->id))
		return table->handles[state->id];
	handle = keep(table, key, state->id, &info);
	if (handle == HANDLE_DROPPED) {
		state->verdict = DEVICE_DROP;
		bpf_map_update_elem(table->map, key, state, BPF_EXIST);
	}
	return handle;
}

/* Looks through the kernel side's devices for the ones met since. */
static void meet_new(struct device_table *table)
{
	struct device_key key, *previous = NULL;
	struct device_state state;

	while (!bpf_map_get_next_key(table->map, previous, &key)) {
		previous = &key;
		if (bpf_map_lookup_elem(table->map, &key, &state))
			continue;
		if (!is_met(table, state.id))
			meet(table, &key, &state);
	}
}

__u32 device_table_handle(struct device_table *table, __u32 id)
{
	if (id == DEVICE_NONE)
		return DEVICE_NONE;
	if (is_met(table, id))
		return table->handles[id];
	/* Ids that were never given out come only from damaged state: no endless search. */
	if (id > __atomic_load_n(&table->state->devices, __ATOMIC_RELAXED))
		return DEVICE_NONE;
	meet_new(table);
	return id < table->handle_room ? table->handles[id] : DEVICE_NONE;
}

const struct device_info *device_table_next_new(struct device_table *table)
{
	if (table->renamed_count)
		return &table->infos[table->renamed[--table->renamed_count] - 1];
	if (table->info_told == table->info_count)
		return NULL;
	return &table->infos[table->info_told++];
}

/* Meets what of this owner was not asked for yet, for events that are still on their way; gives its slots back. */
static void return_slots(struct device_table *table, const struct owner_key *owner)
{
	struct device_key key, next;
	struct device_state state;
	int end = bpf_map_get_next_key(table->map, NULL, &next);

	while (!end) {
		key = next;
		end = bpf_map_get_next_key(table->map, &key, &next);
		if (key.owner != owner->pid || key.owner_start != owner->start ||
		    bpf_map_lookup_elem(table->map, &key, &state))
			continue;
		if (!is_met(table, state.id))
			meet(table, &key, &state);
		bpf_map_delete_elem(table->map, &key);
	}
}

void device_table_gave_up(struct device_table *table, __u32 id)
{
	if (grow(&table->gave_up, &table->gave_up_room, id + 1, sizeof(bool)))
		table->gave_up[id] = true;
}

__u32 device_table_next_gone(struct device_table *table)
{
	return table->gone_count ? table->gone[--table->gone_count] : 0;
}

static void tell_gone(struct device_table *table, const struct entry *entry)
{
	if (entry->id < table->gave_up_room && table->gave_up[entry->id] &&
	    entry->handle != HANDLE_DROPPED &&
	    grow(&table->gone, &table->gone_room, table->gone_count + 1, sizeof(__u32)))
		table->gone[table->gone_count++] = entry->handle;
}

void device_table_forget_owner(struct device_table *table, __u32 owner, __u64 owner_start)
{
	const struct owner_key gone = {.pid = owner, .start = owner_start};
	size_t kept = 0;

	/* First its account: what it enters from now on makes another one, and will be looked at. */
	bpf_map_delete_elem(table->owners, &gone);
	return_slots(table, &gone);
	for (size_t i = 0; i < table->entry_count; i++) {
		const struct entry *entry = &table->entries[i];

		if (entry->key.owner != owner || entry->key.owner_start != owner_start)
			table->entries[kept++] = *entry;
		else
			tell_gone(table, entry);
	}
	table->entry_count = kept;
}

/* Domains that were known by a device which has gone: theirs may be another's address by now. */
static void forget_domains(const struct device_table *table, __u32 device)
{
	struct domain_state state;
	__u64 domain, next;
	int more = bpf_map_get_next_key(table->domains, NULL, &next);

	while (!more) {
		domain = next;
		more = bpf_map_get_next_key(table->domains, &domain, &next);
		if (!bpf_map_lookup_elem(table->domains, &domain, &state) && state.device == device)
			bpf_map_delete_elem(table->domains, &domain);
	}
}

/* Of the kernel's own devices; of the others who owns them tells. */
static bool has_gone(const struct device_table *table, const struct entry *entry)
{
	switch (entry->key.kind) {
	case DEVICE_BY_ADDRESS:
	case PCI_FUNCTION:
	case DEVICE_BLOCK:
		return !is_there(table, entry);
	default:
		return entry->key.kind & DEVICE_GONE;
	}
}

void device_table_forget_gone(struct device_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->entry_count; i++) {
		struct entry *entry = &table->entries[i];
		struct device_key gone = entry->key;

		if (!has_gone(table, entry)) {
			table->entries[kept++] = *entry;
			continue;
		}
		if (!(gone.kind & DEVICE_GONE)) {
			gone.kind |= DEVICE_GONE;
			gone.owner_start = gone.source;
			gone.source = entry->id;
		}
		bpf_map_delete_elem(table->map, &gone);
		forget_domains(table, entry->id);
		tell_gone(table, entry);
	}
	table->entry_count = kept;
}
