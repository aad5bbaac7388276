/* SPDX-License-Identifier: GPL-2.0 */
/* The flight recorder that a page is made of: what it cannot keep ends neither capture nor the numbers. */
#ifndef FAULTLINE_SERVE_KEEPER_H
#define FAULTLINE_SERVE_KEEPER_H

#include "lib/base/stream.h"
#include "tools/serve/options.h"

struct trace_writer;

struct page_keeper {
	struct trace_writer *writer; /* NULL: it has failed, and that was told */
};

int keeper_open(struct page_keeper *keeper, const char *path, const struct serve_options *options);
/* To be added to a fan. */
struct stream keeper_stream(struct page_keeper *keeper);
void keeper_close(struct page_keeper *keeper);

#endif
