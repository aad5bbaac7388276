/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device dictionary of a live capture.
 *
 * The kernel side numbers devices as it meets them, with gaps where two CPUs met one at once; here
 * a number becomes the dense handle that events carry outside, and the device gets its name from
 * whoever knows it best: the machine's hello, sysfs, or a truthful generic one.
 */
#ifndef FAULTLINE_DEVICES_H
#define FAULTLINE_DEVICES_H

#include "lib/base/stream.h"
#include "lib/capture/capture.h"
#include "lib/capture/objects.h"

#define HANDLE_DROPPED UINT32_MAX /* the device filter leaves it out */

struct device_table;

/* Asks a process that emulates devices for them, if it is a machine: they are entered before it returns. */
typedef void (*device_ask_fn)(void *self, __u32 pid);

int device_table_create(struct device_table **table, const struct capture_config *config,
			const struct shared_maps *maps, device_ask_fn ask, void *self);
void device_table_destroy(struct device_table *table);

/*
 * Enters a device before the kernel side meets it. Returns its handle, also if the kernel side has no
 * room for it; HANDLE_DROPPED, or 0 without memory.
 */
__u32 device_table_enter(struct device_table *table, const struct device_key *key,
			 const struct device_info *info);
/* The kernel-side number of a device that was entered, DEVICE_NONE for any other. */
__u32 device_table_number(const struct device_table *table, const struct device_key *key);
/* The handle for a kernel-side number, DEVICE_NONE for one nobody knows. Cheap, but for the first of a device. */
__u32 device_table_handle(struct device_table *table, __u32 id);
/* Devices entered or named since the last call, new ones in the order of their handles; NULL: no more. */
const struct device_info *device_table_next_new(struct device_table *table);
/* The owner is gone: the kernel side forgets its devices. Handles stay valid for late events. */
void device_table_forget_owner(struct device_table *table, __u32 owner, __u64 owner_start);
/*
 * The kernel side has forgotten devices because they went: their entries and domains are given back.
 * Handles stay valid for late events; who comes to such an address or place is another device.
 */
void device_table_forget_gone(struct device_table *table);

/* Processes whose emulated devices no machine's hello has named: their faults are seen, their I/Os are not. */
__u64 device_table_strangers(const struct device_table *table);

/* A fault of the device with this kernel-side number was given up: that the device goes will be told. */
void device_table_gave_up(struct device_table *table, __u32 id);
/* The handle of such a device that was forgotten since the last call, 0: no more. */
__u32 device_table_next_gone(struct device_table *table);

#endif
