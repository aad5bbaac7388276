/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a transaction on a route takes, in virtual time: a model, never a measurement.
 *
 * Posted (writes) against non-posted (reads, which wait for completions): a read costs the route twice, and a root splits its
 * requests of 256 B into 4 of 64 B (PIV 7.1, PV 7.3.1), so that reads outstanding limit its bandwidth: Little's law.
 */
#ifndef FAULTLINE_FABRIC_COST_H
#define FAULTLINE_FABRIC_COST_H

#include "lib/fabric/route.h"

struct fabric_costs {		 /* [fabric] */
	__u64 memory_ns;	 /* RAM's own answer to a read */
	__u64 device_ns;	 /* a device register's or BAR's */
	__u64 translate_ns;	 /* an IOMMU's, on top of its root */
	__u32 payload;		 /* bytes of a write packet at most (MPS) */
	__u32 request;		 /* bytes that a read asks for (MRRS) */
	__u32 split;		 /* bytes of a request behind a root; 0: not split */
	__u32 outstanding;	 /* reads of an engine at a time */
	__u32 split_outstanding; /* pieces of split requests at a time, of a root */
	double bytes_per_s;	 /* of an endpoint's link */
	double root_bytes_per_s; /* of writes that a root passes on */
};
struct job_text;
/* From [fabric], or its defaults. -EBADMSG with the place. */
int fabric_costs_read(struct fabric_costs *costs, const struct job_text *text);

struct transaction {
	const struct route *route;
	bool posted;
	__u64 bytes;
};
struct transaction_cost {
	__u64 first_ns; /* until the first byte is there: what a small one takes */
	__u64 total_ns; /* until the last is */
	__u64 requests; /* packets that leave the source: of a write, those with data */
	__u64 pieces;	/* what they are behind the first root that splits; equal if none does */
};
/* Allocates nothing; tens of ns. */
void fabric_cost(const struct fabric *fabric, const struct fabric_costs *costs,
		 const struct transaction *transaction, struct transaction_cost *cost);
/* Bytes a second that flow once a transaction of many bytes is under way. */
double fabric_bandwidth(const struct fabric *fabric, const struct fabric_costs *costs,
			const struct route *route, bool posted);

#endif
