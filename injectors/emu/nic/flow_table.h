/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flows of one ring: their numbers in the truth log, and which ranges of TCP sequence numbers the ring
 * has lost of each and not delivered since.
 *
 * A range is open from its first lost frame until all of its bytes have been delivered. Losses that touch
 * or overlap are one range, as old as the oldest; what is delivered of it in between stays delivered,
 * also if it is lost again. Memory is bounded: a range that finds no room is counted in place of being
 * followed, one whose state finds none is given up, and neither is ever said to be recovered.
 *
 * Of its caller's lock; no allocation after creation.
 */
#ifndef FAULTLINE_EMU_NIC_FLOW_TABLE_H
#define FAULTLINE_EMU_NIC_FLOW_TABLE_H

#include <stdatomic.h>

#include "injectors/emu/nic/frame.h"

#define FLOW_RANGES 64	/* open at most, of one flow */
#define FLOW_PIECES 128 /* that its open ranges may have lost to what was delivered in between */
/* Half of what TCP may have on its way: nobody waits for what is farther from a frame. */
#define FLOW_WINDOW ((1u << 30) - (1u << 20))

struct lost_range {
	__u32 first, end; /* sequence numbers, the second behind its last */
	__u64 since;	  /* when its first frame was lost */
};

/* `addresses` and `ports` as of the NIC's probes; last: nothing of the flow is open any more. */
typedef void (*flow_recovered)(void *argument, __u64 addresses, __u64 ports,
			       const struct lost_range *range, bool last);

/* Nothing of a flow is open any more that had been since then. */
typedef void (*flow_settled)(void *argument, __u64 since);

struct flow_config {
	__u32 flows;  /* known at a time, at least 1; the least used is forgotten for a new one */
	__u32 ranges; /* open at a time, of all flows, at least 1 */
	/* The last number given, shared by the tables of a truth log; NULL: the table's own. */
	atomic_uint *last_number;
	flow_recovered recovered; /* may be NULL; may not call the table */
	flow_settled settled;	  /* likewise */
	void *argument;
};

struct flow_totals {
	__u64 flows;	  /* met, those forgotten and met again counting again */
	__u64 forgotten;  /* to make room */
	__u64 unknown;	  /* asked for and no room: all flows have open ranges */
	__u64 unfollowed; /* lost frames that found no room for (all of) their range */
	__u64 abandoned;  /* open ranges that will never be recovered: the connection ended or began
			     again, is far beyond them, or their pieces found no room */
};

struct open_range;
struct lost_piece;
struct known_flow;
struct flow_mark;

/* For its own functions only: what is inline has to see it. */
struct flow_table {
	__u32 open; /* ranges of all flows */
	__u32 flow_count, hand;
	__u32 bucket_mask;
	__u32 unused_ranges, unused_pieces; /* lists */
	struct flow_config config;
	struct flow_totals totals;
	atomic_uint own_number;
	__u32 *buckets;
	struct known_flow *flows;
	struct open_range *ranges;
	struct lost_piece *pieces;
	struct flow_mark *marks;
};

int flow_table_create(struct flow_table **table, const struct flow_config *config);
void flow_table_destroy(struct flow_table *table);

/* The flow's number, from 1; *first_met: it has just got it. 0: no room. */
__u32 flow_number(struct flow_table *table, __u64 addresses, __u64 ports, bool *first_met);

/*
 * A TCP frame was lost at `now`, others are passed over. -ENOSPC: not all of its range is followed.
 * A range that flow_mark_delivered() knows to have been delivered before does not open: 1, nobody misses any of the frame.
 */
int flow_lost(struct flow_table *table, const struct frame_info *info, __u64 now);

void flow_delivered_open(struct flow_table *table, const struct frame_info *info);

/* A frame has been delivered: tells ranges that are complete with it. One load where none is open. */
static inline void flow_delivered(struct flow_table *table, const struct frame_info *info)
{
	if (table->open)
		flow_delivered_open(table, info);
}

/*
 * For each delivered frame, or for none: remembers how far its flow has been delivered. Without this a
 * retransmission nobody needed opens a range if it is lost, and nobody sends it again. What was skipped may
 * still be new: flow_lost() is not told of what was lost in front of the NIC.
 */
void flow_mark_delivered(struct flow_table *table, const struct frame_info *info);

/* Tells config.settled of each flow that has open ranges, which it keeps: nothing more will come. */
void flow_table_settle(struct flow_table *table);

static inline const struct flow_totals *flow_table_totals(const struct flow_table *table)
{
	return &table->totals;
}

#endif
