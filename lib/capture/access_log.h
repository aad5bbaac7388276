/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The access log of an emulated machine, as a consumer sees it (VPRI section 5.3, IO-PAL).
 *
 * The device fills compact records into buffers that its owner has posted; the owner, one thread of
 * the machine, republishes them here: a broadcast ring in a sealed memfd. The producer never
 * blocks. Each consumer keeps its own cursor and computes its own loss exactly:
 *
 *	head = load_acquire(&ring->head);             // records published so far, free-running
 *	if (head - cursor > capacity) { lost += head - cursor - capacity; cursor = head - capacity; }
 *	copy records[cursor & (capacity - 1)] ...
 *	tail = load_acquire(&ring->reserved);         // records begun; what it may have overwritten
 *	if (tail - cursor > capacity) the first (tail - cursor - capacity) copies are torn: lost
 *
 * The memory belongs to another process: every field is untrusted. A consumer maps it read-only,
 * reads capacity once, masks indices with its own copy, copies a record and then validates it.
 */
#ifndef FAULTLINE_ACCESS_LOG_H
#define FAULTLINE_ACCESS_LOG_H

#include <linux/types.h>

#include "lib/base/run_directory.h"

#define ACCESS_LOG_MAGIC 0x31474f4c41494fULL /* "OIALOG1" */

/*
 * One range of memory that a device's finished I/O touched. The last range of an I/O stands for it;
 * those before it, of the same queue, are marked IO_PART. 32 bytes.
 */
struct access_record {
	__u64 time_ns; /* completion, CLOCK_MONOTONIC */
	__u64 address; /* IOVA of the first byte */
	__u32 length;  /* bytes */
	__u32 latency; /* descriptor fetched to completion in units of 64 ns, its lower 32 bits */
	__u16 device;  /* index in the machine's hello, not a handle */
	__u16 queue;
	__u8 flags; /* EVENT_READ: the device read memory (a block write); EVENT_WRITE: wrote it */
	__u8 code;  /* enum io_code with its bits */
	__u16 latency_high; /* the next 16 bits: 208 days in all, saturating */
};

#define ACCESS_LATENCY_NS  64
#define ACCESS_LATENCY_MAX ((1ull << 48) - 1)

static inline __u64 access_latency_ns(const struct access_record *record)
{
	return ((__u64)record->latency_high << 32 | record->latency) * ACCESS_LATENCY_NS;
}

struct access_ring {
	__u64 magic;
	__u32 capacity; /* records, a power of two */
	__u32 record_size;
	__u64 discarded; /* records the device dropped because no buffer was posted, total */
	__u64 pad[5];
	__u64 reserved __attribute__((aligned(64))); /* free-running: records begun */
	__u64 head __attribute__((aligned(64)));     /* free-running: records complete */
	struct access_record records[] __attribute__((aligned(64)));
};

/*
 * How a machine is found: RUN_DIRECTORY (root, 0700) holds "PID.machine", a SOCK_SEQPACKET unix
 * socket. A client that connects is sent one message: the hello as JSON, with the access ring's
 * memfd (F_SEAL_SHRINK|F_SEAL_GROW) as SCM_RIGHTS. Then the connection stays open and silent: the client shuts
 * its own side once it has checked who speaks, for which a machine that is over waits shortly; the other's
 * end is the machine's end. The client trusts SO_PEERCRED, never the file name.
 *
 * While observers watch, the machine tells them its total (lib/capture/observer.h), under its "id".
 *
 *	{"faultline":1, "id":789, "pid":123, "start_time":456 (clock ticks, /proc/PID/stat field 22),
 *	 "devices":[{"index":0,"name":"tenant0/disk0","model":"block","tenant":"tenant0",
 *	             "queues":2,"memory":1073741824,"pasid":2147483648,
 *	             "mapped_at":140000000000000 (what the device knows as 0, in our address space; optional)}]}
 */
#define HELLO_MAX (1 << 20)

#endif
