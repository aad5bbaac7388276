// SPDX-License-Identifier: GPL-2.0
#include "lib/fabric/route.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"

/*
 * Which way a packet goes on: a node is looked at once in each. What comes into a host, or begins there, goes up; it turns where it
 * likes, but at the root only where the host translates; from then on it goes down, and by an adapter out.
 */
enum route_layer { LAYER_IN, LAYER_OUT, LAYERS };

#define STATES_MAX (FABRIC_NODES_MAX * LAYERS * (ROUTE_THROUGH_MAX + 1))
#define UNSEEN	   0xffffu
#define BEGIN	   0xfffeu

struct way_search {
	const struct fabric *fabric;
	__u32 from, to;
	bool translated;
	const __u64 *down;
	const __u32 *through;
	__u32 through_count;
	__u32 head, tail;
	__u16 previous[STATES_MAX]; /* state that it was entered from */
	__u16 queue[STATES_MAX];
};
_Static_assert(STATES_MAX < BEGIN, "a state is 16 bits");

static bool link_is_down(const __u64 *down, __u32 link)
{
	return down && link != FABRIC_NONE && (down[link / 64] >> (link % 64) & 1);
}

static bool host_translates(const struct way_search *search, __u32 host)
{
	return search->translated && host != FABRIC_NONE && search->fabric->hosts[host].iommu;
}

static __u32 state_node(const struct way_search *search, __u32 state)
{
	return state / (LAYERS * (search->through_count + 1));
}

static void search_visit(struct way_search *search, __u32 node, enum route_layer layer,
			 __u32 passed, __u16 previous)
{
	__u32 state;

	if (passed < search->through_count && search->through[passed] == node)
		passed++;
	state = (node * LAYERS + layer) * (search->through_count + 1) + passed;
	if (search->previous[state] != UNSEEN)
		return;
	search->previous[state] = previous;
	search->queue[search->tail++] = (__u16)state;
}

/* The layer that a neighbour is entered in; LAYERS: it is not. */
static enum route_layer entered_layer(const struct way_search *search, __u32 at,
				      enum route_layer layer, const struct fabric_edge *edge)
{
	const struct fabric_node *node = &search->fabric->nodes[at];
	const struct fabric_node *next = &search->fabric->nodes[edge->node];

	if (edge->link != FABRIC_NONE) {
		if (link_is_down(search->down, edge->link) ||
		    (node->kind == FABRIC_ADAPTER && layer != LAYER_OUT))
			return LAYERS;
		return LAYER_IN;
	}
	if (edge->node == node->upstream) {
		if (layer != LAYER_IN)
			return LAYERS;
		return next->kind == FABRIC_ROOT && host_translates(search, next->host) ? LAYER_OUT
											: LAYER_IN;
	}
	return layer == LAYER_OUT || !host_translates(search, next->host) ? LAYER_OUT : LAYERS;
}

static void search_begin(struct way_search *search)
{
	const struct fabric_node *node = &search->fabric->nodes[search->from];
	__u32 states = search->fabric->node_count * LAYERS * (search->through_count + 1);

	memset(search->previous, 0xff, states * sizeof(__u16));
	search->head = search->tail = 0;
	search_visit(search, search->from, LAYER_IN, 0, BEGIN);
	if (node->kind == FABRIC_ROOT || node->kind == FABRIC_ADAPTER)
		search_visit(search, search->from, LAYER_OUT, 0, BEGIN);
}

/* Breadth first: the state that the target was reached in, UNSEEN if it was not. */
static __u32 search_run(struct way_search *search)
{
	const struct fabric *fabric = search->fabric;
	__u32 per_layer = search->through_count + 1;

	search_begin(search);
	while (search->head < search->tail) {
		__u16 state = search->queue[search->head++];
		__u32 passed = state % per_layer, at = state_node(search, state);
		enum route_layer layer = (enum route_layer)(state / per_layer % LAYERS);

		if (at == search->to && passed == search->through_count)
			return state;
		for (__u32 e = fabric->first[at]; e < fabric->first[at + 1]; e++) {
			enum route_layer next = entered_layer(search, at, layer, &fabric->edges[e]);

			if (next != LAYERS)
				search_visit(search, fabric->edges[e].node, next, passed, state);
		}
	}
	return UNSEEN;
}

/* A way by nodes that were asked for may lead back over its own cable: that is none. */
static bool turns_back(const struct fabric *fabric, const struct route *route)
{
	for (__u32 i = 0; i < route->count; i++)
		for (__u32 j = i + 1; j < route->count; j++)
			if (route->nodes[i] == route->nodes[j] &&
			    fabric->nodes[route->nodes[i]].kind == FABRIC_ADAPTER)
				return true;
	return false;
}

static int search_path(const struct way_search *search, __u32 state, struct route *route)
{
	__u32 count = 0;

	for (__u32 s = state; s != BEGIN; s = search->previous[s])
		count++;
	if (count > ROUTE_NODES_MAX)
		return failed(-E2BIG, "the way from %s to %s passes %u nodes: accepted: up to %d",
			      search->fabric->nodes[search->from].name,
			      search->fabric->nodes[search->to].name, count, ROUTE_NODES_MAX);
	route->count = count;
	for (__u32 s = state; s != BEGIN; s = search->previous[s])
		route->nodes[--count] = state_node(search, s);
	return 0;
}

/* The cable between neighbours, the first that can be used; NULL: they are of one host. */
static const struct fabric_link *cable_between(const struct way_search *search, __u32 a, __u32 b)
{
	const struct fabric *fabric = search->fabric;

	for (__u32 e = fabric->first[a]; e < fabric->first[a + 1]; e++)
		if (fabric->edges[e].node == b && fabric->edges[e].link != FABRIC_NONE &&
		    !link_is_down(search->down, fabric->edges[e].link))
			return &fabric->links[fabric->edges[e].link];
	return NULL;
}

static void count_cable(const struct way_search *search, struct route *route, __u32 index)
{
	const struct fabric_link *link =
		cable_between(search, route->nodes[index - 1], route->nodes[index]);

	if (!link)
		return;
	route->delay_ns += link->delay_ns;
	route->crossing_ns += link->delay_ns;
	if (route->roots)
		route->behind_ns += link->delay_ns;
	if (!route->bytes_per_s || link->bytes_per_s < route->bytes_per_s)
		route->bytes_per_s = link->bytes_per_s;
}

static void count_node(const struct way_search *search, struct route *route, __u32 index)
{
	const struct fabric_node *node = &search->fabric->nodes[route->nodes[index]];
	bool end = !index || index + 1 == route->count;
	bool crosses = node->kind == FABRIC_ADAPTER || node->host == FABRIC_NONE;
	__u64 delay = node->delay_ns; /* a device has none */

	if (end)
		delay = node->kind == FABRIC_ROOT ? node->delay_ns / 2 : 0;
	route->delay_ns += delay;
	if (crosses)
		route->crossing_ns += delay;
	if (route->roots)
		route->behind_ns += delay;
	if (index && node->kind == FABRIC_ROOT && host_translates(search, node->host)) {
		route->translations++;
		route->behind_translations += route->roots > 0;
	}
	/* Of a crossing the end that lies in a host counts. */
	if (index && node->kind == FABRIC_ADAPTER &&
	    cable_between(search, route->nodes[index - 1], route->nodes[index]))
		route->crossings++;
	if (end)
		return;
	route->hops++;
	route->roots += node->kind == FABRIC_ROOT;
}

static int route_search(struct way_search *search, struct route *route)
{
	const struct fabric *fabric = search->fabric;
	__u32 state = search_run(search);
	int err = 0;

	memset(route, 0, sizeof(*route));
	if (state != UNSEEN)
		err = search_path(search, state, route);
	if (err)
		return err;
	if (state == UNSEEN || (search->through_count && turns_back(fabric, route)))
		return failed(-ENETUNREACH, "there is no way from %s to %s%s",
			      fabric->nodes[search->from].name, fabric->nodes[search->to].name,
			      search->down	      ? " by cables that are up"
			      : search->through_count ? " by the adapters that were asked for"
						      : "");
	for (__u32 i = 0; i < route->count; i++) {
		if (i)
			count_cable(search, route, i);
		count_node(search, route, i);
	}
	return 0;
}

static int route_by(const struct fabric *fabric, __u32 from, __u32 to, bool translated,
		    const __u64 *down, const __u32 *through, __u32 through_count,
		    struct route *route)
{
	struct way_search search; /* large, and all of it that is read is written before */

	search.fabric = fabric;
	search.from = from;
	search.to = to;
	search.translated = translated;
	search.down = down;
	search.through = through;
	search.through_count = through_count;
	return route_search(&search, route);
}

int route_find(const struct fabric *fabric, __u32 from, __u32 to, bool translated,
	       const __u64 *down, struct route *route)
{
	return route_by(fabric, from, to, translated, down, NULL, 0, route);
}

int route_through(const struct fabric *fabric, __u32 from, __u32 to, bool translated,
		  const __u32 *through, __u32 through_count, struct route *route)
{
	if (through_count > ROUTE_THROUGH_MAX)
		return failed(-E2BIG, "a way through %u given nodes: accepted: up to %d",
			      through_count, ROUTE_THROUGH_MAX);
	return route_by(fabric, from, to, translated, NULL, through, through_count, route);
}

int route_bounce(const struct route *first, const struct route *second, const struct fabric *fabric,
		 struct route *sum)
{
	__u32 at = first->count ? first->nodes[first->count - 1] : FABRIC_NONE;
	const struct fabric_node *node;
	bool root;

	if (!second->count || second->nodes[0] != at)
		return failed(-EINVAL, "the second way does not begin where the first ends");
	if (first->count + second->count - 1 > ROUTE_NODES_MAX)
		return failed(-E2BIG, "a way of %u nodes: accepted: up to %d",
			      first->count + second->count - 1, ROUTE_NODES_MAX);
	node = &fabric->nodes[at];
	root = node->kind == FABRIC_ROOT;
	*sum = *first;
	memcpy(&sum->nodes[first->count], &second->nodes[1], (second->count - 1) * sizeof(__u32));
	sum->count += second->count - 1;
	sum->hops += second->hops + (node->kind != FABRIC_DEVICE);
	sum->roots += second->roots + root;
	sum->crossings += second->crossings;
	sum->translations += second->translations;
	sum->delay_ns += second->delay_ns;
	sum->crossing_ns += second->crossing_ns;
	if (!sum->bytes_per_s || (second->bytes_per_s && second->bytes_per_s < sum->bytes_per_s))
		sum->bytes_per_s = second->bytes_per_s;
	/* What comes after the first root: it may be of either, or the common one. */
	if (first->roots) {
		sum->behind_ns += second->delay_ns;
		sum->behind_translations += second->translations;
	} else if (root) {
		sum->behind_ns = second->delay_ns - node->delay_ns / 2;
		sum->behind_translations = second->translations;
	} else {
		sum->behind_ns = second->behind_ns;
		sum->behind_translations = second->behind_translations;
	}
	return 0;
}
