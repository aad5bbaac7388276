/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a NIC's port is plugged into. One thread receives; any number of threads send.
 *
 * With offloads each frame has a struct virtio_net_hdr (12 bytes) in front of it, in both directions, as TAPs do.
 */
#ifndef FAULTLINE_NIC_WIRE_H
#define FAULTLINE_NIC_WIRE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct wire;

struct wire_ops {
	/* The next frame into `room` bytes: its length, more than `room` if it was cut; 0: none now; negative errno:
	 * there will be none any more. */
	long (*receive)(struct wire *wire, void *frame, size_t room, __u64 now_ns);
	/* Sends a frame. Never waits: what has no room is lost on the way, as on any wire. */
	void (*send)(struct wire *wire, const struct iovec *iov, int count);
	/* Something to receive may come: at a descriptor that becomes readable (-1: none), or at a time (0: none). */
	int (*ready)(const struct wire *wire, __u64 *at_ns);
	/* How many frames it has lost since the start because nobody took them in time. */
	__u64 (*missed)(struct wire *wire);
	/* Nothing will come any more: every frame that there was to be has been received. NULL: it never ends. */
	bool (*ended)(struct wire *wire);
	void (*destroy)(struct wire *wire);
};

struct wire {
	const struct wire_ops *ops;
};

#endif
