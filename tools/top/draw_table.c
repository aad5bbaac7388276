// SPDX-License-Identifier: GPL-2.0
/* The main screen's table of devices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/analyze/unknown.h"
#include "tools/top/draw.h"
#include "tools/top/format.h"

struct column_look {
	const char *head;
	bool text; /* left-aligned */
};

static const struct column_look looks[TOP_COLUMNS] = {
	[TOP_DEVICE] = {"DEVICE", true},    [TOP_OWNER] = {"OWNER", true},
	[TOP_RATE] = {"FLT/s", false},	    [TOP_TOTAL] = {"TOTAL", false},
	[TOP_P50] = {"P50", false},	    [TOP_P99] = {"P99", false},
	[TOP_MAX] = {"MAX", false},	    [TOP_STAGE] = {"SLOWEST", true},
	[TOP_BLOCKED] = {"BLK%", false},    [TOP_FOOTPRINT] = {"FOOT", false},
	[TOP_SLO] = {"SLO", true},	    [TOP_OPEN] = {"OPEN", false},
	[TOP_BURSTS] = {"BURSTS", false},   [TOP_IOS] = {"IO/s", false},
	[TOP_TREND] = {"RATE, last", true},
};

/* Column by which the rows are sorted, so that its heading can say so. */
static enum top_column sorted_column(enum top_sort sort)
{
	static const enum top_column columns[SORT_COUNT] = {
		[SORT_RATE] = TOP_RATE,
		[SORT_TOTAL] = TOP_TOTAL,
		[SORT_P50] = TOP_P50,
		[SORT_P99] = TOP_P99,
		[SORT_MAX] = TOP_MAX,
		[SORT_BLOCKED] = TOP_BLOCKED,
		[SORT_FOOTPRINT] = TOP_FOOTPRINT,
		[SORT_SLO] = TOP_SLO,
		[SORT_NAME] = TOP_DEVICE,
	};

	return columns[sort];
}

static enum style number_cell(const struct top_device *device, const struct live_latency *latency,
			      enum top_column id, char number[SHORT_TEXT])
{
	const struct live_device *live = &device->live;

	snprintf(number, SHORT_TEXT, "-");
	switch (id) {
	case TOP_RATE:
		short_real(number, live->rate);
		return live->rate > 0 ? STYLE_STRONG : STYLE_PLAIN;
	case TOP_TOTAL:
		if (!(live->unknown & UNKNOWN_FAULTS))
			short_count(number, live->faults);
		return STYLE_PLAIN;
	case TOP_P50:
	case TOP_P99:
	case TOP_MAX:
		if (latency->count)
			short_duration(number, id == TOP_P50   ? latency->p50_ns
					       : id == TOP_P99 ? latency->p99_ns
							       : latency->max_ns);
		return STYLE_PLAIN;
	case TOP_BLOCKED:
		if (!isnan(live->blocked_percent))
			snprintf(number, SHORT_TEXT, "%.0f", live->blocked_percent);
		return style_of_blocked(live->blocked_percent);
	case TOP_FOOTPRINT:
		if (!(live->unknown & UNKNOWN_IO))
			short_bytes(number, live->footprint_bytes);
		return STYLE_PLAIN;
	case TOP_OPEN:
		if (live->unknown & UNKNOWN_STATES)
			return STYLE_PLAIN;
		short_count(number, live->open);
		return live->open ? STYLE_STRONG : STYLE_PLAIN;
	case TOP_BURSTS:
		if (live->unknown & UNKNOWN_FAULTS)
			return STYLE_PLAIN;
		short_count(number, live->bursts);
		return live->bursts ? STYLE_WARN : STYLE_PLAIN;
	case TOP_IOS:
		short_real(number, device->io_rate);
		return STYLE_PLAIN;
	default:
		return STYLE_PLAIN;
	}
}

/* Text and severity of one cell of the table. */
static enum style draw_table_cell_text(const struct top_model *model,
				       const struct top_device *device, enum top_column id,
				       char *text, size_t size)
{
	const struct live_latency *latency = top_latency(model, device);
	const struct live_device *live = &device->live;
	char number[SHORT_TEXT];
	enum style style;

	switch (id) {
	case TOP_DEVICE:
		snprintf(text, size, "%s", device->name);
		return live->rate > 0 ? STYLE_STRONG : STYLE_PLAIN;
	case TOP_OWNER:
		snprintf(text, size, "%s", device->owner);
		return STYLE_PLAIN;
	case TOP_STAGE:
		if (latency->slowest_stage == STAGES)
			snprintf(text, size, "-");
		else
			snprintf(text, size, "%s%s", stage_name(latency->slowest_stage),
				 latency->stages[latency->slowest_stage].merged ? "+" : "");
		return STYLE_PLAIN;
	case TOP_SLO:
		snprintf(text, size, "%s", slo_text(live->slo));
		return style_of_slo(live->slo);
	default:
		style = number_cell(device, latency, id, number);
		snprintf(text, size, "%s", number);
		return style;
	}
}

static void draw_trend(struct canvas *canvas, const struct top_device *device, int row,
		       const struct column_place *place)
{
	const struct rectangle area = {row, place->column, 1, place->width};
	float peak = 1;

	for (__u32 i = 0; i < device->history_count; i++)
		if (device->history[i] > peak)
			peak = device->history[i];
	canvas_sparkline(canvas, &area, device->history, device->history_count, peak, STYLE_PLAIN);
}

static void draw_device(struct canvas *canvas, const struct top_picture *picture, int row,
			const struct top_device *device, bool selected)
{
	const struct layout *layout = picture->layout;
	char text[DEVICE_NAME_TEXT];

	for (int i = 0; i < layout->column_count; i++) {
		const struct column_place *place = &layout->columns[i];
		enum style style;

		if (place->id == TOP_TREND) {
			draw_trend(canvas, device, row, place);
			continue;
		}
		style = draw_table_cell_text(picture->model, device, (enum top_column)place->id,
					     text, sizeof(text));
		if (looks[place->id].text)
			canvas_text(canvas, row, place->column, place->width, style, text);
		else
			canvas_right(canvas, row, place->column, place->width, style, text);
	}
	if (selected)
		canvas_style(canvas, row, 0, layout->table.columns, STYLE_SELECTED);
}

static void draw_table_heads(struct canvas *canvas, const struct top_picture *picture)
{
	const struct layout *layout = picture->layout;
	int row = layout->table_head.row;

	canvas_style(canvas, row, 0, layout->table_head.columns, STYLE_HEAD);
	for (int i = 0; i < layout->column_count; i++) {
		const struct column_place *place = &layout->columns[i];
		const struct column_look *look = &looks[place->id];
		char head[32];

		if (place->id == TOP_TREND)
			snprintf(head, sizeof(head), "%s %ds", look->head, place->width);
		else
			snprintf(head, sizeof(head), "%s", look->head);
		if (look->text)
			canvas_text(canvas, row, place->column, place->width, STYLE_HEAD, head);
		else
			canvas_right(canvas, row, place->column, place->width, STYLE_HEAD, head);
		if (place->id == (int)sorted_column((enum top_sort)picture->view->sort))
			canvas_style(canvas, row, place->column, place->width, STYLE_SELECTED);
	}
}

static size_t paths_in(const struct top_model *model, enum watched_state state)
{
	size_t count = 0;

	for (int path = 0; path < PATH_COUNT; path++)
		count += model->watched[path] == state;
	return count;
}

/* With which eyes: a line a path, or a sum where the screen has no room for them. */
static void draw_watched(struct canvas *canvas, const struct top_model *model,
			 struct rectangle *left)
{
	size_t known = PATH_COUNT - paths_in(model, WATCHED_UNKNOWN);
	bool room = known < (size_t)left->rows;
	char text[256];

	if (!known)
		return;
	for (int path = 0; room && path < PATH_COUNT; path++) {
		if (model->watched[path] == WATCHED_UNKNOWN)
			continue;
		snprintf(text, sizeof(text), "%-10s %s", watched_state_name(model->watched[path]),
			 path_name(path));
		draw_paragraph(canvas, left, STYLE_PLAIN, text);
	}
	if (!room) {
		snprintf(text, sizeof(text), "%zu kernel paths are watched, %zu in part, %zu not.",
			 paths_in(model, WATCHED_WHOLE), paths_in(model, WATCHED_PARTLY),
			 paths_in(model, WATCHED_NOT) + paths_in(model, WATCHED_NOT_WANTED));
		draw_paragraph(canvas, left, STYLE_PLAIN, text);
	}
	draw_paragraph(canvas, left, STYLE_PLAIN,
		       "`faultline doctor` says why, and what would change it.");
}

/* The negative answer counts: say that nothing was seen, and with which eyes. */
static void draw_table_nothing(struct canvas *canvas, const struct top_picture *picture)
{
	struct rectangle left = picture->layout->table;
	const struct top_model *model = picture->model;
	char text[256], span[SHORT_TEXT];

	if (model->device_count) {
		snprintf(text, sizeof(text), "No device matches \"%s\".", picture->view->filter);
		draw_paragraph(canvas, &left, STYLE_PLAIN, text);
		return;
	}
	snprintf(text, sizeof(text), "No I/O page fault and no device in %s.",
		 short_span(span, top_elapsed(model)));
	draw_paragraph(canvas, &left, STYLE_STRONG, text);
	draw_watched(canvas, model, &left);
}

void draw_table(struct canvas *canvas, const struct top_picture *picture)
{
	const struct rectangle *table = &picture->layout->table;
	size_t first = (size_t)picture->view->first;

	draw_table_heads(canvas, picture);
	if (!picture->count)
		draw_table_nothing(canvas, picture);
	for (int i = 0; i < table->rows && first + (size_t)i < picture->count; i++) {
		__u32 index = picture->order[first + (size_t)i];

		draw_device(canvas, picture, table->row + i, &picture->model->devices[index],
			    (int)first + i == picture->selected);
	}
}
