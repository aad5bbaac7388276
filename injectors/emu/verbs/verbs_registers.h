/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of an RDMA device: what its guest's driver and the backend share besides guest memory, also if these are
 * two processes. Either may find anything in what the other writes.
 */
#ifndef FAULTLINE_VERBS_REGISTERS_H
#define FAULTLINE_VERBS_REGISTERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "injectors/emu/doorbell.h"
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
	/* A bit for each completion queue and queue pair, by number modulo their most: set by the host once it has gone into error by
	 * itself, cleared by the guest as it takes that. So there is always room for it. */
	_Atomic __u64 failed[VERBS_FAILING][VERBS_QUEUES_MAX / 64];
};

_Static_assert(VERBS_QUEUES_MAX == VERBS_QUEUE_PAIRS_MAX, "the same words for both");

void verbs_registers_init(struct verbs_registers *registers);
/* Commands have been answered: wakes all who wait. */
void verbs_interrupt(struct verbs_registers *registers);
/* Until there have been more interrupts than `seen`. Any number of threads. False: not within `most_ns`, 0: for ever. */
bool verbs_interrupt_wait(struct verbs_registers *registers, __u32 seen, __u64 most_ns);
/* The device stops, or its driver: every wait ends with -EPIPE, now and from now on. Any thread, more than once. */
void verbs_registers_stop(struct verbs_registers *registers);
/* Of completion queue or pair `number`. */
void verbs_registers_fail(struct verbs_registers *registers, enum verbs_failing what, __u32 number);
/* By the guest. True: it was set. */
bool verbs_registers_take_failure(struct verbs_registers *registers, enum verbs_failing what,
				  __u32 number);

#endif
