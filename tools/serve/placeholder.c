// SPDX-License-Identifier: GPL-2.0
#include "tools/page/page.h"
__attribute__((weak)) int page_write(const struct export_part *part, const struct page_options *options, FILE *out)
{
	(void)options;
	fprintf(out, "<!DOCTYPE html><title>%s</title>\n", part->name);
	return 0;
}
