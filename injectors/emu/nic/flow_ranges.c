// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "injectors/emu/nic/flow_table_private.h"

#define FLOW_FRAME \
	(1u << 20) /* sequence numbers of one frame, however many segments it stands for */

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
	if (!flow->range_count && table->config.settled)
		table->config.settled(table->config.argument, flow->stalled_since);
}

static void abandon(struct flow_table *table, struct known_flow *flow, __u32 *link)
{
	struct open_range *range = &table->ranges[*link];

	while (range->pieces)
		drop_piece(table, flow, &range->pieces);
	drop_range(table, flow, link);
	table->totals.abandoned++;
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

		if (other || !sequence_is_near(lost->first, info->first) ||
		    !sequence_is_near(lost->end, info->first))
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
	if (!flow->range_count)
		flow->stalled_since = lost.since;
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

static bool open_lost(struct flow_table *table, struct known_flow *flow, struct lost_range lost)
{
	struct open_range *previous = NULL;
	__u32 *link = &flow->ranges;

	while (sequence_before(lost.first, lost.end)) {
		struct open_range *next = *link ? &table->ranges[*link] : NULL;
		struct lost_range gap = lost;

		if (next && !sequence_before(lost.first, next->lost.first)) {
			lost.first = sequence_later(lost.first, next->lost.end);
			previous = next;
			link = &next->next;
			continue;
		}
		if (next && sequence_before(next->lost.first, gap.end))
			gap.end = next->lost.first;
		if (!open_gap(table, flow, previous, link, gap))
			return false;
		/* Which may have joined it with what is behind the gap. */
		lost.first = previous ? sequence_later(gap.end, previous->lost.end) : gap.end;
	}
	return true;
}

/* Whether something of it is lost and has not come since. */
static bool has_missing_byte(const struct flow_table *table, const struct frame_info *info)
{
	const struct known_flow *flow =
		table->open ? flow_find((struct flow_table *)table, frame_addresses(info),
					frame_ports(info))
			    : NULL;

	for (__u32 range = flow ? flow->ranges : 0; range; range = table->ranges[range].next)
		for (__u32 piece = table->ranges[range].pieces; piece;
		     piece = table->pieces[piece].next)
			if (sequence_before(table->pieces[piece].first, info->end) &&
			    sequence_before(info->first, table->pieces[piece].end))
				return true;
	return false;
}

int flow_lost(struct flow_table *table, const struct frame_info *info, __u64 now)
{
	struct flow_gap unseen[FLOW_GAPS + 1];
	struct known_flow *flow;
	__u32 count;
	bool room;

	if (!info->sequenced)
		return 0;
	if (info->tcp_flags & FRAME_RST || info->first == info->end)
		return 0;
	count = flow_unseen(table, info, unseen);
	if (!count)
		return has_missing_byte(table, info) ? 0 : 1;
	flow = flow_find_or_add(table, frame_addresses(info), frame_ports(info));
	if (flow)
		abandon_old(table, flow, info);
	room = flow && info->end - info->first <= FLOW_FRAME;
	for (__u32 i = 0; room && i < count; i++)
		room = open_lost(table, flow,
				 (struct lost_range){unseen[i].first, unseen[i].end, now});
	if (room)
		return 0;
	table->totals.unfollowed++;
	return -ENOSPC;
}

/* Takes what was delivered out of the range's pieces; false: one of the two that are left finds no room. */
static bool cut(struct flow_table *table, struct known_flow *flow, struct open_range *range,
		__u32 first, __u32 end)
{
	__u32 *link = &range->pieces;

	while (*link && sequence_before(table->pieces[*link].first, end)) {
		struct lost_piece *piece = &table->pieces[*link];
		bool starts = sequence_before(piece->first, first),
		     ends = sequence_before(end, piece->end);

		if (!sequence_before(first, piece->end)) {
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
		table->config.recovered(table->config.argument, flow->addresses, flow->ports, &lost,
					!flow->range_count);
}

void flow_delivered_open(struct flow_table *table, const struct frame_info *info)
{
	struct known_flow *flow;
	__u32 *link;

	if (!info->sequenced)
		return;
	flow = flow_find(table, frame_addresses(info), frame_ports(info));
	if (!flow || !flow->ranges)
		return;
	abandon_old(table, flow, info);
	link = &flow->ranges;
	while (*link && sequence_before(table->ranges[*link].lost.first, info->end)) {
		struct open_range *range = &table->ranges[*link];

		if (!cut(table, flow, range, info->first, info->end))
			abandon(table, flow, link);
		else if (!range->pieces)
			recover(table, flow, link);
		else
			link = &range->next;
	}
}

void flow_table_settle(struct flow_table *table)
{
	for (__u32 i = 1; i <= table->flow_count && table->config.settled; i++)
		if (table->flows[i].range_count)
			table->config.settled(table->config.argument,
					      table->flows[i].stalled_since);
}
