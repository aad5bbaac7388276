/* SPDX-License-Identifier: GPL-2.0 */
/* Consumer of an access log ring (lib/capture/access_log.h), which another process may damage. */
#ifndef FAULTLINE_ACCESS_READER_H
#define FAULTLINE_ACCESS_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/capture/access_log.h"

struct access_reader {
	const struct access_ring *ring;
	size_t bytes;
	__u64 capacity; /* our copy: the ring's own may change */
	__u64 cursor;
	__u64 discarded; /* the ring's count when last looked at */
	__u64 lost;	 /* overwritten before or while we read, or discarded by the device */
};

/*
 * Maps the ring read-only; fd stays the caller's. `from_start`: records from the first on are ours
 * and what is gone is lost; else from now on. -EPROTO names what is wrong with it.
 */
int access_reader_open(struct access_reader *reader, int fd, bool from_start);
void access_reader_close(struct access_reader *reader);

/* Copies up to `room` records, none of them torn. -EPROTO: its positions make no sense any more. */
long access_reader_read(struct access_reader *reader, struct access_record *records, size_t room);

#endif
