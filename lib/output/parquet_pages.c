// SPDX-License-Identifier: GPL-2.0
/* From the cells of a row group to the pages of a column chunk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>

#include "lib/output/parquet_column.h"

#define ZSTD_LEVEL 3
#define SLOTS	   (2ul * PARQUET_GROUP_ROWS)
#define SAMPLE	   4096ul /* numbers of which most differ get no dictionary */

enum page_type { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum page_encoding { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };

int parquet_scratch_make(struct parquet_scratch *scratch)
{
	scratch->slots = malloc(SLOTS * sizeof(*scratch->slots));
	scratch->levels = malloc(PARQUET_GROUP_ROWS * sizeof(*scratch->levels));
	scratch->zstd = ZSTD_createCCtx();
	return scratch->slots && scratch->levels && scratch->zstd ? 0 : -ENOMEM;
}

void parquet_scratch_free(struct parquet_scratch *scratch)
{
	free(scratch->slots);
	free(scratch->levels);
	thrift_free(&scratch->page);
	thrift_free(&scratch->packed);
	thrift_free(&scratch->dictionary);
	thrift_free(&scratch->header.bytes);
	ZSTD_freeCCtx(scratch->zstd);
}

/* Groups of eight values, the last filled up with zeros. */
static void bit_packed(struct thrift_bytes *bytes, const __u32 *values, size_t count,
		       unsigned int width)
{
	size_t groups = (count + 7) / 8;
	__u64 held = 0;
	unsigned int bits = 0;
	__u8 *out;

	if (!count)
		return;
	thrift_varint(bytes, groups << 1 | 1);
	out = thrift_room(bytes, groups * width);
	if (!out)
		return;
	for (size_t i = 0; i < groups * 8; i++) {
		held |= (__u64)(i < count ? values[i] : 0) << bits;
		for (bits += width; bits >= 8; bits -= 8, held >>= 8)
			*out++ = (__u8)held;
	}
	bytes->used += groups * width;
}

void parquet_runs(struct thrift_bytes *bytes, const __u32 *values, size_t count, unsigned int width)
{
	size_t packed = 0, at = 0; /* what is between them is packed with the next run's first */

	while (at < count) {
		size_t run = 1, fill = (8 - (at - packed) % 8) % 8;

		while (at + run < count && values[at + run] == values[at])
			run++;
		if (run < fill + 8) {
			at += run;
			continue;
		}
		bit_packed(bytes, values + packed, at + fill - packed, width);
		thrift_varint(bytes, (run - fill) << 1);
		thrift_add(bytes, &values[at], (width + 7) / 8);
		at += run;
		packed = at;
	}
	bit_packed(bytes, values + packed, count - packed, width);
}

/* Bits of an index; one at least, which every reader takes. */
static unsigned int width_of(size_t entries)
{
	return entries <= 2 ? 1 : 64 - (unsigned int)__builtin_clzll(entries - 1);
}

/* Of the numbers, into scratch: false if they are smaller without. */
static bool number_dictionary(const struct parquet_column *column, struct parquet_scratch *scratch,
			      size_t *entries)
{
	const __u64 *values = column->values, *known;

	*entries = 0;
	scratch->dictionary.used = 0;
	memset(scratch->slots, 0, SLOTS * sizeof(*scratch->slots));
	for (size_t i = 0; i < column->count; i++) {
		size_t at = XXH3_64bits(&values[i], sizeof(values[i])) % SLOTS;

		known = (const __u64 *)(const void *)scratch->dictionary.data;
		while (scratch->slots[at] && known[scratch->slots[at] - 1] != values[i])
			at = (at + 1) % SLOTS;
		if (!scratch->slots[at]) {
			thrift_add(&scratch->dictionary, &values[i], sizeof(values[i]));
			scratch->slots[at] = (__u32)++ * entries;
		}
		if (scratch->dictionary.failed || (i == SAMPLE && *entries > SAMPLE / 4 * 3))
			return false;
		scratch->levels[i] = scratch->slots[at] - 1;
	}
	return *entries * 64 + column->count * width_of(*entries) < column->count * 64;
}

static void take_bounds(struct parquet_chunk *chunk, const void *least, size_t least_size,
			const void *most, size_t most_size)
{
	chunk->has_bounds = true;
	chunk->least = least;
	chunk->least_size = least_size;
	chunk->most = most;
	chunk->most_size = most_size;
}

static void number_bounds(const struct parquet_column *column, struct parquet_chunk *chunk)
{
	__u64 least = column->values[0], most = least;

	/* Of times the order is that of signed numbers, but none is negative. */
	for (size_t i = 1; i < column->count; i++) {
		least = column->values[i] < least ? column->values[i] : least;
		most = column->values[i] > most ? column->values[i] : most;
	}
	chunk->bounds[0] = least;
	chunk->bounds[1] = most;
}

/* There is no NAN among them: it is null. A bound of zero is that of both zeros. */
static void real_bounds(const struct parquet_column *column, struct parquet_chunk *chunk)
{
	double least, most, value;

	memcpy(&least, &column->values[0], sizeof(least));
	most = least;
	for (size_t i = 1; i < column->count; i++) {
		memcpy(&value, &column->values[i], sizeof(value));
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	least = least == 0 ? -0.0 : least;
	most = most == 0 ? 0.0 : most;
	memcpy(&chunk->bounds[0], &least, sizeof(least));
	memcpy(&chunk->bounds[1], &most, sizeof(most));
}

static const __u8 *text_of(const struct parquet_column *column, size_t entry, __u32 *size)
{
	const __u8 *at = column->texts.data + column->entries[entry];

	memcpy(size, at, sizeof(*size));
	return at + sizeof(*size);
}

static int compare_texts(const struct parquet_column *column, size_t a, size_t b)
{
	__u32 sizes[2];
	const __u8 *texts[] = {text_of(column, a, &sizes[0]), text_of(column, b, &sizes[1])};
	int order = memcmp(texts[0], texts[1], sizes[0] < sizes[1] ? sizes[0] : sizes[1]);

	return order ?: (sizes[0] > sizes[1]) - (sizes[0] < sizes[1]);
}

#define BOUND_MOST 64 /* bytes of a text that is worth having in the footer */

static void text_bounds(const struct parquet_column *column, struct parquet_chunk *chunk)
{
	size_t least = 0, most = 0;
	__u32 least_size, most_size;
	const __u8 *first, *last;

	for (size_t i = 1; i < column->entry_count; i++) {
		least = compare_texts(column, i, least) < 0 ? i : least;
		most = compare_texts(column, i, most) > 0 ? i : most;
	}
	first = text_of(column, least, &least_size);
	last = text_of(column, most, &most_size);
	if (least_size <= BOUND_MOST && most_size <= BOUND_MOST)
		take_bounds(chunk, first, least_size, last, most_size);
}

static void find_bounds(const struct parquet_column *column, struct parquet_chunk *chunk)
{
	if (!column->count)
		return;
	if (column->kind == PARQUET_TEXT) {
		text_bounds(column, chunk);
		return;
	}
	if (column->kind == PARQUET_REAL)
		real_bounds(column, chunk);
	else
		number_bounds(column, chunk);
	take_bounds(chunk, &chunk->bounds[0], sizeof(__u64), &chunk->bounds[1], sizeof(__u64));
}

static void page_header(struct thrift *header, enum page_type type, size_t count,
			enum page_encoding encoding, size_t size, const struct thrift_bytes *packed)
{
	header->bytes.used = 0;
	thrift_begin(header, 0);
	thrift_number(header, 1, THRIFT_I32, type);
	thrift_number(header, 2, THRIFT_I32, (__s64)size);
	thrift_number(header, 3, THRIFT_I32, (__s64)packed->used);
	thrift_number(header, 4, THRIFT_I32,
		      (__s32)crc32(0, packed->data, (unsigned int)packed->used));
	thrift_begin(header, type == PAGE_DATA ? 5 : 7);
	thrift_number(header, 1, THRIFT_I32, (__s64)count);
	thrift_number(header, 2, THRIFT_I32, encoding);
	if (type == PAGE_DATA) {
		thrift_number(header, 3, THRIFT_I32, ENCODING_RLE);
		thrift_number(header, 4, THRIFT_I32, ENCODING_RLE);
	}
	thrift_end(header);
	thrift_end(header);
}

/* Compressed, behind its header. */
static int put_page(struct parquet_scratch *scratch, FILE *file, enum page_type type, size_t count,
		    enum page_encoding encoding, const struct thrift_bytes *page,
		    struct parquet_chunk *chunk)
{
	size_t bound = ZSTD_compressBound(page->used), size;
	struct thrift *header = &scratch->header;

	scratch->packed.used = 0;
	if (page->failed || !thrift_room(&scratch->packed, bound))
		return -ENOMEM;
	size = ZSTD_compressCCtx(scratch->zstd, scratch->packed.data, bound, page->data, page->used,
				 ZSTD_LEVEL);
	if (ZSTD_isError(size))
		return -ENOMEM;
	scratch->packed.used = size;
	page_header(header, type, count, encoding, page->used, &scratch->packed);
	if (header->bytes.failed)
		return -ENOMEM;
	fwrite(header->bytes.data, 1, header->bytes.used, file);
	fwrite(scratch->packed.data, 1, size, file);
	chunk->stored += header->bytes.used + size;
	chunk->plain += header->bytes.used + page->used;
	return 0;
}

/* Definition levels, with their size ahead: which rows have a value. */
static void put_levels(const struct parquet_column *column, struct parquet_scratch *scratch)
{
	__u32 size = 0;

	scratch->page.used = 0;
	thrift_add(&scratch->page, &size, sizeof(size));
	for (size_t i = 0; i < column->rows; i++)
		scratch->levels[i] = column->present[i];
	parquet_runs(&scratch->page, scratch->levels, column->rows, 1);
	size = (__u32)(scratch->page.used - sizeof(size));
	if (!scratch->page.failed)
		memcpy(scratch->page.data, &size, sizeof(size));
}

static void put_indexes(struct thrift_bytes *page, const __u32 *indexes, size_t count,
			size_t entries)
{
	__u8 width = (__u8)width_of(entries);

	thrift_add(page, &width, 1);
	parquet_runs(page, indexes, count, width);
}

static void put_plain(const struct parquet_column *column, struct thrift_bytes *page)
{
	if (column->kind != PARQUET_TEXT) {
		thrift_add(page, column->values, column->count * sizeof(*column->values));
		return;
	}
	for (size_t i = 0; i < column->count; i++) {
		__u32 size;
		const __u8 *text = text_of(column, column->indexes[i], &size);

		thrift_add(page, text - sizeof(size), sizeof(size) + size);
	}
}

static bool has_dictionary(const struct parquet_column *column, struct parquet_scratch *scratch,
			   size_t *entries)
{
	if (!column->count)
		return false;
	if (column->kind != PARQUET_TEXT)
		return number_dictionary(column, scratch, entries);
	*entries = column->entry_count;
	return column->texts.used + column->count * width_of(*entries) / 8 < column->plain_bytes;
}

int parquet_column_write(struct parquet_column *column, struct parquet_scratch *scratch, FILE *file,
			 __u64 *at, struct parquet_chunk *chunk)
{
	bool text = column->kind == PARQUET_TEXT, dictionary;
	size_t entries;
	int err;

	*chunk = (struct parquet_chunk){0};
	find_bounds(column, chunk);
	put_levels(column, scratch);
	dictionary = has_dictionary(column, scratch, &entries);
	if (dictionary) {
		chunk->dictionary_at = *at;
		put_indexes(&scratch->page, text ? column->indexes : scratch->levels, column->count,
			    entries);
		err = put_page(scratch, file, PAGE_DICTIONARY, entries, ENCODING_PLAIN,
			       text ? &column->texts : &scratch->dictionary, chunk);
		if (err)
			return err;
	} else {
		put_plain(column, &scratch->page);
	}
	chunk->data_at = *at + chunk->stored;
	err = put_page(scratch, file, PAGE_DATA, column->rows,
		       dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN, &scratch->page,
		       chunk);
	*at += chunk->stored;
	return err;
}
