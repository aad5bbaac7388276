/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Thrift's compact protocol, as much of it as the headers and the footer of a Parquet file are made of:
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 *
 * Fields are written in the order of their numbers. A field of 0 is an element of the list that has begun.
 */
#ifndef FAULTLINE_THRIFT_H
#define FAULTLINE_THRIFT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes that grow. Without memory `failed` stays true and what comes is dropped: asked once, at the end. */
struct thrift_bytes {
	__u8 *data;
	size_t used, room;
	bool failed;
};

void thrift_add(struct thrift_bytes *bytes, const void *data, size_t size);
/* Room for so many more, which the caller fills and counts; NULL without memory. */
__u8 *thrift_room(struct thrift_bytes *bytes, size_t size);
/* Seven bits a byte, the lowest first. */
void thrift_varint(struct thrift_bytes *bytes, __u64 number);
void thrift_free(struct thrift_bytes *bytes);

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE,
	THRIFT_BYTE,
	THRIFT_I16,
	THRIFT_I32,
	THRIFT_I64,
	THRIFT_DOUBLE,
	THRIFT_BINARY,
	THRIFT_LIST,
	THRIFT_SET,
	THRIFT_MAP,
	THRIFT_STRUCT,
};

#define THRIFT_DEPTH 8

struct thrift {
	struct thrift_bytes bytes;
	int last[THRIFT_DEPTH]; /* field of each struct that has begun */
	int depth;
};

void thrift_begin(struct thrift *thrift, int field);
void thrift_end(struct thrift *thrift);
/* A struct without fields: what a union is where only the choice counts. */
void thrift_empty(struct thrift *thrift, int field);
void thrift_number(struct thrift *thrift, int field, enum thrift_type type, __s64 number);
void thrift_byte(struct thrift *thrift, int field, __s8 number);
void thrift_truth(struct thrift *thrift, int field, bool truth);
void thrift_binary(struct thrift *thrift, int field, const void *data, size_t size);
void thrift_text(struct thrift *thrift, int field, const char *text);
/* So many elements of that type follow. */
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);

#endif
