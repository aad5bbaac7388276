// SPDX-License-Identifier: GPL-2.0
/* What every screen has: the frame around it, and how its lines are put together. */
#include "tools/top/draw.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/unknown.h"
#include "tools/top/format.h"

#define PHRASE_GAP 2

/* Of a whole CPU: more than this is worth a look, and worth worrying about. */
#define SELF_CPU_WARN 3.0
#define SELF_CPU_BAD  25.0

void line_add(struct line *line, int rank, enum style style, const char *format, ...)
{
	va_list arguments;

	if (line->count == LINE_PHRASES)
		return;
	va_start(arguments, format);
	vsnprintf(line->phrases[line->count].text, PHRASE_TEXT, format, arguments);
	va_end(arguments);
	line->phrases[line->count].rank = rank;
	line->phrases[line->count++].style = style;
}

void line_add_bad(struct line *line, int rank, const char *what, __u64 count, bool unknown)
{
	char text[SHORT_TEXT];

	if (unknown)
		line_add(line, rank, STYLE_WARN, "%s -", what);
	else if (count)
		line_add(line, rank, STYLE_BAD, "%s %s", what, short_count(text, count));
}

static int line_width(const struct line *line)
{
	int width = 0;

	for (int i = 0; i < line->count; i++)
		width += (int)strlen(line->phrases[i].text) + (i ? PHRASE_GAP : 0);
	return width;
}

static void drop_least(struct line *line)
{
	int least = 0;

	for (int i = 1; i < line->count; i++)
		if (line->phrases[i].rank >= line->phrases[least].rank)
			least = i;
	memmove(&line->phrases[least], &line->phrases[least + 1],
		(size_t)(line->count - least - 1) * sizeof(line->phrases[0]));
	line->count--;
}

void line_draw(struct canvas *canvas, int row, int column, int width, struct line *line)
{
	int end = column + width;
	bool more = line->more || line_width(line) > width;

	if (more) {
		canvas_glyph(canvas, row, end - 1, CANVAS_MORE, STYLE_DIM);
		end -= 2;
	}
	while (line->count > 1 && line_width(line) > end - column)
		drop_least(line);
	for (int i = 0; i < line->count; i++)
		column += PHRASE_GAP + canvas_text(canvas, row, column, end - column,
						   line->phrases[i].style, line->phrases[i].text);
}

enum style style_of_slo(enum live_slo_state slo)
{
	static const enum style styles[] = {
		[LIVE_SLO_NONE] = STYLE_DIM,
		[LIVE_SLO_OK] = STYLE_OK,
		[LIVE_SLO_WARNED] = STYLE_WARN,
		[LIVE_SLO_VIOLATED] = STYLE_BAD,
	};

	return styles[slo];
}

/* Differ by letters, not only by colour. */
const char *slo_text(enum live_slo_state slo)
{
	static const char *const texts[] = {
		[LIVE_SLO_NONE] = "-",
		[LIVE_SLO_OK] = "ok",
		[LIVE_SLO_WARNED] = "warn",
		[LIVE_SLO_VIOLATED] = "BAD",
	};

	return texts[slo];
}

enum style style_of_blocked(double percent)
{
	if (percent >= 50)
		return STYLE_BAD;
	return percent >= 10 ? STYLE_WARN : STYLE_PLAIN;
}

const char *draw_span(const struct top_model *model, char text[SPAN_WORDS])
{
	char length[SHORT_TEXT];

	if (model->span == LATENCY_SINCE_START)
		return strcpy(text, "since start");
	snprintf(text, SPAN_WORDS, "%s %s", model->window_cut ? "newest of" : "over",
		 short_duration(length, model->window_ns));
	return text;
}

int draw_sentence(struct canvas *canvas, const struct rectangle *area, int width, enum style style,
		  const char *text)
{
	char part[FINDING_TEXT];
	int row = 0;

	while (*text) {
		int length = (int)strlen(text), cut = length;

		if (length > width) {
			cut = width;
			while (cut > width / 2 && text[cut] != ' ')
				cut--;
			if (text[cut] != ' ')
				cut = width;
		}
		if (canvas && row < area->rows) {
			bool last = row + 1 == area->rows;

			/* The last row has what is left of it, or so much of that as fits. */
			snprintf(part, sizeof(part), "%.*s", last ? length : cut, text);
			canvas_text(canvas, area->row + row, area->column, width, style, part);
		}
		row++;
		text += cut;
		text += strspn(text, " ");
	}
	return row;
}

void draw_paragraph(struct canvas *canvas, struct rectangle *left, enum style style,
		    const char *text)
{
	/* The mark has a cell of its own, and a blank before it. */
	int width = left->columns - 2, rows;

	if (!left->rows) {
		canvas_glyph(canvas, left->row - 1, left->columns - 1, CANVAS_MORE, STYLE_DIM);
		return;
	}
	rows = draw_sentence(canvas, left, width, style, text);
	if (rows > left->rows)
		rows = left->rows;
	left->row += rows;
	left->rows -= rows;
}

static void draw_tabs(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *tabs = &picture->layout->tabs;
	const struct top_model *model = picture->model;
	int shown = (int)picture->view->view;
	struct line line = {0};

	for (int v = 0; v < VIEWS && tabs->rows; v++) {
		__u64 count = v == VIEW_FAULTS ? model->faults : model->counts[v];
		bool blind = top_is_blind(model, (unsigned int)v) ||
			     (v == VIEW_FAULTS && model->unknown & UNKNOWN_FAULTS);
		bool current = v == shown;
		char number[SHORT_TEXT];

		/* Where not all fit the current one stays, and its neighbours. */
		line_add(&line, abs(v - shown),
			 current ? STYLE_STRONG
			 : count ? STYLE_PLAIN
				 : STYLE_DIM,
			 current ? "[%d %s %s]" : " %d %s %s ", v + 1, views[v]->name,
			 blind ? "-" : short_count(number, count));
	}
	if (tabs->rows)
		line_draw(canvas, tabs->row, tabs->column, tabs->columns, &line);
}

const char *draw_finding_text(const struct worst *worst, char text[FINDING_TEXT])
{
	/* Severity differs by words, not only by colour. */
	static const char *const words[] = {
		[WORST_NONE] = "",
		[WORST_NOTE] = "",
		[WORST_LOOK] = "LOOK: ",
		[WORST_BAD] = "BAD: ",
	};

	snprintf(text, FINDING_TEXT, "%s%s", words[worst->severity], worst->text);
	return text;
}

static void draw_finding(struct canvas *canvas, const struct top_picture *picture)
{
	static const enum style styles[] = {
		[WORST_NONE] = STYLE_OK,
		[WORST_NOTE] = STYLE_PLAIN,
		[WORST_LOOK] = STYLE_WARN,
		[WORST_BAD] = STYLE_BAD,
	};
	const struct rectangle *area = &picture->layout->finding;
	const struct worst *worst = &picture->model->worst;
	char text[FINDING_TEXT];

	if (area->rows)
		draw_sentence(canvas, area, area->columns, styles[worst->severity],
			      draw_finding_text(worst, text));
}

static void add_title(struct line *line, const struct top_picture *picture)
{
	const struct top_model *model = picture->model;
	const struct top_device *device = top_find(model, picture->detail->device);
	char time[CLOCK_TEXT], span[SHORT_TEXT];

	line_add(line, 1, STYLE_STRONG, "faultline top");
	/* Where there is no room for the tabs. */
	if (!picture->layout->tabs.rows && picture->view->view != VIEW_FAULTS)
		line_add(line, 0, STYLE_STRONG, "%s", views[picture->view->view]->name);
	if (picture->view->paused)
		line_add(line, 0, STYLE_WARN, "PAUSED");
	if (model->ended)
		line_add(line, 0, STYLE_WARN, model->replay ? "END OF RECORDING" : "STOPPED");
	else if (model->replay)
		line_add(line, 0, STYLE_STRONG, "REPLAY");
	/* A low screen has no room for the line that says whose details these are. */
	if (picture->view->screen == SCREEN_DETAIL && !picture->layout->about.rows && device)
		line_add(line, 0, STYLE_STRONG, "%s", device->name);
	line_add(line, 3, STYLE_PLAIN, "%s", model->host);
	line_add(line, 2, STYLE_PLAIN, "%s UTC",
		 clock_text(time, model->summary.clock, model->now_ns, false));
	line_add(line, 4, STYLE_PLAIN, "up %s", short_span(span, top_elapsed(model)));
	line_add(line, 5, STYLE_DIM, "every %.3gs", picture->view->interval_s);
}

static void add_faults(struct line *line, const struct top_model *model)
{
	const struct live_summary *all = &model->summary;
	char rate[SHORT_TEXT], total[SHORT_TEXT], open[SHORT_TEXT];
	unsigned int unknown = model->unknown;

	line_add(line, 0, STYLE_STRONG, "faults %s/s", short_real(rate, model->rate));
	if (unknown & UNKNOWN_FAULTS) {
		line_add(line, 1, STYLE_WARN, "not %swatched", model->faults ? "all " : "");
	} else {
		line_add(line, 1, STYLE_PLAIN, "total %s%s", short_count(total, model->faults),
			 all->floor ? " (floor)" : "");
		line_add(line, 3, model->open ? STYLE_STRONG : STYLE_PLAIN, "open %s",
			 unknown & UNKNOWN_STATES ? "-" : short_count(open, model->open));
	}
	if (model->rings)
		line_add(line, 2, model->loss_rate > 0 ? STYLE_BAD : STYLE_PLAIN,
			 "frames lost %s/s", short_real(rate, model->loss_rate));
	/* Page requests that were never served; most of the time there are none. */
	line_add_bad(line, 2, "overflowed", all->overflowed, unknown & UNKNOWN_OVERFLOWED);
	line_add_bad(line, 2, "discarded", all->discarded, unknown & UNKNOWN_DISCARDED);
	line_add_bad(line, 2, "abandoned", all->abandoned, unknown & UNKNOWN_ABANDONED);
	line_add(line, 4, STYLE_PLAIN, "devices %zu", model->device_count);
}

static void add_totals(struct line *line, const struct top_picture *picture)
{
	const struct top_model *model = picture->model;

	if (picture->view->view == VIEW_FAULTS)
		add_faults(line, model);
	else
		line_add(line, 0, STYLE_STRONG, "%s%s", model->table.totals,
			 model->summary.floor ? " (floor)" : "");
	line_add(line, 2, STYLE_PLAIN, "probes %zu on %zu off", model->summary.probes_on,
		 model->summary.probes_off);
	if (model->summary.probes_silent)
		line_add(line, 1, STYLE_WARN, "%zu probe%s silent: see report",
			 model->summary.probes_silent,
			 model->summary.probes_silent == 1 ? "" : "s");
}

/* Must be on every screen: whether the numbers are complete and what watching costs. */
static void add_honesty(struct line *line, const struct top_picture *picture)
{
	const struct top_model *model = picture->model;
	__u64 lost = top_lost(&model->summary.loss);
	char text[SHORT_TEXT], received[SHORT_TEXT], away[SHORT_TEXT];
	enum style cpu = STYLE_PLAIN;

	if (model->self_cpu_percent > SELF_CPU_WARN)
		cpu = model->self_cpu_percent > SELF_CPU_BAD ? STYLE_BAD : STYLE_WARN;
	line_add(line, 0, lost ? STYLE_BAD : STYLE_OK, lost ? "LOST %s" : "lost %s",
		 short_count(text, lost));
	if (model->summary.loss.turned_away)
		line_add(line, 2, STYLE_WARN, "turned away %s",
			 short_count(away, model->summary.loss.turned_away));
	line_add(line, 3, STYLE_PLAIN, "received %s",
		 short_count(received, top_received(&model->summary)));
	line_add(line, 0, cpu, "self %.1f%%", model->self_cpu_percent);
	line_add(line, 0, STYLE_PLAIN, "%s", short_bytes(text, model->self_memory_bytes));
	if (model->summary.loss.late)
		line_add(line, 6, STYLE_WARN, "late %s",
			 short_count(text, model->summary.loss.late));
}

static void add_order(struct line *line, const struct top_picture *picture)
{
	const struct top_view *view = picture->view;
	char span[SPAN_WORDS];

	if (views[view->view]->windowed)
		line_add(line, 1, STYLE_PLAIN, "times %s", draw_span(picture->model, span));
	line_add(line, 4, STYLE_DIM, "sort %s%s",
		 view->view == VIEW_FAULTS ? top_sort_name((enum top_sort)view->sort)
					   : views[view->view]->columns[view->sort].head,
		 view->reverse ? " (reversed)" : "");
	if (view->filter[0])
		line_add(line, 2, STYLE_WARN, "filter \"%s\"", view->filter);
}

static void draw_header(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *header = &picture->layout->header;
	struct line title = {0}, totals = {0}, honesty = {0};
	char rate[SHORT_TEXT];
	int lines = header->rows - picture->layout->tabs.rows - picture->layout->finding.rows;

	add_title(&title, picture);
	line_draw(canvas, header->row, 0, header->columns, &title);
	if (lines > 2) {
		add_totals(&totals, picture);
		line_draw(canvas, header->row + 1, 0, header->columns, &totals);
		add_honesty(&honesty, picture);
		add_order(&honesty, picture);
	} else {
		/* In place of the line of totals. */
		add_honesty(&honesty, picture);
		line_add(&honesty, 1, STYLE_STRONG, "faults %s/s",
			 short_real(rate, picture->model->rate));
		honesty.more = true;
	}
	line_draw(canvas, header->row + lines - 1, 0, header->columns, &honesty);
	draw_tabs(canvas, picture);
	draw_finding(canvas, picture);
}

/* Which of the rows are on the screen, and how many columns are not. */
static void add_rest(struct line *line, const struct top_picture *picture)
{
	size_t first = (size_t)picture->view->first, rows = (size_t)picture->layout->table.rows;
	size_t last = first + rows < picture->count ? first + rows : picture->count;

	if (first || last < picture->count)
		line_add(line, 1, STYLE_PLAIN, "rows %zu-%zu of %zu", first + 1, last,
			 picture->count);
	if (picture->layout->more_columns)
		line_add(line, 2, STYLE_PLAIN, "%d columns%c", picture->layout->more_columns,
			 CANVAS_MORE);
}

static void draw_footer(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *footer = &picture->layout->footer;
	const struct top_view *view = picture->view;
	struct line line = {0};

	if (view->typing) {
		line_add(&line, 0, STYLE_STRONG, "filter: %s_", view->filter);
		line_add(&line, 1, STYLE_DIM, "Enter keeps it, Esc clears it");
	} else if (view->screen == SCREEN_MAIN) {
		line_add(&line, 0, STYLE_DIM, "q quit");
		line_add(&line, 1, STYLE_DIM, "h help");
		line_add(&line, 2, STYLE_DIM, "Tab view");
		line_add(&line, 3, STYLE_DIM, "Enter details");
		line_add(&line, 5, STYLE_DIM, "s sort");
		line_add(&line, 5, STYLE_DIM, "/ filter");
		line_add(&line, 6, STYLE_DIM, "p %s", view->paused ? "go on" : "pause");
		if (views[view->view]->windowed)
			line_add(&line, 4, STYLE_DIM, "w %s",
				 view->span == LATENCY_WINDOW ? "since start" : "window");
		line_add(&line, 7, STYLE_DIM, "+ - interval");
		add_rest(&line, picture);
	} else {
		line_add(&line, 0, STYLE_DIM, "q back");
		line_add(&line, 1, STYLE_DIM, "h help");
		line_add(&line, 2, STYLE_DIM, "p %s", view->paused ? "go on" : "pause");
		line_add(&line, 3, STYLE_DIM,
			 view->view == VIEW_FAULTS ? "up/down older faults" : "up/down scroll");
		line_add(&line, 4, STYLE_DIM, "Q quit");
	}
	line_draw(canvas, footer->row, 0, footer->columns, &line);
}

/* In the words that fit. */
static void draw_too_small(struct canvas *canvas)
{
	char least[64];
	const char *const words[] = {least, "terminal too small", "too small", "small", "~"};
	int i = 0;

	snprintf(least, sizeof(least), "terminal too small: it takes %d x %d", LAYOUT_MIN_COLUMNS,
		 LAYOUT_MIN_ROWS);
	while (i < 4 && (int)strlen(words[i]) > canvas->columns)
		i++;
	canvas_text(canvas, canvas->rows / 2, 0, canvas->columns, STYLE_WARN, words[i]);
}

void draw_screen(struct canvas *canvas, const struct top_picture *picture)
{
	canvas_clear(canvas);
	if (picture->layout->too_small) {
		draw_too_small(canvas);
		return;
	}
	draw_header(canvas, picture);
	draw_footer(canvas, picture);
	if (picture->view->screen == SCREEN_HELP)
		draw_help(canvas, picture);
	else if (picture->view->screen == SCREEN_DETAIL)
		(picture->view->view == VIEW_FAULTS ? draw_detail : draw_row)(canvas, picture);
	else
		(picture->view->view == VIEW_FAULTS ? draw_table : draw_view)(canvas, picture);
}
