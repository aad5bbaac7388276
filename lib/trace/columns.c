// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/columns.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum column_mode { COLUMN_PLAIN = 0, COLUMN_DELTA = 1, COLUMN_MODES };

#define SAMPLES	    256	 /* of a column, to choose its mode */
#define CUT_MINIMUM 1024 /* a smaller plane is not worth a block of its own */

#define FIELD(type, name)                                          \
	{                                                          \
		offsetof(type, name), sizeof(((type *)NULL)->name) \
	}

static const struct trace_field event_fields[] = {
	FIELD(struct event, time_ns), FIELD(struct event, address),  FIELD(struct event, length),
	FIELD(struct event, value),   FIELD(struct event, device),   FIELD(struct event, pasid),
	FIELD(struct event, group),   FIELD(struct event, instance), FIELD(struct event, pid),
	FIELD(struct event, tid),     FIELD(struct event, kind),     FIELD(struct event, queue),
	FIELD(struct event, cpu),     FIELD(struct event, code),     FIELD(struct event, flags),
};

static const struct trace_field tick_fields[] = {
	FIELD(struct trace_tick, position),
	FIELD(struct trace_tick, now_ns),
};

const struct trace_layout trace_event_layout = {
	event_fields, sizeof(event_fields) / sizeof(event_fields[0]), sizeof(struct event)};
const struct trace_layout trace_tick_layout = {
	tick_fields, sizeof(tick_fields) / sizeof(tick_fields[0]), sizeof(struct trace_tick)};

#define GATHER(type)                                         \
	for (size_t i = 0; i < count; i++, from += stride) { \
		values[i] = *(const type *)from;             \
		differ |= values[i] ^ values[0];             \
	}

/* Widens one field of all records. Returns whether its values differ. */
static bool column_gather(const __u8 *from, size_t stride, size_t size, size_t count, __u64 *values)
{
	__u64 differ = 0;

	switch (size) {
	case 1:
		GATHER(__u8);
		break;
	case 2:
		GATHER(__u16);
		break;
	case 4:
		GATHER(__u32);
		break;
	default:
		GATHER(__u64);
	}
	return differ;
}

static unsigned int value_bits(__u64 value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

/* Least value, greatest distance from it, and how many bits a sample of the distances takes. */
struct spread {
	__u64 least;
	__u64 range;
	__u64 bits;
};

static struct spread spread_of(const __u64 *values, size_t count, bool is_signed)
{
	__u64 flip = is_signed ? 1ull << 63 : 0; /* orders signed values as unsigned ones */
	__u64 least = values[0] ^ flip, greatest = least, sum = 0;

	for (size_t i = 1; i < count; i++) {
		__u64 value = values[i] ^ flip;

		least = value < least ? value : least;
		greatest = value > greatest ? value : greatest;
	}
	/* The stride is odd, lest it beat with whatever repeats in pairs, fours or eights. */
	for (size_t i = 0; i < count; i += count / SAMPLES | 1)
		sum += value_bits((values[i] ^ flip) - least);
	return (struct spread){least ^ flip, greatest - least, sum};
}

static void put_planes(const __u64 *values, size_t count, __u64 base, unsigned int planes,
		       unsigned int shift, struct trace_buffer *out, struct trace_cuts *cuts)
{
	for (unsigned int plane = 0; plane < planes; plane++) {
		__u8 *bytes = trace_buffer_reserve(out, count);
		unsigned int down = shift + 8 * plane;

		if (!bytes)
			return;
		for (size_t i = 0; i < count; i++)
			bytes[i] = (__u8)((values[i] - base) >> down);
		if (cuts && count >= CUT_MINIMUM)
			cuts->offsets[cuts->count++] = out->size;
		out->size += count;
	}
}

static void put_column_header(enum column_mode mode, unsigned int planes, unsigned int shift,
			      __u64 base, struct trace_buffer *out)
{
	trace_buffer_put_u8(out, (__u8)mode);
	trace_buffer_put_u8(out, (__u8)planes);
	trace_buffer_put_u8(out, (__u8)shift);
	trace_buffer_put_u8(out, 0);
	trace_buffer_put_u64(out, base);
}

/* A column whose values differ. */
static void put_column(const __u64 *values, __u64 *deltas, size_t count, struct trace_buffer *out,
		       struct trace_cuts *cuts)
{
	struct spread spread = spread_of(values, count, false), delta;
	enum column_mode mode = COLUMN_PLAIN;
	unsigned int shift, planes;
	__u64 any = 0, first = values[0];

	for (size_t i = 1; i < count; i++)
		deltas[i] = values[i] - values[i - 1];
	deltas[0] = deltas[1];
	delta = spread_of(deltas, count, true);
	if (delta.bits < spread.bits) {
		mode = COLUMN_DELTA;
		spread = delta;
		deltas[0] = spread.least;
		values = deltas;
	}
	for (size_t i = 0; i < count; i++)
		any |= values[i] - spread.least;
	shift = any ? (unsigned int)__builtin_ctzll(any) : 0;
	planes = (value_bits(spread.range >> shift) + 7) / 8;
	put_column_header(mode, planes, shift, spread.least, out);
	if (mode == COLUMN_DELTA)
		trace_buffer_put_u64(out, first - spread.least);
	put_planes(values, count, spread.least, planes, shift, out, cuts);
}

void trace_columns_encode(const struct trace_layout *layout, const void *records, size_t count,
			  __u64 *scratch, struct trace_buffer *out, struct trace_cuts *cuts)
{
	for (size_t i = 0; i < layout->field_count; i++) {
		const struct trace_field *field = &layout->fields[i];

		if (column_gather((const __u8 *)records + field->offset, layout->record_size,
				  field->size, count, scratch))
			put_column(scratch, scratch + count, count, out, cuts);
		else
			put_column_header(COLUMN_PLAIN, 0, 0, count ? scratch[0] : 0, out);
	}
	if (cuts && cuts->count)
		cuts->offsets[cuts->count++] = out->size;
}

int trace_columns_open(struct trace_columns *columns, const struct trace_layout *layout,
		       size_t count, struct trace_cursor *cursor)
{
	columns->layout = layout;
	columns->count = count;
	columns->position = 0;
	for (size_t i = 0; i < layout->field_count; i++) {
		struct trace_column *column = &columns->columns[i];

		column->field = layout->fields[i];
		column->mode = trace_cursor_u8(cursor);
		column->planes = trace_cursor_u8(cursor);
		column->shift = trace_cursor_u8(cursor);
		trace_cursor_u8(cursor);
		column->base = trace_cursor_u64(cursor);
		column->last = column->mode == COLUMN_PLAIN ? 0 : trace_cursor_u64(cursor);
		if (column->mode >= COLUMN_MODES || column->planes > 8 || column->shift > 63)
			return -EBADMSG;
		/* count is bounded by the caller, so the product cannot overflow. */
		column->bytes = trace_cursor_take(cursor, column->planes * count);
		if (cursor->short_of)
			return -EBADMSG;
	}
	return 0;
}

static void decode_values(struct trace_column *column, size_t position, size_t total, size_t n,
			  __u64 *values)
{
	const __u8 *bytes = column->bytes + position;
	__u64 base = column->base, last = column->last;

	for (size_t i = 0; i < n; i++)
		values[i] = base;
	for (unsigned int plane = 0; plane < column->planes; plane++, bytes += total) {
		unsigned int up = column->shift + 8 * plane;

		if (up > 63)
			break; /* only in a forged file: such bits do not exist */
		for (size_t i = 0; i < n; i++)
			values[i] += (__u64)bytes[i] << up;
	}
	if (column->mode == COLUMN_PLAIN)
		return;
	for (size_t i = 0; i < n; i++)
		values[i] = last += values[i];
	column->last = last;
}

static void column_scatter(const __u64 *values, size_t count, size_t size, size_t stride, __u8 *to)
{
	switch (size) {
	case 1:
		for (size_t i = 0; i < count; i++, to += stride)
			*to = (__u8)values[i];
		break;
	case 2:
		for (size_t i = 0; i < count; i++, to += stride)
			*(__u16 *)to = (__u16)values[i];
		break;
	case 4:
		for (size_t i = 0; i < count; i++, to += stride)
			*(__u32 *)to = (__u32)values[i];
		break;
	default:
		for (size_t i = 0; i < count; i++, to += stride)
			*(__u64 *)to = values[i];
	}
}

size_t trace_columns_next(struct trace_columns *columns, void *records)
{
	const struct trace_layout *layout = columns->layout;
	size_t n = columns->count - columns->position;
	__u64 values[TRACE_BLOCK];

	if (n > TRACE_BLOCK)
		n = TRACE_BLOCK;
	for (size_t i = 0; n && i < layout->field_count; i++) {
		struct trace_column *column = &columns->columns[i];

		decode_values(column, columns->position, columns->count, n, values);
		column_scatter(values, n, column->field.size, layout->record_size,
			       (__u8 *)records + column->field.offset);
	}
	columns->position += n;
	return n;
}
