// SPDX-License-Identifier: GPL-2.0
#include "tools/top/keys.h"

#include <string.h>

/* The list of a detail screen ends earlier; drawing knows where. */
#define DETAIL_LINES 4096

void top_view_init(struct top_view *view)
{
	memset(view, 0, sizeof(*view));
	view->interval_s = 1;
	for (unsigned int v = 0; v < VIEWS; v++)
		if (views[v]->sort)
			view->places[v].sort = view_sort_from(views[v], views[v]->sort);
}

void top_view_show(struct top_view *view, unsigned int which)
{
	const struct top_place *place = &view->places[which];

	view->places[view->view] =
		(struct top_place){view->sort, view->reverse, view->selected, view->first};
	view->view = which;
	view->sort = place->sort;
	view->reverse = place->reverse;
	view->selected = place->selected;
	view->first = place->first;
	view->screen = SCREEN_MAIN;
}

static int selected_row(const struct top_view *view, const struct top_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->ids[i] == view->selected)
			return (int)i;
	return -1;
}

static int keys_clamp(int value, int low, int high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

/* Scrolls as little as possible so that `row` is on screen. Returns the row, brought into range. */
static int scroll_to(struct top_view *view, const struct top_rows *rows, int row)
{
	int page = rows->page > 0 ? rows->page : 1;
	int last = (int)rows->count - 1;

	row = keys_clamp(row, 0, last);
	view->first = keys_clamp(view->first, row - page + 1, row);
	/* No blank rows at the end while there are rows above. */
	view->first = keys_clamp(view->first, 0, last - page + 1);
	return row;
}

static void select_row(struct top_view *view, const struct top_rows *rows, int row)
{
	if (!rows->count)
		return;
	row = scroll_to(view, rows, row);
	view->selected = rows->ids[row];
}

int top_view_settle(struct top_view *view, const struct top_rows *rows)
{
	int row = 0;

	if (!rows->count) {
		view->first = 0;
		return -1;
	}
	/* Until the user has chosen, the cursor stays on the first row, whoever that is. */
	if (view->selected) {
		row = selected_row(view, rows);
		if (row < 0)
			row = view->first;
	}
	return scroll_to(view, rows, row);
}

static void type_filter(struct top_view *view, int key)
{
	size_t length = strlen(view->filter);

	switch (key) {
	case KEY_TOP_ENTER:
		view->typing = false;
		break;
	case KEY_TOP_ESCAPE:
		view->typing = false;
		view->filter[0] = '\0';
		break;
	case KEY_TOP_BACKSPACE:
		if (length)
			view->filter[length - 1] = '\0';
		else
			view->typing = false;
		break;
	default:
		if (key >= ' ' && key <= '~' && length + 1 < sizeof(view->filter)) {
			view->filter[length] = (char)key;
			view->filter[length + 1] = '\0';
		}
	}
}

/* Moves the cursor, or the list of faults on the detail screen. True if the key was one of these. */
static bool keys_move(struct top_view *view, int key, const struct top_rows *rows)
{
	int page = rows->page > 1 ? rows->page : 1;
	int step;

	switch (key) {
	case KEY_TOP_UP:
	case 'k':
		step = -1;
		break;
	case KEY_TOP_DOWN:
	case 'j':
		step = 1;
		break;
	case KEY_TOP_PAGE_UP:
		step = -page;
		break;
	case KEY_TOP_PAGE_DOWN:
		step = page;
		break;
	case KEY_TOP_HOME:
	case 'g':
		step = -(1 << 20);
		break;
	case KEY_TOP_END:
	case 'G':
		step = 1 << 20;
		break;
	default:
		return false;
	}
	if (view->screen == SCREEN_DETAIL)
		view->fault_first = keys_clamp(view->fault_first + step, 0, DETAIL_LINES - 1);
	else
		select_row(view, rows, top_view_settle(view, rows) + step);
	return true;
}

/* Where Escape and q lead: one screen back. */
static void keys_leave(struct top_view *view)
{
	if (view->screen == SCREEN_HELP)
		view->screen = view->before_help;
	else
		view->screen = SCREEN_MAIN;
}

static void change_interval(struct top_view *view, double factor)
{
	double interval = view->interval_s * factor;

	if (interval >= TOP_INTERVAL_MIN && interval <= TOP_INTERVAL_MAX)
		view->interval_s = interval;
}

static void show_help(struct top_view *view)
{
	if (view->screen != SCREEN_HELP)
		view->before_help = view->screen;
	view->screen = SCREEN_HELP;
}

static void open_detail(struct top_view *view, const struct top_rows *rows)
{
	int row = top_view_settle(view, rows);

	if (view->screen != SCREEN_MAIN || row < 0)
		return;
	select_row(view, rows, row);
	view->screen = SCREEN_DETAIL;
	view->fault_first = 0;
}

static void next_sort(struct top_view *view, int step)
{
	unsigned int count = view->view == VIEW_FAULTS
				     ? SORT_COUNT
				     : (unsigned int)view_column_count(views[view->view]);

	view->sort = (view->sort + count + (unsigned int)step) % count;
	view->reverse = false;
}

/* Keys that lead from screen to screen, or out. False: it was none of them. */
static bool change_screen(struct top_view *view, int key, const struct top_rows *rows)
{
	switch (key) {
	case 'q':
		view->quit = view->screen == SCREEN_MAIN;
		keys_leave(view);
		return true;
	case 'Q':
		view->quit = true;
		return true;
	case KEY_TOP_ESCAPE:
	case KEY_TOP_BACKSPACE:
		if (view->screen == SCREEN_MAIN)
			view->filter[0] = '\0';
		keys_leave(view);
		return true;
	case KEY_TOP_ENTER:
		open_detail(view, rows);
		return true;
	case 'h':
	case '?':
		show_help(view);
		return true;
	case '\t':
		top_view_show(view, (view->view + 1) % VIEWS);
		return true;
	case KEY_TOP_BACKTAB:
		top_view_show(view, (view->view + VIEWS - 1) % VIEWS);
		return true;
	case '/':
		view->screen = SCREEN_MAIN;
		view->typing = true;
		return true;
	default:
		return false;
	}
}

void top_view_key(struct top_view *view, int key, const struct top_rows *rows)
{
	if (view->typing) {
		type_filter(view, key);
		return;
	}
	if (view->screen != SCREEN_HELP && keys_move(view, key, rows))
		return;
	if (change_screen(view, key, rows))
		return;
	if (key >= '1' && key < '1' + VIEWS) {
		top_view_show(view, (unsigned int)(key - '1'));
		return;
	}
	switch (key) {
	case 'p':
	case ' ':
		view->paused = !view->paused;
		break;
	case 's':
	case '>':
		next_sort(view, 1);
		break;
	case 'S':
	case '<':
		next_sort(view, -1);
		break;
	case 'r':
		view->reverse = !view->reverse;
		break;
	case 'w':
		view->span = view->span == LATENCY_WINDOW ? LATENCY_SINCE_START : LATENCY_WINDOW;
		break;
	case '+':
		change_interval(view, 2);
		break;
	case '-':
		change_interval(view, 0.5);
		break;
	default:
		break;
	}
}
