// SPDX-License-Identifier: GPL-2.0
#include "tests/reference/slow_fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct fabric_node *node_at(const struct slow_way *way, __u32 node)
{
	return &way->fabric->nodes[node];
}

static bool is_down(const struct slow_way *way, __u32 link)
{
	return way->down && (way->down[link / 64] >> (link % 64) & 1);
}

/* The first cable that is up and joins both; FABRIC_NONE: none does. */
static __u32 cable(const struct slow_way *way, __u32 a, __u32 b)
{
	const struct fabric *fabric = way->fabric;

	for (__u32 l = 0; l < fabric->link_count; l++)
		if (!is_down(way, l) &&
		    ((fabric->links[l].ends[0] == a && fabric->links[l].ends[1] == b) ||
		     (fabric->links[l].ends[0] == b && fabric->links[l].ends[1] == a)))
			return l;
	return FABRIC_NONE;
}

static bool goes_up(const struct slow_way *way, __u32 a, __u32 b)
{
	return node_at(way, a)->upstream == b;
}

static bool goes_down(const struct slow_way *way, __u32 a, __u32 b)
{
	return node_at(way, b)->upstream == a;
}

static bool in_one_host(const struct slow_way *way, __u32 a, __u32 b)
{
	return goes_up(way, a, b) || goes_down(way, a, b);
}

/* From walk[begin] to walk[end], which are all of one host: up, then down; where it is translated, turning at the root. */
static bool segment_is_right(const struct slow_way *way, const __u32 *walk, __u32 begin, __u32 end)
{
	__u32 host = node_at(way, walk[begin])->host;
	bool translates = way->translated && host != FABRIC_NONE && way->fabric->hosts[host].iommu;
	__u32 turn = begin;

	while (turn < end && goes_up(way, walk[turn], walk[turn + 1]))
		turn++;
	for (__u32 i = turn; i < end; i++)
		if (!goes_down(way, walk[i], walk[i + 1]))
			return false;
	if (turn == end)
		return true;
	if (translates)
		return node_at(way, walk[turn])->kind == FABRIC_ROOT;
	/* No step back where it came from. */
	return turn == begin || walk[turn - 1] != walk[turn + 1];
}

/* Can this be the beginning of a way? */
static bool walk_is_right(const struct slow_way *way, const __u32 *walk, __u32 count)
{
	__u32 begin = 0;

	for (__u32 i = 0; i < count; i++) {
		const struct fabric_node *node = node_at(way, walk[i]);
		bool last = i + 1 == count;

		if (node->kind == FABRIC_DEVICE && i && walk[i] != way->to)
			return false;
		if (node->kind == FABRIC_DEVICE && i && !last)
			return false;
		/* An adapter has its host on one side and its cable on the other. */
		if (node->kind == FABRIC_ADAPTER && i && !last &&
		    in_one_host(way, walk[i - 1], walk[i]) ==
			    in_one_host(way, walk[i], walk[i + 1]))
			return false;
		for (__u32 j = 0; j < i && !way->through_count; j++)
			if (walk[i] == walk[j] && node->kind == FABRIC_ADAPTER)
				return false;
		if (last || !in_one_host(way, walk[i], walk[i + 1])) {
			if (!segment_is_right(way, walk, begin, i))
				return false;
			begin = i + 1;
		}
	}
	return true;
}

static bool walk_is_whole(const struct slow_way *way, const __u32 *walk, __u32 count)
{
	__u32 passed = 0;

	for (__u32 i = 0; i < count; i++)
		if (passed < way->through_count && walk[i] == way->through[passed])
			passed++;
	return walk[count - 1] == way->to && passed == way->through_count;
}

/* All walks of exactly `length` nodes, in the order of the edges; true: `walk` is the first that is right. */
static bool try_walks(struct slow_way *way, __u32 *walk, __u32 count, __u32 length)
{
	const struct fabric *fabric = way->fabric;
	__u32 at = walk[count - 1];

	if (!way->budget)
		return false;
	way->budget--;
	if (!walk_is_right(way, walk, count))
		return false;
	if (count == length)
		return walk_is_whole(way, walk, count);
	for (__u32 e = fabric->first[at]; e < fabric->first[at + 1]; e++) {
		walk[count] = fabric->edges[e].node;
		if (fabric->edges[e].link != FABRIC_NONE && is_down(way, fabric->edges[e].link))
			continue;
		if (try_walks(way, walk, count + 1, length))
			return true;
	}
	return false;
}

static __u64 delay_at(const struct slow_way *way, const struct route *route, __u32 i)
{
	const struct fabric_node *node = node_at(way, route->nodes[i]);
	bool end = !i || i + 1 == route->count;

	if (node->kind == FABRIC_DEVICE)
		return 0;
	if (end)
		return node->kind == FABRIC_ROOT ? node->delay_ns / 2 : 0;
	return node->delay_ns;
}

static void slow_count(const struct slow_way *way, struct route *route)
{
	__u32 root = FABRIC_NONE;

	for (__u32 i = 0; i < route->count; i++) {
		const struct fabric_node *node = node_at(way, route->nodes[i]);
		bool inside = i && i + 1 < route->count;

		route->delay_ns += delay_at(way, route, i);
		if (node->kind == FABRIC_ADAPTER ||
		    (node->kind == FABRIC_SWITCH && node->host == FABRIC_NONE))
			route->crossing_ns += delay_at(way, route, i);
		route->hops += inside;
		if (i && node->kind == FABRIC_ROOT) {
			bool translates = way->translated && way->fabric->hosts[node->host].iommu;

			route->translations += translates;
			route->behind_translations += translates && root != FABRIC_NONE;
		}
		if (inside && node->kind == FABRIC_ROOT) {
			route->roots++;
			root = root == FABRIC_NONE ? i : root;
		}
	}
	for (__u32 i = 0; i + 1 < route->count; i++) {
		__u32 a = route->nodes[i], b = route->nodes[i + 1];
		const struct fabric_link *link;

		if (in_one_host(way, a, b))
			continue;
		link = &way->fabric->links[cable(way, a, b)];
		route->delay_ns += link->delay_ns;
		route->crossing_ns += link->delay_ns;
		route->crossings += node_at(way, b)->kind == FABRIC_ADAPTER;
		if (!route->bytes_per_s || link->bytes_per_s < route->bytes_per_s)
			route->bytes_per_s = link->bytes_per_s;
		if (root != FABRIC_NONE && i >= root)
			route->behind_ns += link->delay_ns;
	}
	for (__u32 i = root + 1; root != FABRIC_NONE && i < route->count; i++)
		route->behind_ns += delay_at(way, route, i);
}

int slow_route(struct slow_way *way, struct route *route)
{
	__u32 walk[SLOW_WALK_MAX] = {way->from};

	memset(route, 0, sizeof(*route));
	for (__u32 length = 1; length <= SLOW_WALK_MAX && way->budget; length++) {
		if (!try_walks(way, walk, 1, length))
			continue;
		for (__u32 i = 0; i < length; i++)
			for (__u32 j = 0; j < i; j++)
				if (walk[i] == walk[j] &&
				    node_at(way, walk[i])->kind == FABRIC_ADAPTER)
					return -ENETUNREACH;
		route->count = length;
		memcpy(route->nodes, walk, length * sizeof(walk[0]));
		slow_count(way, route);
		return 0;
	}
	return way->budget ? -ENETUNREACH : -EAGAIN;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

static double slow_write(const struct fabric_costs *costs, const struct transaction *transaction,
			 double rate)
{
	double at = (double)transaction->route->delay_ns +
		    (double)transaction->route->translations * (double)costs->translate_ns;
	__u64 left = transaction->bytes;

	left -= left < costs->payload ? left : costs->payload;
	while (left) {
		__u64 packet = left < costs->payload ? left : costs->payload;

		at += (double)packet * 1e9 / rate;
		left -= packet;
	}
	return at;
}

/*
 * A read of a request is issued as soon as one of the engine's is back; at the first root it is cut into pieces, each of which
 * waits until one of the root's is back. What comes back over a link comes one after the other.
 */
static double slow_read(const struct fabric *fabric, const struct fabric_costs *costs,
			const struct transaction *transaction, double rate)
{
	const struct route *route = transaction->route;
	bool cut = route->roots && costs->split && costs->split < costs->request;
	bool root = route->roots && costs->split;
	__u32 piece = cut ? costs->split : costs->request;
	__u64 requests = (transaction->bytes + costs->request - 1) / costs->request;
	__u64 most = requests * (costs->request / piece), pieces = 0, left = transaction->bytes;
	double answer = fabric->nodes[route->nodes[route->count - 1]].kind == FABRIC_ROOT
				? (double)costs->memory_ns
				: (double)costs->device_ns;
	double trip = 2 * (double)route->delay_ns + answer +
		      (double)(route->translations * costs->translate_ns);
	double behind = 2 * (double)route->behind_ns + answer +
			(double)(route->behind_translations * costs->translate_ns);
	double near = trip - behind; /* there and back, of what is before the root */
	double *back = malloc(requests * sizeof(*back)), *returned = malloc(most * sizeof(*back));
	double end;

	for (__u64 i = 0; i < requests; i++) {
		double issued = i < costs->outstanding ? 0 : back[i - costs->outstanding];
		__u64 bytes = left < costs->request ? left : costs->request;

		left -= bytes;
		if (!root) {
			back[i] = issued + trip;
			if (i)
				back[i] = later(back[i], back[i - 1] + (double)bytes * 1e9 / rate);
			continue;
		}
		for (; bytes; pieces++) {
			__u64 part = bytes < piece ? bytes : piece;
			double sent = issued + near;

			if (pieces >= costs->split_outstanding)
				sent = later(sent,
					     near + returned[pieces - costs->split_outstanding]);
			returned[pieces] = sent - near + behind;
			if (pieces)
				returned[pieces] =
					later(returned[pieces],
					      returned[pieces - 1] + (double)part * 1e9 / rate);
			bytes -= part;
		}
		back[i] = returned[pieces - 1] + near;
	}
	end = back[requests - 1];
	free(back);
	free(returned);
	return end;
}

double slow_total(const struct fabric *fabric, const struct fabric_costs *costs,
		  const struct transaction *transaction)
{
	const struct route *route = transaction->route;
	double rate = costs->bytes_per_s;

	if (route->bytes_per_s && (double)route->bytes_per_s < rate)
		rate = (double)route->bytes_per_s;
	if (!transaction->posted)
		return slow_read(fabric, costs, transaction, rate);
	if (route->roots && costs->root_bytes_per_s < rate)
		rate = costs->root_bytes_per_s;
	return slow_write(costs, transaction, rate);
}
