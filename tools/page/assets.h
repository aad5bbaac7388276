/* SPDX-License-Identifier: GPL-2.0 */
/* Styles and scripts that a page has within it: our own, and uPlot's where this program was built with it. */
#ifndef FAULTLINE_PAGE_ASSETS_H
#define FAULTLINE_PAGE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct page_asset {
	const char *begin, *end;
	const char *hash; /* as a Content-Security-Policy names it */
	bool style;	  /* else a script */
	bool others;	  /* uPlot's, whose licence stands ahead of it */
};

extern const struct page_asset page_assets[];
extern const size_t page_asset_count;
/* Of uPlot; NULL in a program without it. */
const char *page_licence(size_t *size);

#endif
