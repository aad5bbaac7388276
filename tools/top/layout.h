/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where everything of the live view goes, as a pure function of the terminal's size and of how much
 * there is to show. No terminal, no state: tested over every size.
 *
 * What must hold for any size: rectangles lie inside the screen and never overlap; a wider screen
 * never shows fewer columns; columns appear in order of importance, so a narrow screen keeps the
 * device, its fault rate and its p99.
 */
#ifndef FAULTLINE_TOP_LAYOUT_H
#define FAULTLINE_TOP_LAYOUT_H

#include <stdbool.h>

#define LAYOUT_MIN_COLUMNS 32
#define LAYOUT_MIN_ROWS	   7

struct rectangle {
	int row, column;   /* of the upper left cell, from 0 */
	int rows, columns; /* rows == 0: not on this screen */
};

/* Columns of the device table in the order in which they are shown. */
enum top_column {
	TOP_DEVICE,
	TOP_OWNER,
	TOP_RATE,
	TOP_TOTAL,
	TOP_P50,
	TOP_P99,
	TOP_MAX,
	TOP_STAGE,
	TOP_BLOCKED,
	TOP_FOOTPRINT,
	TOP_SLO,
	TOP_OPEN,
	TOP_BURSTS,
	TOP_IOS,
	TOP_TREND,
	TOP_COLUMNS,
};

#define LAYOUT_COLUMNS 16

struct column_place {
	int id;	    /* enum top_column, or of the view's columns */
	int column; /* on the screen */
	int width;  /* at least 1; one blank cell follows each but the last */
};

/* How much text the flexible parts would like to have. */
struct layout_column {
	int least;
	int rank; /* 0: the last to go */
	int wish; /* cells it would like to have */
};

struct layout_wish {
	int name_width;	 /* longest device name */
	int owner_width; /* longest owner text */
	int faults;	 /* rows of the detail screen's list */
	int finding;	 /* rows of the worst finding's sentence */
	/* Columns of a view's table; 0: those of the devices. */
	int column_count;
	struct layout_column columns[LAYOUT_COLUMNS];
};

struct layout {
	bool too_small;
	struct rectangle header; /* with the next two */
	struct rectangle tabs;
	struct rectangle finding;
	struct rectangle footer;

	/* main screen */
	struct rectangle table_head;
	struct rectangle table;
	struct column_place columns[LAYOUT_COLUMNS];
	int column_count;
	int more_columns; /* those that a wider screen would have */

	/* detail screen */
	struct rectangle about;	  /* who the device is, bursts, invalidations */
	struct rectangle stages;  /* heading and one row a stage */
	struct rectangle history; /* heading and the rate's sparkline */
	struct rectangle faults;  /* heading and the last faults */

	/* help and messages */
	struct rectangle body; /* everything between header and footer */
};

void layout_main(struct layout *layout, int rows, int columns, const struct layout_wish *wish);
void layout_detail(struct layout *layout, int rows, int columns, const struct layout_wish *wish);

/* Columns ordered by importance; the first ones survive on a narrow screen. */
enum top_column layout_importance(int rank);
int layout_least_width(enum top_column column);

#endif
