// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/nic/flow_table_private.h"
#include "lib/base/fail.h"

#define FLOW_TABLE_MAX (1u << 24)
#define VICTIM_LOOK    64 /* flows that are looked at to find one to forget */

static int allocate(struct flow_table *table)
{
	const struct flow_config *config = &table->config;
	__u32 buckets = 1;

	while (buckets < config->flows * 2)
		buckets *= 2;
	table->bucket_mask = buckets - 1;
	table->buckets = calloc(buckets, sizeof(*table->buckets));
	table->flows = calloc(config->flows + 1ul, sizeof(*table->flows));
	table->ranges = calloc(config->ranges + 1ul, sizeof(*table->ranges));
	table->pieces = calloc(config->ranges * 2ul + 1, sizeof(*table->pieces));
	table->marks = calloc(FLOW_MARKS, sizeof(*table->marks));
	if (!table->buckets || !table->flows || !table->ranges || !table->pieces || !table->marks)
		return failed(-ENOMEM, "no memory for %u flows", config->flows);
	for (__u32 i = config->ranges; i; i--) {
		table->ranges[i].next = table->unused_ranges;
		table->unused_ranges = i;
	}
	for (__u32 i = config->ranges * 2; i; i--) {
		table->pieces[i].next = table->unused_pieces;
		table->unused_pieces = i;
	}
	return 0;
}

int flow_table_create(struct flow_table **table, const struct flow_config *config)
{
	struct flow_table *new;
	int err;

	if (!config->flows || config->flows > FLOW_TABLE_MAX || !config->ranges ||
	    config->ranges > FLOW_TABLE_MAX)
		return failed(-EINVAL, "%u flows, %u ranges: accepted: 1 to %u", config->flows,
			      config->ranges, FLOW_TABLE_MAX);
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for a table of flows");
	new->config = *config;
	if (!new->config.last_number)
		new->config.last_number = &new->own_number;
	err = allocate(new);
	if (err) {
		flow_table_destroy(new);
		return err;
	}
	*table = new;
	return 0;
}

void flow_table_destroy(struct flow_table *table)
{
	if (!table)
		return;
	free(table->buckets);
	free(table->flows);
	free(table->ranges);
	free(table->pieces);
	free(table->marks);
	free(table);
}

struct known_flow *flow_find(struct flow_table *table, __u64 addresses, __u64 ports)
{
	__u32 i = table->buckets[flow_hash(addresses, ports) & table->bucket_mask];

	while (i && (table->flows[i].addresses != addresses || table->flows[i].ports != ports))
		i = table->flows[i].next_in_bucket;
	return i ? &table->flows[i] : NULL;
}

static void forget(struct flow_table *table, __u32 index)
{
	struct known_flow *flow = &table->flows[index];
	__u32 *link = &table->buckets[flow_hash(flow->addresses, flow->ports) & table->bucket_mask];

	while (*link != index)
		link = &table->flows[*link].next_in_bucket;
	*link = flow->next_in_bucket;
	table->totals.forgotten++;
}

/* A place that is or has been made free, 0 if each has something open; each gets a second chance. */
static __u32 make_room(struct flow_table *table)
{
	if (table->flow_count < table->config.flows)
		return ++table->flow_count;
	for (unsigned int i = 0; i < VICTIM_LOOK; i++) {
		__u32 index = table->hand = table->hand % table->config.flows + 1;
		struct known_flow *flow = &table->flows[index];
		bool met = flow->met;

		flow->met = false;
		if (flow->ranges || (met && i < VICTIM_LOOK / 2))
			continue;
		forget(table, index);
		return index;
	}
	return 0;
}

struct known_flow *flow_find_or_add(struct flow_table *table, __u64 addresses, __u64 ports)
{
	struct known_flow *flow = flow_find(table, addresses, ports);
	__u32 *bucket, index;

	if (flow) {
		flow->met = true;
		return flow;
	}
	index = make_room(table);
	if (!index) {
		table->totals.unknown++;
		return NULL;
	}
	bucket = &table->buckets[flow_hash(addresses, ports) & table->bucket_mask];
	table->flows[index] = (struct known_flow){
		.addresses = addresses, .ports = ports, .next_in_bucket = *bucket};
	*bucket = index;
	table->totals.flows++;
	return &table->flows[index];
}

__u32 flow_number(struct flow_table *table, __u64 addresses, __u64 ports, bool *first_met)
{
	struct known_flow *flow = flow_find_or_add(table, addresses, ports);

	*first_met = flow && !flow->number;
	if (*first_met)
		flow->number = atomic_fetch_add_explicit(table->config.last_number, 1,
							 memory_order_relaxed) +
			       1;
	return flow ? flow->number : 0;
}
