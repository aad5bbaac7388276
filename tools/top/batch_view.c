// SPDX-License-Identifier: GPL-2.0
#include "tools/top/batch_view.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/floor.h"
#include "lib/base/fail.h"
#include "tools/top/draw.h"
#include "tools/top/format.h"

#define TEXT_COLUMNS 80

struct batch_view {
	const struct view *view;
	struct writer *writer;
	FILE *file; /* of text */
	bool text;
	bool begun;
	bool told;
	struct table table;
	/* time, those of the view's table, its rates, loss */
	struct column *columns;
	size_t column_count, of_table;
	union cell *cells;
	char (*names)[NAME_TEXT]; /* of the rates */
	struct canvas canvas;
};

int batch_view_open(struct batch_view **batch, const struct view *view, struct writer *writer,
		    FILE *file, bool text)
{
	struct batch_view *b = calloc(1, sizeof(*b));

	*batch = b;
	if (!b)
		return failed(-ENOMEM, "no memory for the output");
	*b = (struct batch_view){.view = view, .writer = writer, .file = file, .text = text};
	return 0;
}

static void add_column(struct batch_view *b, struct column column)
{
	b->columns[b->column_count++] = column;
}

/* The table is known once the first rows have come. */
static int batch_view_begin(struct batch_view *b, const struct rows *rows)
{
	size_t most = rows->table.column_count + VIEW_COLUMNS + 5;

	b->columns = calloc(most, sizeof(*b->columns));
	b->cells = calloc(most, sizeof(*b->cells));
	b->names = calloc(VIEW_COLUMNS, sizeof(*b->names));
	if (!b->columns || !b->cells || !b->names)
		return failed(-ENOMEM, "no memory for the output");
	add_column(b, (struct column){"time", NULL, COLUMN_TIME, 30, true});
	for (size_t c = 0; c < rows->table.column_count; c++)
		add_column(b, rows->columns[c]);
	b->of_table = b->column_count;
	for (size_t i = 0; i < view_column_count(b->view); i++) {
		if (b->view->columns[i].value != VIEW_RATE)
			continue;
		snprintf(b->names[i], NAME_TEXT, "%s_rate", b->view->columns[i].column);
		add_column(b, (struct column){b->names[i], "per_s", COLUMN_REAL, 9, true});
	}
	add_column(b, (struct column){"lost", "events", COLUMN_COUNT, 11, true});
	add_column(b, (struct column){"floor", NULL, COLUMN_TEXT, 20, true});
	add_column(b, (struct column){"self_cpu", "percent", COLUMN_REAL, 9, true});
	add_column(b, (struct column){"self_memory", NULL, COLUMN_BYTES, 11, true});
	b->table = (struct table){
		.name = b->view->name, .columns = b->columns, .column_count = b->column_count};
	b->begun = true;
	return writer_begin(b->writer, &b->table);
}

static union cell no_value(enum column_type type)
{
	if (type == COLUMN_TEXT)
		return (union cell){.text = ""};
	return type == COLUMN_REAL ? (union cell){.real = NAN} : (union cell){.count = CELL_NONE};
}

/* `row` beyond the last: an interval in which there was nothing. */
static int batch_view_write_row(struct batch_view *b, const struct top_model *model, size_t row)
{
	const struct view_table *table = &model->table;
	bool none = row >= table->rows.count;
	char floor[FLOOR_TEXT];
	size_t at = 0;

	b->cells[at++].count = model->now_ns;
	for (; at < b->of_table; at++)
		b->cells[at] =
			none ? no_value(b->columns[at].type) : rows_row(&table->rows, row)[at - 1];
	for (size_t i = 0; i < view_column_count(b->view); i++) {
		enum column_type type;

		if (b->view->columns[i].value == VIEW_RATE)
			b->cells[at++] = none ? no_value(COLUMN_REAL)
					      : view_cell(table, row, &b->view->columns[i], &type);
	}
	b->cells[at++].count = top_lost(&model->summary.loss);
	b->cells[at++].text = floor_text(model->summary.floor, floor);
	b->cells[at++].real = model->self_cpu_percent;
	b->cells[at].count = model->self_memory_bytes;
	return writer_row(b->writer, b->cells);
}

/* Which paths are watched is told once, as it does not change. */
static int batch_view_write_nothing(struct batch_view *b, const struct top_model *model)
{
	int error = writer_note(b->writer, "%s.", b->view->nothing);

	for (int i = 0; i < VIEW_PATHS && b->view->paths[i] != PATH_NONE && !b->told; i++)
		if (!error && model->watched[b->view->paths[i]] != WATCHED_UNKNOWN)
			error = writer_note(b->writer, "%s: %s", path_name(b->view->paths[i]),
					    watched_state_name(model->watched[b->view->paths[i]]));
	b->told = true;
	return error;
}

static int batch_view_write_text(struct batch_view *b, const struct top_model *model,
				 const __u32 *order, size_t count)
{
	const struct top_view view = {.view = model->view, .sort = UINT_MAX};
	struct layout_wish wish = {0};
	struct layout layout;
	char line[TEXT_COLUMNS + 1];
	int rows = (int)count + 1;

	if (!count)
		return batch_view_write_nothing(b, model);
	if (canvas_resize(&b->canvas, rows, TEXT_COLUMNS))
		return failed(-ENOMEM, "no memory for %zu rows", count);
	draw_view_wish(model, &wish);
	layout_main(&layout, LAYOUT_MIN_ROWS, TEXT_COLUMNS, &wish);
	layout.table_head = (struct rectangle){0, 0, 1, TEXT_COLUMNS};
	layout.table = (struct rectangle){1, 0, rows - 1, TEXT_COLUMNS};
	draw_view(&b->canvas, &(struct top_picture){.model = model,
						    .view = &view,
						    .layout = &layout,
						    .order = order,
						    .count = count,
						    .selected = -1});
	for (int row = 0; row < rows; row++) {
		canvas_read_row(&b->canvas, row, line, sizeof(line));
		fprintf(b->file, "%s\n", line);
	}
	return 0;
}

int batch_view_interval(struct batch_view *b, const struct top_model *model, const __u32 *order,
			size_t count)
{
	int error = 0;

	if (b->text)
		return batch_view_write_text(b, model, order, count);
	if (!b->begun)
		error = batch_view_begin(b, &model->table.rows);
	for (size_t i = 0; !error && i < count; i++)
		error = batch_view_write_row(b, model, order[i]);
	return error || count ? error : batch_view_write_row(b, model, SIZE_MAX);
}

int batch_view_close(struct batch_view *b)
{
	int error = 0;

	if (!b)
		return 0;
	if (b->begun)
		error = writer_end(b->writer);
	canvas_free(&b->canvas);
	free(b->columns);
	free(b->cells);
	free(b->names);
	free(b);
	return error;
}
