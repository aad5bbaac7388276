/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a table names the point of a sweep that a row belongs to: its first columns are the point's
 * number, from 1, and a column a dimension with the point's value. The baseline's first value is
 * "baseline", the others are left out.
 */
#ifndef FAULTLINE_JOB_SWEEP_TABLE_H
#define FAULTLINE_JOB_SWEEP_TABLE_H

#include "lib/job/sweep.h"
#include "lib/output/table.h"

#define SWEEP_COLUMNS (1 + SWEEP_DIMENSIONS)

/* Both fill at most SWEEP_COLUMNS and return how many; names and texts are borrowed of `sweep`. */
size_t sweep_columns(struct column *columns, const struct sweep *sweep);
size_t sweep_cells(union cell *cells, const struct sweep *sweep, size_t point);

#endif
