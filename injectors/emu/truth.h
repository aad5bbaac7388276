/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The truth log: what really happened, told by those who did it.
 *
 * The device engines, the page request queue, the service layer, the pager and the reclaimer each log on
 * their own, into a buffer of the calling thread, at times that they read themselves. Tests hold every
 * reconstruction against it. Format, and what probes and log share: docs/truth-log.md.
 *
 * Buffers grow in chunks outside of the timed path and are written by truth_close(); a killed
 * machine leaves no truth. With no log open every call is one branch.
 */
#ifndef FAULTLINE_TRUTH_H
#define FAULTLINE_TRUTH_H

#include <stdbool.h>

#include "bpf/event.h"

enum truth_who {
	TRUTH_DEVICE,
	TRUTH_IOMMU,
	TRUTH_SERVICE,
	TRUTH_PAGER,
	TRUTH_RECLAIMER,
	TRUTH_INJECTOR,
	TRUTH_GUEST,
	TRUTH_PROTECTOR,
	TRUTH_HYPERVISOR,
};

enum truth_what {
	/* device engine */
	TRUTH_DETECT,
	TRUTH_HELD, /* no page request was left, the device waits for one */
	TRUTH_RESUME,
	TRUTH_ABANDON,	      /* gave the group up: no response in time */
	TRUTH_IO,	      /* an I/O completed: address, length, value = latency ns */
	TRUTH_IO_PART,	      /* likewise, a range of it that comes before its last one */
	TRUTH_INVALIDATE_ACK, /* token in `fault` */
	/* page request queue */
	TRUTH_REQUEST,	/* value: its number in the order of the queue, as of TRUTH_ISR */
	TRUTH_OVERFLOW, /* value: the queue's size */
	TRUTH_ISR,
	/* service layer */
	TRUTH_VOID, /* discarded with its unfinished group */
	TRUTH_HANDLER,
	TRUTH_RESOLVED,
	TRUTH_MAPPED,
	TRUTH_RESPONSE,
	TRUTH_INVALIDATE_START,
	TRUTH_INVALIDATE_DEVICE,
	TRUTH_INVALIDATE_FREED,
	/* pager */
	TRUTH_PAGE_IN, /* value: ns it took; code: enum page_origin */
	/* reclaimer */
	TRUTH_EVICTED, /* after absence was proven */
	TRUTH_EVICT_FAILED,
	/* injector */
	TRUTH_INJECT_START,
	TRUTH_INJECT_STOP,
	/* guest: the workload of a device */
	TRUTH_GUEST_START,
	TRUTH_GUEST_IO,	 /* saw an I/O complete; value: latency as the guest measures it */
	TRUTH_GUEST_END, /* value: I/Os that were due and never sent */
	/* NIC, of each frame by itself. group: the flow's number in this log; address: its first sequence
	 * number << 32 | the one after its last; length: bytes; queue: the ring */
	TRUTH_FLOW,  /* address: IPv4 source << 32 | destination; value: as the probes' ports */
	TRUTH_FRAME, /* delivered: the guest sees it; value: ns since it arrived */
	TRUTH_FRAME_LOST, /* code: enum loss_reason; fault: the page request's, of LOSS_FAULT */
	TRUTH_FRAME_HELD, /* begins to wait; code: enum hold_place */
	/* Of a receive ring whose held frames came; value: descriptors that its guest sees more, length:
	 * those behind them that it does not */
	TRUTH_HEAD_ADVANCED,
	/* Lost on the way to a NIC, since this was told last; value: frames; code: enum loss_reason */
	TRUTH_FRAMES_MISSED,
	TRUTH_RING_STATE, /* its counters were told; value: frames, length: bytes; code: enum ring_side */
	/* Queue pairs, each packet by itself. group: the pair; value: token of the wait; fault: of the page
	 * request that it is because of, 0: none; address: packet sequence number */
	TRUTH_RNR_SENT, /* length: timer, ns; code: enum rdma_side */
	TRUTH_RNR_RECEIVED,
	TRUTH_PACKET_DROPPED, /* code: enum rdma_drop */
	TRUTH_PACKET_RESENT,  /* code: enum rdma_resend */
	TRUTH_QP_REWOUND,     /* length: packets; code: enum rdma_resend */
	TRUTH_FAULT_SUPPRESSED, /* address: IOVA, length: bytes; value: 1: in the window; code: enum rdma_side */
	TRUTH_QP_PAUSED, /* code: enum rdma_wait */
	TRUTH_QP_RESUMED,
	TRUTH_QP_ERROR, /* code: enum verbs_status */
	TRUTH_QP_STATE, /* its counters were told; value: operations, length: bytes; code: its state */
	TRUTH_RDMA_COUNTER, /* value: by how much it moved; code: enum rdma_counter */
	TRUTH_RDMA_REGION, /* address, length; group: key; value: enum region_kind; code: odp_region_state */
	TRUTH_RDMA_ADVISED, /* address, length; group: key; value: pages; code: errno */
	/* protector: what its policy decided; value: when it was due; code: enum protect_reason */
	TRUTH_PIN,
	TRUTH_UNPIN,
	TRUTH_PIN_REFUSED, /* the pin decided last for this page was not carried out; code: errno */
	/* hypervisor, of devices with a mode: fault: token of the verb; code: its kind */
	TRUTH_VERB, /* address: when it was called; value: ns until now; length: bytes; group: key; queue: errno */
	TRUTH_VERB_STAGE, /* group: enum verb_stage; value: ns; address: remap: runs */
	TRUTH_VERB_WOKEN, /* address: when; value: ns since it was answered */
	TRUTH_PINNED, /* code: enum pin_role; length: bytes; value: bytes then; address: quota; group: errno, 0: pinned */
	TRUTH_UNPINNED,	   /* likewise, given back */
	TRUTH_REGISTERED,  /* value: bytes then */
	TRUTH_GUEST_EXITS, /* code: enum exit_cause; value: so far */
	TRUTH_GUEST_BEGAN, /* value: pid */
	TRUTH_GUEST_ENDED, /* value: pid; length: status */
	/* device, of devices with a mode: group: queue pair; fault: index; code: enum verbs_opcode */
	TRUTH_WORK_REQUEST, /* value: ns in all; length: bytes; address: enum verbs_status */
	TRUTH_WORK_STAGE,   /* value: ns; address: enum work_stage */
};

/* `fault` is a machine-wide id that never repeats: the test's key, which no probe carries. */
struct truth_record {
	__u64 time_ns;
	__u64 fault;
	__u64 address;
	__u64 length;
	__u64 value;
	__u32 device;
	__u32 pasid;
	__u32 group;
	__u32 tid;
	__u32 tenant; /* pager and reclaimer */
	__u16 queue;
	__u8 who;
	__u8 what;
	__u8 code;
	__u8 flags;
};

/* What truth_open() of PATH would be refused for, without making it. */
int truth_check(const char *path);
/* Opens PATH (O_EXCL|O_NOFOLLOW unless overwrite). One log per process. */
int truth_open(const char *path, bool overwrite);
/* Fills time_ns (if 0) and tid, appends. Callable from any thread. */
void truth_log(struct truth_record record);
/* After all threads that log have ended: writes everything in time order. */
int truth_close(void);
bool truth_enabled(void);

#endif
