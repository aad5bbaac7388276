/* SPDX-License-Identifier: GPL-2.0 */
/* The tables of all views as of the last look at the analysis, and as of the look before. */
#ifndef FAULTLINE_TOP_TABLES_H
#define FAULTLINE_TOP_TABLES_H

#include "tools/top/views.h"

/* All zero is empty. */
struct top_tables {
	struct view_table now[VIEWS][LATENCY_SPANS];
	struct view_table before[VIEWS]; /* counts are the same for both spans */
};

void tables_free(struct top_tables *tables);
/* Rates are over elapsed_ns, the time since the look before. -ENOMEM. */
int tables_look(struct top_tables *tables, const struct analysis *analysis, __u64 elapsed_ns);
/* A copy that stays as it is; nothing for the view of devices. -ENOMEM. */
int tables_copy(const struct top_tables *tables, unsigned int view, enum latency_span span,
		struct view_table *to);

#endif
