/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: arrays of structs as columns of byte planes, ready for zstd.
 *
 * A column of N values x[i] becomes a reference, residuals r[i] and their bytes plane by plane:
 *
 *	x[i] = base + (r[i] << shift)				COLUMN_PLAIN
 *	x[i] = x[i - 1] + base + (r[i] << shift), x[-1] = start	COLUMN_DELTA
 *
 * all modulo 2^64. A constant column and an arithmetic sequence have no planes at all; what is
 * left are the bytes that carry information, alike bytes side by side.
 */
#ifndef FAULTLINE_TRACE_COLUMNS_H
#define FAULTLINE_TRACE_COLUMNS_H

#include "lib/trace/buffer.h"
#include "lib/trace/format.h"

struct trace_field {
	__u16 offset;
	__u16 size; /* 1, 2, 4 or 8 */
};

#define TRACE_FIELDS_MAX 16

struct trace_layout {
	const struct trace_field *fields;
	size_t field_count;
	size_t record_size;
};

/* Time passing, told from the `position`th event of its frame on. */
struct trace_tick {
	__u64 position;
	__u64 now_ns;
};

extern const struct trace_layout trace_event_layout;
extern const struct trace_layout trace_tick_layout;

/* Where zstd should start a new block, because the bytes before and after differ in kind. */
struct trace_cuts {
	size_t offsets[TRACE_FIELDS_MAX * 8 + 8];
	size_t count;
};

/*
 * Appends all columns of `count` records. `scratch` is room for 2 * count values. `cuts` may be
 * NULL.
 */
void trace_columns_encode(const struct trace_layout *layout, const void *records, size_t count,
			  __u64 *scratch, struct trace_buffer *out, struct trace_cuts *cuts);

struct trace_column {
	struct trace_field field;
	__u8 mode;
	__u8 planes;
	__u8 shift;
	__u64 base;
	__u64 last;
	const __u8 *bytes;
};

/* Columns of `count` records, decoded block by block so that the records stay in the cache. */
struct trace_columns {
	const struct trace_layout *layout;
	size_t count;
	size_t position;
	struct trace_column columns[TRACE_FIELDS_MAX];
};

#define TRACE_BLOCK 512 /* records that one call decodes at most */

/* Checks every length; `cursor` moves behind the columns. Returns 0 or -EBADMSG. */
int trace_columns_open(struct trace_columns *columns, const struct trace_layout *layout,
		       size_t count, struct trace_cursor *cursor);
/* Decodes the next block into `records`; returns how many, 0 at the end. */
size_t trace_columns_next(struct trace_columns *columns, void *records);

#endif
