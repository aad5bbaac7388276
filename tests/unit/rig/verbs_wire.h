/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs between the two ends of a socket pair, in one process or in two of one user: verbs_control.h, verbs_data.h and
 * guest_open.h without host, device or guest memory. Keys, rights and receives are held as a device holds them; data go by
 * process_vm_readv(2) and its sister.
 */
#ifndef FAULTLINE_VERBS_WIRE_H
#define FAULTLINE_VERBS_WIRE_H

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/verbs/verbs_control.h"

/* Both ends, each with the hello of a device of that index (and the next) waiting in it. 0 or -errno. */
int verbs_wire_pair(int ends[2], __u32 device, enum rdma_mode mode);

struct verbs_wire_counts {
	__u64 adopted_pages, regions, pairs, queues, domains, shared, channels, bytes, events;
	__u64 allocated; /* bytes, now */
	__u64 loopbacks;
};
/* Of all devices of this process since it began; objects: now. */
void verbs_wire_counts(struct verbs_wire_counts *counts);
/* What registering says from now on, 0: as it is. */
void verbs_wire_refuse(int error);
/* The next completion finds its queue full: it is lost, and the queue and its pairs are told of as failed. */
void verbs_wire_overrun(void);

#endif
