/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of frames: consecutive ones of one flow, with one reason and one fault, become one event. A run ends when
 * its flow's next frame does not continue it, when its fault is over, when it is old, or when room is needed: none is
 * ever dropped. No allocation; of the device's lock.
 */
#ifndef FAULTLINE_NIC_FRAME_RUNS_H
#define FAULTLINE_NIC_FRAME_RUNS_H

#include <linux/types.h>
#include <stdbool.h>

#define FRAME_RUNS_OPEN 64

struct frame_run {
	/* What frames of one run have in common. Flow: as of the NIC's probes. */
	__u64 addresses, ports;
	__u32 group; /* page request group of the fault + 1, 0: none */
	__u8 code;

	__u32 first, end; /* sequence; equal: the frames have none */
	__u32 frames;
	__u64 bytes;
	__u64 since_ns; /* when the first arrived */
};

struct frame_runs {
	void (*tell)(void *argument, const struct frame_run *run);
	void *argument;
	__u32 count;
	struct frame_run open[FRAME_RUNS_OPEN]; /* oldest first */
};

/* One frame is a run of one. Continues the open run that it fits, else begins another. */
void frame_runs_add(struct frame_runs *runs, const struct frame_run *frame);
/* Tells those that blame this group. */
void frame_runs_end_group(struct frame_runs *runs, __u32 group);
/* Tells those that began before; ~0: all. */
void frame_runs_end_older(struct frame_runs *runs, __u64 than_ns);

#endif
