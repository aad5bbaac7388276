/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine with two RDMA devices, or twice two, each of a tenant of its own, whose guests are the test: rings and words are written
 * as a guest's program would, control is called as the backend would.
 */
#ifndef FAULTLINE_TESTS_RDMA_MACHINE_H
#define FAULTLINE_TESTS_RDMA_MACHINE_H

#include "tests/unit/test.h"

#include "injectors/emu/inject.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/rdma/rdma.h"

#define RDMA_PLAN_MOST 4

/* What is run next; rdma_plan_begin() fills it: no link limit, no delay, nothing mapped, and neither a
 * host's answer nor a peer's is given up within a test's time. Of the four devices, of which
 * the peers are neighbours, machine.device_count take part: two, unless the test says four, of tenants, too. */
struct rdma_plan {
	struct tenant_config tenants[RDMA_PLAN_MOST];
	struct device_config devices[RDMA_PLAN_MOST];
	struct machine_config machine;
	struct rdma_settings *settings[RDMA_PLAN_MOST];
	const char *truth; /* the log is written there, NULL: nowhere */
};
extern struct rdma_plan rdma_plan;

/* A guest: its device, its memory, and how much of that it has given away. */
struct rdma_guest {
	struct rdma *device;
	unsigned char *memory; /* the CPU's view */
	__u64 next, end;       /* guest addresses, IOVAs as well */
	__u32 index;
};

struct guest_queue {
	struct rdma_guest *guest;
	__u32 number, depth;
	__u64 at, taken;
	int eventfd;
};

struct guest_pair {
	struct rdma_guest *guest;
	struct guest_queue *queue;
	__u32 number, depth;
	__u64 at, sent, received;
};

struct guest_region {
	struct rdma_guest *guest;
	__u64 at, bytes;
	__u32 key;
	bool pinned;
};

/* Stops the machine that a failed test has left, if there is one. */
void rdma_plan_begin(void);
/* 0 is the first tenant's, 1 the second's; as many as there are devices. */
struct machine *rdma_plan_start(struct rdma_guest *guests);
/* Stops; all devices' totals; conservation and invariants are checked. */
void rdma_plan_stop(struct machine *machine, struct rdma_totals *totals,
		    struct machine_totals *all);

__u64 guest_take(struct rdma_guest *guest, __u64 bytes);
void guest_queue_create(struct rdma_guest *guest, struct guest_queue *queue, __u32 depth);
void guest_pair_create(struct guest_queue *queue, struct guest_pair *pair, __u32 depth);
/* Both to RTS; of one device: by loopback. */
void guest_connect(struct guest_pair *a, struct guest_pair *b);
void guest_register(struct rdma_guest *guest, struct guest_region *region, __u64 bytes, bool pinned,
		    unsigned int rights);
/* As the backend does it: no DMA touches it afterwards. */
void guest_deregister(struct guest_region *region);

void guest_post_send(struct guest_pair *pair, const struct verbs_send *send);
void guest_post_receive(struct guest_pair *pair, const struct verbs_receive *receive);
/* Of one piece. */
struct verbs_send guest_send(enum verbs_opcode opcode, const struct guest_region *from,
			     __u64 offset, __u32 length, const struct guest_region *to,
			     __u64 to_offset);
struct verbs_receive guest_receive(const struct guest_region *to, __u64 offset, __u32 length);
/* One completion; false: none. */
bool guest_poll(struct guest_queue *queue, struct verbs_completion *completion);
/* Waits for it; fails the test after a minute. */
void guest_wait(struct guest_queue *queue, struct verbs_completion *completion);

/* Evicts pages of a device's tenant and returns how many are proven to be gone. */
long guest_evict(struct machine *machine, struct rdma_guest *guest, __u64 at, __u64 bytes,
		 enum evict_kind kind);

#endif
