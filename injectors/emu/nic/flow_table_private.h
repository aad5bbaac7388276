/* SPDX-License-Identifier: GPL-2.0 */
/* What flow_table.c (who is known) and flow_ranges.c (what it has lost) share. */
#ifndef FAULTLINE_EMU_NIC_FLOW_TABLE_PRIVATE_H
#define FAULTLINE_EMU_NIC_FLOW_TABLE_PRIVATE_H

#include "injectors/emu/nic/flow_table.h"

#define FLOW_MARKS \
	1024 /* flows whose progress is remembered, those of one place replacing each other */

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
	__u32 ranges;	     /* in the order of sequence numbers */
	__u64 stalled_since; /* the first loss since nothing was open; as long as there are ranges */
	__u16 range_count, piece_count;
	bool met; /* since the hand came by */
};

#define FLOW_GAPS 8

/* How far a flow has been delivered, and what below that has not been: lost, by the NIC or in front of it. */
struct flow_mark {
	__u64 hash;
	__u32 end;
	bool valid;
	__u8 gap_count;
	/* In the order of sequence numbers, apart from each other; the oldest goes where there is no room. */
	struct flow_gap {
		__u32 first, end;
	} gap[FLOW_GAPS];
};

/* flow_marks.c: what of a lost frame may be new to its receiver; returns how many, 0: nothing. */
__u32 flow_unseen(const struct flow_table *table, const struct frame_info *info,
		  struct flow_gap unseen[FLOW_GAPS + 1]);

/* Numbers of one flow are within a window of each other, so that this is an order. */
static inline bool sequence_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static inline __u32 sequence_later(__u32 a, __u32 b)
{
	return sequence_before(a, b) ? b : a;
}

static inline bool sequence_is_near(__u32 a, __u32 b)
{
	return a - b + FLOW_WINDOW < 2 * FLOW_WINDOW;
}

static inline __u64 flow_hash(__u64 addresses, __u64 ports)
{
	__u64 hash = (addresses ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	hash = (hash ^ hash >> 32 ^ ports) * 0x94d049bb133111ebull;
	return hash ^ hash >> 29;
}

static inline __u64 info_hash(const struct frame_info *info)
{
	return flow_hash(frame_addresses(info), frame_ports(info));
}

/* NULL: not known. */
struct known_flow *flow_find(struct flow_table *table, __u64 addresses, __u64 ports);
/* NULL: no room. */
struct known_flow *flow_find_or_add(struct flow_table *table, __u64 addresses, __u64 ports);

#endif
