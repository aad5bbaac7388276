/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A vhost-user front-end and its guest that a fuzzer's bytes describe, neither of which is to be trusted: messages, descriptors
 * and answers of the one, rings, chains and headers of the other. No memory table names the upper half of the tenant's
 * memory, which has to stay as it is.
 */
#ifndef FAULTLINE_FUZZ_FRONT_H
#define FAULTLINE_FUZZ_FRONT_H

#include <linux/virtio_ring.h>

#include "injectors/emu/machine.h"
#include "injectors/emu/vhost/vhost.h"
#include "tests/fuzz/made/bytes.h"

#define FRONT_MEMORY (2 * HUGE_BYTES)
#define FRONT_HALF   HUGE_BYTES
#define FRONT_SIZE   16 /* of a virtqueue */
#define FRONT_QUEUES 4
#define FRONT_RINGS \
	0x1000 /* of virtqueue i from i * 0x400 on: descriptors, and the others behind them */
#define FRONT_HEADERS 0x2000
#define FRONT_LENGTHS 8

struct front {
	struct machine *machine;
	struct vhost *vhost;
	unsigned char *memory;
	__u32 queues;		       /* that there are */
	__u32 lengths[FRONT_LENGTHS];  /* of descriptors, mostly */
	__u64 features;		       /* of the device's own, which its driver may want */
	__u64 available[FRONT_QUEUES]; /* guest addresses of rings */
	__u64 connections;	       /* before this one */
	int file, event, kick[FRONT_QUEUES], connected, backend, inflight;
	char socket[64];
};

static inline void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

/* A machine that runs with this device, whose model is returned; `queues`, `lengths`, `features` and `socket` are filled in, `vhost` is to be. */
void *front_init(struct front *front, struct device_config *device);
/* An empty ring of each queue, a connection, and all of the queues run, or one that the bytes describe. */
void front_begin(struct front *front, struct bytes *in);
/* What an honest driver does: a descriptor of the table, and a head that is made available. */
void front_descriptor(struct front *front, __u32 queue, __u16 slot, const struct vring_desc *value);
void front_publish(struct front *front, __u32 queue, __u16 head);
/* Up to `most` steps, each something of all that can be said or done, or, one in eight, `own`: what the device alone has, its headers. */
void front_steps(struct front *front, struct bytes *in, int most, void (*own)(struct bytes *in));
/* Hangs up, waits until that is seen, and looks at what must not have changed. */
void front_end(struct front *front);

#endif
