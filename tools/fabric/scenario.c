// SPDX-License-Identifier: GPL-2.0
/* The transactions of a transfer and of an I/O, and what they come to. */
#include "tools/fabric/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fail.h"

#define NVME_COMMAND	64
#define NVME_COMPLETION 16
#define DOORBELL	4

static int scenario_add_stage(struct scenario *scenario, const char *name, bool posted, __u64 bytes,
			      struct scenario_transaction **stage)
{
	*stage = &scenario->stages[scenario->stage_count++];
	**stage = (struct scenario_transaction){.name = name, .posted = posted, .bytes = bytes};
	return 0;
}

static void price(struct scenario *scenario, struct scenario_transaction *stage)
{
	const struct transaction transaction = {&stage->route, stage->posted, stage->bytes};

	fabric_cost(scenario->fabric, &scenario->costs, &transaction, &stage->cost);
	stage->bytes_per_s =
		fabric_bandwidth(scenario->fabric, &scenario->costs, &stage->route, stage->posted);
}

/* `initiator` writes to or reads from `target`. */
static int transact(struct scenario *scenario, const char *name, bool posted, const char *initiator,
		    const char *target, bool translated, __u64 bytes)
{
	struct scenario_transaction *stage;
	int err = scenario_add_stage(scenario, name, posted, bytes, &stage);

	if (!err)
		err = route_find(scenario->fabric, fabric_find(scenario->fabric, initiator),
				 fabric_find(scenario->fabric, target), translated, NULL,
				 &stage->route);
	if (!err)
		price(scenario, stage);
	return err;
}

/* By the nodes of through=, which are in the order of the data. */
static int transact_through(struct scenario *scenario)
{
	const struct transfer_keys *keys = &scenario->transfer;
	const struct fabric *fabric = scenario->fabric;
	bool posted = keys->kind == SCENARIO_WRITE;
	__u32 nodes[ROUTE_THROUGH_MAX], count = 0;
	char text[sizeof(keys->through)], *rest, *word;
	struct scenario_transaction *stage;
	int err = scenario_add_stage(scenario, posted ? "write" : "read", posted, keys->bytes,
				     &stage);

	memcpy(text, keys->through, sizeof(text));
	for (word = strtok_r(text, " ", &rest); word && count < ROUTE_THROUGH_MAX;
	     word = strtok_r(NULL, " ", &rest))
		nodes[count++] = fabric_find(fabric, word);
	for (__u32 i = 0; !posted && i < count / 2; i++) {
		__u32 other = nodes[i];

		nodes[i] = nodes[count - 1 - i];
		nodes[count - 1 - i] = other;
	}
	if (!err)
		err = route_through(fabric, fabric_find(fabric, posted ? keys->from : keys->to),
				    fabric_find(fabric, posted ? keys->to : keys->from),
				    keys->translated, nodes, count, &stage->route);
	if (!err)
		price(scenario, stage);
	return err;
}

static int run_transfer(struct scenario *scenario)
{
	const struct transfer_keys *k = &scenario->transfer;
	int err;

	if (*k->via) {
		err = transact(scenario, "write", true, k->from, k->via, k->translated, k->bytes);
		return err
			       ?: transact(scenario, "read", false, k->to, k->via, k->translated,
					   k->bytes);
	}
	if (*k->engine) {
		err = transact(scenario, "read", false, k->engine, k->from, k->translated,
			       k->bytes);
		return err
			       ?: transact(scenario, "write", true, k->engine, k->to, k->translated,
					   k->bytes);
	}
	if (*k->through)
		return transact_through(scenario);
	if (k->kind == SCENARIO_READ)
		return transact(scenario, "read", false, k->to, k->from, k->translated, k->bytes);
	return transact(scenario, "write", true, k->from, k->to, k->translated, k->bytes);
}

static int run_io(struct scenario *scenario)
{
	const struct io_keys *k = &scenario->io;
	const char *queue = *k->queue ? k->queue : k->cpu, *data = *k->data ? k->data : k->cpu;
	const char *completions = *k->completions ? k->completions : k->cpu;
	int err = transact(scenario, "command", true, k->cpu, queue, k->translated, NVME_COMMAND);

	if (!err)
		err = transact(scenario, "doorbell", true, k->cpu, k->device, k->translated,
			       DOORBELL);
	if (!err)
		err = transact(scenario, "fetch", false, k->device, queue, k->translated,
			       NVME_COMMAND);
	if (!err)
		err = transact(scenario, "data", k->kind == SCENARIO_READ, k->device, data,
			       k->translated, k->bytes);
	if (!err)
		err = transact(scenario, "completion", true, k->device, completions, k->translated,
			       NVME_COMPLETION);
	return err;
}

int scenario_run(struct scenario *scenario)
{
	scenario->stage_count = 0;
	return scenario->is_io ? run_io(scenario) : run_transfer(scenario);
}

/* Both at once, piece by piece: the slower one decides. */
static double overlapped_ns(const struct transaction_cost *a, const struct transaction_cost *b)
{
	return fmax((double)a->total_ns + (double)b->first_ns,
		    (double)a->first_ns + (double)b->total_ns);
}

/* Over and back: what one writes the other has; through RAM each has to read it as well. */
static double ping_ns(const struct scenario *scenario)
{
	double once = 0;

	for (__u32 i = 0; i < scenario->stage_count; i++) {
		const struct scenario_transaction *stage = &scenario->stages[i];
		const struct transaction word = {&stage->route, stage->posted, DOORBELL};
		struct transaction_cost cost;

		fabric_cost(scenario->fabric, &scenario->costs, &word, &cost);
		once += (double)cost.first_ns;
	}
	return 2 * once;
}

static void judge_transfer(const struct scenario *scenario, double values[FABRIC_COLUMNS])
{
	const struct transfer_keys *keys = &scenario->transfer;
	const struct scenario_transaction *first = &scenario->stages[0];
	bool root = *keys->via; /* of the host whose RAM it is; of two paths it counts once */

	values[FABRIC_HOPS] = values[FABRIC_ROOTS] = root;
	values[FABRIC_LATENCY] = values[FABRIC_REQUESTS] = values[FABRIC_PIECES] = 0;
	values[FABRIC_PEAK] = first->bytes_per_s;
	for (__u32 i = 0; i < scenario->stage_count; i++) {
		const struct scenario_transaction *stage = &scenario->stages[i];

		values[FABRIC_HOPS] += stage->route.hops;
		values[FABRIC_ROOTS] += stage->route.roots;
		values[FABRIC_LATENCY] += (double)stage->cost.first_ns;
		values[FABRIC_REQUESTS] += (double)stage->cost.requests;
		values[FABRIC_PIECES] += (double)stage->cost.pieces;
		values[FABRIC_PEAK] = fmin(values[FABRIC_PEAK], stage->bytes_per_s);
	}
	if (*keys->via || first->posted)
		values[FABRIC_PING] = ping_ns(scenario);
	values[FABRIC_TOTAL] = scenario->stage_count > 1
				       ? overlapped_ns(&first->cost, &scenario->stages[1].cost)
				       : (double)first->cost.total_ns;
	if (values[FABRIC_TOTAL] > 0)
		values[FABRIC_BANDWIDTH] = 1e9 * (double)keys->bytes / values[FABRIC_TOTAL];
}

/*
 * When the controller has the command: the doorbell makes it ask, and the read finds the command there, as it does not pass the
 * command's write.
 */
static double fetched_ns(const struct scenario *scenario)
{
	const struct scenario_transaction *fetch = &scenario->stages[SCENARIO_FETCH];
	const struct scenario_transaction *stages = scenario->stages;
	double there = (double)(fetch->route.delay_ns +
				fetch->route.translations * scenario->costs.translate_ns);

	return fmax((double)stages[SCENARIO_DOORBELL].cost.first_ns + there,
		    (double)stages[SCENARIO_COMMAND].cost.first_ns) +
	       (double)fetch->cost.total_ns - there;
}

/* A completion follows data that are written (posted) on their way, and waits for those that are read. */
static void judge_io(const struct scenario *scenario, double values[FABRIC_COLUMNS])
{
	const struct scenario_transaction *s = scenario->stages;
	double data = (double)s[SCENARIO_DATA].cost.total_ns;

	if (s[SCENARIO_DATA].posted)
		data -= (double)s[SCENARIO_DATA].cost.first_ns;
	values[FABRIC_LATENCY] = fetched_ns(scenario) + (double)scenario->io.media_ns + data +
				 (double)s[SCENARIO_COMPLETION].cost.first_ns;
	values[FABRIC_TOTAL] = values[FABRIC_LATENCY];
	values[FABRIC_REQUESTS] = (double)s[SCENARIO_DATA].cost.requests;
	values[FABRIC_PIECES] = (double)s[SCENARIO_DATA].cost.pieces;
	values[FABRIC_COMMAND_HOPS] = s[SCENARIO_COMMAND].route.hops;
	values[FABRIC_COMMAND] = (double)s[SCENARIO_COMMAND].cost.first_ns;
	values[FABRIC_DOORBELL] = (double)s[SCENARIO_DOORBELL].cost.first_ns;
	values[FABRIC_FETCH_HOPS] = s[SCENARIO_FETCH].route.hops;
	values[FABRIC_FETCH] = (double)s[SCENARIO_FETCH].cost.total_ns;
	values[FABRIC_DATA_HOPS] = s[SCENARIO_DATA].route.hops;
	values[FABRIC_DATA] = (double)s[SCENARIO_DATA].cost.total_ns;
	values[FABRIC_COMPLETION_HOPS] = s[SCENARIO_COMPLETION].route.hops;
	values[FABRIC_COMPLETION] = (double)s[SCENARIO_COMPLETION].cost.first_ns;
	values[FABRIC_REACH] = (double)(s[SCENARIO_FETCH].route.crossing_ns +
					s[SCENARIO_COMPLETION].route.crossing_ns);
}

void scenario_judge(const struct scenario *scenario, double values[FABRIC_COLUMNS])
{
	for (size_t i = 0; i < FABRIC_COLUMNS; i++)
		values[i] = NAN;
	values[FABRIC_CROSSINGS] = values[FABRIC_TRANSLATIONS] = 0;
	values[FABRIC_DELAYS] = values[FABRIC_CROSSED] = 0;
	for (__u32 i = 0; i < scenario->stage_count; i++) {
		const struct route *route = &scenario->stages[i].route;

		values[FABRIC_CROSSINGS] += route->crossings;
		values[FABRIC_TRANSLATIONS] += route->translations;
		values[FABRIC_DELAYS] += (double)route->delay_ns;
		values[FABRIC_CROSSED] += (double)route->crossing_ns;
	}
	if (scenario->is_io)
		judge_io(scenario, values);
	else
		judge_transfer(scenario, values);
}
