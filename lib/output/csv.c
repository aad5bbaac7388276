// SPDX-License-Identifier: GPL-2.0
/* CSV after RFC 4180, with plain newlines: one table a file, "name_unit" header, plain numbers. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "lib/output/writer.h"

struct csv {
	int directory; /* -1: everything goes into config.file */
	char name[NAME_TEXT + 8];
	char path[512];
	size_t announced; /* for config.file */
	bool terminal;	  /* the current table goes to one */
};

static int csv_open(struct writer *writer)
{
	struct csv *csv = calloc(1, sizeof(*csv));
	const char *directory = writer->directory;

	if (!csv)
		return failed(-ENOMEM, "no memory for a CSV writer");
	csv->directory = -1;
	if (directory) {
		csv->directory = files_open_directory(directory, true);
		if (csv->directory < 0) {
			int err = csv->directory;

			free(csv);
			return err;
		}
		writer->file = NULL;
	}
	writer->state = csv;
	return 0;
}

static void put_quoted(FILE *file, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, file);
		return;
	}
	putc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', file);
		putc(*text, file);
	}
	putc('"', file);
}

/* A name has its own bytes, so that other tools' words match it; only a terminal gets it escaped. */
static void put_text(const struct writer *writer, const char *text)
{
	const struct csv *csv = writer->state;
	char *copy = csv->terminal ? printable_copy(text) : NULL;

	put_quoted(writer->file, copy ? copy : csv->terminal ? "" : text);
	free(copy);
}

/* What most cells are: without printf(), which takes five times as long. */
static void put_count(const struct writer *writer, __u64 count)
{
	char text[UNITS_TEXT], *at = text + sizeof(text) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + count % 10);
	while (count /= 10);
	fputs(at, writer->file);
}

static void csv_put_cell(const struct writer *writer, enum column_type type, union cell cell)
{
	char text[UNITS_TEXT];

	if (type == COLUMN_TEXT) {
		put_text(writer, cell.text ? cell.text : "");
		return;
	}
	if (type == COLUMN_REAL) {
		if (!isnan(cell.real))
			fputs(writer_real(cell.real, text), writer->file);
		return;
	}
	if (cell.count == CELL_NONE)
		return;
	if (type == COLUMN_TIME && writer_wall_clock(writer))
		fputs(units_format_time(writer_realtime(writer, cell.count), text), writer->file);
	else if (type == COLUMN_ADDRESS)
		fprintf(writer->file, "0x%llx", (unsigned long long)cell.count);
	else
		put_count(writer, cell.count);
}

/* Closes the file of the current table; what could not be completed is removed. */
static int close_table(struct writer *writer, bool complete)
{
	struct csv *csv = writer->state;

	if (csv->directory < 0 || !writer->file)
		return 0;
	return writer_end_file(writer, csv->directory, csv->name, complete);
}

static int create_table(struct writer *writer)
{
	struct csv *csv = writer->state;

	snprintf(csv->name, sizeof(csv->name), "%s.csv", writer->table->name);
	snprintf(csv->path, sizeof(csv->path), "%s/%s", writer->directory, csv->name);
	writer->path = csv->path;
	return writer_create_file(writer, csv->directory, csv->name);
}

static int several_tables(const char *name)
{
	return failed(-EINVAL,
		      "CSV holds one table a file and this output has several: "
		      "name a directory (--csv=DIR) or one table (--table %s)",
		      name);
}

static int csv_announce(struct writer *writer, const char *name)
{
	struct csv *csv = writer->state;
	char file[sizeof(csv->name)];

	if (csv->directory < 0 && csv->announced++)
		return several_tables(name);
	if (csv->directory >= 0 && faccessat(csv->directory, ".", W_OK, AT_EACCESS))
		return failed(-errno, "%s: cannot be written to: %s", writer->directory,
			      strerror(errno));
	snprintf(file, sizeof(file), "%s.csv", name);
	if (csv->directory >= 0) {
		int err = writer_check_inputs(writer, csv->directory, file);

		if (err)
			return err;
	}
	if (csv->directory < 0 || writer->config.overwrite ||
	    faccessat(csv->directory, file, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	return failed(-EEXIST, "%s/%s: exists already; choose another name or remove it",
		      writer->directory, file);
}

static int csv_begin(struct writer *writer)
{
	const struct table *table = writer->table;
	struct csv *csv = writer->state;
	char field[2 * NAME_TEXT];

	if (csv->directory >= 0) {
		int err = create_table(writer);

		if (err)
			return err;
	} else if (writer->tables > 1) {
		return several_tables(table->name);
	}
	csv->terminal = isatty(fileno(writer->file));
	for (size_t i = 0; i < table->column_count; i++) {
		if (i)
			putc(',', writer->file);
		put_text(writer, writer_field(writer, &table->columns[i], field, sizeof(field)));
	}
	putc('\n', writer->file);
	return 0;
}

static int csv_row(struct writer *writer, const void *row)
{
	const struct table *table = writer->table;
	char text[CELL_ROOM];

	for (size_t i = 0; i < table->column_count; i++) {
		if (i)
			putc(',', writer->file);
		csv_put_cell(writer, table->columns[i].type, writer_cell(writer, row, i, text));
	}
	putc('\n', writer->file);
	return 0;
}

static int csv_end(struct writer *writer)
{
	return close_table(writer, true);
}

static int csv_close(struct writer *writer)
{
	struct csv *csv = writer->state;

	close_table(writer, false);
	if (csv->directory >= 0)
		close(csv->directory);
	free(csv);
	return 0;
}

const struct writer_ops csv_writer_ops = {
	.open = csv_open,
	.announce = csv_announce,
	.begin = csv_begin,
	.row = csv_row,
	.end = csv_end,
	.close = csv_close,
};
