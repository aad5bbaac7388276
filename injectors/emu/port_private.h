/* SPDX-License-Identifier: GPL-2.0 */
/* What port.c (DMA), port_fault.c (page requests) and those who raise them share: port_wait.c and
 * port_request.c. */
#ifndef FAULTLINE_PORT_PRIVATE_H
#define FAULTLINE_PORT_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/port.h"

enum port_group_state {
	GROUP_FREE,
	GROUP_WAITING,	/* `fault` waits for its response */
	GROUP_ANSWERED, /* response is here, `fault` has yet to take it */
	GROUP_EXPIRED,	/* a request's, given up, which it has yet to be told */
	GROUP_ABANDONED /* out of use: a late response frees the index, or a sweep */
};

/* One group index of this device. */
struct port_group {
	enum port_group_state state;
	enum response_code code;
	struct port_fault *fault;
	__u64 id; /* truth's of its first page; the others follow */
	__u64 detect_ns, deadline_ns;
	__u64 sent_ns, answered_ns;	      /* its first request, its response */
	bool automatic;			      /* LAST was dropped, the IOMMU answered */
	bool late;			      /* expired, and then its response came */
	__u32 first, count;		      /* pages of fault->pages */
	__u64 epoch;			      /* of the queue, at the newest request it took */
	__u64 unserved[GROUP_PAGES_MAX / 64]; /* requests dropped or discarded */
};

struct port_queue {
	_Atomic __u64 blocked_ns;
	_Atomic __u64 blocked_since; /* 0: not paused now */
	__u64 fault_end_ns;	     /* the queue's own: when it last went on after page requests */
	_Atomic __u32 thread;	     /* that does its DMA without lookups, 0: none */
	_Atomic __u32 lookups;	     /* which of them is timed; one may be lost */
	/* With the lock: groups that are open, since when there are some, up to when those were that have closed since
	 * then, and for how long there have been some before, the last time until `counted_until`. */
	__u32 open;
	__u64 open_since, open_until, open_ns, counted_until;
	__u64 counted_from,
		counted_before; /* that last time's begin, and the end of the one before it */
};

struct port_request_list {
	struct port_request *first, *last;
};

struct port {
	struct port_config config;
	pthread_mutex_t lock; /* of everything below but the atomics */
	pthread_cond_t index_freed;
	struct port_group groups[GROUP_INDEX_MAX];
	__u32 outstanding; /* requests of groups whose index is in use */
	__u64 enabled_ns;  /* page requests are disabled before */
	struct histogram round_trip;
	struct round_trip_parts parts;
	struct histogram lookup_time; /* of every LOOKUP_TIMED-th of a queue */
	bool stopping;
	__u64 stopped_ns;		   /* with it: when */
	struct port_request_list open;	   /* by deadline */
	struct port_request_list answered; /* before they were raised: the timer's thread tells */
	bool open_timed, answered_timed;   /* the timer will call for them */
	__u32 finishing;		   /* requests that are being told, and closed */
	pthread_cond_t finished;	   /* `finishing` became 0 */
	_Atomic __u64 ios, io_errors, io_bytes, requests, groups_raised, timeouts, automatic;
	_Atomic __u64 disabled, refused, held_back, violations;
	struct port_queue queues[];
};

/*
 * port_open.c: from its detection until the device goes on, or gives it up, a group is open. With the lock held.
 */
void port_group_opens(struct port *port, __u16 queue, __u64 detect_ns);
void port_group_closes(struct port *port, __u16 queue, __u64 now);
/* Of all queues together the time in which at least one of their groups was, up to now or to the port's end. */
__u64 port_open_ns(const struct port *port);

/* port.c: port_dma_try() once more, of the same DMA. */
int port_dma_again(struct port *port, struct dma *dma, bool write, __u64 *absent,
		   unsigned int room);

/*
 * port_fault.c
 */

/* Truth's numbers of so many faults, the first of them. */
__u64 port_number_faults(__u32 count);
/* With the lock held. */
void port_count_round_trip(struct port *port, __u64 total_ns, __u64 host_ns);

/* Raises groups for fault->pages, up to its limits; never waits. 0, also if something was raised and
 * there was no index or page request left for the rest. Otherwise -EAGAIN, for want of these, -EIO, -ESHUTDOWN;
 * with the latter two some may have been raised: fault->raised. */
int port_raise(struct port *port, struct port_fault *fault);
/* Sends the requests of all groups of a fault with `claim`. -EIO, -ESHUTDOWN: of none. */
int port_send(struct port *port, const struct port_fault *fault);
/* With the lock held: could a group be raised now? */
bool port_may_raise(const struct port *port);
/* What the responses to its groups mean to a DMA: 0, -EFAULT or -EIO. */
int port_verdict(const struct port *port, const struct port_fault *fault);
/* The device goes on: tells of every group that was answered, frees their indices. */
void port_resume(struct port *port, const struct port_fault *fault);
/* With the lock held: nobody takes the index again before everyone knows. */
void group_abandon(struct port *port, const struct port_fault *fault, __u16 index);

/*
 * port_request.c
 */

/* With the lock held: all groups of the request are answered or expired, it is the caller's to finish. */
void port_request_take(struct port *port, struct port_request *request);
/* Without: calls done(), then closes its faults. */
void port_request_finish(struct port *port, struct port_request *request);
/* Finishes what is open, and waits for others who do. */
void port_request_stop(struct port *port);

#endif
