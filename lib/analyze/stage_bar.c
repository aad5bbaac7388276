// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/stage_bar.h"

#include <string.h>

/* Column of a time; long double keeps products of large times and widths exact enough. */
static unsigned int column_of(__u64 ns, __u64 total, unsigned int width)
{
	return total ? (unsigned int)((long double)ns * width / (long double)total) : 0;
}

void stage_bar(const struct stage_times *times, unsigned int stage, unsigned int width,
	       char text[STAGE_BAR_MAX + 1])
{
	__u64 before = 0, total = 0;
	unsigned int from, to;

	text[0] = '\0';
	if (width > STAGE_BAR_MAX)
		width = STAGE_BAR_MAX;
	if (!width || stage >= STAGES || !(times->measured & (1u << stage)))
		return;
	for (unsigned int s = 0; s < STAGES; s++) {
		before += s < stage ? times->ns[s] : 0;
		total += times->ns[s];
	}
	from = column_of(before, total, width);
	to = column_of(before + times->ns[stage], total, width);
	if (from >= width)
		from = width - 1;
	if (to <= from)
		to = from + 1;
	memset(text, ' ', from);
	memset(text + from, '#', to - from);
	text[to] = '\0';
}
