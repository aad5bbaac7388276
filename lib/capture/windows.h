/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Aggregate frames: what was counted in one second, from the kernel's maps and from access logs.
 *
 * A window that has closed is read once, deleted in the kernel, and pushed as one frame; nobody
 * else looks into the maps, so that live views and recordings see the same numbers. A window closes
 * WINDOW_GRACE_NS after its end, for access logs that arrive with a delay; a record that comes even
 * later is counted in the oldest window still open, so that no count is lost. A recorder that was
 * held up finds the logs of up to 64 seconds, each in its own window; what is newer is counted in the
 * last of them, which is incomplete.
 */
#ifndef FAULTLINE_WINDOWS_H
#define FAULTLINE_WINDOWS_H

#include "lib/base/stream.h"
#include "lib/capture/devices.h"

#define WINDOW_GRACE_NS 200000000ull

struct windows;

/* `maps` may be NULL: only access logs (tests). `now_ns` is the start. */
int windows_create(struct windows **windows, const struct shared_maps *maps,
		   struct device_table *devices, __u64 now_ns);
void windows_destroy(struct windows *windows);

/* One I/O of an access log. `key->window` is chosen here, from `time_ns`. */
int windows_add(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		__u64 bytes, __u64 latency_ns);
/* Further bytes of an I/O that is added as well. */
int windows_add_bytes(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		      __u64 bytes);
/* What is so at an instant, not what happened: replaces what the window had of the key. */
int windows_gauge(struct windows *windows, __u64 time_ns, const struct aggregate_key *key,
		  __u64 count, __u64 bytes);
/* Its memory: every 4 KiB page of [address, address + bytes), flags EVENT_READ or EVENT_WRITE. */
int windows_add_pages(struct windows *windows, __u64 time_ns, __u32 device, __u32 pasid,
		      __u64 address, __u64 bytes, __u8 flags);

/*
 * Pushes the frame of every window that has closed by now_ns, a time before the logs were read last;
 * UINT64_MAX closes all.
 */
int windows_close(struct windows *windows, __u64 now_ns, struct stream sink);

#endif
