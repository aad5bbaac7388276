/* SPDX-License-Identifier: GPL-2.0 */
/* From a model and a view to a canvas. Never touches a terminal. */
#ifndef FAULTLINE_TOP_DRAW_H
#define FAULTLINE_TOP_DRAW_H

#include "tools/top/canvas.h"
#include "tools/top/keys.h"
#include "tools/top/layout.h"

struct top_picture {
	const struct top_model *model;
	const struct top_detail *detail; /* of the device or row on the detail screen */
	const struct top_view *view;
	const struct layout *layout;
	const __u32 *order; /* rows after sorting and filtering */
	size_t count;
	int selected; /* row, -1 for none */
};

/* The whole screen. */
void draw_screen(struct canvas *canvas, const struct top_picture *picture);

/* Parts, each in a file of its own. */
void draw_table(struct canvas *canvas, const struct top_picture *picture);
void draw_detail(struct canvas *canvas, const struct top_picture *picture);
void draw_help(struct canvas *canvas, const struct top_picture *picture);
/* The same for views that are tables: tools/top/draw_view.c. */
void draw_view(struct canvas *canvas, const struct top_picture *picture);
void draw_row(struct canvas *canvas, const struct top_picture *picture);
/* What layout needs to know of a table's columns. */
void draw_view_wish(const struct top_model *model, struct layout_wish *wish);

/*
 * A sentence broken at blanks into rows of `width` cells, with its end cut and marked if there are only
 * `rows`. Returns the rows it needs; a NULL canvas only counts.
 */
int draw_sentence(struct canvas *canvas, const struct rectangle *area, int width, enum style style,
		  const char *text);
/* The next sentence in what is left of a rectangle, which it takes off; without room a mark that there is more. */
void draw_paragraph(struct canvas *canvas, struct rectangle *left, enum style style,
		    const char *text);
/* "BAD: ..." */
#define FINDING_TEXT (WORST_TEXT + 16)
const char *draw_finding_text(const struct worst *worst, char text[FINDING_TEXT]);
/* What the latencies shown are over: "over 10s" or "since start". */
#define SPAN_WORDS 32
const char *draw_span(const struct top_model *model, char text[SPAN_WORDS]);

/*
 * A line of phrases. When they do not all fit, those with the highest rank are left out first, so
 * that what must always be on screen (rank 0) is, and the line ends with CANVAS_MORE.
 */
#define LINE_PHRASES 12
#define PHRASE_TEXT  (VIEW_TOTALS + 16)
struct line {
	int count;
	bool more; /* something was left out already */
	struct {
		int rank;
		enum style style;
		char text[PHRASE_TEXT];
	} phrases[LINE_PHRASES];
};

/* A count of what should not be: nothing if there is none, "-" if nobody knows. */
void line_add_bad(struct line *line, int rank, const char *what, __u64 count, bool unknown);
void line_add(struct line *line, int rank, enum style style, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void line_draw(struct canvas *canvas, int row, int column, int width, struct line *line);

/* Severity of values, shared by the screens. */
enum style style_of_slo(enum live_slo_state slo);
const char *slo_text(enum live_slo_state slo);
enum style style_of_blocked(double percent);

#endif
