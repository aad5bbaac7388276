// SPDX-License-Identifier: GPL-2.0
#include "lib/output/parquet_footer.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/printable.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

/* Numbers of parquet.thrift. */
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10 };
enum { NANOS = 3 };
enum { ENCODING_LIST_PLAIN = 0, ENCODING_LIST_RLE = 3, ENCODING_LIST_RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };

static const int physical_types[] = {
	[PARQUET_NUMBER] = TYPE_INT64,
	[PARQUET_TIME] = TYPE_INT64,
	[PARQUET_REAL] = TYPE_DOUBLE,
	[PARQUET_TEXT] = TYPE_BYTE_ARRAY,
};

void parquet_file_begin(struct parquet_footer *footer, FILE *file)
{
	footer->rows = footer->group_count = 0;
	footer->bytes = sizeof(magic);
	footer->groups.bytes.used = footer->schema.bytes.used = 0;
	fwrite(magic, 1, sizeof(magic), file);
}

static void put_statistics(struct thrift *out, const struct parquet_column *column,
			   const struct parquet_chunk *chunk)
{
	thrift_begin(out, 12);
	thrift_number(out, 3, THRIFT_I64, (__s64)(column->rows - column->count));
	if (chunk->has_bounds) {
		thrift_binary(out, 5, chunk->most, chunk->most_size);
		thrift_binary(out, 6, chunk->least, chunk->least_size);
		thrift_truth(out, 7, true);
		thrift_truth(out, 8, true);
	}
	thrift_end(out);
}

static void put_chunk(struct thrift *out, const struct parquet_column *column,
		      const struct parquet_chunk *chunk)
{
	thrift_begin(out, 0);
	thrift_number(out, 2, THRIFT_I64, 0);
	thrift_begin(out, 3);
	thrift_number(out, 1, THRIFT_I32, physical_types[column->kind]);
	thrift_list(out, 2, THRIFT_I32, chunk->dictionary_at ? 3 : 2);
	thrift_number(out, 0, THRIFT_I32, ENCODING_LIST_PLAIN);
	thrift_number(out, 0, THRIFT_I32, ENCODING_LIST_RLE);
	if (chunk->dictionary_at)
		thrift_number(out, 0, THRIFT_I32, ENCODING_LIST_RLE_DICTIONARY);
	thrift_list(out, 3, THRIFT_BINARY, 1);
	thrift_text(out, 0, column->name);
	thrift_number(out, 4, THRIFT_I32, CODEC_ZSTD);
	thrift_number(out, 5, THRIFT_I64, (__s64)column->rows);
	thrift_number(out, 6, THRIFT_I64, (__s64)chunk->plain);
	thrift_number(out, 7, THRIFT_I64, (__s64)chunk->stored);
	thrift_number(out, 9, THRIFT_I64, (__s64)chunk->data_at);
	if (chunk->dictionary_at)
		thrift_number(out, 11, THRIFT_I64, (__s64)chunk->dictionary_at);
	put_statistics(out, column, chunk);
	thrift_end(out);
	thrift_end(out);
}

int parquet_file_group(struct parquet_footer *footer, struct parquet_scratch *scratch, FILE *file)
{
	struct thrift *out = &footer->groups;
	size_t rows = footer->columns[0].rows;
	__u64 begin = footer->bytes, plain = 0;

	if (!rows)
		return 0;
	thrift_begin(out, 0);
	thrift_list(out, 1, THRIFT_STRUCT, footer->column_count);
	for (size_t i = 0; i < footer->column_count; i++) {
		struct parquet_column *column = &footer->columns[i];
		struct parquet_chunk chunk;
		int err = parquet_column_write(column, scratch, file, &footer->bytes, &chunk);

		if (err)
			return err;
		plain += chunk.plain;
		put_chunk(out, column, &chunk);
		parquet_column_reset(column);
	}
	thrift_number(out, 2, THRIFT_I64, (__s64)plain);
	thrift_number(out, 3, THRIFT_I64, (__s64)rows);
	thrift_number(out, 5, THRIFT_I64, (__s64)begin);
	thrift_number(out, 6, THRIFT_I64, (__s64)(footer->bytes - begin));
	thrift_end(out);
	footer->group_count++;
	return out->bytes.failed ? -ENOMEM : 0;
}

static void put_logical_type(struct thrift *out, const struct parquet_column *column)
{
	if (column->kind == PARQUET_REAL || (column->kind == PARQUET_TEXT && column->not_utf8))
		return;
	if (column->kind != PARQUET_TIME)
		thrift_number(out, 6, THRIFT_I32,
			      column->kind == PARQUET_TEXT ? CONVERTED_UTF8 : CONVERTED_UINT_64);
	thrift_begin(out, 10);
	if (column->kind == PARQUET_TEXT) {
		thrift_empty(out, LOGICAL_STRING);
	} else if (column->kind == PARQUET_TIME) {
		thrift_begin(out, LOGICAL_TIMESTAMP);
		thrift_truth(out, 1, true);
		thrift_begin(out, 2);
		thrift_empty(out, NANOS);
		thrift_end(out);
		thrift_end(out);
	} else {
		thrift_begin(out, LOGICAL_INTEGER);
		thrift_byte(out, 1, 64);
		thrift_truth(out, 2, false);
		thrift_end(out);
	}
	thrift_end(out);
}

static void put_schema(struct thrift *out, const struct parquet_footer *footer)
{
	thrift_list(out, 2, THRIFT_STRUCT, footer->column_count + 1);
	thrift_begin(out, 0);
	thrift_text(out, 4, "table");
	thrift_number(out, 5, THRIFT_I32, (__s64)footer->column_count);
	thrift_end(out);
	for (size_t i = 0; i < footer->column_count; i++) {
		const struct parquet_column *column = &footer->columns[i];

		thrift_begin(out, 0);
		thrift_number(out, 1, THRIFT_I32, physical_types[column->kind]);
		thrift_number(out, 3, THRIFT_I32, OPTIONAL);
		thrift_text(out, 4, column->name);
		put_logical_type(out, column);
		thrift_end(out);
	}
}

static void put_facts(struct thrift *out, const struct parquet_fact *facts, size_t count)
{
	if (!count)
		return;
	thrift_list(out, 5, THRIFT_STRUCT, count);
	for (size_t i = 0; i < count; i++) {
		bool utf8 = parquet_is_utf8(facts[i].value);

		thrift_begin(out, 0);
		thrift_text(out, 1, facts[i].name);
		thrift_text(out, 2, utf8 ? facts[i].value : printable_of(facts[i].value).text);
		thrift_end(out);
	}
}

int parquet_file_end(struct parquet_footer *footer, const struct parquet_fact *facts,
		     size_t fact_count, FILE *file)
{
	struct thrift *out = &footer->schema;
	__u32 size;

	thrift_begin(out, 0);
	thrift_number(out, 1, THRIFT_I32, 2);
	put_schema(out, footer);
	thrift_number(out, 3, THRIFT_I64, (__s64)footer->rows);
	/* Elements that have been written as they came. */
	thrift_list(out, 4, THRIFT_STRUCT, footer->group_count);
	thrift_add(&out->bytes, footer->groups.bytes.data, footer->groups.bytes.used);
	put_facts(out, facts, fact_count);
	thrift_text(out, 6, "faultline version " FAULTLINE_VERSION);
	/* How bounds are ordered: as the types say. */
	thrift_list(out, 7, THRIFT_STRUCT, footer->column_count);
	for (size_t i = 0; i < footer->column_count; i++) {
		thrift_begin(out, 0);
		thrift_empty(out, 1);
		thrift_end(out);
	}
	thrift_end(out);
	if (out->bytes.failed)
		return -ENOMEM;
	size = (__u32)out->bytes.used;
	fwrite(out->bytes.data, 1, out->bytes.used, file);
	fwrite(&size, 1, sizeof(size), file);
	fwrite(magic, 1, sizeof(magic), file);
	return 0;
}

void parquet_footer_free(struct parquet_footer *footer)
{
	free(footer->columns);
	thrift_free(&footer->groups.bytes);
	thrift_free(&footer->schema.bytes);
}
