/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between one device and the owner of the access log: a ring of buffers with compact records.
 *
 * The owner posts buffers, the device fills them in order, the owner takes what is in them and posts
 * them again. The device's queue threads take turns under the device's own lock; the owner shares
 * no lock with them, so that it cannot hold up an I/O.
 */
#ifndef FAULTLINE_EMU_ACCESS_BUFFER_H
#define FAULTLINE_EMU_ACCESS_BUFFER_H

#include <pthread.h>
#include <stdbool.h>

#include "injectors/emu/ring.h"
#include "lib/capture/access_log.h"

#define COMPACT_LONG ((1u << 18) - 1) /* 17 ms and more */

/* One DMA range of a finished I/O, as it stands in a posted buffer. */
struct access_compact {
	__u64 address : 48;
	/* in units of ACCESS_LATENCY_NS, 18 bits; COMPACT_LONG: the next slot has it, whole */
	__u64 latency_low : 16;
	__u64 latency_high : 2;
	__u64 length : 22; /* bytes */
	__u64 time : 29;   /* ns since the buffer's base */
	__u64 queue : 6;
	__u64 flags : 2; /* EVENT_READ, EVENT_WRITE; 0: EVENT_READ of a copy's source */
	__u64 error : 1;
	__u64 faulted : 1;
	__u64 part : 1;
};

_Static_assert(sizeof(struct access_compact) == 16, "what the device writes for an I/O");
_Static_assert(RING_QUEUES_MAX <= 1 << 6, "queue's bits");
_Static_assert(RING_BYTES_MAX < 1 << 22, "length's bits");

struct access_buffer {
	__u64 base_ns;
	__u32 count; /* slots complete: one a record, two if its latency is long */
	bool closed; /* by the device: it has gone on to the next buffer */
	struct access_compact *records;
};

struct access_device {
	pthread_mutex_t lock;	       /* of the device's queue threads */
	__u32 buffers, buffer_records; /* slots of each */
	__u32 posted;		       /* by the owner, free-running */
	__u32 filling;		       /* by the device, free-running: the buffer it writes */
	__u64 accepted, discarded;     /* by the device */
	__u32 taking;		       /* the owner's: the buffer it reads, free-running */
	__u32 taken;		       /* the owner's: slots of it taken */
	struct access_buffer *buffer;  /* `buffers` of them */
};

/* All buffers are posted. At least two records a buffer. -ENOMEM. */
int access_device_init(struct access_device *device, __u32 buffers, __u32 buffer_records);
void access_device_free(struct access_device *device);

/* Device side, with its lock held. Returns true if the owner should come soon: the last posted buffer was reached. */
bool access_device_add(struct access_device *device, const struct access_record *record);

/*
 * Owner side: looks at the oldest record not yet taken; false: none. `record->device` is left
 * alone. access_device_take() passes over it and posts the buffer anew when it was its last.
 */
bool access_device_peek(struct access_device *device, struct access_record *record);
void access_device_take(struct access_device *device);

#endif
