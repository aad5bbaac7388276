/* SPDX-License-Identifier: GPL-2.0 */
/* A machine (rig.h) with one device of verbs that is a fake, its backend and its guest. IOVAs are not guest addresses. */
#ifndef FAULTLINE_TEST_VERBS_WORLD_H
#define FAULTLINE_TEST_VERBS_WORLD_H

#include "injectors/emu/verbs/verbs_handles.h"
#include "injectors/emu/verbs/verbs_ring.h"
#include "tests/unit/rig/rig.h"
#include "tests/unit/verbs_fake.h"

#define WORLD_MEMORY (4 * HUGE_BYTES)
#define WORLD_SHARE  HUGE_BYTES /* the device's, guest address and size: a part in the middle */

struct verbs_world {
	struct verbs_fake fake;
	struct channel *channel;
	struct verbs_backend *backend;
	struct verbs_device *device;
	__u64 start, bytes, offset; /* of the guest's memory */
};
extern struct verbs_world world;

/* `memlock`: of the tenant. */
void world_build(__u64 memlock);
int world_teardown(void **state);
/* The guest's half of its command ring. */
static inline struct verbs_command_ring *world_ring(void)
{
	return world.device->transport_data;
}

/* A command as it stands, past the guest's side; returns its error. By one thread. */
int world_command(struct verbs_command *command);
struct verbs_backend_stats world_stats(void);
/* Bytes that are pinned of the tenant, a page as often as it is. */
__u64 world_locked(void);
/* A completion queue and a pair on it, at pages of the guest's memory. */
struct verbs_queue *world_queue(__u64 page, __u32 depth);
struct verbs_pair *world_pair(__u64 page, struct verbs_queue *sends, struct verbs_queue *receives,
			      __u32 depth);

#endif
