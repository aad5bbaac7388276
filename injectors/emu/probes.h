/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The USDT probes of the emulated machine, provider "faultline": how eBPF sees it.
 *
 * They stand where the hardware or the host driver would do the thing, and nowhere else. Anyone can
 * use them: bpftrace -e 'usdt:./faultline-inject:faultline:fault_detect { printf("%x\n", arg4); }'.
 *
 * Arguments of the fault probes, all u64 (kernel side: bpf/emu.bpf.c):
 *	0 device	index of the device in its machine (the hello's "index")
 *	1 queue		queue of the device, QUEUE_NONE if none
 *	2 pasid		or PASID_NONE
 *	3 group		page request group index
 *	4 address	IOVA of the page; of the first page where the probe is per group
 *	5 length	bytes
 *	6 flags_code	enum event_flags | (code << 8)
 *	7 value		per kind, see bpf/event_kinds.def; a time is CLOCK_MONOTONIC
 * handler, response, resume and abandon are once per group, the others once per request.
 *
 * Arguments of the invalidation probes: device, pasid, address, length, token, flags.
 * Arguments of inject_start/stop: device (or DEVICE_ALL), point (enum inject_point), id.
 * Arguments of the protector's pin and unpin: device, pasid, address, length, reason (enum protect_reason),
 * when the policy had it due, ns.
 *
 * Arguments of the NIC's probes frames_lost, frames_held and frames_recovered, as struct frames_probe:
 *	0 device, 1 queue
 *	2 addresses	IPv4 source << 32 | destination as numbers (10.0.0.1: 0x0a000001), 0: no IPv4
 *	3 ports		source << 32 | destination << 16 | IP protocol; no IPv4: its EtherType; 0 with no
 *			addresses: frames that were lost before anybody saw them
 *	4 sequence, 5 frames, 6 since	the event's address, length and value (bpf/event_kinds.def)
 *	7 code		| (page request group of the fault + 1, 0: none) << 8 | FRAMES_* | pasid << 32
 * A run that a fault has cost is told before that fault's resume: its group means it until then.
 * head_advanced: device, queue, descriptors, held back. ring_state: device, queue, side, frames, bytes,
 * held << 32 | posted, lost, interrupts.
 *
 * Arguments of the probes of RDMA devices, as struct pair_probe; what they are is with their kinds (bpf/event_kinds.def):
 *	0 device
 *	1 pair		number of the queue pair; rdma_counter: port; rdma_region and rdma_advised: 0
 *	2 address, 3 length, 4 value, 5 group	the event's
 *	6 more		pasid << 32 | instance, of an event that names no fault
 *	7 code		as of frames_lost, with the fault that it names: open until its resume
 *
 * Arguments of the probes of devices with a mode; what they are is with their kinds (bpf/event_kinds.def):
 *	0 device | queue << 32 | code << 48 | flags << 56
 *	1 address, 2 length, 3 value	the event's
 *	4 group | instance << 32
 *	5 pasid | tid << 32
 * verb_stages, an event for each stage that was had: 1 when the verb was called, 2 group | instance << 32, from 3 on ns
 * of two stages each, the first in the lower half. work_request: 1 status, 2 length, 3 group | instance << 32, from 4 on
 * its stages likewise.
 */
#ifndef FAULTLINE_EMU_PROBES_H
#define FAULTLINE_EMU_PROBES_H

/* Arguments in registers or constant: older libbpf (before 1.6) does not understand an operand such
 * as 8@(%rbx,%r11,8), which the compiler may choose for one in memory, and drops the probe. */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "bpf/event.h"

struct fault_probe {
	__u64 device, queue, pasid, group, address, length, flags_code, value;
};

/* stage: detect request isr handler resolved mapped response resume overflow void abandon */
#define FAULT_PROBE(stage, p)                                                                  \
	STAP_PROBE8(faultline, fault_##stage, (p)->device, (p)->queue, (p)->pasid, (p)->group, \
		    (p)->address, (p)->length, (p)->flags_code, (p)->value)

/* step: start device ack freed */
#define INVALIDATE_PROBE(step, device, pasid, address, length, token, flags)       \
	STAP_PROBE6(faultline, invalidate_##step, (__u64)(device), (__u64)(pasid), \
		    (__u64)(address), (__u64)(length), (__u64)(token), (__u64)(flags))

#define INJECT_PROBE(edge, device, point, id) \
	STAP_PROBE3(faultline, inject_##edge, (__u64)(device), (__u64)(point), (__u64)(id))

/* what: pin unpin */
#define PIN_PROBE(what, device, pasid, address, length, reason, due)                    \
	STAP_PROBE6(faultline, what, (__u64)(device), (__u64)(pasid), (__u64)(address), \
		    (__u64)(length), (__u64)(reason), (__u64)(due))

struct frames_probe {
	__u64 device, queue, addresses, ports, sequence, frames, since, code;
};

#define FRAMES_NEEDLESS (1ull << 30) /* lost: had been delivered before */
#define FRAMES_LAST	(1ull << 31) /* recovered: its flow waits for nothing more */

/* what: lost held recovered */
#define FRAMES_PROBE(what, p)                                                                      \
	STAP_PROBE8(faultline, frames_##what, (p)->device, (p)->queue, (p)->addresses, (p)->ports, \
		    (p)->sequence, (p)->frames, (p)->since, (p)->code)

#define HEAD_PROBE(device, queue, descriptors, held_back)                      \
	STAP_PROBE4(faultline, head_advanced, (__u64)(device), (__u64)(queue), \
		    (__u64)(descriptors), (__u64)(held_back))

struct ring_probe {
	__u64 device, queue, side, frames, bytes, gauges, lost, interrupts;
};

#define RING_PROBE(p)                                                                       \
	STAP_PROBE8(faultline, ring_state, (p)->device, (p)->queue, (p)->side, (p)->frames, \
		    (p)->bytes, (p)->gauges, (p)->lost, (p)->interrupts)

struct pair_probe {
	__u64 device, pair, address, length, value, group, more, code;
};

/* what: rnr_sent rnr_received packets_dropped packets_resent qp_rewound fault_suppressed qp_paused qp_resumed qp_error
 * qp_state rdma_counter rdma_region rdma_advised */
#define PAIR_PROBE(what, p)                                                             \
	STAP_PROBE8(faultline, what, (p)->device, (p)->pair, (p)->address, (p)->length, \
		    (p)->value, (p)->group, (p)->more, (p)->code)

/* what: verb verb_stages verb_woken pinned registered guest_exits guest_state work_request */
#define HYV_PROBE(what, a) \
	STAP_PROBE8(faultline, what, (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7])

#endif
