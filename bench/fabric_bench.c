// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions of a fabric that one core finds ways for and prices in a second: of known routes, as the emulated hosts have
 * them, and of routes that are looked for each time. `fabric_bench JOB`. Prints "NAME RATE" a line.
 */
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/fabric/cost.h"
#include "lib/job/text.h"

#define BATCHES 20
#define PRICES	500000
#define ROUTES	20000
#define PAIRS	64

struct bench_pair {
	__u32 from, to;
	struct route route;
};

static __u64 sum; /* so that nothing is left out */

static size_t find_pairs(const struct fabric *fabric, struct bench_pair *pairs)
{
	size_t count = 0;

	for (__u32 from = 0; from < fabric->node_count; from++)
		for (__u32 to = 0; to < fabric->node_count && count < PAIRS; to++) {
			struct bench_pair *pair = &pairs[count];

			if (fabric->nodes[from].kind == FABRIC_SWITCH ||
			    fabric->nodes[to].kind == FABRIC_SWITCH || from == to)
				continue;
			*pair = (struct bench_pair){.from = from, .to = to};
			count += !route_find(fabric, from, to, true, NULL, &pair->route);
		}
	return count;
}

static void price_one(const struct fabric *fabric, const struct fabric_costs *costs,
		      const struct route *route, unsigned int number)
{
	const struct transaction transaction = {route, number & 1, 64u << (number & 7)};
	struct transaction_cost cost;

	fabric_cost(fabric, costs, &transaction, &cost);
	sum += cost.total_ns;
}

/* Transactions a second, of the least disturbed batch. */
static double bench_prices(const struct fabric *fabric, const struct fabric_costs *costs,
			   const struct bench_pair *pairs, size_t count)
{
	__u64 least = ~0ull;

	for (int batch = 0; batch < BATCHES; batch++) {
		__u64 start = monotonic_ns(), taken;

		for (unsigned int i = 0; i < PRICES; i++)
			price_one(fabric, costs, &pairs[i % count].route, i);
		taken = monotonic_ns() - start;
		least = taken < least ? taken : least;
	}
	return 1e9 * PRICES / (double)least;
}

static double bench_routes(const struct fabric *fabric, const struct fabric_costs *costs,
			   const struct bench_pair *pairs, size_t count)
{
	__u64 least = ~0ull;

	for (int batch = 0; batch < BATCHES; batch++) {
		__u64 start = monotonic_ns(), taken;

		for (unsigned int i = 0; i < ROUTES; i++) {
			const struct bench_pair *pair = &pairs[i % count];
			struct route route;

			if (!route_find(fabric, pair->from, pair->to, true, NULL, &route))
				price_one(fabric, costs, &route, i);
		}
		taken = monotonic_ns() - start;
		least = taken < least ? taken : least;
	}
	return 1e9 * ROUTES / (double)least;
}

int main(int argc, char **argv)
{
	static struct bench_pair pairs[PAIRS];
	struct fabric_costs costs;
	struct job_text *text;
	struct fabric *fabric;
	size_t count;

	if (argc != 2 || job_text_read(&text, argv[1], "a fabric's job file") ||
	    fabric_build(&fabric, text) || fabric_costs_read(&costs, text)) {
		fprintf(stderr, "fabric_bench: %s\n",
			argc == 2 ? failure_text() : "accepted: a job file");
		return 1;
	}
	count = find_pairs(fabric, pairs);
	printf("fabric_price %.0f\n", bench_prices(fabric, &costs, pairs, count));
	printf("fabric_route_and_price %.0f\n", bench_routes(fabric, &costs, pairs, count));
	fabric_free(fabric);
	job_text_free(text);
	return !sum;
}
