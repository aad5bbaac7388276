/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cells of one column in one row group, and their pages. A chunk is a dictionary page, where that makes
 * it smaller, and one data page (version 1), both zstd.
 */
#ifndef FAULTLINE_PARQUET_COLUMN_H
#define FAULTLINE_PARQUET_COLUMN_H

#include <zstd.h>

#include "lib/output/table.h"
#include "lib/output/thrift.h"

#define PARQUET_GROUP_ROWS  65536u	 /* of a row group at most */
#define PARQUET_GROUP_BYTES (16ul << 20) /* of the different texts of one, about */

/* How the values of a column are meant (docs/export.md). */
enum parquet_kind {
	PARQUET_NUMBER, /* INT64, UINT_64 */
	PARQUET_TIME,	/* INT64, TIMESTAMP(NANOS, UTC) */
	PARQUET_REAL,	/* DOUBLE */
	PARQUET_TEXT,	/* BYTE_ARRAY; STRING if all of a file's are UTF-8 */
};

struct parquet_column {
	char name[2 * NAME_TEXT];
	enum parquet_kind kind;
	bool not_utf8;	/* a text of this file is none */
	size_t rows;	/* of this row group */
	size_t count;	/* of them with a value */
	__u8 *present;	/* one a row */
	__u64 *values;	/* numbers, and the bits of reals */
	__u32 *indexes; /* of texts, in the dictionary */
	size_t row_room, value_room, index_room;

	struct thrift_bytes texts; /* each different one, its length ahead: the dictionary page */
	size_t *entries;	   /* where each of them is */
	__u32 *slots;		   /* hash table: 1 + an entry; 0: none */
	size_t entry_count, entry_room, slot_room;
	size_t plain_bytes; /* what the texts would take without a dictionary */
};

/* Shared by all columns: none of it holds anything from one chunk to the next. */
struct parquet_scratch {
	__u32 *slots; /* hash table of the numbers of a chunk */
	__u32 *levels;
	struct thrift_bytes page, packed, dictionary;
	struct thrift header;
	ZSTD_CCtx *zstd;
};

/* What the footer says of a chunk. */
struct parquet_chunk {
	__u64 dictionary_at, data_at; /* in the file; 0: there is no dictionary */
	__u64 stored, plain;	      /* bytes of its pages with their headers */
	bool has_bounds;
	size_t least_size, most_size;
	const void *least, *most; /* valid until the column is reset */
	__u64 bounds[2];	  /* where those of numbers are */
};

/* Of the functions below those that return something return -ENOMEM, with no sentence. */
int parquet_scratch_make(struct parquet_scratch *scratch);
void parquet_scratch_free(struct parquet_scratch *scratch);

int parquet_column_null(struct parquet_column *column);
int parquet_column_number(struct parquet_column *column, __u64 bits);
int parquet_column_text(struct parquet_column *column, const char *text);
bool parquet_is_utf8(const char *text);
/* Begins the next row group. */
void parquet_column_reset(struct parquet_column *column);
void parquet_column_free(struct parquet_column *column);

/* Appends the pages to `file`, of which `at` is the size so far. What stdio meets stays with the file. */
int parquet_column_write(struct parquet_column *column, struct parquet_scratch *scratch, FILE *file,
			 __u64 *at, struct parquet_chunk *chunk);

/* The hybrid of runs and bit-packed groups in which levels and indexes are stored. */
void parquet_runs(struct thrift_bytes *bytes, const __u32 *values, size_t count,
		  unsigned int width);

#endif
