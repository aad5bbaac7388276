/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A screen in memory: drawing fills it, tools/top/terminal.c copies it to the terminal, tests read
 * it. Everything that falls outside is clipped, so drawing never has to care.
 */
#ifndef FAULTLINE_TOP_CANVAS_H
#define FAULTLINE_TOP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/top/layout.h"

/* What a cell means; the terminal decides how that looks, with or without colour. */
enum style {
	STYLE_PLAIN,
	STYLE_DIM,	/* labels, absent values */
	STYLE_STRONG,	/* the number to look at */
	STYLE_HEAD,	/* headings of tables */
	STYLE_SELECTED, /* the cursor's row */
	STYLE_OK,
	STYLE_WARN,
	STYLE_BAD,
	STYLE_COUNT,
};

struct canvas_cell {
	uint32_t glyph; /* a Unicode code point one cell wide */
	uint8_t style;
};

struct canvas {
	int rows, columns;
	bool unicode; /* block elements may be used */
	struct canvas_cell *cells;
	unsigned int
		overdrawn; /* cells of text that a later text took: 0, or the drawing is wrong */
};

/* -ENOMEM leaves the old size. Contents are blank afterwards. */
int canvas_resize(struct canvas *canvas, int rows, int columns);
void canvas_free(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);

void canvas_glyph(struct canvas *canvas, int row, int column, uint32_t glyph, enum style style);
/* What stands in the last cell of a text that was cut, and at the end of a line that left something out. */
#define CANVAS_CUT  '~'
#define CANVAS_MORE '>'

/* Writes at most `width` cells of printable(text), as names come from other processes. Half a word or number would be another one: what is cut ends with CANVAS_CUT,
 * or has it before what tells devices of one name apart (device_name.h). Returns the cells used. */
int canvas_text(struct canvas *canvas, int row, int column, int width, enum style style,
		const char *text);
/* Right-aligned in `width` cells; too long a text is cut at its end. */
void canvas_right(struct canvas *canvas, int row, int column, int width, enum style style,
		  const char *text);
/* Gives all cells of a row within the rectangle this style. */
void canvas_style(struct canvas *canvas, int row, int column, int width, enum style style);

/* Horizontal bar: `fraction` (0 to 1) of `width` cells, with eighths where Unicode allows. */
void canvas_bar(struct canvas *canvas, int row, int column, int width, double fraction,
		enum style style);
/* Vertical bars in a rectangle, the newest value at its right edge, scaled to `peak`. */
void canvas_sparkline(struct canvas *canvas, const struct rectangle *area, const float *values,
		      size_t count, double peak, enum style style);

/* A row as ASCII for tests: other glyphs as '#', trailing blanks cut. */
void canvas_read_row(const struct canvas *canvas, int row, char *text, size_t size);

#endif
