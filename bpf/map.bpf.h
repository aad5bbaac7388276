/* SPDX-License-Identifier: GPL-2.0 */
/* How maps are declared, a line each, and access to the entries that need no key. */
#ifndef FAULTLINE_MAP_BPF_H
#define FAULTLINE_MAP_BPF_H

/* libbpf reads a map's definition from the types of such a struct's members. */
#define MAP(name, map_type, entries, key_type, value_type) \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_##map_type);     \
		__uint(max_entries, entries);              \
		__type(key, key_type);                     \
		__type(value, value_type);                 \
	} name SEC(".maps")

#define MAP_FLAGS(name, map_type, flags, entries, key_type, value_type) \
	struct {                                                        \
		__uint(type, BPF_MAP_TYPE_##map_type);                  \
		__uint(map_flags, flags);                               \
		__uint(max_entries, entries);                           \
		__type(key, key_type);                                  \
		__type(value, value_type);                              \
	} name SEC(".maps")

/* Memory is taken with each entry: most hosts have few of what there may be many of. */
#define HASH_ON_DEMAND(name, entries, key_type, value_type) \
	MAP_FLAGS(name, HASH, BPF_F_NO_PREALLOC, entries, key_type, value_type)

/* The kernel takes task storage only without preallocation, with an int for a key that nobody uses. */
#define TASK_STORAGE(name, value_type) \
	MAP_FLAGS(name, TASK_STORAGE, BPF_F_NO_PREALLOC, 0, int, value_type)

/* The entry of a map that has one. */
static __always_inline void *map_only(void *map)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(map, &zero);
}

/* The running task's entry; NULL: it has none. `flags`: BPF_LOCAL_STORAGE_GET_F_CREATE or 0. */
static __always_inline void *task_entry(void *map, __u64 flags)
{
	return bpf_task_storage_get(map, bpf_get_current_task_btf(), NULL, flags);
}

/*
 * Made if there is none; NULL without memory, or refused in the middle of another look (call.bpf.h).
 * Linux 7 does not refuse the interrupt but the one it interrupted, where that is the task's first
 * entry and the interrupt has made another meanwhile: a second look finds room.
 */
static __always_inline void *task_entry_ensure(void *map)
{
	void *entry = task_entry(map, BPF_LOCAL_STORAGE_GET_F_CREATE);

	return entry ? entry : task_entry(map, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

#endif
