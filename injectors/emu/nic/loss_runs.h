/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames that one ring has lost or held, told as runs: consecutive frames of one flow, for one reason and
 * because of one fault. What is told is exact; only how many frames share a run depends on what came in
 * between.
 *
 * A run ends with the next frame of its flow that does not go on where it ended or has another reason or
 * fault, when its fault is over, when it is asked for, and when it is the oldest and there is no room. Lost
 * and held frames of one flow are runs apart. Of its caller's lock; no allocation after creation.
 */
#ifndef FAULTLINE_EMU_NIC_LOSS_RUNS_H
#define FAULTLINE_EMU_NIC_LOSS_RUNS_H

#include "bpf/event.h"
#include "injectors/emu/nic/frame.h"

#define LOSS_RUNS_MAX 64 /* that may be asked for, open at a time */
/* More is another run: a probe's word has 32 bits for it, and a range of numbers has no half to wrap in. */
#define RUN_BYTES_MAX 0x7fffffffull

enum run_kind { RUN_LOST, RUN_HELD };

struct frame_run {
	__u64 addresses, ports; /* as of the NIC's probes */
	__u64 bytes;
	__u64 since; /* when the first was lost, or began to wait */
	__u32 first, end;
	__u32 frames;
	__u32 pasid, group; /* of the page request group that cost it, if it `blames` one, else 0 */
	bool blames;
	bool needless; /* of a lost one: all of it had been delivered before, nobody waits for it */
	__u8 kind;     /* enum run_kind */
	__u8 code;     /* enum loss_reason or enum hold_place */
};

typedef void (*run_tell)(void *argument, const struct frame_run *run);

struct loss_runs;
struct frames_probe;

/* At most `room` runs are open, 1 to LOSS_RUNS_MAX. tell() may not call these functions. */
int loss_runs_create(struct loss_runs **runs, unsigned int room, run_tell tell, void *argument);
void loss_runs_destroy(struct loss_runs *runs);

/* A run of this one frame; the fault is for the caller to add. */
static inline struct frame_run frame_run_of(const struct frame_info *info, enum run_kind kind,
					    __u8 code, __u64 since)
{
	return (struct frame_run){.addresses = frame_addresses(info),
				  .ports = frame_ports(info),
				  .bytes = info->length,
				  .since = since,
				  .first = info->first,
				  .end = info->end,
				  .frames = 1,
				  .kind = (__u8)kind,
				  .code = code};
}

/* Joins it with the open run that it goes on, or opens one; tells what ends by that. */
void loss_runs_add(struct loss_runs *runs, const struct frame_run *frame);

/* These tell the oldest first. Before the fault's resume, after which its group may be another's: */
void loss_runs_fault_over(struct loss_runs *runs, __u32 pasid, __u32 group);
/* Those whose `since` is before a time. */
void loss_runs_flush_older(struct loss_runs *runs, __u64 time_ns);
void loss_runs_flush(struct loss_runs *runs);

unsigned int loss_runs_open(const struct loss_runs *runs);

/* What FRAMES_PROBE() tells of it. */
void frame_run_probe(const struct frame_run *run, __u32 device, __u16 queue,
		     struct frames_probe *probe);

#endif
