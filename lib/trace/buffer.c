// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"

void *trace_buffer_reserve(struct trace_buffer *buffer, size_t more)
{
	size_t needed = buffer->size + more;

	if (buffer->failed)
		return NULL;
	if (array_grow(&buffer->bytes, &buffer->capacity, needed, 1, ARRAY_PLAIN))
		return buffer->bytes + buffer->size;
	buffer->failed = true;
	return NULL;
}

void trace_buffer_put(struct trace_buffer *buffer, const void *bytes, size_t size)
{
	void *room = trace_buffer_reserve(buffer, size);

	if (!room || !size)
		return;
	memcpy(room, bytes, size);
	buffer->size += size;
}

void trace_buffer_put_u8(struct trace_buffer *buffer, __u8 value)
{
	trace_buffer_put(buffer, &value, sizeof(value));
}

void trace_buffer_put_u16(struct trace_buffer *buffer, __u16 value)
{
	trace_buffer_put(buffer, &value, sizeof(value));
}

void trace_buffer_put_u32(struct trace_buffer *buffer, __u32 value)
{
	trace_buffer_put(buffer, &value, sizeof(value));
}

void trace_buffer_put_u64(struct trace_buffer *buffer, __u64 value)
{
	trace_buffer_put(buffer, &value, sizeof(value));
}

void trace_buffer_put_text(struct trace_buffer *buffer, const char *text, size_t size)
{
	__u16 length = (__u16)strnlen(text, size);

	trace_buffer_put(buffer, &length, sizeof(length));
	trace_buffer_put(buffer, text, length);
}

void trace_buffer_free(struct trace_buffer *buffer)
{
	free(buffer->bytes);
	memset(buffer, 0, sizeof(*buffer));
}

const void *trace_cursor_take(struct trace_cursor *cursor, size_t size)
{
	const void *bytes = cursor->next;

	if (size > cursor->left) {
		cursor->short_of = true;
		cursor->left = 0;
		return NULL;
	}
	cursor->next += size;
	cursor->left -= size;
	return bytes;
}

void trace_cursor_into(struct trace_cursor *cursor, void *value, size_t size)
{
	const void *bytes = trace_cursor_take(cursor, size);

	if (bytes)
		memcpy(value, bytes, size);
	else
		memset(value, 0, size);
}

__u8 trace_cursor_u8(struct trace_cursor *cursor)
{
	__u8 value;

	trace_cursor_into(cursor, &value, sizeof(value));
	return value;
}

__u16 trace_cursor_u16(struct trace_cursor *cursor)
{
	__u16 value;

	trace_cursor_into(cursor, &value, sizeof(value));
	return value;
}

__u32 trace_cursor_u32(struct trace_cursor *cursor)
{
	__u32 value;

	trace_cursor_into(cursor, &value, sizeof(value));
	return value;
}

__u64 trace_cursor_u64(struct trace_cursor *cursor)
{
	__u64 value;

	trace_cursor_into(cursor, &value, sizeof(value));
	return value;
}

void trace_cursor_text(struct trace_cursor *cursor, char *text, size_t size)
{
	const void *bytes;
	__u16 length;

	trace_cursor_into(cursor, &length, sizeof(length));
	bytes = trace_cursor_take(cursor, length);
	if (!bytes)
		length = 0;
	if (length > size - 1)
		length = (__u16)(size - 1);
	if (length)
		memcpy(text, bytes, length);
	text[length] = '\0';
}
