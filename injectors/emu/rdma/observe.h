/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What queue pairs do, told to whoever asks: USDT probes (injectors/emu/probes.h), each event by itself for the
 * truth log, and the counters that a device of this kind has (enum rdma_counter).
 *
 * Packets are told to probes as runs: consecutive ones of a pair, dropped or sent again for one reason and one
 * wait (token). What is told is exact; only how many packets share a run depends on what came in between. A
 * run ends with the next packet of its pair that does not go on where it ended or has another reason or
 * token, and with the pair's observe_state().
 *
 * A wait is from TRANSPORT_PAUSED to TRANSPORT_RESUMED of one token. Observers tie by it what belongs together, on both
 * devices: the NAK and its fault, what was dropped meanwhile, what was sent again. So the events of
 * transport.h have it wherever it is known: RNR_SENT, RNR_RECEIVED, PAUSED, RESUMED, and DROPPED, RESENT and REWOUND
 * that are because of it; 0: of no wait. `code` of PAUSED and RESUMED is enum rdma_wait; of a
 * REWOUND after a timeout since_ns is when its timer was started, which is a wait of its own.
 *
 * One per device, of its engine's thread, but for the last two functions, which any thread may call. No allocation
 * after creation; without a log and a tracer an event costs a few stores.
 */
#ifndef FAULTLINE_EMU_RDMA_OBSERVE_H
#define FAULTLINE_EMU_RDMA_OBSERVE_H

#include "bpf/event.h"
#include "injectors/emu/rdma/transport.h"

struct observe;

/*
 * A fault that something is because of. The probes say its group, which means it until the device resumes: it must be
 * open still while they are called, so hold the lock that port_request's done() takes from when it is
 * raised, or looked up, until then. Unknown: no page request index was left for it, or it is over.
 */
struct observe_fault {
	bool known;
	__u16 group; /* port_request_group() */
	__u64 truth; /* its number in the truth log, from there too */
};

/* `pairs`: queue pairs at once, 1 or more; with fewer, runs are shorter. */
int observe_create(struct observe **observe, __u32 device, __u32 pasid, __u32 pairs);
void observe_destroy(struct observe *observe);

/* transport_ops.tell(). fault: of RNR_SENT, of PAUSED for memory, and of DROPPED for RDMA_DROP_FAULT or _RESPONSE. */
void observe_transport(struct observe *observe, __u32 pair, const struct transport_event *event,
		       struct observe_fault fault);

/*
 * A page of the pair was absent and not asked for: a fault of this side is on its way (`fault`), or over but for its
 * bit, which is not cleared yet (unknown, `window`). Before the transport tells what it does about it.
 */
void observe_suppressed(struct observe *observe, __u32 pair, enum rdma_side side, __u64 iova,
			__u64 bytes, bool window, struct observe_fault fault);

/* Of each pair every OBSERVE_STATE_NS, when it is destroyed, and when the device stops. */
#define OBSERVE_STATE_NS 100000000ull
void observe_state(struct observe *observe, __u32 pair, enum verbs_pair_state state,
		   const struct transport_counters *counters);

/* Behind the pairs' observe_state(): what the device's own counters moved since the last time. */
void observe_counters(struct observe *observe, __u64 now_ns);

/* The same as the device counts them, of all its pairs since it began. */
__u64 observe_counter(const struct observe *observe, enum rdma_counter counter);

/* A memory region was registered (ODP_REGION_NEW) or has gone (ODP_REGION_GONE). */
void observe_region(__u32 device, __u32 pasid, __u32 key, __u64 iova, __u64 bytes,
		    enum verbs_region kind, enum odp_region_state state);

/* Advice has brought in so many pages of a region; error: 0 or a negative errno. */
void observe_advised(__u32 device, __u32 pasid, __u32 key, __u64 iova, __u64 bytes, __u32 pages,
		     __u64 took_ns, int error);

#endif
