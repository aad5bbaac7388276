/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whatever is printable is a table of typed columns, written by one of five writers, or kept as rows.
 *
 * The producer describes the table once (TABLE() below) and gives rows: its own structs, of which every
 * column knows its value. Text, CSV, JSON and Parquet ask the same columns, so they never disagree. Text is at most 80 columns wide with human units; CSV is one
 * table a file, a fixed header "name_unit", plain numbers, RFC 4180 quoting; JSON (jansson) is
 * {"tables":{"NAME":[{"name_unit":value}]}} with numbers as numbers.
 */
#ifndef FAULTLINE_TABLE_H
#define FAULTLINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/stream.h"

enum column_type {
	COLUMN_TEXT,	 /* cell.text, NULL prints as empty */
	COLUMN_COUNT,	 /* cell.count */
	COLUMN_BYTES,	 /* cell.count; unit "bytes" */
	COLUMN_DURATION, /* cell.count in ns; CSV unit "ns" */
	COLUMN_TIME,	/* cell.count in CLOCK_MONOTONIC ns; text and CSV as UTC ISO 8601 with ns */
	COLUMN_ADDRESS, /* cell.count, hexadecimal with 0x */
	COLUMN_REAL,	/* cell.real, NAN prints as empty (CSV) or null (JSON) */
};

#define CELL_NONE UINT64_MAX /* in a count, bytes, duration, time or address cell: empty / null */

union cell {
	const char *text;
	__u64 count;
	double real;
};

/* A number that may not be known. */
static inline __u64 count_if(bool known, __u64 count)
{
	return known ? count : CELL_NONE;
}

/* One that is 0 where it was not seen. */
static inline __u64 count_or_none(__u64 count)
{
	return count_if(count, count);
}

#define CELL_ROOM 512 /* room for a text that a getter makes; one that stays is only pointed to */

/*
 * The value of a column: of a row, within the context of its table (writer_begin_with()). A text may
 * stand in `text`; it is written before the next getter is called.
 */
typedef union cell (*cell_getter)(const void *row, const void *context, char text[CELL_ROOM]);

struct column {
	const char *name; /* lower case with underscores, no unit */
	const char *unit; /* "per_s", "percent", "ns" of a real...; NULL: the type's own or none */
	enum column_type type;
	unsigned int width; /* of the text form; 0: as wide as needed, last column only */
	bool wide;	    /* left out of text output unless it was asked for wide */
	unsigned int whole; /* width in wide output, if that is another */
	cell_getter get;    /* NULL: a row is an array of cells in the order of its columns */
};

struct table {
	const char *name;  /* file name of the CSV without ".csv": "faults", "stages" */
	const char *title; /* heading of the text form */
	const struct column *columns;
	size_t column_count;
};

/*
 * A table whose columns are known when it is compiled: a line a column, with its value.
 *
 *	#define BURSTS(COLUMN)                                             \
 *		COLUMN(device, none, TEXT, 20, SHOWN, name(row->device))   \
 *		COLUMN(peak, per_s, COUNT, 7, WIDE, count_if(context->known, row->peak))
 *	TABLE(bursts, "Bursts", BURSTS, struct burst, struct session)
 *
 * defines bursts_table, a `static const struct table` named "bursts", and bursts_columns, their number.
 * COLUMN(name, unit, type, width, SHOWN or WIDE, value): the value is an expression of the column's type,
 * in which `row` is a const pointer to the row's struct, `context` to the context's, and `text` room for
 * a text. A unit is one of UNIT_ below. The place of TABLE() in its file keeps the names of its getters apart from those of others.
 */
#define TABLE(id, heading, COLUMNS, row_type, context_type)                                   \
	typedef row_type TABLE_PLACE(table_row_, __LINE__);                                   \
	typedef context_type TABLE_PLACE(table_context_, __LINE__);                           \
	COLUMNS(TABLE_GETTER)                                                                 \
	static const struct column TABLE_PLACE(table_columns_,                                \
					       __LINE__)[] = {COLUMNS(TABLE_COLUMN)};         \
	enum {                                                                                \
		id##_columns =                                                                \
			sizeof(TABLE_PLACE(table_columns_, __LINE__)) / sizeof(struct column) \
	};                                                                                    \
	static const struct table id##_table = {                                              \
		#id, heading, TABLE_PLACE(table_columns_, __LINE__), id##_columns};

#define UNIT_none	 NULL
#define UNIT_ns		 "ns"
#define UNIT_s		 "s"
#define UNIT_bytes	 "bytes"
#define UNIT_pages	 "pages"
#define UNIT_events	 "events"
#define UNIT_percent	 "percent"
#define UNIT_per_s	 "per_s"
#define UNIT_bytes_per_s "bytes_per_s"
#define UNIT_bits_per_s	 "bits_per_s"
#define UNIT_ps		 "ps"
#define UNIT_milli	 "milli"
#define UNIT_accesses	 "accesses"
#define UNIT_entries	 "entries"
#define UNIT_tenants	 "tenants"
#define UNIT_per_page	 "per_page"

#define TABLE_JOIN(a, b)  a##b
#define TABLE_PLACE(a, b) TABLE_JOIN(a, b)
#define COLUMN_SHOWN	  false
#define COLUMN_WIDE	  true
#define CELL_OF_TEXT	  text
#define CELL_OF_COUNT	  count
#define CELL_OF_BYTES	  count
#define CELL_OF_DURATION  count
#define CELL_OF_TIME	  count
#define CELL_OF_ADDRESS	  count
#define CELL_OF_REAL	  real

#define TABLE_GETTER(name, unit, type, width, where, value)                             \
	static union cell TABLE_PLACE(get_##name##_##unit##_, __LINE__)(                \
		const void *row_given, const void *context_given, char text[CELL_ROOM]) \
	{                                                                               \
		const TABLE_PLACE(table_row_, __LINE__) *row = row_given;               \
		const TABLE_PLACE(table_context_, __LINE__) *context = context_given;   \
                                                                                        \
		(void)row, (void)context, (void)text;                                   \
		return (union cell){.CELL_OF_##type = (value)};                         \
	}

#define TABLE_COLUMN(name, unit, type, width, where, value) \
	{#name,                                             \
	 UNIT_##unit,                                       \
	 COLUMN_##type,                                     \
	 width,                                             \
	 COLUMN_##where,                                    \
	 0,                                                 \
	 TABLE_PLACE(get_##name##_##unit##_, __LINE__)},

enum output_format {
	OUTPUT_TEXT,
	OUTPUT_CSV,
	OUTPUT_JSON,
	OUTPUT_ROWS, /* into memory: lib/output/rows.h */
	OUTPUT_PARQUET,
	OUTPUT_HTML, /* into `file`, as a part of a page */
};

/* Where tables go. One writer serves many tables, one after the other. */
struct writer;
struct rows;

struct writer_config {
	enum output_format format;
	FILE *file; /* where `path` names no other place; not closed */
	/*
	 * NULL or "-": into `file`, which takes one table as CSV. CSV: a name that ends in ".csv" is
	 * that of a file for one table, any other of a directory for a file a table. JSON: a file.
	 * Parquet: always a directory (lib/output/parquet.c).
	 * Files are made O_EXCL|O_NOFOLLOW, and have their names once they are whole.
	 */
	const char *path;
	const char *only;	   /* write just the table of this name; NULL: all */
	const char *const *inputs; /* files that it never replaces, NULL at the end; NULL: none */
	bool overwrite;		   /* replace regular files of the same names */
	bool growing; /* files have their names at once, for what others read meanwhile */
	bool wide;
	bool raw_time;	   /* COLUMN_TIME as monotonic ns instead of wall-clock */
	struct rows *rows; /* OUTPUT_ROWS: where they go */
	/*
	 * OUTPUT_PARQUET: a table is the file PATH/TABLE/PLACE.parquet, whose folders are made as it is;
	 * NULL: PATH/TABLE.parquet.
	 */
	const char *place;
	size_t most_rows; /* OUTPUT_HTML: of a table; the others are counted; 0: all */
};

int writer_open(struct writer **writer, const struct writer_config *config);
/*
 * Before long work: the names of all tables that will come, NULL at the end. -EINVAL with them if
 * config.only is none of them, -EEXIST if a file of such a name would be in the way.
 */
int writer_announce(struct writer *writer, const char *const *names);
/* An anchor for COLUMN_TIME (lib/base/wall_clock.h); without any, times print as monotonic ns. */
void writer_clock(struct writer *writer, const struct clock_anchor *anchor);
/*
 * Several hosts have rows: writer_host() says whose come next, with a clock, and while a table lasts a context,
 * of its own. A table that one ends and the next begins, by its name, is one. With `column` it has the host's
 * name in a column ahead of all others. Names are borrowed. -ENOMEM.
 */
int writer_hosts(struct writer *writer, const char *const *names, size_t count, bool column);
void writer_host(struct writer *writer, size_t index);
/* Of text: stands ahead of the next sentence or table, if any comes. Borrowed; NULL: none does. */
void writer_heading(struct writer *writer, const char *heading);
/* A sentence for humans (text only): a finding, a caveat, a negative answer. */
int writer_note(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether people read this output, not programs. */
bool writer_is_text(const struct writer *writer);
/* Whether a table of this name is written. */
bool writer_wants(const struct writer *writer, const char *table);
/* A named value outside tables: JSON top level; text "name: value"; CSV: ignored. */
int writer_fact(struct writer *writer, const char *name, const char *value);
/* `context`: what the getters of its columns are given beside the row, until writer_end(). */
int writer_begin_with(struct writer *writer, const struct table *table, const void *context);
int writer_begin(struct writer *writer, const struct table *table);
/* What its columns' getters take it for: the producer's own struct, or an array of cells. */
int writer_row(struct writer *writer, const void *row);
int writer_end(struct writer *writer);
/* An error of the producer's (0: none), with the last failure's sentence: kept as if it were the writer's own. */
void writer_fail(struct writer *writer, int error);
/* The first error so far: producers may go on and ask at the end. */
int writer_error(const struct writer *writer);
/* What was written so far is in the file. */
int writer_flush(struct writer *writer);
/*
 * Flushes, closes what it opened, frees. Returns the first error met by any call, such as -ENOSPC
 * with the path in the sentence, or -ENOENT if config.only named no table that was written.
 */
int writer_close(struct writer *writer);
/* After an error of the producer's: completes nothing, frees. The last failure's sentence stays. */
void writer_abandon(struct writer *writer);

#endif
