/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine's side of a port (device.h has the device's): what it connects, and the way back of
 * page responses.
 *
 * Faults of one DMA become page request groups of at most `group_pages` requests, LAST on the final
 * one. A group index is in use from its first request to its response. A group whose response does
 * not come in time is given up: its index stays out of use until the late response comes or the
 * service is known to have none for it, and the request is raised anew under another index.
 *
 * Pages are asked for by DMAs that wait (port_dma_begin()) and by requests that are told
 * (port_request()), at once if it must be: both take indices and page requests from the same few, and both are
 * in all that is counted here.
 *
 * A response FAILURE disables the device's page requests (PCIe base specification, Page Request
 * Interface: Response Failure): until the host enables them again, a DMA to an absent page fails.
 */
#ifndef FAULTLINE_PORT_H
#define FAULTLINE_PORT_H

#include "injectors/emu/access_log.h"
#include "injectors/emu/device.h"
#include "injectors/emu/round_trip.h"
#include "lib/analyze/histogram.h"

struct port_config {
	__u32 device; /* index in the machine */
	__u16 queues;
	__u32 pasid; /* the one this device uses, or PASID_NONE */
	__u32 group_pages;
	__u32 page_requests;	   /* at most so many unanswered (PCIe: Outstanding Page Request
				      Allocation), 0: no limit but the group indices */
	__u32 queue_entries;	   /* of the service's request queue, for overflow events */
	__u64 response_timeout_ns; /* 0: 1 s */
	__u64 reenable_ns; /* a FAILURE disables page requests; the host enables them after this */
	__u64 physical;	   /* host physical base of `memory` */
	struct guest_memory *memory;
	bool direct;	   /* it is accessed without a lookup (port_direct.c) */
	__u64 iova_offset; /* with that: IOVA = guest address + this */
	__u64 bytes;	   /* of it; only with `touched` */
	struct lookup *lookup;
	struct service *service;
	struct inject_table *injections; /* may be NULL */
	struct access_log *access_log;	 /* may be NULL */
	_Atomic unsigned char
		*touched; /* a byte a page of `memory`, set by each DMA; may be NULL */
};

int port_create(struct port **port, const struct port_config *config);
/* After the device has stopped, and the service. */
void port_destroy(struct port *port);

/* Every wait ends with -ESHUTDOWN, now and from now on. Likewise every request: once this returns, all
 * have been told, none is being told, and none ever will be. Not from inside a done(), nor with a lock
 * held that one takes. While the service runs. */
void port_stop(struct port *port);

/* A page response arrives, in the service's thread. */
void port_respond(struct port *port, __u32 pasid, __u16 group, enum response_code code);

/*
 * port_direct.c: a device that accesses its guest's memory as it is mapped. What the pager finds absent for one of its threads is a fault of
 * the queue's, with no page request: it is detected, resolved, and over. As of struct memory_watch; the port is the access's device.
 */

/* Whether the thread does the DMA of one of the port's queues. */
bool port_direct_begins(struct port *port, struct memory_access *access);
void port_direct_ends(struct port *port, const struct memory_access *access, bool major);

struct port_stats {
	__u64 ios, io_errors, io_bytes;
	__u64 requests;	  /* page requests raised, those that a full queue dropped included */
	__u64 groups;	  /* page request groups that they came in */
	__u64 timeouts;	  /* of them given up */
	__u64 automatic;  /* of them answered by the IOMMU: their last request was dropped */
	__u64 disabled;	  /* times that a FAILURE disabled page requests */
	__u64 refused;	  /* DMAs and requests that failed because they were */
	__u64 held_back;  /* times that a group had to wait, was refused or smaller, for want of
			    page_requests */
	__u64 violations; /* DMA to an absent frame, or a response nobody waits for */
	__u64 open_ns; /* over queues, the time in which a fault was open, from detect to resume or abandon */
	__u16 queues;
};
void port_stats(struct port *port, struct port_stats *stats);
/* Adds this port's round trips, ns from detect to resume of a group that the host answered; parts may be NULL. */
void port_round_trips(struct port *port, struct histogram *into, struct round_trip_parts *parts);
/* Likewise the time that a DMA's lookup took, ns, of each queue's first and every LOOKUP_TIMED-th
 * DMA after it. */
#define LOOKUP_TIMED 64
void port_lookup_times(struct port *port, struct histogram *into);

#endif
