/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's I/O page-fault service: page request queue, ISR thread, scheduler, handlers, response,
 * and the reclaimer's ordered eviction.
 *
 * Flow (VPRI section 5.2): device -> page request queue -> interrupt -> ISR drains, collects groups ->
 * scheduler -> handler resolves each page by touching it, updates the IOPT -> page response ->
 * device updates its lookup and resumes.
 */
#ifndef FAULTLINE_SERVICE_H
#define FAULTLINE_SERVICE_H

#include <sched.h>

#include "injectors/emu/lookup.h"

#define GROUP_INDEX_MAX	  512 /* PCIe PRI: 9 bits */
#define GROUP_PAGES_MAX	  512
#define PAGE_REQUESTS_MAX (GROUP_INDEX_MAX * GROUP_PAGES_MAX)

enum scheduler_kind {
	SCHEDULER_SERIAL, /* one handler thread for the machine */
	SCHEDULER_AFFINED, /* one handler thread for each CPU of each tenant (VPRI 6.1, scheduler.c) */
};

struct service_config {
	enum scheduler_kind scheduler;
	__u32 queue_entries; /* of the PRQ/PFQ, power of two, 2 to 65536 */
	__u32 devices;
	__u32 tenants;
	const cpu_set_t *tenant_cpus; /* per tenant, copied; empty or NULL: all CPUs */
	const __s32 *device_msi; /* per device, copied: CPU where its MSI is registered, -1 or NULL:
				    polled */
	__u32 handler_backlog;	 /* affined: groups at that CPU before another is taken, 0: 8 */
	struct inject_table *injections;
};

/* One page request as it stands in the queue (PCIe base specification, Page Request message). */
struct page_request {
	__u64 address;	  /* IOVA of the page */
	__u64 fault;	  /* truth id; no probe carries it */
	__u64 deliver_ns; /* its interrupt comes then: the ISR sees neither it nor what is behind
			     it before */
	__u32 device;
	__u32 pasid;
	__u16 group;
	__u16 queue;
	__u8 flags; /* EVENT_READ/WRITE/EXEC/PRIV/LAST */
};

/* A place in the page request queue. */
struct request_slot {
	__u64 number;	/* in the order of all requests of the queue */
	__u64 epoch;	/* what was accepted in an earlier one and is not answered never will be:
			 the host has discarded it (request_queue.h) */
	__u64 taken_ns; /* for the truth log: when its place was given; 0 without one */
	__u32 depth;	/* requests now queued */
};

struct service;

typedef void (*page_resolved)(void *argument, bool major, enum mm_cause cause);

/* What the service asks of whoever assembled the machine. */
struct service_ops {
	__u32 (*tenant_of)(void *machine, __u32 device);
	/* Make the page present and mapped as the request asks: 0 or -EFAULT (-> INVALID), other
	 * (-> FAILURE). on_resolved() must be called between the two steps; cause: MM_NONE, or
	 * MM_PERMISSION if it was there and lacked nothing but the permission. */
	int (*resolve)(void *machine, const struct page_request *request, bool *major,
		       __u64 *physical, page_resolved on_resolved, void *argument);
	/* The response reaches the device's port. */
	void (*respond)(void *machine, __u32 device, __u32 pasid, __u16 group,
			enum response_code code);
};

int service_create(struct service **service, const struct service_config *config,
		   const struct service_ops *ops, void *machine);
void service_destroy(struct service *service);

/*
 * Device side, first half: a slot of the queue. 0, or -EOVERFLOW: the queue was full, or has been and
 * the host has not caught up yet. As in PCIe PRI the request is then dropped, and for a LAST one the
 * IOMMU itself answers with a success response, so that the device retries (VT-d specification 7.5.2).
 * That answer is the return value. What the host has of any unfinished group then, it discards.
 */
int service_reserve(struct service *service, const struct page_request *request,
		    struct request_slot *slot);
/* Second half: writes it into the slot and rings the interrupt. */
void service_post(struct service *service, const struct page_request *request,
		  const struct request_slot *slot);

/* Has the service still a request of this group, so that a response may come? What a device learns
 * from a stop marker's answer: an index it gave up may be used again. */
bool service_pending(const struct service *service, __u32 device, __u16 group);

/*
 * The devices' own timer, one thread a machine: makes the call at that time, or at once if it has
 * passed or the service has been drained by then. Of each device at most SERVICE_CALLS may be due at
 * once: there is room for these, so nothing is allocated. Any thread.
 */
#define SERVICE_CALLS 2
void service_call_at(struct service *service, __u64 time_ns, void (*call)(void *argument),
		     void *argument);

/* With no device left that raises requests: serves what is queued, due or not, and ends all threads. */
void service_drain(struct service *service);

struct service_stats {
	__u64 requests, overflows, interrupts, groups;
	__u64 overflow_epochs; /* times that the queue's overflow bit was set and cleared again */
	__u64 responses[16];   /* by code, lost ones included */
	__u64 discarded;  /* requests taken from the queue and thrown away: malformed, or of a group
			    that an overflow left without its end */
	__u64 off_tenant; /* handlers that ran on a CPU outside their tenant's set */
	__u64 at_msi, off_msi; /* groups of devices with an MSI, at its CPU, or elsewhere because
				  the backlog was there */
	__u64 behind_others;   /* groups that found another tenant's with their handler */
	__u32 depth_max;
};
void service_stats(const struct service *service, struct service_stats *stats);

#endif
