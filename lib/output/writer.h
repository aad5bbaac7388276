/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/output: what the writers share. table.h is the interface.
 *
 * A format implements writer_ops; writer.c checks the order of calls, keeps the first error and
 * knows the recording's clock. Formats write to writer->file with stdio and need not look at its
 * errors: writer.c does after every call.
 */
#ifndef FAULTLINE_WRITER_H
#define FAULTLINE_WRITER_H

#include "lib/base/wall_clock.h"
#include "lib/output/table.h"

struct writer_ops {
	int (*open)(struct writer *writer);
	int (*note)(struct writer *writer, const char *sentence);
	int (*fact)(struct writer *writer, const char *name, const char *value);
	int (*announce)(struct writer *writer, const char *name);
	int (*begin)(struct writer *writer);
	int (*row)(struct writer *writer, const void *row);
	int (*end)(struct writer *writer);
	/* Completes the output; must also free what open() allocated, even after an error. */
	int (*close)(struct writer *writer);
};

extern const struct writer_ops text_writer_ops;
extern const struct writer_ops csv_writer_ops;
extern const struct writer_ops json_writer_ops;
extern const struct writer_ops rows_writer_ops;
extern const struct writer_ops parquet_writer_ops;
extern const struct writer_ops html_writer_ops;

struct writer_host {
	const char *name;
	struct wall_clock clock;
	const void *context; /* of its rows in the current table */
};

struct writer {
	struct writer_config config;
	const struct writer_ops *ops;
	FILE *file;		   /* where the current table goes */
	bool single;		   /* `file` is ours, for all of the output */
	const char *directory;	   /* of a file a table, NULL: there is none */
	const char *path;	   /* its name for sentences */
	const struct table *table; /* the current one, NULL: there is none */
	struct table shown;	   /* what it points to */
	const struct table *given; /* the same as its producer has it: without the column `host` */
	struct column *columns;	   /* of `shown`, if it has that */
	struct writer_host *hosts; /* whose rows there are; `lone`: of one, who has no column */
	struct writer_host lone;
	size_t host_count, host; /* the last: whose rows are written now */
	bool host_column;
	const char *heading; /* that is to come, NULL: none is */
	bool ended;	     /* the table, unless another host has rows of it */
	bool skipped;	     /* the current table is not the one asked for */
	bool told;	     /* something is written */
	bool found;	     /* config.only was seen */
	size_t tables;	     /* begun so far */
	int error;	     /* the first met */
	char sentence[512];
	void *state; /* of the format */
};

/* -EINVAL if a file of this name is one of config.inputs, by whatever name. */
int writer_check_inputs(const struct writer *writer, int directory, const char *name);
/* A new file as the configuration wants it; `path` is for the sentences. */
int writer_create_file(struct writer *writer, int directory, const char *name);
/* Closes it: with its name if it is complete, else, unless it was growing, leaving nothing of it. */
int writer_end_file(struct writer *writer, int directory, const char *name, bool complete);

/* The cell of a column of the current table. */
static inline union cell writer_cell(const struct writer *writer, const void *row, size_t column,
				     char text[CELL_ROOM])
{
	const struct writer_host *host = &writer->hosts[writer->host];
	cell_getter get;

	if (writer->host_column && !column)
		return (union cell){.text = host->name};
	column -= writer->host_column;
	get = writer->given->columns[column].get;
	return get ? get(row, host->context, text) : ((const union cell *)row)[column];
}

/* "name_unit". */
const char *writer_field(const struct writer *writer, const struct column *column, char *text,
			 size_t size);
/* Whether times are written as wall-clock: an anchor is known and raw time was not asked for. */
bool writer_wall_clock(const struct writer *writer);
__u64 writer_realtime(const struct writer *writer, __u64 monotonic_ns);
/* A real in at most ten significant digits with a point, whatever the locale. */
const char *writer_real(double value, char text[40]);

#endif
