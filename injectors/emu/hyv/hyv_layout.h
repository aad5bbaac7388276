/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a guest's process and the host's backend share, of a device whose control goes through the hypervisor (HyV, VEE 2015,
 * sections 4.1 and 4.2): the hello, the virtqueue that carries requests, the ring of completion events, and the pages that the
 * host owns. Either side may find anything in what the other writes; the host takes each word once and checks its copy.
 *
 * Memory: the tenant's memory file, which the guest maps as a whole (guest address = offset in it), and the resource file,
 * which the host made for this guest alone: struct hyv_shared, then pages of doorbells, then queues that the host owns.
 */
#ifndef FAULTLINE_HYV_LAYOUT_H
#define FAULTLINE_HYV_LAYOUT_H

#include "injectors/emu/verbs/verbs_layout.h"
#include "injectors/emu/verbs/verbs_registers.h"

/*
 * Control: a split virtqueue (virtio 1.2, section 2.7; little endian, no indirect descriptors, no event index) in the guest's
 * memory. A request is a chain: struct verbs_request (read by the host), then none or more descriptors of page lists (read),
 * then struct verbs_answer (written). Kick and inject are eventfds; flags VRING_AVAIL_F_NO_INTERRUPT and VRING_USED_F_NO_NOTIFY
 * are honoured.
 */
#define HYV_QUEUE_ENTRIES 64 /* a power of two */
#define HYV_QUEUE_BYTES \
	4096ul /* descriptors, available and used ring of so many entries, in one page */
#define HYV_LIST_MAX (1u << 18) /* pages of one request: 1 GiB */
/* Of the guest's share the first pages: the virtqueue, then requests and answers, then page lists. In mode passthrough, whose
 * control is the command ring of verbs_layout.h, its first page is that instead of the virtqueue. */
#define HYV_CONTROL_BYTES (2u << 20)

/* A command and its times at the guest's, CLOCK_MONOTONIC ns; those of the command that it had answered last go with the next one. */
struct verbs_request {
	struct verbs_command command;
	__u64 token; /* the guest's, of this command; 1, 2, ... */
	__u64 called_ns, queued_ns, kicked_ns;
	__u64 last_token, last_woken_ns; /* 0: none */
	__u32 pages; /* of the list behind it: guest addresses of pages, 8 bytes each, in the order of the region */
	__u32 last_kind;
	__u64 reserved;
};

struct verbs_answer {
	__s32 error;
	__u32 reserved;
	__u64 result[2];
	__u64 reserved2;
};

_Static_assert(sizeof(struct verbs_request) == 128, "two cache lines");
_Static_assert(sizeof(struct verbs_answer) == 32, "half a cache line");

/*
 * Completion events: one producer, the host; one consumer, the guest; free-running indices (Lamport). Each side has a lock of its
 * own around its half, which is not here. Full: the host keeps what did not fit, and tells it later; nothing is lost.
 */
#define HYV_EVENTS 1024 /* a power of two */
/* Bottom-up mappings of a guest at once. */
#define HYV_OVERLAYS 64

enum hyv_event_kind { HYV_EVENT_COMPLETION = 1, HYV_EVENT_DEVICE_GONE };
struct hyv_event {
	__u32 number; /* of the completion queue */
	__u16 kind;
	__u16 reserved;
};
struct hyv_event_ring {
	_Atomic __u64 produced __attribute__((aligned(64))); /* by the host */
	_Atomic __u64 consumed __attribute__((aligned(64))); /* by the guest */
	struct hyv_event event[HYV_EVENTS] __attribute__((aligned(64)));
};

/* Doorbells: a cache line (struct verbs_pair_words) for each queue pair, on pages that the host owns and the guest maps by
 * VERBS_MAP_RESOURCE. The line is that of the pair's number modulo VERBS_QUEUE_PAIRS_MAX. */
#define HYV_DOORBELL_LINE  64ul
#define HYV_DOORBELL_BYTES (VERBS_QUEUE_PAIRS_MAX * HYV_DOORBELL_LINE)

/* The first pages of the resource file. */
struct hyv_shared {
	struct verbs_registers
		registers; /* mode passthrough: the mailbox. `stopping`, `failed`: any mode */
	struct hyv_event_ring events;
	/* Counted by who does it: exits of each cause. */
	_Atomic __u64 kicks, injections; /* of control: by guest and by host */
	_Atomic __u64 event_injections;	 /* by the host; of alarms, too */
	_Atomic __u64 forwarded_posts;	 /* posts that went as a command */
};
#define HYV_SHARED_BYTES   ((sizeof(struct hyv_shared) + 4095) & ~4095ul)
#define HYV_DOORBELL_START HYV_SHARED_BYTES
#define HYV_OWNED_START	   (HYV_DOORBELL_START + HYV_DOORBELL_BYTES) /* queues that the host owns */
#define HYV_OWNED_BYTES	   (16u << 20)
#define HYV_RESOURCE_BYTES (HYV_OWNED_START + HYV_OWNED_BYTES)

enum rdma_mode {
	RDMA_MODE_NONE,	  /* not said: guests are threads of the machine, pins are an account */
	RDMA_MODE_NATIVE, /* the application runs in the host and calls its driver */
	RDMA_MODE_HYBRID,
	RDMA_MODE_PASSTHROUGH,
	RDMA_MODE_ODP, /* control as hybrid, nothing is pinned, the device faults */
	RDMA_MODES,
};

/*
 * The hello: one message of the host on a SOCK_SEQPACKET pair, with descriptors in this order. The guest answers with struct
 * hyv_hello_answer and its userfaultfd (none in mode passthrough), in which its whole view of the tenant's memory is
 * registered (missing, write-protect); then the host answers with one byte, and the device may be used. The socket's end is
 * the other side's end.
 */
enum hyv_descriptor {
	HYV_MEMORY,    /* the tenant's memory file */
	HYV_RESOURCES, /* the resource file */
	HYV_KICK,      /* eventfd: a hypercall */
	HYV_INJECT,    /* eventfd: the interrupt of control */
	HYV_EVENT,     /* eventfd: the interrupt of completion events */
	HYV_ALARM,     /* eventfd: the interrupt of what fails by itself (struct verbs_registers) */
	HYV_FAULTS,    /* /dev/userfaultfd, for who may not call userfaultfd(2) */
	HYV_DESCRIPTORS,
};
#define HYV_VERSION 2
struct hyv_hello {
	__u32 version;
	__u32 mode;	    /* enum rdma_mode */
	__u64 memory_bytes; /* of the memory file */
	__u64 share_address,
		share_bytes; /* guest addresses that are this device's to use; page aligned */
	__u64 iova_offset;
	__u64 control_address; /* guest address of HYV_CONTROL_BYTES: virtqueue, requests, lists; also in the share */
	__u32 device, tenant;	  /* indices in the machine */
	__u32 mtu, forward_posts; /* 1: posts go as commands (SoftiWARP) */
	__u32 host_queues; /* 1: queues lie in VERBS_OWNED pages, which the guest maps before it creates one */
	__u32 reserved;
	__u64 guid;    /* of the device, for who asks */
	char name[64]; /* TENANT/DEVICE */
};
struct hyv_hello_answer {
	__u32 version;
	__u32 pid;
	__u64 base; /* the guest's virtual address of guest address 0 */
};

#endif
