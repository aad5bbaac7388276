/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs without a device, for tests of who uses them: a post moves memory at once, in the caller's thread. It takes the place of
 * injectors/emu/verbs in a test that it is linked into. Regions, bounds and keys are checked; a send that finds no receive
 * is counted and waits for one.
 */
#ifndef FAULTLINE_VERBS_LOOP_H
#define FAULTLINE_VERBS_LOOP_H

#include <linux/types.h>
#include <stdbool.h>

struct verbs_device;

struct verbs_loop_counts {
	__u64 registered, deregistered, advised; /* commands */
	__u64 pinned, pinned_most;		 /* bytes of regions */
	__u64 regions;				 /* now */
	__u64 pairs, queues;			 /* now */
	__u64 sends, empty_sends, writes, reads;
	__u64 unready;		     /* sends that found no receive */
	__u64 channels;		     /* now */
	__u64 channels_made, events; /* events: that were got from them */
};

/* Of all devices together, since the last reset. */
void verbs_loop_counts(struct verbs_loop_counts *counts);
void verbs_loop_reset(void);
/* A byte of the next messages of more than `bytes` arrives damaged; 0: none does. */
void verbs_loop_damage(__u64 bytes);
/* A region of more than so many pinned bytes in all is refused with -ENOMEM; 0: never. */
void verbs_loop_limit(__u64 bytes);
/* The region that is registered as number `which` from now on is refused with -EPERM; 0: none. */
void verbs_loop_refuse(__u32 which);
/* From now on a registration takes until its device is shut down. */
void verbs_loop_stick(void);
/* Whether one does. */
bool verbs_loop_stuck(void);
/* The next send completes with this status; VERBS_SUCCESS: all is well. */
void verbs_loop_fail(__u8 status);
/* The next completion finds its queue full: it is lost, and its device says so. */
void verbs_loop_overrun(void);

#endif
