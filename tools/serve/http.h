/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server: GET and HEAD of /metrics and /, nothing else. It has a thread of its own and serves what was published
 * last, so that no client keeps anybody waiting but himself. Connections are bounded in number, in what they may send and
 * in time.
 */
#ifndef FAULTLINE_SERVE_HTTP_H
#define FAULTLINE_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "tools/serve/options.h"

#define HTTP_CONNECTIONS 64

struct http;

enum http_resource { HTTP_METRICS, HTTP_PAGE, HTTP_RESOURCES };

/* Somebody waits for a page: called by the server's thread, once until one is published. NULL: there is none. */
typedef void http_wanted(void *self);

/* Binds and listens; the address becomes the one that was given. Nothing is answered before http_start(). */
int http_open(struct http **http, struct listen_address *address);
int http_start(struct http *http, http_wanted *wanted, void *self);
void http_close(struct http *http);
/*
 * What is served from now on. Takes `text` over and frees it; NULL: nobody has it, `sentence` says why. A page is
 * published for those who wait for it, and for those who ask within the next seconds.
 */
int http_publish(struct http *http, enum http_resource resource, char *text, size_t length,
		 const char *sentence);
/* How often metrics were asked for. */
__u64 http_scrapes(const struct http *http);
/* Ends connections that have been at one request for too long; to be called about once a second. */
void http_end_slow(struct http *http);

#endif
