/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whatever is printable is a table of typed columns, written by one of three writers, or kept as rows.
 *
 * The producer describes the table once and gives rows of cells; text, CSV and JSON come from the
 * same rows, so they never disagree. Text is at most 80 columns wide with human units; CSV is one
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

struct column {
	const char *name; /* lower case with underscores, no unit */
	const char *unit; /* "per_s", "percent", "ns" of a real...; NULL: the type's own or none */
	enum column_type type;
	unsigned int width; /* of the text form; 0: as wide as needed, last column only */
	bool wide;	    /* left out of text output unless it was asked for wide */
	unsigned int whole; /* width in wide output, if that is another */
};

struct table {
	const char *name;  /* file name of the CSV without ".csv": "faults", "stages" */
	const char *title; /* heading of the text form */
	const struct column *columns;
	size_t column_count;
};

union cell {
	const char *text;
	__u64 count;
	double real;
};

/* A number that may not be known. */
static inline union cell cell_if(bool known, __u64 count)
{
	return (union cell){.count = known ? count : CELL_NONE};
}

enum output_format {
	OUTPUT_TEXT,
	OUTPUT_CSV,
	OUTPUT_JSON,
	OUTPUT_ROWS, /* into memory: lib/output/rows.h */
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
};

int writer_open(struct writer **writer, const struct writer_config *config);
/*
 * Before long work: the names of all tables that will come, NULL at the end. -EINVAL with them if
 * config.only is none of them, -EEXIST if a file of such a name would be in the way.
 */
int writer_announce(struct writer *writer, const char *const *names);
/* An anchor for COLUMN_TIME (lib/base/wall_clock.h); without any, times print as monotonic ns. */
void writer_clock(struct writer *writer, const struct clock_anchor *anchor);
/* A sentence for humans (text only): a finding, a caveat, a negative answer. */
int writer_note(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether people read this output, not programs. */
bool writer_is_text(const struct writer *writer);
/* Whether a table of this name is written. */
bool writer_wants(const struct writer *writer, const char *table);
/* A named value outside tables: JSON top level; text "name: value"; CSV: ignored. */
int writer_fact(struct writer *writer, const char *name, const char *value);
int writer_begin(struct writer *writer, const struct table *table);
int writer_row(struct writer *writer, const union cell *cells);
int writer_end(struct writer *writer);
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
