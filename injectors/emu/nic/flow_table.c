// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/flow_table.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"

#define FLOW_MARKS \
	1024 /* flows whose progress is remembered, those of one place replacing each other */
#define VICTIM_LOOK 64 /* flows that are looked at to find one to forget */

/* Indices into their arrays begin with 1; 0 is none. */
struct lost_piece {
	__u32 first, end;
	__u32 next; /* in the order of sequence numbers, or unused */
};

/* Neither overlaps nor touches another of its flow. */
struct open_range {
	struct lost_range lost;
	__u32 pieces; /* what is still missing of it */
	__u32 next;
};

struct known_flow {
	__u64 addresses, ports;
	__u32 number;
	__u32 next_in_bucket;
	__u32 ranges; /* in the order of sequence numbers */
	__u16 range_count, piece_count;
	bool met; /* since the hand came by */
};

struct flow_mark {
	__u64 hash;
	__u32 end;
	bool valid;
};

/* Numbers of one flow are within a window of each other, so that this is an order. */
static bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __u32 later(__u32 a, __u32 b)
{
	return before(a, b) ? b : a;
}

static __u64 flow_hash(__u64 addresses, __u64 ports)
{
	__u64 hash = (addresses ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	hash = (hash ^ hash >> 32 ^ ports) * 0x94d049bb133111ebull;
	return hash ^ hash >> 29;
}

static __u64 info_hash(const struct frame_info *info)
{
	return flow_hash(frame_addresses(info), frame_ports(info));
}

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

	if (!config->flows || config->flows > 1 << 24 || !config->ranges ||
	    config->ranges > 1 << 24)
		return failed(-EINVAL, "%u flows, %u ranges: accepted: 1 to %u", config->flows,
			      config->ranges, 1 << 24);
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

static struct known_flow *find(struct flow_table *table, __u64 addresses, __u64 ports)
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

static struct known_flow *find_or_add(struct flow_table *table, __u64 addresses, __u64 ports,
				      bool *first_met)
{
	struct known_flow *flow = find(table, addresses, ports);
	__u32 *bucket, index;

	*first_met = !flow;
	if (flow) {
		flow->met = true;
		return flow;
	}
	index = make_room(table);
	if (!index) {
		table->totals.unknown++;
		*first_met = false;
		return NULL;
	}
	bucket = &table->buckets[flow_hash(addresses, ports) & table->bucket_mask];
	table->flows[index] = (struct known_flow){
		.addresses = addresses,
		.ports = ports,
		.number = atomic_fetch_add_explicit(table->config.last_number, 1,
						    memory_order_relaxed) +
			  1,
		.next_in_bucket = *bucket,
	};
	*bucket = index;
	table->totals.flows++;
	return &table->flows[index];
}

__u32 flow_number(struct flow_table *table, __u64 addresses, __u64 ports, bool *first_met)
{
	struct known_flow *flow = find_or_add(table, addresses, ports, first_met);

	return flow ? flow->number : 0;
}

static __u32 take_piece(struct flow_table *table, struct known_flow *flow, __u32 first, __u32 end,
			__u32 next)
{
	__u32 index = table->unused_pieces;

	if (!index || flow->piece_count == FLOW_PIECES)
		return 0;
	table->unused_pieces = table->pieces[index].next;
	table->pieces[index] = (struct lost_piece){first, end, next};
	flow->piece_count++;
	return index;
}

/* *link is the piece; it goes on with the next one. */
static void drop_piece(struct flow_table *table, struct known_flow *flow, __u32 *link)
{
	__u32 index = *link;

	*link = table->pieces[index].next;
	table->pieces[index].next = table->unused_pieces;
	table->unused_pieces = index;
	flow->piece_count--;
}

/* Likewise; its pieces have gone or belong to another. */
static void drop_range(struct flow_table *table, struct known_flow *flow, __u32 *link)
{
	__u32 index = *link;

	*link = table->ranges[index].next;
	table->ranges[index].next = table->unused_ranges;
	table->unused_ranges = index;
	flow->range_count--;
	table->open--;
}

static void abandon(struct flow_table *table, struct known_flow *flow, __u32 *link)
{
	struct open_range *range = &table->ranges[*link];

	while (range->pieces)
		drop_piece(table, flow, &range->pieces);
	drop_range(table, flow, link);
	table->totals.abandoned++;
}

static bool is_near(__u32 a, __u32 b)
{
	return a - b + FLOW_WINDOW < 2 * FLOW_WINDOW;
}

/*
 * What a frame says of ranges from before it: a connection that begins or ends has none, nor has one that is
 * beyond them by more than a window, which keeps comparisons an order.
 */
static void abandon_old(struct flow_table *table, struct known_flow *flow,
			const struct frame_info *info)
{
	__u32 *link = &flow->ranges;

	while (*link) {
		const struct lost_range *lost = &table->ranges[*link].lost;
		bool other = info->tcp_flags & FRAME_SYN ? lost->first != info->first
							 : info->tcp_flags & FRAME_RST;

		if (other || !is_near(lost->first, info->first) || !is_near(lost->end, info->first))
			abandon(table, flow, link);
		else
			link = &table->ranges[*link].next;
	}
}

/* At *link, before what is there. */
static bool open_alone(struct flow_table *table, struct known_flow *flow, __u32 *link,
		       struct lost_range lost)
{
	__u32 index = table->unused_ranges, piece;

	if (!index || flow->range_count == FLOW_RANGES)
		return false;
	piece = take_piece(table, flow, lost.first, lost.end, 0);
	if (!piece)
		return false;
	table->unused_ranges = table->ranges[index].next;
	table->ranges[index] = (struct open_range){lost, piece, *link};
	*link = index;
	flow->range_count++;
	table->open++;
	return true;
}

static bool append(struct flow_table *table, struct known_flow *flow, struct open_range *range,
		   __u32 end)
{
	__u32 *link = &range->pieces;
	struct lost_piece *last;

	while (table->pieces[*link].next)
		link = &table->pieces[*link].next;
	last = &table->pieces[*link];
	if (last->end == range->lost.end) {
		last->end = end;
	} else {
		last->next = take_piece(table, flow, range->lost.end, end, 0);
		if (!last->next)
			return false;
	}
	range->lost.end = end;
	return true;
}

static bool prepend(struct flow_table *table, struct known_flow *flow, struct open_range *range,
		    __u32 first)
{
	struct lost_piece *head = &table->pieces[range->pieces];
	__u32 piece;

	if (head->first == range->lost.first) {
		head->first = first;
	} else {
		piece = take_piece(table, flow, first, range->lost.first, range->pieces);
		if (!piece)
			return false;
		range->pieces = piece;
	}
	range->lost.first = first;
	return true;
}

/* The next range touches this one now. */
static void join_next(struct flow_table *table, struct known_flow *flow, struct open_range *range)
{
	struct open_range *next = &table->ranges[range->next];
	__u32 *link = &range->pieces;
	struct lost_piece *last;

	while (table->pieces[*link].next)
		link = &table->pieces[*link].next;
	last = &table->pieces[*link];
	last->next = next->pieces;
	range->lost.end = next->lost.end;
	if (next->lost.since < range->lost.since)
		range->lost.since = next->lost.since;
	if (table->pieces[last->next].first == last->end) {
		last->end = table->pieces[last->next].end;
		drop_piece(table, flow, &last->next);
	}
	drop_range(table, flow, &range->next);
}

/* Of a gap between ranges: *link is the one after it, `previous` the one before or NULL. */
static bool open_gap(struct flow_table *table, struct known_flow *flow, struct open_range *previous,
		     __u32 *link, struct lost_range lost)
{
	struct open_range *next = *link ? &table->ranges[*link] : NULL;

	if (previous && previous->lost.end == lost.first) {
		if (!append(table, flow, previous, lost.end))
			return false;
		if (next && next->lost.first == lost.end)
			join_next(table, flow, previous);
		return true;
	}
	if (next && next->lost.first == lost.end)
		return prepend(table, flow, next, lost.first);
	return open_alone(table, flow, link, lost);
}

static bool open_range(struct flow_table *table, struct known_flow *flow, struct lost_range lost)
{
	struct open_range *previous = NULL;
	__u32 *link = &flow->ranges;

	while (before(lost.first, lost.end)) {
		struct open_range *next = *link ? &table->ranges[*link] : NULL;
		struct lost_range gap = lost;

		if (next && !before(lost.first, next->lost.first)) {
			lost.first = later(lost.first, next->lost.end);
			previous = next;
			link = &next->next;
			continue;
		}
		if (next && before(next->lost.first, gap.end))
			gap.end = next->lost.first;
		if (!open_gap(table, flow, previous, link, gap))
			return false;
		lost.first = gap.end;
	}
	return true;
}

static struct flow_mark *mark_of(struct flow_table *table, __u64 hash)
{
	return &table->marks[hash >> 32 & (FLOW_MARKS - 1)];
}

/* What of a lost frame may be new to its receiver: from here on. */
static __u32 first_unseen(struct flow_table *table, const struct frame_info *info)
{
	__u64 hash = info_hash(info);
	struct flow_mark *mark = mark_of(table, hash);

	if (!mark->valid || mark->hash != hash)
		return info->first;
	if (info->tcp_flags & (FRAME_SYN | FRAME_RST) || !is_near(mark->end, info->first)) {
		mark->valid = false;
		return info->first;
	}
	return later(info->first, mark->end);
}

int flow_lost(struct flow_table *table, const struct frame_info *info, __u64 now)
{
	struct lost_range lost = {.end = info->end, .since = now};
	struct known_flow *flow;
	bool first_met;

	if (!info->sequenced)
		return 0;
	if (info->tcp_flags & FRAME_RST || info->first == info->end)
		return 0;
	lost.first = first_unseen(table, info);
	if (!before(lost.first, lost.end))
		return 0;
	flow = find_or_add(table, frame_addresses(info), frame_ports(info), &first_met);
	if (flow)
		abandon_old(table, flow, info);
	if (flow && is_near(info->end, info->first) && open_range(table, flow, lost))
		return 0;
	table->totals.unfollowed++;
	return -ENOSPC;
}

/* Takes what was delivered out of the range's pieces; false: one of the two that are left finds no room. */
static bool cut(struct flow_table *table, struct known_flow *flow, struct open_range *range,
		__u32 first, __u32 end)
{
	__u32 *link = &range->pieces;

	while (*link && before(table->pieces[*link].first, end)) {
		struct lost_piece *piece = &table->pieces[*link];
		bool starts = before(piece->first, first), ends = before(end, piece->end);

		if (!before(first, piece->end)) {
			link = &piece->next;
		} else if (starts && ends) {
			__u32 rest = take_piece(table, flow, end, piece->end, piece->next);

			piece->end = first;
			piece->next = rest;
			return rest;
		} else if (starts) {
			piece->end = first;
		} else if (ends) {
			piece->first = end;
		} else {
			drop_piece(table, flow, link);
		}
	}
	return true;
}

static void recover(struct flow_table *table, struct known_flow *flow, __u32 *link)
{
	struct lost_range lost = table->ranges[*link].lost;

	drop_range(table, flow, link);
	if (table->config.recovered)
		table->config.recovered(table->config.argument, flow->addresses, flow->ports,
					&lost);
}

void flow_delivered_open(struct flow_table *table, const struct frame_info *info)
{
	struct known_flow *flow;
	__u32 *link;

	if (!info->sequenced)
		return;
	flow = find(table, frame_addresses(info), frame_ports(info));
	if (!flow || !flow->ranges)
		return;
	abandon_old(table, flow, info);
	link = &flow->ranges;
	while (*link && before(table->ranges[*link].lost.first, info->end)) {
		struct open_range *range = &table->ranges[*link];

		if (!cut(table, flow, range, info->first, info->end))
			abandon(table, flow, link);
		else if (!range->pieces)
			recover(table, flow, link);
		else
			link = &range->next;
	}
}

void flow_mark_delivered(struct flow_table *table, const struct frame_info *info)
{
	__u64 hash = info_hash(info);
	struct flow_mark *mark = mark_of(table, hash);

	if (!info->sequenced)
		return;
	if (!mark->valid || mark->hash != hash || info->tcp_flags & (FRAME_SYN | FRAME_RST) ||
	    !is_near(mark->end, info->end))
		*mark = (struct flow_mark){hash, info->end, true};
	else
		mark->end = later(mark->end, info->end);
}
