/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one contract between kernel probes, recordings and analyzers: a 64-byte event.
 *
 * Everything that Faultline sees becomes a struct event. BPF programs write it into a per-CPU ring,
 * capture merges the rings by time, the recorder stores it, analyzers consume it; nobody re-shapes
 * it on the way. The layout is versioned by EVENT_VERSION, which every recording carries.
 *
 * Included by BPF programs (after bpf/kernel.h has given the integer types) and by user space.
 */
#ifndef FAULTLINE_EVENT_H
#define FAULTLINE_EVENT_H

#ifndef __bpf__
#include <linux/types.h>
#include <stddef.h>
#endif

#define EVENT_VERSION 1

/*
 * What happened. The eight fault stages are contiguous and in the order in which one fault passes
 * them (VPRI section 5.2; NPF section 4, figure 3): a kind's distance from EVENT_FAULT_DETECT is its
 * index in a timeline.
 *
 * "address"/"length" are an IOVA range of the device (or a user VA for SVA) unless a kind says
 * otherwise. A field that a kind does not name is 0.
 */
enum event_kind {
	EVENT_NONE = 0,

	EVENT_FAULT_DETECT = 1,	  /* device found the translation missing; flags R/W/X */
	EVENT_FAULT_REQUEST = 2,  /* page request is in the PRQ/PFQ; flags R/W/X/LAST;
				     value: requests now queued */
	EVENT_FAULT_ISR = 3,	  /* interrupt handler took the request; value: requests drained */
	EVENT_FAULT_HANDLER = 4,  /* bottom half starts; EVENT_GROUP */
	EVENT_FAULT_RESOLVED = 5, /* memory is present; MAJOR if it came from storage */
	EVENT_FAULT_MAPPED = 6,	  /* IOPT (and PA-BITMAP / DevTLB) updated; value: paddr */
	EVENT_FAULT_RESPONSE = 7, /* page response sent; EVENT_GROUP; code: enum response_code */
	EVENT_FAULT_RESUME = 8,	  /* device retried and went on; EVENT_GROUP; code as received */

	EVENT_FAULT_OVERFLOW = 9,    /* request dropped: the PRQ was full; value: its size */
	EVENT_FAULT_UNFINISHED = 10, /* capture stopped waiting for the group; EVENT_GROUP;
					value: age in ns; code: last stage seen (a kind) */

	EVENT_INVALIDATE_START =
		16, /* host wants the range back; value: token of this invalidation */
	EVENT_INVALIDATE_DEVICE = 17, /* device was told; value: token */
	EVENT_INVALIDATE_ACK =
		18, /* no DMA of the device touches the range any more; value: token */
	EVENT_INVALIDATE_FREED =
		19, /* IOPT entry gone, frame free; value: token; MAJOR: written out */

	EVENT_CPU_FAULT = 24, /* exceptions:page_fault_user/kernel; address: VA; value: error code;
				 PRIV: raised in kernel mode. Inside a fault handler device, pasid,
				 group and instance name the fault being resolved. */

	EVENT_IO_COMPLETE = 28,	   /* an emulated device's I/O that was slow or met a fault;
				      time_ns: completion; value: latency ns; code: enum io_code */
	EVENT_BLOCK_COMPLETE = 29, /* block layer request slower than its target; address: sector;
				      value: issue-to-complete ns */

	EVENT_IOMMU_MAP = 32,		/* iommu:map; value: paddr; device 0 (none is known) */
	EVENT_IOMMU_UNMAP = 33,		/* iommu:unmap; value: bytes unmapped */
	EVENT_IOMMU_IO_PAGE_FAULT = 34, /* iommu:io_page_fault; value: fault flags of the driver */

	EVENT_DMA_MAP = 40,   /* dma:dma_map_*; address: DMA address; value: physical address */
	EVENT_DMA_UNMAP = 41, /* dma:dma_unmap_* */
	EVENT_DMA_ALLOC = 42,
	EVENT_DMA_FREE = 43,
	EVENT_DMA_SYNC = 44,

	EVENT_SCHED_WAKEUP = 56, /* a fault handler thread was woken; tid: the handler */
	EVENT_SCHED_RUN = 57,	 /* a fault handler thread got a CPU; value: ns since its wakeup */

	EVENT_INJECT_START = 60, /* an injection begins; code: enum inject_point; value: its id */
	EVENT_INJECT_STOP = 61,

	EVENT_DEVICE_NEW = 64, /* first sight of a device; device: its handle, pid: its owner;
				  value: the source's own id (BDF, dev_t, emulated index) */
	EVENT_KIND_MAX = 65,
};

#define FAULT_STAGES 8

/* struct event's flags. R, W and X are the access that faulted or that an I/O made. */
enum event_flags {
	EVENT_READ = 1 << 0,
	EVENT_WRITE = 1 << 1,
	EVENT_EXEC = 1 << 2,
	EVENT_PRIV = 1 << 3,
	EVENT_LAST = 1 << 4,  /* last request of its group */
	EVENT_MAJOR = 1 << 5, /* storage was read (resolve) or written (evict) */
	EVENT_GROUP =
		1 << 6, /* the event holds for every request of (device, pasid, group, instance) */
	EVENT_LATE = 1 << 7, /* arrived after the merge had passed its time; order is not by time */
};

/* PCIe ATS page response codes (PCIe base specification, table "Page Response codes"). */
enum response_code {
	RESPONSE_SUCCESS = 0,
	RESPONSE_INVALID = 1,
	RESPONSE_FAILURE = 15,
};

enum io_code {
	IO_OK = 0,
	IO_ERROR = 1, /* the device reported an error to its driver */
	IO_FAULTED =
		1 << 4, /* bit: the I/O itself, or one it queued behind, met an I/O page fault */
};

#define PASID_BITS  20
#define PASID_NONE  (1u << 31) /* request without PASID: the device's default domain */
#define DEVICE_NONE 0	       /* the event carries no device; attribution is never guessed */
#define QUEUE_NONE  0xffff

/*
 * One thing seen. A fault is (device, pasid, group, instance): devices reuse group numbers after
 * the response, so the instance is counted up when a group is first seen and lets a reused number
 * be told from its predecessor. A group holds one or several requests, told apart by address; an
 * event marked EVENT_GROUP holds for all of them.
 */
struct event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 address;
	__u64 length; /* bytes */
	__u64 value;  /* per kind */
	__u32 device; /* handle into the device dictionary; DEVICE_NONE if unknown */
	__u32 pasid;  /* 20 bits, or PASID_NONE */
	__u32 group;  /* page request group index as the device gave it */
	__u32 instance;
	__u32 pid; /* thread group of the task that was running, 0 in interrupts of idle */
	__u32 tid;
	__u16 kind;  /* enum event_kind */
	__u16 queue; /* the device's queue, or QUEUE_NONE */
	__u16 cpu;
	__u8 code;  /* per kind */
	__u8 flags; /* enum event_flags */
};

#ifndef __bpf__
_Static_assert(sizeof(struct event) == 64, "one cache line");
_Static_assert(offsetof(struct event, device) == 32, "layout is the file format");
_Static_assert(offsetof(struct event, kind) == 56, "layout is the file format");
#endif

#endif
