/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: a file or pipe seen through a window that grows to one frame at most. */
#ifndef FAULTLINE_TRACE_SOURCE_H
#define FAULTLINE_TRACE_SOURCE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct trace_source {
	int fd;
	bool seekable;
	bool ended;  /* the window reaches the end of the file */
	bool sought; /* perhaps only a header is wanted next */
	__u8 *bytes;
	size_t capacity;
	size_t start, end; /* the window: unread bytes within `bytes` */
};

int trace_source_open(struct trace_source *source, const char *path);
/*
 * A further segment, whose name nobody has given but that is taken from a folder, which may be anybody's: only
 * a regular file is one. -ENOENT without a sentence where there is none, or a FIFO, a link or a device.
 */
int trace_source_open_segment(struct trace_source *source, const char *path);
/*
 * Makes at least `size` bytes available, fewer only at the end of the file. Returns how many there
 * are, or a negative errno. Pointers into the window are valid until the next call.
 */
ssize_t trace_source_need(struct trace_source *source, const char *path, size_t size);
const __u8 *trace_source_bytes(const struct trace_source *source);
/*
 * Moves on by `size` bytes; without reading them where the file can seek. Returns how many of them
 * the file does not have, or a negative errno.
 */
__s64 trace_source_skip(struct trace_source *source, const char *path, __u64 size);
/* Gives back the memory; what was ahead of the window's start is read again. */
void trace_source_trim(struct trace_source *source);
void trace_source_close(struct trace_source *source);

#endif
