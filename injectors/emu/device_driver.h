/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What drives a device from the guest's side: descriptors out, completions in, through guest memory and the
 * device's channel. A workload is one; each model says which drives its devices.
 *
 * The machine creates a device's driver once all devices have started, then starts it; ends it before the device.
 */
#ifndef FAULTLINE_DEVICE_DRIVER_H
#define FAULTLINE_DEVICE_DRIVER_H

#include "injectors/emu/channel.h"
#include "injectors/emu/memory.h"

struct device_config;
struct machine;
struct ranks_config;
struct verbs_load_config;
struct workload_config;

struct driver_setup {
	struct machine *machine; /* for pins (pins.h) */
	__u32 index;		 /* of the device in it */
	const struct device_config *device;
	void *model; /* what the class's start() made */
	struct channel *channel;
	struct guest_memory *memory;		/* of the device's tenant */
	const struct workload_config *workload; /* NULL: the device has none */
	const struct traffic_config *traffic;	/* likewise */
	const struct ranks_config *ranks;	/* likewise; it is for another device, too */
	const struct verbs_load_config *verbs;	/* instead of them, likewise */
	void *peer; /* that one's driver, once it is created; else NULL */
};

/* Which of a device's rings: a bit for each enum ring_side. */
#define RING_SIDE(side) (1u << (side))
#define RING_SIDES	(RING_SIDE(RING_RX) | RING_SIDE(RING_TX))

struct device_driver {
	/* 0 with *driver NULL: it has nothing to do. Keeps what the setup points to. */
	int (*create)(void **driver, const struct driver_setup *setup);
	int (*start)(void *driver);
	/* Injections are armed: what nobody but the driver itself begins begins now. NULL: it began as it started. */
	int (*begin)(void *driver);
	/* 0 once it has done all it was to do, -ETIMEDOUT; timeout 0 asks only. NULL: it never ends by itself, nobody
	 * waits for it. */
	int (*wait)(void *driver, __u64 timeout_ns);
	/* Ends it now, wherever it is, and joins. May be called twice, and before start(). */
	void (*stop)(void *driver);
	void (*destroy)(void *driver);
	/* For evictions, in an injector's thread; guest addresses of pages. What is NULL has no such pages. */
	/* Those that come next, as of workload_next_pages(): kept back until send_next(). */
	long (*next_pages)(void *driver, __u64 *pages, __u32 limit, __u64 wait_ns);
	void (*send_next)(void *driver);
	/* Different ones that hold what it has posted at this instant, of the rings of these sides. Returns how many
	 * there are, of which up to `limit` are written, or negative errno. */
	long (*ring_pages)(void *driver, unsigned int sides, __u64 *pages, __u32 limit);
	/* Bytes from the first of the channel's data on in which it has its buffers. */
	__u64 (*buffer_bytes)(void *driver);
};

#endif
