/* SPDX-License-Identifier: GPL-2.0 */
/* What the user is looking at, and how keys change it. Pure: a key and a model in, a state out. */
#ifndef FAULTLINE_TOP_KEYS_H
#define FAULTLINE_TOP_KEYS_H

#include "tools/top/model.h"

#define FILTER_TEXT 40

/* Keys that are no character; the terminal translates. */
enum top_key {
	KEY_TOP_UP = 0x10000,
	KEY_TOP_DOWN,
	KEY_TOP_PAGE_UP,
	KEY_TOP_PAGE_DOWN,
	KEY_TOP_HOME,
	KEY_TOP_END,
	KEY_TOP_ENTER,
	KEY_TOP_ESCAPE,
	KEY_TOP_BACKSPACE,
	KEY_TOP_BACKTAB,
};

enum top_screen { SCREEN_MAIN, SCREEN_DETAIL, SCREEN_HELP };

/* What each view remembers while another is shown. */
struct top_place {
	unsigned int sort;
	bool reverse;
	__u64 selected;
	int first;
};

struct top_view {
	enum top_screen screen;
	enum top_screen before_help;
	unsigned int view; /* which of views[] */
	struct top_place places[VIEWS];
	enum latency_span span;
	unsigned int sort; /* enum top_sort for the devices, else a column of the view */
	bool reverse;
	bool paused;
	bool typing; /* the filter is being edited */
	bool quit;
	char filter[FILTER_TEXT];
	__u64 selected;	 /* id; the cursor stays on its row when rows move; 0: none chosen yet */
	int first;	 /* first row of the table on screen */
	int fault_first; /* first fault of the detail screen's list, or its first line */
	double interval_s;
};

#define TOP_INTERVAL_MIN 0.1
#define TOP_INTERVAL_MAX 3600.0

/* The rows as they are shown now. */
struct top_rows {
	const __u64 *ids; /* handles of devices, or ids of a table's rows */
	size_t count;
	int page; /* rows of the table on screen */
};

void top_view_init(struct top_view *view);
/* Goes to another view's first screen; every view keeps its cursor and its order. */
void top_view_show(struct top_view *view, unsigned int which);
void top_view_key(struct top_view *view, int key, const struct top_rows *rows);
/*
 * After a new model or size: keeps the selection on its device (or the nearest row if it is gone)
 * and on screen. Returns the selected row's index in `order`, -1 if there are no rows.
 */
int top_view_settle(struct top_view *view, const struct top_rows *rows);

#endif
