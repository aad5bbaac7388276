/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a table names the point of a sweep that a row belongs to: its first columns are the point's
 * number, from 1, and a column a dimension with the point's value. The baseline's first value is
 * "baseline", the others are left out.
 */
#ifndef FAULTLINE_JOB_SWEEP_TABLE_H
#define FAULTLINE_JOB_SWEEP_TABLE_H

#include "lib/job/column.h"
#include "lib/job/sweep.h"

#define SWEEP_COLUMNS (1 + SWEEP_DIMENSIONS)

/* Both fill at most SWEEP_COLUMNS and return how many; names and texts are borrowed of `sweep`. */
size_t sweep_columns(struct column *columns, const struct sweep *sweep);
size_t sweep_cells(union cell *cells, const struct sweep *sweep, size_t point);

/* A column's own name or, where the sweep has taken that, "seen_NAME" in `room`. */
#define SWEEP_OWN_NAME 48
const char *sweep_own_name(const char *name, const struct sweep *sweep, char room[SWEEP_OWN_NAME]);

/* The table "results": the point, then what a run of it gives. It must live until writer_end(). */
#define SWEEP_RESULTS_MAX 256
struct sweep_results {
	const struct sweep *sweep;
	const struct job_columns *own;
	struct column columns[SWEEP_COLUMNS + SWEEP_RESULTS_MAX];
	char names[SWEEP_RESULTS_MAX][SWEEP_OWN_NAME];
	struct table table;
};

int sweep_results_begin(struct sweep_results *results, struct writer *writer, const char *title,
			const struct sweep *sweep, const struct job_columns *own);
/* `values`: one a column of a run; NAN: unknown. */
int sweep_results_row(const struct sweep_results *results, struct writer *writer, size_t point,
		      const double *values);

/*
 * A table of which each point has rows: the point, then columns that are known when it is compiled
 * (TABLE()), whose getters get neither context nor room for texts. It must live until writer_end().
 */
#define SWEEP_CELLS (SWEEP_COLUMNS + SWEEP_RESULTS_MAX)
struct point_table {
	const struct sweep *sweep;
	const struct table *own; /* without the point */
	struct column columns[SWEEP_CELLS];
	char names[SWEEP_RESULTS_MAX][SWEEP_OWN_NAME];
	struct table table;
};

int point_table_begin(struct point_table *table, struct writer *writer, const struct sweep *sweep,
		      const struct table *own);
/* `row`: what the table's own columns take their values of. Their texts stay. */
int point_table_put(const struct point_table *table, struct writer *writer, size_t point,
		    const void *row);

#endif
