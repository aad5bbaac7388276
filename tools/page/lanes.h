/* SPDX-License-Identifier: GPL-2.0 */
/* When which objective of which device was violated: a lane each. */
#ifndef FAULTLINE_PAGE_LANES_H
#define FAULTLINE_PAGE_LANES_H

#include <stddef.h>
#include <stdio.h>

struct page;

/* As SVG; how many lanes there are. */
size_t page_lanes_svg(const struct page *page);
/* Members of an array. */
void page_lanes_json(const struct page *page);
/* A text as JSON within a script element. */
void page_json_text(FILE *out, const char *text);

#endif
