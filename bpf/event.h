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

	EVENT_FAULT_DETECT =
		1, /* device found the translation missing; flags R/W/X; value: when, if it
				     had to hold its request back until now, else 0 */
	EVENT_FAULT_REQUEST = 2,  /* page request is in the PRQ/PFQ; flags R/W/X/LAST;
				     value: requests now queued */
	EVENT_FAULT_ISR = 3,	  /* interrupt handler or thread took the request and reported it;
				     value: requests drained; from the kernel's own core: ns since
				     the IOMMU's interrupt, 0 if that was not seen; flags
				     R/W/X/PRIV/LAST */
	EVENT_FAULT_HANDLER = 4,  /* bottom half starts; EVENT_GROUP */
	EVENT_FAULT_RESOLVED = 5, /* memory is present; MAJOR if it came from storage; from a kernel
				     handler value: ns in handle_mm_fault(), code: enum mm_cause */
	EVENT_FAULT_MAPPED = 6,	  /* IOPT (and PA-BITMAP / DevTLB) updated; value: paddr */
	EVENT_FAULT_RESPONSE = 7, /* page response sent; EVENT_GROUP; code: enum response_code */
	EVENT_FAULT_RESUME = 8,	  /* device retried and went on; EVENT_GROUP; code as received, or
				     RESPONSE_AUTOMATIC */

	EVENT_FAULT_OVERFLOW = 9,    /* request dropped: the PRQ was full; value: its size */
	EVENT_FAULT_UNFINISHED = 10, /* capture stopped waiting for the group; EVENT_GROUP;
					value: age in ns; code: last stage seen (a kind),
					EVENT_FAULT_DISCARD: the host threw it away */
	EVENT_FAULT_QUEUED = 11,     /* kernel: the group was handed to its consumer; EVENT_GROUP;
					code: enum fault_consumer */
	EVENT_FAULT_DELIVERED = 12,  /* the IOMMU has consumed the queued page group response;
					EVENT_GROUP; value: ns since it was submitted */
	EVENT_FAULT_DISCARD = 13,    /* the groups of one fault queue that still waited for their
					last request were thrown away (PRQ overflow), each told as
					unfinished by this kind before; value: how many */
	EVENT_FAULT_VOID = 14,	     /* the host threw this request away with what it had of its
				    group, which a PRQ overflow left without its end */
	EVENT_FAULT_ABANDON = 15,    /* the device gave the group up: no response came in time;
					EVENT_GROUP. What the host does with it may follow. */

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
	EVENT_MM_FAULT = 25,  /* handle_mm_fault() outside any I/O fault, for a process asked for;
				   address: VA; value: ns it took; code: enum mm_cause; MAJOR */

	EVENT_IO_COMPLETE = 28,	   /* an emulated device's I/O that was slow or met a fault;
				      time_ns: completion; value: latency ns; code: enum io_code */
	EVENT_BLOCK_COMPLETE = 29, /* block layer request slower than its target; address: sector;
				      value: issue-to-complete ns */

	EVENT_IOMMU_MAP =
		32, /* iommu:map; value: paddr; device: one attached to the domain, or 0 if
				   that is not known; frames have the time it took where it is */
	EVENT_IOMMU_UNMAP =
		33, /* iommu:unmap; length and value: bytes unmapped; device: likewise */
	EVENT_IOMMU_IO_PAGE_FAULT = 34, /* iommu:io_page_fault; value: fault flags of the driver */
	EVENT_IOMMU_ATTACH = 35, /* device attached to a domain; value: the domain's number in the
				    order of appearance, 0 if not known; code: the kernel's type */
	EVENT_PASID_ATTACH =
		36, /* a PASID of the device means a process, told when it begins to or,
				    if it did before, with its first fault; pid: that process;
				    address and length: the 16 bytes of its name; DEVICE_NONE: of
				    every device (Linux 6.1) */
	EVENT_PASID_DETACH = 37,
	EVENT_IOMMU_FAULT = 38,	 /* unrecoverable fault, decoded; flags R/W/X/PRIV, none: of an
				    interrupt; code: the IOMMU's fault reason; value: enum
				    fault_source */
	EVENT_IOMMU_UNSEEN = 39, /* unrecoverable faults known to have happened but not decoded;
				    value: how many; code: enum unseen_code */

	EVENT_DMA_MAP = 40,   /* dma:dma_map_*; address: DMA address; value: physical address */
	EVENT_DMA_UNMAP = 41, /* dma:dma_unmap_* */
	EVENT_DMA_ALLOC = 42,
	EVENT_DMA_FREE = 43,
	EVENT_DMA_SYNC = 44,
	EVENT_DMA_LIVE = 45,	/* mappings that live, one event for those of the same device, pid
				   and stack: length: bytes mapped, instance: how many mappings,
				   address and value: of the oldest, and when it was mapped; group:
				   stack id; pid: who mapped; code: enum live_code. Told every
				   ten seconds and at the end; EVENT_LAST ends one such snapshot.
				   In aggregate frames: what LIVE_ALL and the codes after say */
	EVENT_IOMMU_FLUSH = 46, /* IOTLB or device-TLB invalidation; value: ns it took; code: enum
				   flush_kind */
	EVENT_FAULT_OWNER = 47, /* right after an EVENT_IOMMU_FAULT or EVENT_IOMMU_IO_PAGE_FAULT, of
				   the same CPU: who owned the address. device: whose address space
				   (a container's, perhaps); address, length and flags: of the
				   mapping; pid: who mapped it; tid: the process that unmapped it;
				   value: when mapped, or unmapped; group: stack id of the mapping;
				   code: enum owner_state */

	EVENT_VFIO_MAP = 48,	/* device: the container; address: IOVA; length: bytes asked for;
				   value: ns; code: errno; flags R/W */
	EVENT_VFIO_UNMAP = 49,	/* likewise; length: bytes unmapped; PRIV: not asked for, the kernel
				   took back one mapping as the container was closed */
	EVENT_VFIO_PIN = 50,	/* one contiguous run pinned; address: VA; length: bytes; value: ns;
				   code: errno; queue: log2 of its pages (iommufd: none, a batch) */
	EVENT_VFIO_UNPIN = 51,	/* address: IOVA; length: bytes */
	EVENT_VFIO_LIMIT = 52,	/* how much of a limit is used; value: used; length: the limit, all
				   ones: none; code: enum vfio_limit; PRIV: not held to it */
	EVENT_VFIO_RESET = 53,	/* device reset; value: ns; code: errno; MAJOR: its slot or bus */
	EVENT_VFIO_VECTOR = 54, /* interrupt vectors wired; address: first; value: how many, 0: all
				   off; length: errno; code: index (0 INTx, 1 MSI, 2 MSI-X) */
	EVENT_VFIO_IRQ = 55,	/* the device interrupted, its eventfd was signalled; value: IRQ */

	EVENT_SCHED_WAKEUP = 56, /* a fault handler thread was woken; tid: the handler */
	EVENT_SCHED_RUN = 57,	 /* a fault handler thread got a CPU; value: ns since its wakeup */

	EVENT_INJECT_START = 60, /* an injection begins; code: enum inject_point; value: its id */
	EVENT_INJECT_STOP = 61,

	EVENT_DEVICE_NEW = 64, /* first sight of a device; device: its handle, pid: its owner;
				  value: the source's own id (BDF, dev_t, emulated index) */
	EVENT_DEVICE_GONE =
		65, /* capture's own, of a device with faults that were given up: it or its
				   machine has gone, nothing of it is open any more */

	EVENT_MM_INVALIDATE = 66, /* MMU notifier: the range is taken from devices; address: VA;
				     code: the kernel's mmu_notifier_event */
	EVENT_MM_RECLAIM = 67,	  /* direct reclaim; value: ns; length: bytes freed */
	EVENT_MM_MIGRATE = 68,	  /* pages migrated; value: how many; code: the kernel's reason */
	EVENT_MM_COLLAPSE = 69,	  /* khugepaged built a huge page; code: the kernel's status */
	EVENT_KVM_UNMAP = 70,	  /* KVM's stage two loses the range; address: VA */
	EVENT_UFFD_WAIT = 71,	  /* a fault waited for userfaultfd; value: ns */

	/*
	 * RDMA on-demand paging. A fault of the device uses the stages above: group is the key of
	 * the memory region (of mlx5's work queue faults: the queue's number), instance the call of
	 * the kernel's page-fault service, address and length what it was asked for, pid the owner of
	 * the region. Its FAULT_MAPPED carries in value the region's key, and << 32 the pages that
	 * were entered; it is EVENT_LAST on rxe. A call that failed ends with a FAULT_RESPONSE
	 * instead. In the following kinds group is the region's key and pid its owner.
	 */
	EVENT_ODP_REGION = 72,	   /* memory region that pages on demand; code: enum
				      odp_region_state */
	EVENT_ODP_INVALIDATE = 73, /* the host takes a part of a region back; value: ns; instance:
				      pages that the device lost; code: mmu_notifier_event */
	EVENT_ODP_PREFETCH = 74, /* brought in by advice; value: ns; instance: pages; code: errno */
	EVENT_RDMA_COUNTER = 75, /* a hardware counter moved; value: by how much; length: ns since
				      it was last read; queue: port; code: enum rdma_counter */
	EVENT_KIND_MAX = 76,
};

#define FAULT_STAGES 8

/* struct event's flags. R, W and X are the access that faulted or that an I/O made. */
enum event_flags {
	EVENT_READ = 1 << 0,
	EVENT_WRITE = 1 << 1,
	EVENT_EXEC = 1 << 2,
	EVENT_PRIV = 1 << 3,
	EVENT_LAST = 1 << 4,  /* last request of its group; on a stage after FAULT_HANDLER: this
				 source shows no later stage, the fault is over with it */
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
	/* No code of PCIe's four bits: success, which the IOMMU sent itself because it had dropped the
	 * group's last request. Nothing was resolved. */
	RESPONSE_AUTOMATIC = 16,
};

/* Who takes a page request group from the kernel's IOPF core. */
enum fault_consumer {
	CONSUMER_UNKNOWN,
	CONSUMER_SVA,	  /* the process's own page table: iommu_sva_iopf_handler */
	CONSUMER_IOMMUFD, /* user space, through a fault queue */
	CONSUMER_OTHER,	  /* a driver's own handler */
};

/* What brought the page, or failed to. The worst that was met within one handle_mm_fault(). */
enum mm_cause {
	MM_NONE, /* handle_mm_fault() was not reached: no such mapping, or access refused */
	MM_ANONYMOUS,
	MM_PRESENT, /* nothing had to be brought: another task was first */
	MM_COPY_ON_WRITE,
	MM_FILE,
	MM_HUGE,
	MM_HUGETLB,
	MM_SWAP,
	MM_USERFAULTFD,
	MM_ERROR,      /* SIGBUS, out of memory, poisoned */
	MM_PERMISSION, /* emulated: the page was there and mapped for the device, but read-only */
};

enum flush_kind {
	FLUSH_CONTEXT =
		1, /* this and the next four: a command to the IOMMU, by its first descriptor */
	FLUSH_IOTLB,
	FLUSH_DEVICE_TLB,
	FLUSH_INTERRUPT,
	FLUSH_OTHER,
	FLUSH_DOMAIN, /* a driver's flush of what was unmapped, with all commands it takes */
	FLUSH_ALL,    /* likewise of the whole domain; also the DMA API's lazy flush */
};

/* How an unrecoverable fault became known. */
enum fault_source { SOURCE_TRACEPOINT, SOURCE_CONSOLE, SOURCE_REGISTERS };

/* Whether the number of an EVENT_IOMMU_UNSEEN is all, or there may have been more. */
enum unseen_code { UNSEEN_EXACT, UNSEEN_AT_LEAST };

enum owner_state { OWNER_MAPPED, OWNER_UNMAPPED };

/* What an EVENT_DMA_LIVE, or an aggregate row of that kind, tells of. */
enum live_code {
	LIVE_ALL,   /* all live mappings; in a frame: count and bytes at the window's end */
	LIVE_OLD,   /* only those older than was asked; likewise */
	LIVE_PAGES, /* frames only: distinct 2 MiB pages in use at the window's end, their bytes */
	LIVE_REFUSED, /* frames only: mappings that found no room in the table: not in LIVE_ALL */
	LIVE_UNKNOWN, /* frames only: unmapped without a mapping known: made before capture began */
};

enum vfio_limit { LIMIT_MEMLOCK, LIMIT_DMA_ENTRIES };

enum odp_region_state {
	ODP_REGION_FOUND, /* first seen now, it may be older */
	ODP_REGION_NEW,
	ODP_REGION_PART, /* part of an implicit region, whose key it has */
	ODP_REGION_GONE,
};

/* What RDMA devices count themselves; which of their counters: lib/capture/rdma_counters.c. */
enum rdma_counter {
	RDMA_RNR_SENT,	   /* receiver-not-ready NAKs: told the peer to wait */
	RDMA_RNR_RECEIVED, /* the peer told us to wait */
	RDMA_RETRY,	   /* retransmissions after the queue pair's timeout */
	RDMA_DUPLICATE,	   /* requests that came again, which the peer's retransmissions are */
	RDMA_OUT_OF_SEQUENCE,
	RDMA_SEQUENCE_NAK, /* the peer missed packets of ours */
	RDMA_RETRY_EXCEEDED,
	RDMA_RNR_EXCEEDED,
	RDMA_COUNTERS,
};

enum io_code {
	IO_OK = 0,
	IO_ERROR = 1, /* the device reported an error to its driver */
	IO_FAULTED =
		1 << 4, /* bit: the I/O itself, or one it queued behind, met an I/O page fault */
	/* An I/O that touched several ranges of memory has an event for each; the last of them stands
	 * for the I/O, the others are accesses and no I/Os: */
	IO_PART = 1 << 5,   /* bit: a range of an I/O whose own event comes next */
	IO_SOURCE = 1 << 6, /* bit, with IO_PART: read to be copied, the same bytes are written */
};

#define PASID_BITS  20
#define PASID_NONE  (1u << 31)	/* request without PASID: the device's default domain */
#define DEVICE_NONE 0		/* the event carries no device; attribution is never guessed */
#define DEVICE_ALL  0xffffffffu /* of an injection: it aims at every device */
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
