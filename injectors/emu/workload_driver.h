/* SPDX-License-Identifier: GPL-2.0 */
/* The guest driver's side of one device queue: descriptors out, completions in. */
#ifndef FAULTLINE_WORKLOAD_DRIVER_H
#define FAULTLINE_WORKLOAD_DRIVER_H

#include "injectors/emu/workload_verify.h"

struct driver_queue {
	struct channel *channel;
	struct channel_queue *registers;
	char *ring;  /* CPU mapping of the rings */
	__u32 depth; /* of the rings */
	__u32 in_flight;
	__u32 unpublished; /* submitted since the last driver_kick() */
	__u16 available, used;
	__u16 free_count;
	__u16 free[WORKLOAD_DEPTH_MAX];
	struct workload_io io[WORKLOAD_DEPTH_MAX]; /* by descriptor id */
};

/* Clears the rings in guest memory. */
void driver_init(struct driver_queue *queue, struct channel *channel, __u16 index,
		 struct guest_memory *memory);
/* Writes a descriptor; in_flight < depth. The device learns of it by driver_kick(). `now` is the guest's
 * clock, never before that of an earlier one. */
void driver_submit(struct driver_queue *queue, const struct workload_io *io, __u64 now);
void driver_kick(struct driver_queue *queue);
/*
 * Takes one completion: the I/O and its status, or NULL if there is none. It stays valid until the
 * next driver_submit(). A completion that names no I/O in flight gives -EPROTO in *status.
 */
const struct workload_io *driver_reap(struct driver_queue *queue, int *status);

#endif
