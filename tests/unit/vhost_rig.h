/* SPDX-License-Identifier: GPL-2.0 */
/* A machine with one disk that is driven over vhost-user, and a front-end that drives it. */
#ifndef FAULTLINE_TESTS_VHOST_RIG_H
#define FAULTLINE_TESTS_VHOST_RIG_H

#include "tests/unit/test.h"

#include "injectors/emu/devices/block_private.h"
#include "injectors/emu/machine.h"
#include "tests/unit/vhost_frontend.h"

#define RIG_MEMORY (16ull << 20)
#define RIG_DISK   (8ull << 20)
#define RIG_DATA   (RIG_MEMORY / 2 + (1ull << 20)) /* guest address of data: in the second region */

struct vhost_rig {
	struct machine *machine;
	struct guest_memory *memory;
	struct block *block;
	struct frontend front;
};

/* What the next rig is like; changed between vhost_rig_plan() and vhost_rig_open(). */
struct vhost_rig_plan {
	struct tenant_config tenant;
	struct device_config device;
	struct machine_config machine;
	struct block_settings *block; /* in the device */
	struct injection injections[2];
	__u32 injection_count;
};
extern struct vhost_rig_plan vhost_plan;

/* One queue, everything mapped before it starts, requests parked. */
void vhost_rig_plan(void);
/* The device listens; nobody is connected. */
void vhost_rig_open(struct vhost_rig *rig);
void vhost_rig_close(struct vhost_rig *rig);
void vhost_rig_connect(struct vhost_rig *rig);
/* Connected, negotiated, with `queues` of `size` that run and an in-flight region. */
void vhost_rig_run(struct vhost_rig *rig, __u16 queues, __u32 size);
/* Takes pages away from device and guest. */
void vhost_rig_evict(struct vhost_rig *rig, __u64 guest_address, __u64 bytes);
void vhost_rig_inject(enum inject_point point, __u32 probability, __u64 delay_ns);
struct vhost_stats vhost_rig_stats(struct vhost_rig *rig);

/* An I/O of one piece. */
struct frontend_io vhost_rig_io(__u32 type, __u64 sector, __u64 guest_address, __u32 bytes);
/* Fills memory, or holds it to, what `seed` gives. */
void vhost_rig_fill(struct vhost_rig *rig, __u64 guest_address, __u32 bytes, __u32 seed);
bool vhost_rig_holds(struct vhost_rig *rig, __u64 guest_address, __u32 bytes, __u32 seed);

#endif
