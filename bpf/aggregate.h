/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is too frequent to record one by one: counted per second, per device, per kind.
 *
 * BPF programs (CPU faults nobody asked for by pid, DMA and IOMMU maps, block completions) and the
 * access log of emulated devices count into windows of AGGREGATE_WINDOW_NS; a window that has
 * closed is snapshotted exactly once into an aggregate frame (lib/base/stream.h), which live views
 * and recordings consume alike.
 */
#ifndef FAULTLINE_AGGREGATE_H
#define FAULTLINE_AGGREGATE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define AGGREGATE_WINDOW_NS 1000000000ull

/* What one counter counts. In BPF maps `window` makes the key unique over time. */
struct aggregate_key {
	__u64 window; /* floor(time_ns / AGGREGATE_WINDOW_NS) */
	__u32 device; /* handle, DEVICE_NONE where the source knows none */
	__u32 pid;
	__u16 kind;  /* enum event_kind of the events counted */
	__u16 queue; /* or QUEUE_NONE */
	__u8 code;
	__u8 flags; /* only EVENT_READ, WRITE, PRIV, MAJOR */
	__u16 reserved;
};

struct aggregate_counts {
	__u64 count;
	__u64 bytes;
	__u64 latency_sum_ns; /* 0 where the kind has no latency */
	__u64 latency_max_ns;
};

/* DMA footprint of one 4 KiB page of one device within one window. */
struct aggregate_page {
	__u64 page; /* IOVA >> 12 */
	__u32 device;
	__u32 reads;  /* device accesses that read guest memory */
	__u32 writes; /* device accesses that wrote it */
	__u32 pasid;
};

#endif
