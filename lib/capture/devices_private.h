/* SPDX-License-Identifier: GPL-2.0 */
/* Inside devices.c, device_names.c and device_slots.c. */
#ifndef FAULTLINE_DEVICES_PRIVATE_H
#define FAULTLINE_DEVICES_PRIVATE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/capture/devices.h"

/* A device as the kernel side means it now. */
struct device_entry {
	struct device_key key;
	__u32 id;
	__u32 handle;  /* or HANDLE_DROPPED */
	bool unplaced; /* no slot was free: the kernel side may meet it again */
	struct device_entry *previous, *next; /* of the same owner */
	UT_hash_handle hh;
};

/* A process, or the kernel (pid 0), and what it has. */
struct device_owner {
	struct owner_key key;
	__u32 met; /* of owner_share.entered */
	struct device_entry *entries;
	UT_hash_handle hh;
};

#define SCAN_BATCH 256

/* One answer of the kernel about its devices. */
struct device_batch {
	struct device_key keys[SCAN_BATCH];
	struct device_state states[SCAN_BATCH];
};

struct device_table {
	int map, past, owner_shares, domains;
	struct capture_state *state;
	const char *const *patterns;
	size_t pattern_count;
	device_ask_fn ask;
	void *ask_self;
	__u32 *handles; /* by kernel-side number */
	size_t handle_room;
	struct device_entry *entries;
	struct device_owner *owners;
	struct device_batch *batch;
	struct device_info *infos; /* by handle - 1 */
	size_t info_count, info_room, info_told;
	__u32 *renamed; /* handles to be told again */
	size_t renamed_count, renamed_room;
	bool *gave_up; /* by kernel-side number: a fault of it was */
	size_t gave_up_room;
	__u32 *gone; /* handles to be told so */
	size_t gone_count, gone_room;
	__u32 *former; /* kernel-side numbers whose domains are another's */
	size_t former_count, former_room;
	__u64 strangers; /* owners that have gone, see device_table_strangers() */
	__u32 gone_seen; /* capture_state.gone when looked at last */
};

/* Meets what the kernel side has and nobody has asked for yet. */
void device_table_meet_new(struct device_table *table);

/* device_names.c: all that can be told of a device, by what the kernel side knows it. */
void device_describe(const struct device_key *key, const struct device_state *state,
		     struct device_info *info);

/* device_slots.c */
struct device_owner *device_owner_find(const struct device_table *table,
				       const struct device_key *key);
struct device_entry *device_entry_find(const struct device_table *table,
				       const struct device_key *key);
/* Likewise; makes it. NULL without memory. */
struct device_entry *device_entry_get(struct device_table *table, const struct device_key *key);
/* Whether the kernel side still means this device by this key. */
bool device_is_there(const struct device_table *table, const struct device_entry *entry);
/* This device is no more, or no longer known by its key. */
void device_has_gone(struct device_table *table, const struct device_entry *entry);

#endif
