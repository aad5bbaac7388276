/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The producing side of the access log (VPRI section 5.3, IO-PAL; consumers: lib/capture/access_log.h).
 *
 * Each device has a ring of buffers. It writes compact records while a buffer is posted and
 * discards them, counted, when none is: it never waits. One owner thread takes what was used, at an
 * interval or when a device has reached its last buffer, expands it, republishes it into the
 * broadcast ring, and posts the buffers again.
 *
 * produced = republished + discarded, exactly, once access_log_stop() has returned. The records of
 * one device are in the order in which it reported them; those of several devices are merged by
 * time within each pass of the owner.
 */
#ifndef FAULTLINE_EMU_ACCESS_LOG_H
#define FAULTLINE_EMU_ACCESS_LOG_H

#include <stdbool.h>

#include "lib/capture/access_log.h"

struct access_log_config {
	__u32 devices;
	__u32 buffers; /* per device, 2 to 64; 0: 8 */
	__u32 buffer_records; /* from 2; an I/O of 17 ms and more takes two; 0: 512 for up to 64 devices, 64 beyond */
	__u32 ring_records; /* of the broadcast ring, power of two; 0: 65536 */
	__u64 interval_ns;  /* of the owner thread; 0: 5 ms */
	bool punctual; /* it comes at its interval only, also if a device has reached its last buffer */
	/* Called by the owner thread for each record that it republishes, in that order; NULL: nobody asks. */
	void (*taken)(void *argument, const struct access_record *record);
	void *argument;
};

struct access_log;

int access_log_create(struct access_log **log, const struct access_log_config *config);
/* Devices must be silent: takes what is left, republishes it, ends the owner thread. */
void access_log_stop(struct access_log *log);
void access_log_destroy(struct access_log *log);

/* A range of memory that a finished I/O touched: address below 2^48, length up to 2 MiB. */
struct io_range {
	__u64 address;
	__u32 length;
	__u8 flags, code; /* enum io_code */
	__u64 start_ns, end_ns;
};

/* Ranges of one queue of a device, in their order, from any of its threads. Never blocks for the owner. */
void access_log_add(struct access_log *log, __u32 device, __u16 queue,
		    const struct io_range *ranges, __u32 count);

/* The broadcast ring's memfd, sealed against resizing. Owned by the log. */
int access_log_descriptor(const struct access_log *log);

struct access_log_stats {
	__u64 produced, republished, discarded;
};
void access_log_stats(const struct access_log *log, struct access_log_stats *stats);

#endif
