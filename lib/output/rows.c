// SPDX-License-Identifier: GPL-2.0
#include "lib/output/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/output/writer.h"

static int rows_no_memory(const struct rows *rows)
{
	return failed(-ENOMEM, "no memory for the rows of table %s", rows->table.name);
}

/* The columns may be the producer's local variables. */
static int rows_begin(struct writer *writer)
{
	struct rows *rows = writer->config.rows;
	size_t bytes = writer->table->column_count * sizeof(*rows->columns);
	struct column *columns = realloc(rows->columns, bytes);

	rows->table = *writer->table;
	rows->count = rows->text_used = 0;
	if (!columns)
		return rows_no_memory(rows);
	memcpy(columns, writer->table->columns, bytes);
	for (size_t i = 0; i < writer->table->column_count; i++)
		columns[i].get = NULL;
	rows->columns = columns;
	rows->table.columns = columns;
	return 0;
}

/* Until the table ends a text cell is the place of its text, which may still move. */
static int keep_text(struct rows *rows, union cell *cell, const char *text)
{
	size_t length = strlen(text) + 1;

	if (!array_grow(&rows->text, &rows->text_room, rows->text_used + length, 1, ARRAY_PLAIN))
		return rows_no_memory(rows);
	memcpy(rows->text + rows->text_used, text, length);
	cell->count = rows->text_used;
	rows->text_used += length;
	return 0;
}

static int rows_add(struct writer *writer, const void *from)
{
	struct rows *rows = writer->config.rows;
	size_t columns = rows->table.column_count;
	char text[CELL_ROOM];
	union cell *row;
	int error = 0;

	if (!array_grow(&rows->cells, &rows->cell_room, (rows->count + 1) * columns,
			sizeof(*rows->cells), ARRAY_PLAIN))
		return rows_no_memory(rows);
	row = rows->cells + rows->count * columns;
	for (size_t i = 0; !error && i < columns; i++) {
		row[i] = writer_cell(writer, from, i, text);
		if (rows->columns[i].type == COLUMN_TEXT)
			error = keep_text(rows, &row[i], row[i].text ?: "");
	}
	rows->count += !error;
	return error;
}

static int rows_end(struct writer *writer)
{
	struct rows *rows = writer->config.rows;
	size_t columns = rows->table.column_count;

	for (size_t i = 0; i < rows->count * columns; i++)
		if (rows->columns[i % columns].type == COLUMN_TEXT)
			rows->cells[i].text = rows->text + rows->cells[i].count;
	return 0;
}

const struct writer_ops rows_writer_ops = {
	.begin = rows_begin,
	.row = rows_add,
	.end = rows_end,
};

int rows_writer(struct writer **writer, struct rows *rows)
{
	const struct writer_config config = {.format = OUTPUT_ROWS, .rows = rows};

	return writer_open(writer, &config);
}

int rows_copy(struct rows *to, const struct rows *from)
{
	size_t columns = from->table.column_count, cells = from->count * columns;
	struct column *heads = realloc(to->columns, (columns + 1) * sizeof(*heads));

	to->count = 0;
	if (!heads)
		return rows_no_memory(from);
	to->columns = heads;
	if (!array_grow(&to->cells, &to->cell_room, cells, sizeof(*to->cells), ARRAY_PLAIN) ||
	    !array_grow(&to->text, &to->text_room, from->text_used, 1, ARRAY_PLAIN))
		return rows_no_memory(from);
	to->table = from->table;
	to->table.columns = heads;
	to->count = from->count;
	to->text_used = from->text_used;
	if (columns)
		memcpy(heads, from->columns, columns * sizeof(*heads));
	if (from->text_used)
		memcpy(to->text, from->text, from->text_used);
	for (size_t i = 0; i < cells; i++) {
		to->cells[i] = from->cells[i];
		if (heads[i % columns].type == COLUMN_TEXT)
			to->cells[i].text = to->text + (from->cells[i].text - from->text);
	}
	return 0;
}

void rows_free(struct rows *rows)
{
	free(rows->cells);
	free(rows->columns);
	free(rows->text);
	memset(rows, 0, sizeof(*rows));
}

size_t rows_column(const struct rows *rows, const char *name)
{
	size_t i = 0;

	while (i < rows->table.column_count && strcmp(rows->columns[i].name, name) != 0)
		i++;
	return i;
}

const union cell *rows_row(const struct rows *rows, size_t index)
{
	return rows->cells + index * rows->table.column_count;
}
