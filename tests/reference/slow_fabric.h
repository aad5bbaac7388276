/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lib/fabric once more, slowly: every walk is tried, shortest first, against rules that look at all of it; every packet of a
 * transaction is sent on its own.
 */
#ifndef FAULTLINE_SLOW_FABRIC_H
#define FAULTLINE_SLOW_FABRIC_H

#include "lib/fabric/cost.h"

#define SLOW_WALK_MAX 40

struct slow_way {
	const struct fabric *fabric;
	__u32 from, to;
	bool translated;
	const __u64 *down;
	const __u32 *through;
	__u32 through_count;
	__u64 budget; /* walks that are tried at most */
};

/* As route_find() and route_through(). 0, -ENETUNREACH, or -EAGAIN: the budget is spent. */
int slow_route(struct slow_way *way, struct route *route);

/* ns until the last byte of a read or write is there. `split_ns`: of the route until its first root. */
double slow_total(const struct fabric *fabric, const struct fabric_costs *costs,
		  const struct transaction *transaction);

#endif
