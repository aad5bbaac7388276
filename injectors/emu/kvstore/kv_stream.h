/* SPDX-License-Identifier: GPL-2.0 */
/* A connection that is read by lines and by lengths, as memcached's text protocol is. */
#ifndef FAULTLINE_KV_STREAM_H
#define FAULTLINE_KV_STREAM_H

#include <stddef.h>
#include <sys/uio.h>

#define KV_LINE 512 /* bytes of a line at most, with its end */

struct kv_stream {
	int socket;
	size_t begin, end; /* of what was received and not yet read */
	char buffer[16384];
};

/* One line without its end, 0-terminated. 0; -EMSGSIZE: it is too long; else the connection is over: -ECONNRESET. */
int kv_stream_line(struct kv_stream *stream, char line[KV_LINE]);
/* Exactly so many bytes; `to` NULL: they are thrown away. */
int kv_stream_read(struct kv_stream *stream, void *to, size_t bytes);
/* All pieces; changes them. */
int kv_stream_write(struct kv_stream *stream, struct iovec *pieces, int count);

#endif
