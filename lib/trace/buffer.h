/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: growing output and bounded input of little-endian fields. */
#ifndef FAULTLINE_TRACE_BUFFER_H
#define FAULTLINE_TRACE_BUFFER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct trace_buffer {
	__u8 *bytes;
	size_t size;
	size_t capacity;
	bool failed; /* memory ran out: checked once, after the last put */
};

/* Room for `more` bytes behind the content, NULL (and failed) without memory. */
void *trace_buffer_reserve(struct trace_buffer *buffer, size_t more);
void trace_buffer_put(struct trace_buffer *buffer, const void *bytes, size_t size);
void trace_buffer_put_u8(struct trace_buffer *buffer, __u8 value);
void trace_buffer_put_u16(struct trace_buffer *buffer, __u16 value);
void trace_buffer_put_u32(struct trace_buffer *buffer, __u32 value);
void trace_buffer_put_u64(struct trace_buffer *buffer, __u64 value);
/* u16 length, then the bytes up to the terminator or `size`. */
void trace_buffer_put_text(struct trace_buffer *buffer, const char *text, size_t size);
void trace_buffer_free(struct trace_buffer *buffer);

/*
 * Input. Reading past the end gives zeros and sets `short_of`: fields that a later version added
 * to the end of a record are zero in older recordings.
 */
struct trace_cursor {
	const __u8 *next;
	size_t left;
	bool short_of;
};

const void *trace_cursor_take(struct trace_cursor *cursor, size_t size);
void trace_cursor_into(struct trace_cursor *cursor, void *value, size_t size);
__u8 trace_cursor_u8(struct trace_cursor *cursor);
__u16 trace_cursor_u16(struct trace_cursor *cursor);
__u32 trace_cursor_u32(struct trace_cursor *cursor);
__u64 trace_cursor_u64(struct trace_cursor *cursor);
/* Always terminates `text`; what does not fit is skipped. */
void trace_cursor_text(struct trace_cursor *cursor, char *text, size_t size);

#endif
