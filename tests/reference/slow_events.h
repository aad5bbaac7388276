/* SPDX-License-Identifier: GPL-2.0 */
/* What is going to happen in the slow model, in one list sorted by time, kind and cause. */
#ifndef FAULTLINE_SLOW_EVENTS_H
#define FAULTLINE_SLOW_EVENTS_H

#include "tests/reference/slow_model.h"

/* In the order in which they happen at one picosecond. */
enum slow_kind {
	SLOW_HIT,	 /* DevTLB or buffer complete a translation */
	SLOW_ANSWER,	 /* the IOMMU's is at the device */
	SLOW_WALKED,	 /* a walk ends, or the IOTLB answered */
	SLOW_CONTEXT,	 /* the context entry has come */
	SLOW_AT_IOMMU,	 /* a request has arrived there */
	SLOW_PREFETCHED, /* the same, of the prefetch unit */
	SLOW_ARRIVAL,	 /* of a packet */
};
#define SLOW_KINDS (SLOW_ARRIVAL + 1)

/* A translation under way. */
struct slow_access {
	struct slow_request request;
	unsigned int source, domain, device;
	uint64_t begun_ps;
	bool prefetch;
	bool met_fault;
	bool walks; /* the IOTLB, if any, did not know the page */
	bool missed2, missed3;
};

struct slow_event {
	uint64_t time_ps;
	enum slow_kind kind;
	unsigned int device;		/* of an arrival */
	struct slow_access *access;	/* of all others; whoever takes the event owns it */
	struct slow_event *prev, *next; /* the first one's `prev` is the last */
};

struct slow_events {
	struct slow_event *first;
	struct slow_event *last_added[SLOW_KINDS]; /* while it is there: the next one is near */
};

void slow_events_add(struct slow_events *events, uint64_t time_ps, enum slow_kind kind,
		     unsigned int device, struct slow_access *access);
/* The next one; false if nothing is going to happen any more. */
bool slow_events_take(struct slow_events *events, struct slow_event *event);

#endif
