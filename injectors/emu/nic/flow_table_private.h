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

struct flow_mark {
	__u64 hash;
	__u32 end;
	bool valid;
};

static inline __u64 flow_hash(__u64 addresses, __u64 ports)
{
	__u64 hash = (addresses ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	hash = (hash ^ hash >> 32 ^ ports) * 0x94d049bb133111ebull;
	return hash ^ hash >> 29;
}

/* NULL: not known. */
struct known_flow *flow_find(struct flow_table *table, __u64 addresses, __u64 ports);
/* NULL: no room. */
struct known_flow *flow_find_or_add(struct flow_table *table, __u64 addresses, __u64 ports);

#endif
