// SPDX-License-Identifier: GPL-2.0
/* The screens of views that are tables: rows, and one row with what belongs to it. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/top/draw.h"
#include "tools/top/format.h"

#define CELL_TEXT 512
#define WORD_MOST 40 /* a wider cell does not get its wish; details show it whole */

static bool draw_view_left_aligned(const struct top_model *model, const struct view_column *column)
{
	size_t c = rows_column(&model->table.rows, column->column);
	enum column_type type = COLUMN_COUNT;

	if (column->value == VIEW_AS_IS && c < model->table.rows.table.column_count)
		type = model->table.rows.columns[c].type;
	return type == COLUMN_TEXT || type == COLUMN_TIME;
}

void draw_view_wish(const struct top_model *model, struct layout_wish *wish)
{
	const struct view *view = views[model->view];

	wish->column_count = (int)view_column_count(view);
	for (int i = 0; i < wish->column_count; i++) {
		const struct view_column *column = &view->columns[i];
		struct layout_column *want = &wish->columns[i];
		char text[CELL_TEXT];

		*want = (struct layout_column){.least = column->least, .rank = column->rank};
		for (size_t row = 0; row < model->table.rows.count; row++) {
			int length =
				(int)strlen(view_text(&model->table, row, column,
						      model->summary.clock, text, sizeof(text)));

			if (length > want->wish)
				want->wish = length < WORD_MOST ? length : WORD_MOST;
		}
	}
}

static void draw_cell(struct canvas *canvas, int row, const struct column_place *place, bool left,
		      enum style style, const char *text)
{
	if (left)
		canvas_text(canvas, row, place->column, place->width, style, text);
	else
		canvas_right(canvas, row, place->column, place->width, style, text);
}

static enum style style_of(const struct view_table *table, size_t row,
			   const struct view_column *column)
{
	enum column_type type;
	union cell cell = view_cell(table, row, column, &type);
	double value = type == COLUMN_REAL ? cell.real : (double)cell.count;

	if (type == COLUMN_TEXT || isnan(value) || (type != COLUMN_REAL && cell.count == CELL_NONE))
		return STYLE_PLAIN;
	if (column->bad && value >= (double)column->bad)
		return STYLE_BAD;
	return column->strong && value >= (double)column->strong ? STYLE_STRONG : STYLE_PLAIN;
}

static void draw_view_heads(struct canvas *canvas, const struct top_picture *picture)
{
	const struct layout *layout = picture->layout;
	int row = layout->table_head.row;

	canvas_style(canvas, row, 0, layout->table_head.columns, STYLE_HEAD);
	for (int i = 0; i < layout->column_count; i++) {
		const struct column_place *place = &layout->columns[i];
		const struct view_column *column = &views[picture->model->view]->columns[place->id];

		draw_cell(canvas, row, place, draw_view_left_aligned(picture->model, column),
			  STYLE_HEAD, column->head);
		if (place->id == (int)picture->view->sort)
			canvas_style(canvas, row, place->column, place->width, STYLE_SELECTED);
	}
}

static void draw_line(struct canvas *canvas, const struct top_picture *picture, int row,
		      __u32 index, bool selected)
{
	const struct top_model *model = picture->model;
	const struct layout *layout = picture->layout;
	char text[CELL_TEXT];

	for (int i = 0; i < layout->column_count; i++) {
		const struct column_place *place = &layout->columns[i];
		const struct view_column *column = &views[model->view]->columns[place->id];

		view_text(&model->table, index, column, model->summary.clock, text, sizeof(text));
		draw_cell(canvas, row, place, draw_view_left_aligned(model, column),
			  style_of(&model->table, index, column), text);
	}
	if (selected)
		canvas_style(canvas, row, 0, layout->table.columns, STYLE_SELECTED);
}

static void draw_view_nothing(struct canvas *canvas, const struct top_picture *picture)
{
	const struct top_model *model = picture->model;
	const struct view *view = views[model->view];
	struct rectangle left = picture->layout->table;
	char text[256], span[SHORT_TEXT];

	if (model->table.rows.count) {
		draw_paragraph(canvas, &left, STYLE_STRONG, "No row matches what was asked for.");
		return;
	}
	snprintf(text, sizeof(text), "%s in %s.", view->nothing,
		 short_span(span, top_elapsed(model)));
	draw_paragraph(canvas, &left, STYLE_STRONG, text);
	for (int i = 0; i < VIEW_PATHS && view->paths[i] != PATH_NONE; i++) {
		if (model->watched[view->paths[i]] == WATCHED_UNKNOWN)
			continue;
		snprintf(text, sizeof(text), "%-10s %s",
			 watched_state_name(model->watched[view->paths[i]]),
			 path_name(view->paths[i]));
		draw_paragraph(canvas, &left, STYLE_PLAIN, text);
	}
}

void draw_view(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *table = &picture->layout->table;
	size_t first = (size_t)picture->view->first;

	draw_view_heads(canvas, picture);
	if (!picture->count)
		draw_view_nothing(canvas, picture);
	for (int i = 0; i < table->rows && first + (size_t)i < picture->count; i++)
		draw_line(canvas, picture, table->row + i, picture->order[first + (size_t)i],
			  (int)first + i == picture->selected);
}

/* The detail screen is a page that may be longer than the screen: lines before `first` are above it. */
struct view_page {
	struct canvas *canvas;
	const struct rectangle *area;
	int first, line;
};

static void page_text(struct view_page *page, int column, int width, enum style style,
		      const char *text)
{
	int row = page->line - page->first;

	if (row >= 0 && row < page->area->rows)
		canvas_text(page->canvas, page->area->row + row, column, width, style, text);
}

/* "name value" pairs, as many a line as fit; a value that is longer than a line goes on in the next. */
static void page_pair(struct view_page *page, int *at, const char *name, const char *value)
{
	int width = page->area->columns, names = (int)strlen(name), values = (int)strlen(value);
	char part[CELL_TEXT];

	if (*at && *at + names + 1 + values > width) {
		page->line++;
		*at = 0;
	}
	page_text(page, *at, width - *at, STYLE_DIM, name);
	*at += names + 1;
	for (; *value; value += values) {
		values = (int)strlen(value);
		if (values > width - *at)
			values = width - *at;
		snprintf(part, sizeof(part), "%.*s", values, value);
		page_text(page, *at, values, STYLE_PLAIN, part);
		*at += values;
		if (!value[values])
			break;
		page->line++;
		*at = 0;
	}
	*at += 2;
	if (*at >= width) {
		page->line++;
		*at = 0;
	}
}

static const char *draw_view_cell_text(const struct rows *rows, size_t row, size_t c,
				       const struct wall_clock *clock, char *text, size_t size)
{
	/* The same text as in a column of the screen. */
	const struct view_table table = {.rows = *rows};
	const struct view_column column = {.column = rows->columns[c].name};

	return view_text(&table, row, &column, clock, text, size);
}

static void page_row(struct view_page *page, const struct rows *rows, size_t row,
		     const struct wall_clock *clock)
{
	char text[STACK_TEXT], name[NAME_TEXT];
	int at = 0;

	for (size_t c = 0; c < rows->table.column_count; c++) {
		const struct column *column = &rows->columns[c];

		draw_view_cell_text(rows, row, c, clock, text, sizeof(text));
		if (!*text || !strcmp(text, "-"))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", column->name,
			 column->unit && strcmp(column->unit, "ns") != 0 ? "_" : "",
			 column->unit && strcmp(column->unit, "ns") != 0 ? column->unit : "");
		page_pair(page, &at, name, text);
	}
	page->line += at > 0;
}

/* Rows that have the same device or container as the chosen one. */
static void page_table(struct view_page *page, const struct rows *rows, const struct rows *of,
		       size_t chosen, const struct wall_clock *clock)
{
	size_t key = rows_column(rows, of->columns[0].name);
	bool headed = false;

	/* Newest last in the tables, first on the screen. */
	for (size_t i = rows->count; i-- > 0;) {
		if (key == rows->table.column_count ||
		    strcmp(rows_row(rows, i)[key].text, rows_row(of, chosen)[0].text) != 0)
			continue;
		if (!headed)
			page_text(page, 0, page->area->columns, STYLE_HEAD, rows->table.title);
		page->line += !headed;
		headed = true;
		page_row(page, rows, i, clock);
	}
}

static int page_all(struct view_page page, const struct top_picture *picture, size_t row)
{
	const struct wall_clock *clock = picture->model->summary.clock;
	const struct rows *rows = &picture->model->table.rows;

	page_row(&page, rows, row, clock);
	for (int i = 0; i < VIEW_TABLES; i++)
		if (picture->detail->tables[i].table.column_count)
			page_table(&page, &picture->detail->tables[i], rows, row, clock);
	return page.line;
}

void draw_row(struct canvas *canvas, const struct top_picture *picture)
{
	const struct top_model *model = picture->model;
	struct view_page page = {canvas, &picture->layout->body, INT_MAX, 0};
	size_t row = 0;
	int last;

	while (row < model->table.rows.count && model->table.ids[row] != picture->view->selected)
		row++;
	if (row == model->table.rows.count) {
		canvas_text(canvas, page.area->row, 0, canvas->columns, STYLE_WARN,
			    "This row is not shown any more; q goes back.");
		return;
	}
	/* Once beyond the screen, to learn how far it may be scrolled. */
	last = page_all(page, picture, row) - page.area->rows;
	page.first = picture->view->fault_first < last ? picture->view->fault_first : last;
	if (page.first < 0)
		page.first = 0;
	page_all(page, picture, row);
}
