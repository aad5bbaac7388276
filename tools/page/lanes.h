/* SPDX-License-Identifier: GPL-2.0 */
/* When which objective of which device was violated: a lane each. */
#ifndef FAULTLINE_PAGE_LANES_H
#define FAULTLINE_PAGE_LANES_H

#include <stddef.h>
#include <stdio.h>

struct page_draft;

/* As SVG; how many lanes there are. */
size_t page_lanes_svg(const struct page_draft *page);
/* Members of an array. */
void page_lanes_json(const struct page_draft *page);
/* A text as JSON within a script element. */
void page_json_text(FILE *out, const char *text);

#endif
