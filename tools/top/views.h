/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the live view can show: a view a tab. All but the first are tables of lib/analyze, the very
 * rows that `report` writes, so that a live number is the number of its recording. A new view is a
 * file that describes one and a line in views.c.
 */
#ifndef FAULTLINE_TOP_VIEWS_H
#define FAULTLINE_TOP_VIEWS_H

#include "lib/analyze/live.h"
#include "lib/capture/paths.h"
#include "lib/output/rows.h"
#include "tools/top/filter.h"

#define VIEW_COLUMNS 16
#define VIEW_TABLES  3
#define VIEW_PATHS   2
#define VIEW_TOTALS  160

enum view_value {
	VIEW_AS_IS,
	VIEW_RATE, /* by how much a second a count grew in the last interval */
};

/* A column on the screen. */
struct view_column {
	const char *head;
	const char *column; /* of the table */
	enum view_value value;
	int least;    /* cells it needs */
	int rank;     /* 0: the last to go on a narrow screen */
	__u64 strong; /* from this number on it is drawn as STYLE_STRONG... */
	__u64 bad;    /* ...and from this on as STYLE_BAD; 0: never */
};

struct view {
	const char *name; /* of the tab, and for --view */
	/* The table; NULL: the devices of struct top_model, which have curves and stages. */
	analyzer_write *write;
	/* In the order in which they are shown; a row is known by the table's first `keys` cells. */
	struct view_column columns[VIEW_COLUMNS];
	size_t keys;
	bool windowed;	  /* it has latencies, which may be of the window only */
	const char *sort; /* head of the column that sorts at first */
	/* What Enter opens below a row's own cells: rows of these tables that have the same
	 * device or container. */
	analyzer_write *tables[VIEW_TABLES];
	/* What there is in all, in at most a line. */
	void (*totals)(const struct analysis *analysis, char text[VIEW_TOTALS]);
	__u64 (*count)(const struct analysis *analysis); /* the tab's number */
	const char *nothing;				 /* "No DMA mapping": instead of rows */
	enum path_id paths[VIEW_PATHS]; /* what must be watched for that to mean something */
};

enum {
	VIEW_FAULTS,
	VIEW_IOMMU,
	VIEW_DMA,
	VIEW_VFIO,
	VIEW_RDMA,
	VIEW_NIC,
	VIEW_QP,
	VIEW_LENT,
	VIEW_PINS,
	VIEWS
};

extern const struct view *const views[VIEWS];
extern const struct view view_iommu, view_dma, view_vfio, view_rdma, view_nic, view_qp, view_lent,
	view_pins;

/* VIEWS if there is no such name. */
unsigned int view_from(const char *name);
size_t view_column_count(const struct view *view);

/* The rows of a view as of one look at the analysis. All zero is empty. */
struct view_table {
	struct rows rows;
	__u64 *ids;    /* of each row: the same as long as its keys are */
	double *rates; /* as rows.cells: of the columns that have one; NAN: not known yet */
	size_t row_room, cell_room;
	char totals[VIEW_TOTALS];
	__u64 count;
};

int view_table_copy(struct view_table *to, const struct view_table *from);
void view_table_free(struct view_table *table);
/*
 * Takes the rows anew; rates are against `before`, of an earlier look elapsed_ns ago. A row that was
 * not there has grown from 0. -ENOMEM.
 */
int view_table_take(struct view_table *table, const struct view *view,
		    const struct analysis *analysis, enum latency_span span,
		    const struct view_table *before, __u64 elapsed_ns);

/* The cell of a row for a column of the screen; a rate is a real. */
union cell view_cell(const struct view_table *table, size_t row, const struct view_column *column,
		     enum column_type *type);
/* The same as text of at most five cells for numbers. Returns `text`. */
const char *view_text(const struct view_table *table, size_t row, const struct view_column *column,
		      const struct wall_clock *clock, char *text, size_t size);

struct view_order {
	unsigned int sort; /* column of the screen */
	bool reverse;
	const char *filter; /* some text cell contains it; case ignored; NULL or "": all */
	const struct collect_filter *shown; /* first cell and column pid pass it; NULL: all */
};

/* Of the column with this head, else of the table's column of this name; VIEW_COLUMNS if there is none. */
unsigned int view_sort_from(const struct view *view, const char *name);

/*
 * Writes the indices of the rows that pass into `order` (room for all), sorted: numbers downwards, words
 * upwards, `reverse` turns either; equal ones as the table has them. Returns how many.
 */
size_t view_order(const struct view *view, const struct view_table *table,
		  const struct view_order *by, __u32 *order);

#endif
