// SPDX-License-Identifier: GPL-2.0
#include "tools/top/layout.h"

#include <string.h>

#define HEADER_ROWS	   3
#define HEADER_ROWS_LEAN   2
#define LEAN_BELOW_ROWS	   12 /* a low terminal gives one header row to the table */
#define TABS_FROM_ROWS	   16
#define FINDING_WHOLE_ROWS 24 /* from here on a long sentence may be wrapped */
#define FINDING_ROWS_MAX   3
#define FOOTER_ROWS	   1
#define ABOUT_ROWS	   2
#define STAGE_ROWS	   9   /* heading, seven stages, the whole fault */
#define SIDE_BY_SIDE	   130 /* from this width on, the history stands beside the stages */
#define STAGES_WIDTH	   80
#define HISTORY_ROWS	   2
#define HISTORY_ROWS_MAX   8
#define FAULTS_ROWS_MIN	   3
#define TREND_MAX	   60

static const struct layout_column rules[TOP_COLUMNS] = {
	[TOP_DEVICE] = {10, 0}, [TOP_RATE] = {5, 1},	   [TOP_P99] = {5, 2},
	[TOP_SLO] = {4, 3},	[TOP_STAGE] = {9, 4},	   [TOP_TOTAL] = {5, 5},
	[TOP_BLOCKED] = {4, 6}, [TOP_MAX] = {5, 7},	   [TOP_P50] = {5, 8},
	[TOP_OWNER] = {9, 9},	[TOP_FOOTPRINT] = {5, 10}, [TOP_OPEN] = {5, 11},
	[TOP_BURSTS] = {6, 12}, [TOP_IOS] = {5, 13},	   [TOP_TREND] = {10, 14},
};

enum top_column layout_importance(int rank)
{
	for (int i = 0; i < TOP_COLUMNS; i++)
		if (rules[i].rank == rank)
			return (enum top_column)i;
	return TOP_COLUMNS;
}

int layout_least_width(enum top_column column)
{
	return rules[column].least;
}

static int layout_clamp(int value, int low, int high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

/* Gives up to `limit - have` of the spare cells to one column. */
static int layout_widen(int have, int limit, int *spare)
{
	int extra = layout_clamp(limit - have, 0, *spare);

	*spare -= extra;
	return have + extra;
}

static void place_columns(struct layout *layout, int columns, const struct layout_column *rule,
			  int count)
{
	int width[LAYOUT_COLUMNS] = {0};
	int spare = columns + 1; /* every column is followed by a blank, the last one by the edge */
	int at = 0;

	for (int rank = 0; rank < count; rank++) {
		int id = 0;

		while (id < count && rule[id].rank != rank)
			id++;
		if (id == count || spare < rule[id].least + 1)
			break;
		width[id] = rule[id].least;
		spare -= width[id] + 1;
	}
	for (int id = 0; id < count; id++)
		if (width[id])
			width[id] = layout_widen(width[id], rule[id].wish, &spare);

	layout->column_count = 0;
	for (int id = 0; id < count; id++) {
		if (!width[id])
			continue;
		layout->columns[layout->column_count++] = (struct column_place){id, at, width[id]};
		at += width[id] + 1;
	}
	layout->more_columns = count - layout->column_count;
}

static void place_devices(struct layout *layout, int columns, const struct layout_wish *wish)
{
	struct layout_column wanted[TOP_COLUMNS];

	memcpy(wanted, rules, sizeof(wanted));
	wanted[TOP_DEVICE].wish = wish->name_width;
	wanted[TOP_OWNER].wish = wish->owner_width;
	wanted[TOP_TREND].wish = TREND_MAX;
	place_columns(layout, columns, wanted, TOP_COLUMNS);
}

/* Cuts `rows` rows off the top of what is left. */
static struct rectangle layout_take(struct rectangle *left, int rows)
{
	struct rectangle taken = *left;

	taken.rows = layout_clamp(rows, 0, left->rows);
	left->row += taken.rows;
	left->rows -= taken.rows;
	return taken;
}

/* Header, footer and what is between them; false if the terminal is too small for anything. */
static bool place_frame(struct layout *layout, int rows, int columns,
			const struct layout_wish *wish)
{
	int header = rows < LEAN_BELOW_ROWS ? HEADER_ROWS_LEAN : HEADER_ROWS;
	int finding =
		layout_clamp(wish->finding, 1, rows < FINDING_WHOLE_ROWS ? 1 : FINDING_ROWS_MAX);

	memset(layout, 0, sizeof(*layout));
	if (rows < LAYOUT_MIN_ROWS || columns < LAYOUT_MIN_COLUMNS) {
		layout->too_small = true;
		return false;
	}
	layout->footer = (struct rectangle){rows - FOOTER_ROWS, 0, FOOTER_ROWS, columns};
	layout->body = (struct rectangle){0, 0, rows - FOOTER_ROWS, columns};
	layout_take(&layout->body, header);
	if (rows >= TABS_FROM_ROWS)
		layout->tabs = layout_take(&layout->body, 1);
	layout->finding = layout_take(&layout->body, finding);
	layout->header = (struct rectangle){0, 0, layout->body.row, columns};
	return true;
}

void layout_main(struct layout *layout, int rows, int columns, const struct layout_wish *wish)
{
	const struct rectangle *body = &layout->body;

	if (!place_frame(layout, rows, columns, wish))
		return;
	layout->table_head = (struct rectangle){body->row, 0, 1, columns};
	layout->table = (struct rectangle){body->row + 1, 0, body->rows - 1, columns};
	if (wish->column_count)
		place_columns(layout, columns, wish->columns, wish->column_count);
	else
		place_devices(layout, columns, wish);
}

void layout_detail(struct layout *layout, int rows, int columns, const struct layout_wish *wish)
{
	struct rectangle left;
	int faults = wish->faults + 1;

	if (!place_frame(layout, rows, columns, wish))
		return;
	left = layout->body;
	/* Stages are what the screen is for: they come before everything else when it is low. */
	if (left.rows > STAGE_ROWS)
		layout->about =
			layout_take(&left, layout_clamp(left.rows - STAGE_ROWS, 0, ABOUT_ROWS));
	layout->stages = layout_take(&left, STAGE_ROWS);
	if (columns >= SIDE_BY_SIDE && layout->stages.rows > HISTORY_ROWS) {
		layout->history = layout->stages;
		layout->stages.columns = STAGES_WIDTH;
		layout->history.column = STAGES_WIDTH + 2;
		layout->history.columns = columns - layout->history.column;
	} else if (left.rows >= HISTORY_ROWS + FAULTS_ROWS_MIN) {
		/* A quarter of the room, and what the list of faults does not need. */
		int height = layout_clamp(left.rows - faults, left.rows / 4, HISTORY_ROWS_MAX);

		layout->history =
			layout_take(&left, layout_clamp(height, HISTORY_ROWS, HISTORY_ROWS_MAX));
	}
	if (left.rows >= 2)
		layout->faults = left;
}
