// SPDX-License-Identifier: GPL-2.0
#include "lib/fabric/cost.h"

#include <math.h>

#include "lib/fabric/options.h"
#include "lib/job/text.h"

#define TIME_MOST 4e18

int fabric_costs_read(struct fabric_costs *costs, const struct job_text *text)
{
	const struct job_section none = {.type = "fabric", .name = "", .where = text->path};
	const struct job_section *section = job_text_section(text, "fabric", NULL);

	return fabric_fill(section ?: &none, costs);
}

/* From a request to its answer over the part of a route that takes so long one way. */
static __u64 round_trip(const struct fabric *fabric, const struct fabric_costs *costs,
			const struct route *route, __u64 one_way, __u32 translations)
{
	bool memory = fabric->nodes[route->nodes[route->count - 1]].kind == FABRIC_ROOT;

	return 2 * one_way + translations * costs->translate_ns +
	       (memory ? costs->memory_ns : costs->device_ns);
}

/* A read that passes a root is split there. */
static bool splits(const struct fabric_costs *costs, const struct route *route)
{
	return route->roots && costs->split;
}

static __u32 piece_bytes(const struct fabric_costs *costs)
{
	return costs->split < costs->request ? costs->split : costs->request;
}

static double link_rate(const struct fabric_costs *costs, const struct route *route, bool posted)
{
	double rate = costs->bytes_per_s;

	if (route->bytes_per_s)
		rate = fmin(rate, (double)route->bytes_per_s);
	return posted && route->roots ? fmin(rate, costs->root_bytes_per_s) : rate;
}

/* When the last of `units` is through, after the first: so many at a time, each `trip` ns under way, one behind the other. */
static double pipelined_ns(__u64 units, __u32 at_a_time, double trip, double unit_ns)
{
	__u64 last = units - 1, windows = last / at_a_time;

	return (double)windows * fmax(trip, at_a_time * unit_ns) +
	       (double)(last % at_a_time) * unit_ns;
}

static __u64 pieces_of(const struct fabric_costs *costs, __u64 bytes)
{
	__u64 whole = bytes / costs->request, rest = bytes % costs->request;
	__u32 piece = piece_bytes(costs);

	return whole * (costs->request / piece) + (rest + piece - 1) / piece;
}

static void read_cost(const struct fabric *fabric, const struct fabric_costs *costs,
		      const struct transaction *transaction, struct transaction_cost *cost)
{
	const struct route *route = transaction->route;
	__u64 trip = round_trip(fabric, costs, route, route->delay_ns, route->translations);
	double unit_ns = 1e9 / link_rate(costs, route, false);
	double stage, behind;

	cost->first_ns = trip;
	cost->requests = (transaction->bytes + costs->request - 1) / costs->request ?: 1;
	cost->pieces = cost->requests;
	stage = pipelined_ns(cost->requests, costs->outstanding, (double)trip,
			     costs->request * unit_ns);
	if (splits(costs, route)) {
		cost->pieces = pieces_of(costs, transaction->bytes) ?: 1;
		trip = round_trip(fabric, costs, route, route->behind_ns,
				  route->behind_translations);
		behind = pipelined_ns(cost->pieces, costs->split_outstanding, (double)trip,
				      piece_bytes(costs) * unit_ns);
		stage = fmax(stage, behind);
	}
	/* Centuries are as good as more of them, and fit. */
	cost->total_ns = cost->first_ns + (__u64)fmin(stage, TIME_MOST);
}

void fabric_cost(const struct fabric *fabric, const struct fabric_costs *costs,
		 const struct transaction *transaction, struct transaction_cost *cost)
{
	const struct route *route = transaction->route;
	__u64 bytes = transaction->bytes, first;

	if (!transaction->posted) {
		read_cost(fabric, costs, transaction, cost);
		return;
	}
	first = bytes < costs->payload ? bytes : costs->payload;
	cost->requests = (bytes + costs->payload - 1) / costs->payload ?: 1;
	cost->pieces = cost->requests;
	cost->first_ns = route->delay_ns + route->translations * costs->translate_ns;
	cost->total_ns = cost->first_ns +
			 (__u64)((double)(bytes - first) * 1e9 / link_rate(costs, route, true));
}

double fabric_bandwidth(const struct fabric *fabric, const struct fabric_costs *costs,
			const struct route *route, bool posted)
{
	double rate = link_rate(costs, route, posted), trip;

	if (posted)
		return rate;
	trip = (double)round_trip(fabric, costs, route, route->delay_ns, route->translations);
	rate = fmin(rate, 1e9 * costs->outstanding * costs->request / trip); /* trip 0: infinite */
	if (!splits(costs, route))
		return rate;
	trip = (double)round_trip(fabric, costs, route, route->behind_ns,
				  route->behind_translations);
	return fmin(rate, 1e9 * costs->split_outstanding * piece_bytes(costs) / trip);
}
