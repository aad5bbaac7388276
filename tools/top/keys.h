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
};

enum top_screen { SCREEN_MAIN, SCREEN_DETAIL, SCREEN_HELP };

struct top_view {
	enum top_screen screen;
	enum top_screen before_help;
	enum top_sort sort;
	bool reverse;
	bool paused;
	bool typing; /* the filter is being edited */
	bool quit;
	char filter[FILTER_TEXT];
	__u32 selected;	 /* handle; the cursor stays on its device when rows move */
	int first;	 /* first row of the table on screen */
	int fault_first; /* first fault of the detail screen's list */
	double interval_s;
};

#define TOP_INTERVAL_MIN 0.1
#define TOP_INTERVAL_MAX 3600.0

/* The rows as they are shown now. */
struct top_rows {
	const struct top_model *model;
	const __u32 *order;
	size_t count;
	int page; /* rows of the table on screen */
};

void top_view_init(struct top_view *view);
void top_view_key(struct top_view *view, int key, const struct top_rows *rows);
/*
 * After a new model or size: keeps the selection on its device (or the nearest row if it is gone)
 * and on screen. Returns the selected row's index in `order`, -1 if there are no rows.
 */
int top_view_settle(struct top_view *view, const struct top_rows *rows);

#endif
