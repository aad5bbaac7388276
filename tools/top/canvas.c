// SPDX-License-Identifier: GPL-2.0
#include "tools/top/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/device_name.h"
#include "lib/base/printable.h"

#define LOWER_EIGHTH 0x2581 /* ▁, up to █ at +7 */
#define LEFT_EIGHTH  0x258f /* ▏, down to █ at -7 */
#define FULL_BLOCK   0x2588

#define CANVAS_TEXT 1024 /* more than any screen is wide */

int canvas_resize(struct canvas *canvas, int rows, int columns)
{
	struct canvas_cell *cells;

	if (canvas->cells && canvas->rows == rows && canvas->columns == columns) {
		canvas_clear(canvas);
		return 0;
	}
	cells = calloc((size_t)(rows > 0 ? rows : 1) * (size_t)(columns > 0 ? columns : 1),
		       sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	free(canvas->cells);
	canvas->cells = cells;
	canvas->rows = rows;
	canvas->columns = columns;
	canvas_clear(canvas);
	return 0;
}

void canvas_free(struct canvas *canvas)
{
	free(canvas->cells);
	memset(canvas, 0, sizeof(*canvas));
}

void canvas_clear(struct canvas *canvas)
{
	for (int i = 0; i < canvas->rows * canvas->columns; i++)
		canvas->cells[i] = (struct canvas_cell){' ', STYLE_PLAIN};
	canvas->overdrawn = 0;
}

static struct canvas_cell *cell_at(const struct canvas *canvas, int row, int column)
{
	if (row < 0 || column < 0 || row >= canvas->rows || column >= canvas->columns)
		return NULL;
	return &canvas->cells[row * canvas->columns + column];
}

void canvas_glyph(struct canvas *canvas, int row, int column, uint32_t glyph, enum style style)
{
	struct canvas_cell *cell = cell_at(canvas, row, column);

	if (cell)
		*cell = (struct canvas_cell){glyph, (uint8_t)style};
}

int canvas_text(struct canvas *canvas, int row, int column, int width, enum style style,
		const char *value)
{
	char text[CANVAS_TEXT];
	int length = (int)strlen(printable(value, text, sizeof(text))), used = 0, tail = 0;

	if (width > canvas->columns - column)
		width = canvas->columns - column;
	/* What tells devices, or virtual machines, of one name apart stays. */
	if (length > width)
		tail = (int)device_text_tail(text);
	if (tail + 2 > width)
		tail = 0;
	for (; text[used] && used < width; used++) {
		const struct canvas_cell *before = cell_at(canvas, row, column + used);
		int from = used < width - tail ? used : length - (width - used);

		canvas->overdrawn += before && before->glyph != ' ';
		canvas_glyph(canvas, row, column + used, (unsigned char)text[from], style);
	}
	if (length > used && used)
		canvas_glyph(canvas, row, column + used - tail - 1, CANVAS_CUT, style);
	return used;
}

void canvas_right(struct canvas *canvas, int row, int column, int width, enum style style,
		  const char *text)
{
	int length = (int)strlen(text);
	int pad = length < width ? width - length : 0;

	canvas_text(canvas, row, column + pad, width - pad, style, text);
}

void canvas_style(struct canvas *canvas, int row, int column, int width, enum style style)
{
	for (int i = 0; i < width; i++) {
		struct canvas_cell *cell = cell_at(canvas, row, column + i);

		if (cell)
			cell->style = (uint8_t)style;
	}
}

static int canvas_eighths(double fraction, int cells)
{
	int all = cells * 8;
	int n;

	if (!(fraction > 0)) /* NAN too */
		return 0;
	if (fraction >= 1)
		return all;
	n = (int)(fraction * all + 0.5);
	return n ? n : 1; /* something is never drawn as nothing */
}

void canvas_bar(struct canvas *canvas, int row, int column, int width, double fraction,
		enum style style)
{
	int filled = canvas_eighths(fraction, width);

	for (int i = 0; i < width && filled > 0; i++, filled -= 8) {
		uint32_t glyph = '#';

		if (canvas->unicode)
			glyph = filled >= 8 ? FULL_BLOCK : LEFT_EIGHTH - (uint32_t)(filled - 1);
		canvas_glyph(canvas, row, column + i, glyph, style);
	}
}

/* The part of a column of `filled` eighths that lies in the cell `level` cells above its foot. */
static uint32_t column_glyph(const struct canvas *canvas, int filled, int level)
{
	static const char ascii[] = " .:-=+*#@";
	int here = filled - level * 8;

	if (here <= 0)
		return ' ';
	if (here > 8)
		here = 8;
	return canvas->unicode ? LOWER_EIGHTH + (uint32_t)(here - 1) : (uint32_t)ascii[here];
}

void canvas_sparkline(struct canvas *canvas, const struct rectangle *area, const float *values,
		      size_t count, double peak, enum style style)
{
	int shown = count < (size_t)area->columns ? (int)count : area->columns;

	for (int i = 0; i < shown; i++) {
		double value = values[count - (size_t)shown + (size_t)i];
		int filled = canvas_eighths(peak > 0 ? value / peak : 0, area->rows);

		for (int level = 0; level < area->rows; level++)
			canvas_glyph(canvas, area->row + area->rows - 1 - level,
				     area->column + area->columns - shown + i,
				     column_glyph(canvas, filled, level), style);
	}
}

void canvas_read_row(const struct canvas *canvas, int row, char *text, size_t size)
{
	size_t end = 0, used = 0;

	for (int column = 0; column < canvas->columns && used + 1 < size; column++) {
		const struct canvas_cell *cell = cell_at(canvas, row, column);

		if (!cell)
			break;
		text[used++] = (char)(cell->glyph < 128 ? cell->glyph : '#');
		if (cell->glyph != ' ')
			end = used;
	}
	text[end] = '\0';
}
