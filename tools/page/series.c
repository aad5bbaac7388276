// SPDX-License-Identifier: GPL-2.0
#include "tools/page/series.h"

#include <string.h>

void page_series_init(struct page_series *s, __u64 first_ns, __u64 last_ns, __u64 step_ns)
{
	__u64 steps;

	memset(s, 0, sizeof(*s));
	last_ns = last_ns > first_ns ? last_ns : first_ns;
	s->begin_ns = first_ns / step_ns * step_ns;
	steps = (last_ns - s->begin_ns) / step_ns + 1;
	s->bin_ns = ((steps - 1) / PAGE_BINS + 1) * step_ns;
	s->count = (size_t)((last_ns - s->begin_ns) / s->bin_ns + 1);
}

static void page_bin_merge(struct page_bin *to, const struct page_bin *from)
{
	if (!from->count)
		return;
	to->least = to->count && to->least < from->least ? to->least : from->least;
	to->most = to->count && to->most > from->most ? to->most : from->most;
	to->count += from->count;
}

void page_series_add(struct page_series *s, __u64 time_ns, __u64 value)
{
	size_t bin = 0;

	if (time_ns > s->begin_ns)
		bin = (size_t)((time_ns - s->begin_ns) / s->bin_ns);
	bin = bin < s->count ? bin : s->count - 1;
	page_bin_merge(&s->bins[bin], &(struct page_bin){1, value, value});
}

bool page_series_any(const struct page_series *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->bins[i].count)
			return true;
	return false;
}

struct page_bin page_series_column(const struct page_series *s, size_t column, size_t columns)
{
	size_t from = column * s->count / columns, to = (column + 1) * s->count / columns;
	struct page_bin merged = {0};

	/* With fewer bins than columns each has that of its place. */
	for (size_t i = from; i < s->count && (i < to || i == from); i++)
		page_bin_merge(&merged, &s->bins[i]);
	return merged;
}
