/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of an RDMA device: what its guest's driver and the backend share besides guest memory. Either may find anything
 * in what the other writes.
 */
#ifndef FAULTLINE_VERBS_REGISTERS_H
#define FAULTLINE_VERBS_REGISTERS_H

#include <stdatomic.h>

#include "injectors/emu/channel.h"
#include "injectors/emu/verbs/verbs_layout.h"

struct verbs_registers {
	/* By the guest: commands that it has ever written, then the doorbell. */
	_Atomic __u64 written __attribute__((aligned(64)));
	struct doorbell commands;
	/* By the backend: those that it has answered, then the interrupt. */
	_Atomic __u64 answered __attribute__((aligned(64)));
	__u32 interrupts; /* a futex */
	__u32 waiting;	  /* threads of the guest that wait for it */
	_Atomic bool stopping;
	/* Of completion queues, by number modulo VERBS_QUEUES_MAX; -1: there is none. The backend's descriptors. */
	_Atomic int eventfd[VERBS_QUEUES_MAX];
};

void verbs_registers_init(struct verbs_registers *registers);
/* Commands have been answered: wakes all who wait. */
void verbs_interrupt(struct verbs_registers *registers);
/* Until there have been more interrupts than `seen`. Any number of threads. */
void verbs_interrupt_wait(struct verbs_registers *registers, __u32 seen);
/* The device stops, or its driver: every wait ends with -EPIPE, now and from now on. Any thread, more than once. */
void verbs_registers_stop(struct verbs_registers *registers);

#endif
