// SPDX-License-Identifier: GPL-2.0
/* How far flows have been delivered: what is lost again though it had come is missed by nobody. */
#include <string.h>

#include "injectors/emu/nic/flow_table_private.h"

static struct flow_mark *mark_of(const struct flow_table *table, __u64 hash)
{
	return &table->marks[hash >> 32 & (FLOW_MARKS - 1)];
}

static void gap_insert(struct flow_mark *mark, __u32 at, struct flow_gap gap)
{
	if (mark->gap_count == FLOW_GAPS) {
		if (!at)
			return;
		memmove(mark->gap, mark->gap + 1, --at * sizeof(gap));
	} else {
		memmove(mark->gap + at + 1, mark->gap + at, (mark->gap_count++ - at) * sizeof(gap));
	}
	mark->gap[at] = gap;
}

static void gap_remove(struct flow_mark *mark, __u32 at)
{
	memmove(mark->gap + at, mark->gap + at + 1,
		(--mark->gap_count - at) * sizeof(mark->gap[0]));
}

/* These numbers have been seen. From above, so that what goes for want of room is behind the walk. */
static void fill_gaps(struct flow_mark *mark, __u32 first, __u32 end)
{
	for (__u32 i = mark->gap_count; i--;) {
		struct flow_gap *gap = &mark->gap[i], above = {end, gap->end};

		if (!sequence_before(first, gap->end) || !sequence_before(gap->first, end))
			continue;
		if (!sequence_before(gap->first, first)) {
			if (sequence_before(end, gap->end))
				gap->first = end;
			else
				gap_remove(mark, i);
			continue;
		}
		gap->end = first;
		if (sequence_before(end, above.end))
			gap_insert(mark, i + 1, above);
	}
}

__u32 flow_unseen(const struct flow_table *table, const struct frame_info *info,
		  struct flow_gap unseen[FLOW_GAPS + 1])
{
	__u64 hash = info_hash(info);
	const struct flow_mark *mark = mark_of(table, hash);
	__u32 count = 0;

	unseen[0] = (struct flow_gap){info->first, info->end};
	if (!mark->valid || mark->hash != hash || info->tcp_flags & FRAME_SYN ||
	    !sequence_is_near(mark->end, info->first))
		return 1;
	for (__u32 i = 0; i < mark->gap_count; i++) {
		struct flow_gap gap = mark->gap[i];

		gap.first = sequence_later(info->first, gap.first);
		if (sequence_before(info->end, gap.end))
			gap.end = info->end;
		if (sequence_before(gap.first, gap.end))
			unseen[count++] = gap;
	}
	unseen[count].first = sequence_later(info->first, mark->end);
	unseen[count].end = info->end;
	return count + sequence_before(unseen[count].first, info->end);
}

void flow_mark_delivered(struct flow_table *table, const struct frame_info *info)
{
	struct flow_mark *mark;
	__u64 hash;

	if (!info->sequenced)
		return;
	hash = info_hash(info);
	mark = mark_of(table, hash);
	if (!mark->valid || mark->hash != hash || info->tcp_flags & FRAME_SYN ||
	    !sequence_is_near(mark->end, info->end)) {
		*mark = (struct flow_mark){hash, info->end, true};
		return;
	}
	while (mark->gap_count && !sequence_is_near(mark->gap[0].first, info->first))
		gap_remove(mark, 0);
	if (mark->gap_count)
		fill_gaps(mark, info->first, info->end);
	if (sequence_before(mark->end, info->first))
		gap_insert(mark, mark->gap_count, (struct flow_gap){mark->end, info->first});
	mark->end = sequence_later(mark->end, info->end);
}
