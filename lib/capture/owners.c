// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/mappings.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/owners_private.h"

#define SNAPSHOT_NS   (10 * NSEC_PER_SEC)
#define SNAPSHOT_ROWS 64	 /* groups told of each code; the rest is in the gauges */
#define HUGE_BITS     21	 /* 2 MiB */
#define HUGE_APART    512	 /* of more 2 MiB pages than this none is shared with a neighbour */
#define PAGES_MAX     (1u << 20) /* distinct 2 MiB pages told apart: two TiB */

int owners_create(struct owners **owners, const struct owners_config *config)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (o) {
		o->config = *config;
		o->symbols = symbols_create(NULL);
		o->stacks_told = calloc(STACKS_MAX + 1, 1);
	}
	if (!o || !o->symbols || !o->stacks_told) {
		owners_destroy(o);
		return failed(-ENOMEM, "no memory for the owners of mappings");
	}
	*owners = o;
	return 0;
}

/* Clears a hash of uthash together with its elements. */
#define CLEAR(type, list)                        \
	do {                                     \
		struct type *one, *next;         \
		HASH_ITER(hh, list, one, next) { \
			HASH_DEL(list, one);     \
			free(one);               \
		}                                \
	} while (0)

void owners_destroy(struct owners *owners)
{
	if (!owners)
		return;
	CLEAR(live_group, owners->groups);
	CLEAR(owners_live_device, owners->devices);
	CLEAR(live_page, owners->pages);
	CLEAR(name, owners->names);
	symbols_destroy(owners->symbols);
	free(owners->stacks_told);
	free(owners);
}

static __u32 owners_device(const struct owners *owners, __u32 id)
{
	return owners->config.devices ? device_table_handle(owners->config.devices, id) : id;
}

static struct owners_live_device *owners_device_of(struct owners *owners, __u32 handle)
{
	struct owners_live_device *device;

	HASH_FIND(hh, owners->devices, &handle, sizeof(handle), device);
	if (device)
		return device;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	device->device = handle;
	HASH_ADD(hh, owners->devices, device, sizeof(handle), device);
	if (device->hh.tbl)
		return device;
	free(device);
	return NULL;
}

/* Counts the 2 MiB pages of a mapping that no other of its device has counted. */
static void add_pages(struct owners *owners, struct owners_live_device *device,
		      const struct mapping *mapping)
{
	__u64 first = mapping->address >> HUGE_BITS;
	__u64 last = (mapping->address + mapping->length - 1) >> HUGE_BITS;

	if (last - first >= HUGE_APART || HASH_COUNT(owners->pages) >= PAGES_MAX) {
		device->pages += last - first + 1;
		return;
	}
	for (__u64 number = first; number <= last; number++) {
		struct live_page *page;
		struct live_page fresh = {.key = {number, device->device}};

		HASH_FIND(hh, owners->pages, &fresh.key, sizeof(fresh.key), page);
		if (page)
			continue;
		page = malloc(sizeof(*page));
		owners->lost_memory |= !page;
		if (!page)
			return;
		*page = fresh;
		HASH_ADD(hh, owners->pages, key, sizeof(page->key), page);
		if (!page->hh.tbl) {
			free(page);
			owners->lost_memory = true;
			return;
		}
		device->pages++;
	}
}

static void add_group(struct owners *owners, const struct mapping *mapping, __u32 handle,
		      __u32 code)
{
	struct live_group fresh = {.key = {handle, mapping->pid, mapping->stack, code}}, *group;

	HASH_FIND(hh, owners->groups, &fresh.key, sizeof(fresh.key), group);
	if (!group) {
		group = malloc(sizeof(*group));
		owners->lost_memory |= !group;
		if (!group)
			return;
		*group = fresh;
		HASH_ADD(hh, owners->groups, key, sizeof(group->key), group);
		if (!group->hh.tbl) {
			free(group);
			owners->lost_memory = true;
			return;
		}
	}
	group->count++;
	group->bytes += mapping->bytes;
	if (!group->oldest_ns || mapping->mapped_ns < group->oldest_ns) {
		group->oldest_ns = mapping->mapped_ns;
		group->oldest_address = mapping->address;
	}
}

static void add_mapping(struct owners *owners, const struct mapping *mapping, __u64 now_ns)
{
	__u32 handle = owners_device(owners, mapping->device);
	bool old =
		now_ns > mapping->mapped_ns && now_ns - mapping->mapped_ns >= owners->config.old_ns;
	struct owners_live_device *device;

	/* An IOVA range that is reserved but empty maps nothing. */
	if (handle == HANDLE_DROPPED || !mapping->bytes)
		return;
	device = owners_device_of(owners, handle);
	owners->lost_memory |= !device;
	if (!device)
		return;
	device->count++;
	device->bytes += mapping->bytes;
	device->old_count += old;
	device->old_bytes += old ? mapping->bytes : 0;
	add_pages(owners, device, mapping);
	add_group(owners, mapping, handle, LIVE_ALL);
	if (old)
		add_group(owners, mapping, handle, LIVE_OLD);
	owners_name(owners, mapping->pid, mapping->comm);
}

static void owners_scan(struct owners *owners, __u64 now_ns)
{
	for (size_t n = 0; n < MAPPING_SETS; n++) {
		const struct mapping_set *set = &owners->config.table[n];

		for (size_t i = 0; i < MAPPING_SLOTS; i++) {
			__u64 word = __atomic_load_n(&set->words[i], __ATOMIC_ACQUIRE);
			struct mapping copy;

			if (MAPPING_PHASE(word) != MAPPING_LIVE)
				continue;
			copy = set->slots[i];
			/* The copy must be complete before the word is read again. */
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			/* Gone while we looked: it does not live now. */
			if (__atomic_load_n(&set->words[i], __ATOMIC_ACQUIRE) == word)
				add_mapping(owners, &copy, now_ns);
		}
	}
}

/* A gauge that has become 0 is told once more, so that whoever draws it sees it fall. */
static int report_gauge(struct windows *windows, __u64 now_ns, struct owners_live_device *device,
			__u8 code, __u64 count, __u64 bytes)
{
	const struct aggregate_key key = {
		.device = device->device,
		.kind = EVENT_DMA_LIVE,
		.queue = QUEUE_NONE,
		.code = code,
	};
	__u64 bit = 1ull << code;

	if (!count && !(device->told & bit))
		return 0;
	device->told = count ? device->told | bit : device->told & ~bit;
	return windows_gauge(windows, now_ns, &key, count, bytes);
}

int owners_measure(struct owners *owners, struct windows *windows, __u64 now_ns)
{
	struct owners_live_device *device, *next;
	int error = 0;

	CLEAR(live_group, owners->groups);
	CLEAR(live_page, owners->pages);
	HASH_ITER(hh, owners->devices, device, next)
		device->count = device->bytes = device->old_count = device->old_bytes =
			device->pages = 0;
	owners_scan(owners, now_ns);
	if (owners->lost_memory)
		return failed(-ENOMEM, "no memory to count live mappings");
	HASH_ITER(hh, owners->devices, device, next) {
		error = error ? error
			      : report_gauge(windows, now_ns, device, LIVE_ALL, device->count,
					     device->bytes);
		error = error ? error
			      : report_gauge(windows, now_ns, device, LIVE_OLD, device->old_count,
					     device->old_bytes);
		error = error ? error
			      : report_gauge(windows, now_ns, device, LIVE_PAGES, device->pages,
					     device->pages << HUGE_BITS);
	}
	return error;
}

bool owners_snapshot_due(const struct owners *owners, __u64 now_ns)
{
	return now_ns >= owners->next_snapshot_ns;
}

static int by_bytes(const struct live_group *a, const struct live_group *b)
{
	if (a->key.code != b->key.code)
		return a->key.code < b->key.code ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return memcmp(&a->key, &b->key, sizeof(a->key));
}

int owners_snapshot(struct owners *owners, __u64 now_ns, owners_event_fn give, void *self)
{
	struct event last = {.time_ns = now_ns,
			     .pasid = PASID_NONE,
			     .kind = EVENT_DMA_LIVE,
			     .queue = QUEUE_NONE,
			     .flags = EVENT_LAST};
	size_t told[2] = {0};

	owners->next_snapshot_ns = now_ns + SNAPSHOT_NS;
	HASH_SORT(owners->groups, by_bytes);
	for (const struct live_group *group = owners->groups; group; group = group->hh.next) {
		struct event event = last;
		int error;

		if (told[group->key.code & 1]++ >= SNAPSHOT_ROWS)
			continue;
		event.flags = 0;
		event.device = group->key.device;
		event.pid = group->key.pid;
		event.group = group->key.stack;
		event.code = (__u8)group->key.code;
		event.address = group->oldest_address;
		event.value = group->oldest_ns;
		event.length = group->bytes;
		event.instance = (__u32)group->count;
		error = give(self, &event);
		if (error)
			return error;
	}
	return give(self, &last);
}
