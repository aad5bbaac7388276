// SPDX-License-Identifier: GPL-2.0
#include "lib/output/thrift.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"

__u8 *thrift_room(struct thrift_bytes *bytes, size_t size)
{
	if (bytes->failed)
		return NULL;
	if (array_grow(&bytes->data, &bytes->room, bytes->used + size, 1, ARRAY_PLAIN))
		return bytes->data + bytes->used;
	bytes->failed = true;
	return NULL;
}

void thrift_add(struct thrift_bytes *bytes, const void *data, size_t size)
{
	__u8 *room = size ? thrift_room(bytes, size) : NULL;

	if (!room)
		return;
	memcpy(room, data, size);
	bytes->used += size;
}

void thrift_varint(struct thrift_bytes *bytes, __u64 number)
{
	__u8 text[10];
	size_t size = 0;

	while (number >= 0x80) {
		text[size++] = (__u8)(number | 0x80);
		number >>= 7;
	}
	text[size++] = (__u8)number;
	thrift_add(bytes, text, size);
}

void thrift_free(struct thrift_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct thrift_bytes){0};
}

static void zigzag(struct thrift_bytes *bytes, __s64 number)
{
	thrift_varint(bytes, (__u64)number << 1 ^ (__u64)(number >> 63));
}

/* Elements of a list have no header. */
static void thrift_header(struct thrift *thrift, int field, enum thrift_type type)
{
	int *last = &thrift->last[thrift->depth];
	int step = field - *last;
	__u8 byte = (__u8)type;

	if (!field)
		return;
	if (step > 0 && step <= 15)
		byte |= (__u8)(step << 4);
	thrift_add(&thrift->bytes, &byte, 1);
	if (!(byte >> 4))
		zigzag(&thrift->bytes, field);
	*last = field;
}

void thrift_begin(struct thrift *thrift, int field)
{
	thrift_header(thrift, field, THRIFT_STRUCT);
	thrift->last[++thrift->depth] = 0;
}

void thrift_end(struct thrift *thrift)
{
	thrift->depth--;
	thrift_add(&thrift->bytes, &(__u8){0}, 1);
}

void thrift_empty(struct thrift *thrift, int field)
{
	thrift_begin(thrift, field);
	thrift_end(thrift);
}

void thrift_number(struct thrift *thrift, int field, enum thrift_type type, __s64 number)
{
	thrift_header(thrift, field, type);
	zigzag(&thrift->bytes, number);
}

void thrift_byte(struct thrift *thrift, int field, __s8 number)
{
	thrift_header(thrift, field, THRIFT_BYTE);
	thrift_add(&thrift->bytes, &number, 1);
}

void thrift_truth(struct thrift *thrift, int field, bool truth)
{
	thrift_header(thrift, field, truth ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_binary(struct thrift *thrift, int field, const void *data, size_t size)
{
	thrift_header(thrift, field, THRIFT_BINARY);
	thrift_varint(&thrift->bytes, size);
	thrift_add(&thrift->bytes, data, size);
}

void thrift_text(struct thrift *thrift, int field, const char *text)
{
	thrift_binary(thrift, field, text, strlen(text));
}

void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count)
{
	__u8 byte = (__u8)((count < 15 ? count : 15) << 4 | type);

	thrift_header(thrift, field, THRIFT_LIST);
	thrift_add(&thrift->bytes, &byte, 1);
	if (count >= 15)
		thrift_varint(&thrift->bytes, count);
}
