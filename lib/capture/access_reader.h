/* SPDX-License-Identifier: GPL-2.0 */
/* Consumer of an access log ring (lib/capture/access_log.h), which another process may damage. */
#ifndef FAULTLINE_ACCESS_READER_H
#define FAULTLINE_ACCESS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/capture/access_log.h"

#define READ_FROM_NOW UINT64_MAX

struct access_reader {
	const struct access_ring *ring;
	size_t bytes;
	__u64 capacity; /* our copy: the ring's own may change */
	__u64 cursor;
	__u64 discarded; /* the ring's count when last looked at */
	__u64 lost;	 /* overwritten before or while we read, or discarded by the device */
	bool late; /* some of ours may have been lost before it was opened; nobody knows how many */
};

/*
 * Maps the ring read-only; fd stays the caller's. Records that completed at `since_ns` or later are
 * ours: 0: from the first on, and what is gone is lost; READ_FROM_NOW: what comes; else from the oldest
 * of these that the ring has. -EPROTO names what is wrong with it.
 */
int access_reader_open(struct access_reader *reader, int fd, __u64 since_ns);
void access_reader_close(struct access_reader *reader);

/* Copies up to `room` records, none of them torn. -EPROTO: its positions make no sense any more. */
long access_reader_read(struct access_reader *reader, struct access_record *records, size_t room);

#endif
