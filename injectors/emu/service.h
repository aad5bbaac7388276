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

#define GROUP_INDEX_MAX 512 /* PCIe PRI: 9 bits */
#define GROUP_PAGES_MAX 512

enum scheduler_kind {
	SCHEDULER_SERIAL,  /* one handler thread for the machine */
	SCHEDULER_AFFINED, /* one handler thread per tenant, bound to the tenant's CPUs (VPRI 6.1) */
};

struct service_config {
	enum scheduler_kind scheduler;
	__u32 queue_entries; /* of the PRQ/PFQ, power of two, 2 to 65536 */
	__u32 devices;
	__u32 tenants;
	const cpu_set_t *tenant_cpus; /* per tenant, copied; empty or NULL: all CPUs */
	struct inject_table *injections;
};

/* One page request as it stands in the queue (PCIe base specification, Page Request message). */
struct page_request {
	__u64 address;	  /* IOVA of the page */
	__u64 fault;	  /* truth id; no probe carries it */
	__u64 deliver_ns; /* the ISR does not see it before; the same for all of a group */
	__u32 device;
	__u32 pasid;
	__u16 group;
	__u16 queue;
	__u8 flags; /* EVENT_READ/WRITE/EXEC/PRIV/LAST */
};

struct service;

/* What the service asks of whoever assembled the machine. */
struct service_ops {
	__u32 (*tenant_of)(void *machine, __u32 device);
	/* Make the page present and mapped: 0 or -EFAULT (-> INVALID), other (-> FAILURE).
	 * on_resolved() must be called between the two steps. */
	int (*resolve)(void *machine, const struct page_request *request, bool *major,
		       __u64 *physical, void (*on_resolved)(void *argument, bool major),
		       void *argument);
	/* The response reaches the device's port. */
	void (*respond)(void *machine, __u32 device, __u32 pasid, __u16 group,
			enum response_code code);
};

int service_create(struct service **service, const struct service_config *config,
		   const struct service_ops *ops, void *machine);
void service_destroy(struct service *service);

/*
 * Device side, first half: room for one request in the queue. 0 with the number of requests now
 * queued, or -EOVERFLOW: the queue was full. As in PCIe PRI the request is then dropped, and for a
 * LAST one the IOMMU itself answers with a success response, so that the device retries (VT-d
 * specification 7.5.2); what the host had of that group is void. That answer is the return value.
 */
int service_reserve(struct service *service, const struct page_request *request, __u32 *depth);
/* Second half: writes it into the room and rings the interrupt. */
void service_post(struct service *service, const struct page_request *request);

/* Has the service still a request of this group, so that a response may come? What a device learns
 * from a stop marker's answer: an index it gave up may be used again. */
bool service_pending(const struct service *service, __u32 device, __u16 group);

/* With no device left that raises requests: serves what is queued, due or not, and ends all threads. */
void service_drain(struct service *service);

struct service_stats {
	__u64 requests, overflows, interrupts, groups;
	__u64 responses[16]; /* by code, lost ones included */
	__u64 discarded;     /* requests: malformed, or of groups that the IOMMU answered itself */
	__u64 off_tenant;    /* handlers that ran on a CPU outside their tenant's set */
	__u32 depth_max;
};
void service_stats(const struct service *service, struct service_stats *stats);

#endif
