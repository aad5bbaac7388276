/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One page of a recording, for a ticket: findings, devices, stages, timelines, the slowest faults, what was lost and
 * what was not seen. One HTML file that asks for nothing else; docs/page.md.
 */
#ifndef FAULTLINE_PAGE_H
#define FAULTLINE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/export.h"

struct page_options {
	const struct slo_set *slos;   /* objectives to judge; NULL: none */
	unsigned int refresh_seconds; /* the page loads itself again after so long; 0: never */
	unsigned int *
		floor; /* is given why counts are floors (lib/analyze/floor.h); NULL: nobody asks */
};

/*
 * Writes the page of that part of a recording (`export_part`, a host of a file). 0, -EBADMSG for damage that was read
 * past (the page says so), or another negative errno with a sentence; what `out` has then is no page.
 */
int page_write(const struct export_part *part, const struct page_options *options, FILE *out);
/* Whether uPlot is in this program; without it pages have tables and SVG. */
bool page_has_plots(void);

#endif
