// SPDX-License-Identifier: GPL-2.0
/*
 * Parquet (https://parquet.apache.org/docs/file-format): a file a table, with a folder of the table's name
 * around it, so that all files of a table are read as one. Row groups are written as they fill, the schema behind
 * them. What each type of column becomes, and why: docs/export.md.
 *
 * The facts (writer_fact()) are in the footer of every file, and the rows of one more table, "facts".
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/output/parquet_footer.h"
#include "lib/output/writer.h"

struct parquet {
	int directory; /* of all tables */
	int folder;    /* of the current one's file; -1: none is open */
	const char *file;
	char path[PATH_MAX];
	struct parquet_footer footer;
	struct parquet_scratch scratch;
	size_t column_room;
	struct parquet_fact *facts;
	size_t fact_count, fact_room;
};

#define FACTS(COLUMN)                                  \
	COLUMN(fact, none, TEXT, 16, SHOWN, row->name) \
	COLUMN(value, none, TEXT, 0, SHOWN, row->value)
TABLE(facts, "What was exported", FACTS, struct parquet_fact, void)

static int no_memory_for_columns(const struct writer *writer)
{
	return failed(-ENOMEM, "no memory to write %s as Parquet",
		      writer->table ? writer->table->name : writer->directory);
}

static int parquet_open(struct writer *writer)
{
	struct parquet *parquet = calloc(1, sizeof(*parquet));

	if (!parquet || parquet_scratch_make(&parquet->scratch)) {
		if (parquet)
			parquet_scratch_free(&parquet->scratch);
		free(parquet);
		return no_memory_for_columns(writer);
	}
	parquet->folder = -1;
	parquet->directory = files_open_directory(writer->directory, true);
	if (parquet->directory < 0) {
		int err = parquet->directory;

		parquet_scratch_free(&parquet->scratch);
		free(parquet);
		return err;
	}
	writer->state = parquet;
	return 0;
}

static int parquet_fact(struct writer *writer, const char *name, const char *value)
{
	struct parquet *parquet = writer->state;
	struct parquet_fact fact = {strdup(name), strdup(value)};

	if (fact.name && fact.value &&
	    array_grow(&parquet->facts, &parquet->fact_room, parquet->fact_count + 1, sizeof(fact),
		       ARRAY_PLAIN)) {
		parquet->facts[parquet->fact_count++] = fact;
		return 0;
	}
	free(fact.name);
	free(fact.value);
	return no_memory_for_columns(writer);
}

/* Below the directory of all tables. */
static int parquet_name(const struct writer *writer, const char *table, char name[PATH_MAX])
{
	const char *place = writer->config.place;

	if (snprintf(name, PATH_MAX, "%s%s%s.parquet", table, place ? "/" : "",
		     place ? place : "") < PATH_MAX)
		return 0;
	return failed(-ENAMETOOLONG, "%s/%s: the path is too long", writer->directory, table);
}

static int parquet_announce(struct writer *writer, const char *table)
{
	struct parquet *parquet = writer->state;
	char name[PATH_MAX];
	int err = parquet_name(writer, table, name);

	if (!err)
		err = writer_check_inputs(writer, parquet->directory, name);
	if (!err && faccessat(parquet->directory, ".", W_OK, AT_EACCESS))
		err = failed(-errno, "%s: cannot be written to: %s", writer->directory,
			     strerror(errno));
	if (err || writer->config.overwrite ||
	    faccessat(parquet->directory, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return err;
	return failed(-EEXIST, "%s/%s: exists already; --force replaces it", writer->directory,
		      name);
}

/* The folder of this name, made if it is missing; never through a link. Closes `above`. */
static int enter_folder(int above, const char *name, const char *path)
{
	int fd = -1;

	if (mkdirat(above, name, 0777) && errno != EEXIST)
		fd = failed(-errno, "%s: cannot create folder %s: %s", path, name, strerror(errno));
	else if ((fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		fd = failed(-errno, "%s: cannot open folder %s: %s", path, name, strerror(errno));
	close(above);
	return fd;
}

/* Its folders, one by one, and the file in the last of them. */
static int create_parquet(struct writer *writer)
{
	struct parquet *parquet = writer->state;
	char name[PATH_MAX], *at = name, *slash;
	int err = parquet_name(writer, writer->table->name, name), folder;

	if (err)
		return err;
	if (snprintf(parquet->path, sizeof(parquet->path), "%s/%s", writer->directory, name) >=
	    PATH_MAX)
		return failed(-ENAMETOOLONG, "%s: the path is too long", writer->directory);
	writer->path = parquet->path;
	folder = fcntl(parquet->directory, F_DUPFD_CLOEXEC, 0);
	if (folder < 0)
		return failed(-errno, "%s: %s", writer->directory, strerror(errno));
	for (; (slash = strchr(at, '/')); at = slash + 1) {
		*slash = '\0';
		folder = enter_folder(folder, at, parquet->path);
		if (folder < 0)
			return folder;
	}
	parquet->file = strrchr(parquet->path, '/') + 1;
	err = writer_create_file(writer, folder, parquet->file);
	if (err)
		close(folder);
	else
		parquet->folder = folder;
	return err;
}

static int end_file(struct writer *writer, bool complete)
{
	struct parquet *parquet = writer->state;
	int err;

	if (parquet->folder < 0)
		return 0;
	err = writer_end_file(writer, parquet->folder, parquet->file, complete);
	close(parquet->folder);
	parquet->folder = -1;
	return err;
}

static enum parquet_kind parquet_kind_of(const struct writer *writer, const struct column *column)
{
	switch (column->type) {
	case COLUMN_TEXT:
		return PARQUET_TEXT;
	case COLUMN_REAL:
		return PARQUET_REAL;
	case COLUMN_TIME:
		return writer_wall_clock(writer) ? PARQUET_TIME : PARQUET_NUMBER;
	default:
		return PARQUET_NUMBER;
	}
}

static int make_columns(struct writer *writer)
{
	struct parquet *parquet = writer->state;
	struct parquet_footer *footer = &parquet->footer;
	size_t count = writer->table->column_count;

	if (!array_grow(&footer->columns, &parquet->column_room, count, sizeof(*footer->columns),
			ARRAY_ZEROED))
		return no_memory_for_columns(writer);
	footer->column_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct column *column = &writer->table->columns[i];
		struct parquet_column *c = &footer->columns[i];

		parquet_column_reset(c);
		c->not_utf8 = false;
		c->kind = parquet_kind_of(writer, column);
		writer_field(writer, column, c->name, sizeof(c->name));
	}
	return 0;
}

static int parquet_begin(struct writer *writer)
{
	struct parquet *parquet = writer->state;
	int err = create_parquet(writer);

	if (!err)
		err = make_columns(writer);
	if (!err)
		parquet_file_begin(&parquet->footer, writer->file);
	return err;
}

static int put_cell(const struct writer *writer, struct parquet_column *column, union cell cell)
{
	__u64 bits;

	switch (column->kind) {
	case PARQUET_TEXT:
		return cell.text ? parquet_column_text(column, cell.text)
				 : parquet_column_null(column);
	case PARQUET_REAL:
		memcpy(&bits, &cell.real, sizeof(bits));
		return isnan(cell.real) ? parquet_column_null(column)
					: parquet_column_number(column, bits);
	case PARQUET_TIME:
		bits = cell.count == CELL_NONE ? CELL_NONE : writer_realtime(writer, cell.count);
		/* What is after the year 2262 has no timestamp. */
		return bits > INT64_MAX ? parquet_column_null(column)
					: parquet_column_number(column, bits);
	default:
		return cell.count == CELL_NONE ? parquet_column_null(column)
					       : parquet_column_number(column, cell.count);
	}
}

static int parquet_row(struct writer *writer, const void *row)
{
	struct parquet *parquet = writer->state;
	struct parquet_footer *footer = &parquet->footer;
	char text[CELL_ROOM];
	size_t bytes = 0;
	int err = 0;

	for (size_t i = 0; !err && i < footer->column_count; i++) {
		err = put_cell(writer, &footer->columns[i], writer_cell(writer, row, i, text));
		bytes += footer->columns[i].texts.used;
	}
	footer->rows++;
	if (!err && (footer->columns[0].rows >= PARQUET_GROUP_ROWS || bytes >= PARQUET_GROUP_BYTES))
		err = parquet_file_group(footer, &parquet->scratch, writer->file);
	return err ? no_memory_for_columns(writer) : 0;
}

static int parquet_end(struct writer *writer)
{
	struct parquet *parquet = writer->state;

	if (parquet_file_group(&parquet->footer, &parquet->scratch, writer->file) ||
	    parquet_file_end(&parquet->footer, parquet->facts, parquet->fact_count, writer->file))
		return no_memory_for_columns(writer);
	return end_file(writer, true);
}

/* The facts are known when all else is written. */
static int write_facts(struct writer *writer)
{
	struct parquet *parquet = writer->state;
	int err;

	writer->given = writer->table = &facts_table;
	err = parquet_begin(writer);
	for (size_t i = 0; !err && i < parquet->fact_count; i++)
		err = parquet_row(writer, &parquet->facts[i]);
	return err ?: parquet_end(writer);
}

static int parquet_close(struct writer *writer)
{
	struct parquet *parquet = writer->state;
	int err = 0;

	end_file(writer, false);
	if (!writer->error && parquet->fact_count && writer_wants(writer, facts_table.name))
		err = write_facts(writer);
	end_file(writer, false);
	close(parquet->directory);
	for (size_t i = 0; i < parquet->column_room; i++)
		parquet_column_free(&parquet->footer.columns[i]);
	for (size_t i = 0; i < parquet->fact_count; i++) {
		free(parquet->facts[i].name);
		free(parquet->facts[i].value);
	}
	free(parquet->facts);
	parquet_footer_free(&parquet->footer);
	parquet_scratch_free(&parquet->scratch);
	free(parquet);
	return err;
}

const struct writer_ops parquet_writer_ops = {
	.open = parquet_open,
	.fact = parquet_fact,
	.announce = parquet_announce,
	.begin = parquet_begin,
	.row = parquet_row,
	.end = parquet_end,
	.close = parquet_close,
};
