/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is seen of control, pins and exits of devices with a `mode`: USDT probes and truth records, each told once, by the thread that
 * did it. Times are CLOCK_MONOTONIC ns.
 */
#ifndef FAULTLINE_HYV_OBSERVE_H
#define FAULTLINE_HYV_OBSERVE_H

#include "bpf/event.h" /* enum verb_stage, pin_role, exit_cause */
#include "injectors/emu/verbs/verbs_layout.h"

struct verb_told {
	__u32 device, tenant, token;
	enum verbs_command_kind kind;
	int error;		     /* of the answer */
	__u64 bytes;		     /* of memory that it is about */
	__u32 key;		     /* of the region, or the number of the object */
	__u32 runs;		     /* of guest pages; 0: no remap */
	__u64 start_ns;		     /* when it was called */
	__u64 stage_ns[VERB_STAGES]; /* how long; 0: not had */
};
/* Once it is answered. */
void observe_verb(const struct verb_told *verb);
/* The wake of one that was told before. */
void observe_verb_woken(__u32 device, __u32 tenant, __u32 token, enum verbs_command_kind kind,
			__u64 wake_ns, __u64 woken_ns);
/* Bytes now pinned in a role by one verb (+) or given back (-), and in all by that role then. `refused`: not pinned, by errno. */
void observe_pinned(__u32 device, __u32 tenant, enum pin_role role, __s64 bytes, __u64 now,
		    __u64 quota, int refused);
/* What is registered (sum of regions and queues, each rounded to pages) now; the same instant as the pins' that belong to it. */
void observe_registered(__u32 device, __u32 tenant, __u64 bytes);
/* Exits, by cause, so far; every 100 ms and at the end. */
void observe_exits(__u32 device, __u32 tenant, const __u64 exits[EXIT_CAUSES]);
/* The guest of a device began or ended; `status` as of waitpid(). */
void observe_guest(__u32 device, __u32 tenant, __u32 pid, int started, int status);

/* Of devices with a mode; 0: not known. What the guest says of its clock is believed as far as it fits between the others. */
struct work_request_told {
	__u32 device, tenant, pair;
	__u64 index; /* in its queue */
	__u8 opcode, status;
	__u32 bytes;
	__u64 posted_ns, doorbell_ns, dma_start_ns, dma_end_ns, completed_ns, reaped_ns;
};
/* Once the guest has seen its completion. */
void observe_work_request(const struct work_request_told *told);

#endif
