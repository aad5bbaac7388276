/* SPDX-License-Identifier: GPL-2.0 */
/* What port.c (DMA) and port_fault.c (page requests) share. */
#ifndef FAULTLINE_PORT_PRIVATE_H
#define FAULTLINE_PORT_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/port.h"

struct dma_fault;

enum port_group_state {
	GROUP_FREE,
	GROUP_WAITING,	/* `fault` waits for its response */
	GROUP_ANSWERED, /* response is here, `fault` has yet to take it */
	GROUP_ABANDONED /* out of use: a late response frees the index, or a sweep */
};

/* One group index of this device. */
struct port_group {
	enum port_group_state state;
	enum response_code code;
	struct dma_fault *fault;
	__u64 id; /* truth's of its first page; the others follow */
	__u64 detect_ns, deadline_ns;
	bool automatic;			      /* LAST was dropped, the IOMMU answered */
	__u32 first, count;		      /* pages of fault->pages */
	__u64 epoch;			      /* of the queue, at the newest request it took */
	__u64 unserved[GROUP_PAGES_MAX / 64]; /* requests dropped or discarded */
};

struct port_queue {
	_Atomic __u64 blocked_ns;
	_Atomic __u64 blocked_since; /* 0: not paused now */
	__u64 fault_end_ns;	     /* the queue's own: when it last went on after page requests */
	__u32 lookups;		     /* the queue's own: which of them is timed */
};

struct port {
	struct port_config config;
	pthread_mutex_t lock; /* of everything below but the atomics */
	pthread_cond_t index_freed;
	struct port_group groups[GROUP_INDEX_MAX];
	__u32 outstanding; /* requests of groups whose index is in use */
	__u64 enabled_ns;  /* page requests are disabled before */
	struct histogram round_trip;
	struct histogram lookup_time; /* of every LOOKUP_TIMED-th of a queue */
	bool stopping;
	_Atomic __u64 ios, io_errors, io_bytes, requests, groups_raised, timeouts, automatic;
	_Atomic __u64 disabled, refused, held_back, violations;
	struct port_queue queues[];
};

/* What is absent of one DMA, and how cautiously to ask for it. On the waiting thread's stack. */
struct dma_fault {
	__u64 pages[DMA_SEGMENTS];
	__u32 count;
	__u64 found_ns; /* when the lookup said so */
	__u64 held_ns; /* of this round: since when it waits, or waited, for page requests; 0: never */
	__u64 logged_held_ns; /* the same for the truth log */
	__u16 queue;
	__u8 access;		 /* EVENT_READ or EVENT_WRITE */
	bool overflowed;	 /* a group of the last round was answered automatically */
	__u32 group_pages;	 /* per group, and ... */
	__u32 group_limit;	 /* ... groups at once: less after an overflow */
	pthread_cond_t answered; /* `unanswered` became 0 */
	__u32 unanswered;
	__u32 raised;
	__u16 groups[GROUP_INDEX_MAX]; /* raised in this round */
};

/* Raises page requests for fault->pages and waits until each group is answered or given up. 0: try
 * the DMA again; else as port_dma_begin(). */
int port_fault(struct port *port, struct dma_fault *fault);

#endif
