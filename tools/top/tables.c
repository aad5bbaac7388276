// SPDX-License-Identifier: GPL-2.0
#include "tools/top/tables.h"

void tables_free(struct top_tables *tables)
{
	for (unsigned int v = 0; v < VIEWS; v++) {
		for (unsigned int s = 0; s < LATENCY_SPANS; s++)
			view_table_free(&tables->now[v][s]);
		view_table_free(&tables->before[v]);
	}
}

static int top_tables_look(struct top_tables *tables, unsigned int v,
			   const struct analysis *analysis, __u64 elapsed_ns)
{
	const struct view_table past = tables->before[v];
	int error = 0;

	tables->before[v] = tables->now[v][LATENCY_SINCE_START];
	tables->now[v][LATENCY_SINCE_START] = past;
	for (unsigned int s = 0; !error && s < (views[v]->windowed ? LATENCY_SPANS : 1u); s++)
		error = view_table_take(&tables->now[v][s], views[v], analysis,
					(enum latency_span)s, &tables->before[v], elapsed_ns);
	return error;
}

int tables_look(struct top_tables *tables, const struct analysis *analysis, __u64 elapsed_ns)
{
	int error = 0;

	for (unsigned int v = 0; !error && v < VIEWS; v++)
		if (views[v]->write)
			error = top_tables_look(tables, v, analysis, elapsed_ns);
	return error;
}

int tables_copy(const struct top_tables *tables, unsigned int view, enum latency_span span,
		struct view_table *to)
{
	if (!views[view]->write)
		return 0;
	return view_table_copy(to, &tables->now[view][views[view]->windowed ? span : 0]);
}
