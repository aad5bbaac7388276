/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page of the last minutes. What happens is kept by a flight recorder in a private directory; a page is made of it
 * when somebody asks, by a process that was forked before anything was captured: it shares neither memory nor locks
 * with capture, gives way to it, and may fail. When we end, however that is, it removes the directory and ends.
 */
#ifndef FAULTLINE_SERVE_PAGES_H
#define FAULTLINE_SERVE_PAGES_H

#include "tools/serve/http.h"

struct page_maker;

/* First of all: a thread or probes there are would be in the process that is forked, too. */
int page_maker_create(struct page_maker **pages, const struct serve_options *options);
/* Of a recording the host that it is of, by its number. */
int page_maker_start(struct page_maker *pages, struct http *http);
/* Where the flight recorder is to be. */
const char *page_maker_recording(const struct page_maker *pages);
http_wanted page_maker_wanted;
/* Ahead of the server's end: nothing is published any more. */
void page_maker_stop(struct page_maker *pages);
/* Behind it: nobody asks any more. */
void page_maker_free(struct page_maker *pages);

#endif
