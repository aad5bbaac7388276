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

/* What happened: the numbers and what each kind's fields mean are in bpf/event_kinds.def. */
#define EVENT_KIND(name, number, ...) EVENT_##name = number,
enum event_kind {
	EVENT_NONE = 0,
#include "bpf/event_kinds.def"
	EVENT_KIND_MAX, /* one more than the last */
};
#undef EVENT_KIND

#define FAULT_STAGES 8
_Static_assert(EVENT_FAULT_RESUME == EVENT_FAULT_DETECT + FAULT_STAGES - 1, "a stage's index");

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

/* What an EVENT_DMA_LIVE, or an aggregate row of that kind, counts. */
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

/* Why frames of a NIC were lost. */
enum loss_reason {
	LOSS_UNKNOWN,
	LOSS_FAULT,	  /* a page of their buffers or ring was absent */
	LOSS_NO_BUFFER,	  /* the guest had posted none, or none that the device may ask for yet */
	LOSS_CACHE_FULL,  /* of the device's frame cache, that frames of all rings pass through */
	LOSS_BACKUP_FULL, /* of the backup ring, or of what it may hold for one ring */
	LOSS_BEFORE_NIC,  /* the NIC's own queue to the wire was full: it was late */
	LOSS_WIRE,	  /* injected: they never reached the NIC */
	LOSS_OVERLONG,	  /* no frame, or longer than its MTU allows */
	LOSS_REASONS,
};

/* Where frames wait while a buffer of theirs is absent. */
enum hold_place { HOLD_CACHE = 1, HOLD_BACKUP };

enum ring_side { RING_RX, RING_TX };

/* What memory regions of emulated RDMA devices are. */
enum region_kind { REGION_KERNEL, REGION_PINNED, REGION_DEMAND, REGION_IMPLICIT };

/* Where at a queue pair a page is absent. */
enum rdma_side {
	RDMA_INITIATOR_READS,  /* source of a send or write */
	RDMA_INITIATOR_WRITES, /* target of a read's responses */
	RDMA_RESPONDER_READS,  /* source of a read's responses */
	RDMA_RESPONDER_WRITES, /* target of a receive or write */
	RDMA_SIDES,
};

/* Why a packet that arrived was not taken. */
enum rdma_drop {
	RDMA_DROP_FAULT,      /* the first, whose page was absent */
	RDMA_DROP_RNR,	      /* was in flight when the NAK was sent; before the sender went back */
	RDMA_DROP_SEQUENCE,   /* behind a lost one */
	RDMA_DROP_DUPLICATE,  /* had arrived before */
	RDMA_DROP_RESPONSE,   /* a read's response whose target is, or was, absent */
	RDMA_DROP_NO_RECEIVE, /* nothing was posted */
	RDMA_DROP_STATE,      /* the pair is in no state to take it */
	RDMA_DROP_WIRE,	      /* injected: it never reached the pair */
	RDMA_DROPS,
};

/* Why packets are sent again. */
enum rdma_resend {
	RDMA_RESEND_RNR,
	RDMA_RESEND_SEQUENCE,
	RDMA_RESEND_TIMEOUT,
	RDMA_RESEND_READ,
	RDMA_RESENDS,
};

/* What a queue pair waits for. */
enum rdma_wait {
	RDMA_WAIT_MEMORY, /* pages of its own: of what it sends, or of a read's responses to send */
	RDMA_WAIT_RNR,	  /* the timer of a receiver-not-ready NAK, for pages of its peer */
	RDMA_WAIT_READ,	  /* pages of its own, for a read's responses, dropped until then */
	RDMA_WAIT_TIMEOUT, /* an acknowledgement that has not come */
	RDMA_WAITS,
};

/* What made TCP send something again. */
enum tcp_recovery {
	RECOVERY_TIMEOUT = 1, /* the retransmission timer expired */
	RECOVERY_PROBE,	      /* tail loss probe */
	RECOVERY_FAST,	      /* acknowledgements told of the loss: duplicates, SACK, RACK */
	RECOVERY_SLOW_START,  /* more of what a timeout gave up, as acknowledgements come again */
};

/* Stages of an I/O on a lent or shared device, in the order in which it passes them. */
enum io_stage {
	IO_STAGE_MAP,	  /* the driver maps its buffer for the device */
	IO_STAGE_COMMAND, /* a CPU writes the command to the queue's memory */
	IO_STAGE_DOORBELL,
	IO_STAGE_FETCH, /* the device reads the command */
	IO_STAGE_DATA,
	IO_STAGE_COMPLETION, /* the device writes the completion */
	IO_STAGE_NOTICE,     /* polled, or an interrupt */
	IO_STAGE_UNMAP,
	IO_STAGES,
};

/* What an NTB window is for. */
enum window_kind {
	WINDOW_BAR, /* a device's registers, for who has borrowed it */
	WINDOW_DMA, /* a borrower's memory, for the device */
	WINDOW_MSI,
	WINDOW_PEER,	/* another device's registers or memory, for a device */
	WINDOW_SEGMENT, /* memory registered for sharing */
	WINDOW_LOW,	/* a guest's memory below the hole */
	WINDOW_HIGH,	/* and above */
	WINDOW_KINDS,
};

/* What transactions of a device are for. */
enum path_purpose {
	PURPOSE_MMIO,
	PURPOSE_FETCH,
	PURPOSE_DATA,
	PURPOSE_COMPLETION,
	PURPOSE_INTERRUPT,
	PURPOSE_PEER,
	PURPOSES,
};

/* Why a client went on over another queue pair. */
enum failover_reason {
	FAILOVER_TIMEOUT, /* a command had no completion */
	FAILOVER_LINK,	  /* the link told */
	FAILOVER_TABLES,  /* the link is back, but its tables are empty */
	FAILOVER_MANAGER, /* the manager is dead */
	FAILOVER_LENDER,  /* the lender is */
	FAILOVER_BACK,	  /* the first path works again */
	FAILOVER_REASONS,
};

/* Stages of a verb of a device with a mode (docs/hyv.md), in the order of the paper's steps; what a mode has not takes no time. */
enum verb_stage {
	VERB_SYSCALL, /* called to written into the queue: the guest's kernel, its own pin included */
	VERB_QUEUE,   /* to the kick */
	VERB_KICK,    /* to the host's having taken it */
	VERB_FILTER,  /* to its having been allowed */
	VERB_PIN,     /* the host's pin of the guest's pages */
	VERB_REMAP,   /* scratch mapping made and gone, or the bottom-up remapping */
	VERB_DRIVER,  /* host driver: its own pin and tables */
	VERB_INSTALL, /* the device's */
	VERB_REPLY,   /* answer written and the interrupt injected */
	VERB_WAKE,    /* until its caller goes on; told with the next verb */
	VERB_STAGES,
};

/* Who pins memory of a guest, and why hypervisor and guest change over. */
enum pin_role { PIN_GUEST, PIN_REMAP, PIN_DRIVER, PIN_ROLES };
enum exit_cause {
	EXIT_KICK,
	EXIT_INJECT_CONTROL,
	EXIT_INJECT_EVENT,
	EXIT_FORWARDED_POST,
	EXIT_CAUSES
};

/* Stages of a work request, in the order in which it passes them. */
enum work_stage {
	WORK_POST,	 /* written by the guest, until the device has seen the doorbell */
	WORK_DOORBELL,	 /* to its first DMA */
	WORK_DMA,	 /* to its last */
	WORK_COMPLETION, /* to its completion's having been written */
	WORK_REAPED,	 /* until the guest has taken that */
	WORK_TOTAL,	 /* of what is known of it */
	WORK_STAGES,
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
 * be distinguished from its predecessor. A group holds one or several requests, each of another
 * address; an event marked EVENT_GROUP holds for all of them.
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
