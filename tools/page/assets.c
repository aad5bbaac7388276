// SPDX-License-Identifier: GPL-2.0
#include "tools/page/assets.h"

#include "tools/page/page.h"

/* Made by tools/page/assets.sh: where the files are, and their hashes. */
#include "tools/page/assets_made.h"

/* The file's bytes as they are, between two symbols. */
#define ASSET(name, path)                                                            \
	extern const char page_##name##_begin[], page_##name##_end[];                \
	__asm__(".pushsection .rodata\n"                                             \
		".global page_" #name "_begin, page_" #name "_end\n"                 \
		"page_" #name "_begin:\n.incbin \"" path "\"\npage_" #name "_end:\n" \
		".popsection\n")

ASSET(own_style, "tools/page/page.css");
ASSET(own_script, "tools/page/page.js");
#ifdef UPLOT_LICENCE_PATH
ASSET(uplot_style, UPLOT_STYLE_PATH);
ASSET(uplot_script, UPLOT_SCRIPT_PATH);
ASSET(uplot_licence, UPLOT_LICENCE_PATH);
#endif

const struct page_asset page_assets[] = {
#ifdef UPLOT_LICENCE_PATH
	{page_uplot_style_begin, page_uplot_style_end, UPLOT_STYLE_HASH, true, true},
	{page_uplot_script_begin, page_uplot_script_end, UPLOT_SCRIPT_HASH, false, true},
#endif
	{page_own_style_begin, page_own_style_end, OWN_STYLE_HASH, true, false},
	{page_own_script_begin, page_own_script_end, OWN_SCRIPT_HASH, false, false},
};
const size_t page_asset_count = sizeof(page_assets) / sizeof(page_assets[0]);

const char *page_licence(size_t *size)
{
#ifdef UPLOT_LICENCE_PATH
	*size = (size_t)(page_uplot_licence_end - page_uplot_licence_begin);
	return page_uplot_licence_begin;
#else
	*size = 0;
	return NULL;
#endif
}

bool page_has_plots(void)
{
	return page_asset_count > 2;
}
