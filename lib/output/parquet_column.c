// SPDX-License-Identifier: GPL-2.0
/* What the rows put in. parquet_pages.c writes it. */
#include "lib/output/parquet_column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/array.h"
#include "lib/base/printable.h"

#define LENGTH sizeof(__u32) /* ahead of each text */

static int parquet_column_row(struct parquet_column *column, bool present)
{
	if (!array_grow(&column->present, &column->row_room, column->rows + 1, 1, ARRAY_PLAIN))
		return -ENOMEM;
	column->present[column->rows++] = present;
	return 0;
}

int parquet_column_null(struct parquet_column *column)
{
	return parquet_column_row(column, false);
}

int parquet_column_number(struct parquet_column *column, __u64 bits)
{
	if (!array_grow(&column->values, &column->value_room, column->count + 1, sizeof(__u64),
			ARRAY_PLAIN))
		return -ENOMEM;
	column->values[column->count++] = bits;
	return parquet_column_row(column, true);
}

bool parquet_is_utf8(const char *text)
{
	__u32 character;
	size_t size;

	while ((size = utf8_character(text, &character)))
		text += size;
	return !*text;
}

/* The slot of this text, or the free one that it gets. */
static __u32 *text_slot(const struct parquet_column *column, const void *text, __u32 size)
{
	size_t mask = column->slot_room - 1, at = XXH3_64bits(text, size) & mask;

	for (; column->slots[at]; at = (at + 1) & mask) {
		const __u8 *entry = column->texts.data + column->entries[column->slots[at] - 1];

		if (!memcmp(entry, &size, LENGTH) && !memcmp(entry + LENGTH, text, size))
			break;
	}
	return &column->slots[at];
}

static int grow_slots(struct parquet_column *column)
{
	size_t room = column->slot_room ? 2 * column->slot_room : 64;
	__u32 *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(column->slots);
	column->slots = slots;
	column->slot_room = room;
	for (size_t i = 0; i < column->entry_count; i++) {
		const __u8 *entry = column->texts.data + column->entries[i];
		__u32 size;

		memcpy(&size, entry, LENGTH);
		*text_slot(column, entry + LENGTH, size) = (__u32)i + 1;
	}
	return 0;
}

static int add_text(struct parquet_column *column, __u32 *slot, const char *text, __u32 size)
{
	if (!array_grow(&column->entries, &column->entry_room, column->entry_count + 1,
			sizeof(*column->entries), ARRAY_PLAIN))
		return -ENOMEM;
	column->entries[column->entry_count++] = column->texts.used;
	*slot = (__u32)column->entry_count;
	thrift_add(&column->texts, &size, LENGTH);
	thrift_add(&column->texts, text, size);
	column->not_utf8 |= !parquet_is_utf8(text);
	return column->texts.failed ? -ENOMEM : 0;
}

int parquet_column_text(struct parquet_column *column, const char *text)
{
	size_t length = strlen(text);
	__u32 *slot;
	int err = 0;

	/* A page's size is an int32. */
	if (length > PARQUET_GROUP_BYTES)
		return -ENOMEM;
	if (2 * (column->entry_count + 1) > column->slot_room)
		err = grow_slots(column);
	if (err || !array_grow(&column->indexes, &column->index_room, column->count + 1,
			       sizeof(*column->indexes), ARRAY_PLAIN))
		return -ENOMEM;
	slot = text_slot(column, text, (__u32)length);
	if (!*slot)
		err = add_text(column, slot, text, (__u32)length);
	column->indexes[column->count++] = *slot - 1;
	column->plain_bytes += LENGTH + length;
	return err ?: parquet_column_row(column, true);
}

void parquet_column_reset(struct parquet_column *column)
{
	column->rows = column->count = column->entry_count = 0;
	column->texts.used = column->plain_bytes = 0;
	if (column->slots)
		memset(column->slots, 0, column->slot_room * sizeof(*column->slots));
}

void parquet_column_free(struct parquet_column *column)
{
	free(column->present);
	free(column->values);
	free(column->indexes);
	free(column->entries);
	free(column->slots);
	thrift_free(&column->texts);
}
