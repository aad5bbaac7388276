/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The live view without a terminal: one group of rows an interval. Text starts every interval with a
 * line of totals; CSV and JSON are one table with a time column. In that of the devices, "top", the
 * device "all" stands for the sum; in those of other views an interval without rows has an empty one:
 * so an interval in which nothing was is a row, too.
 */
#ifndef FAULTLINE_TOP_BATCH_H
#define FAULTLINE_TOP_BATCH_H

#include "tools/top/options.h"

struct batch;

int batch_open(struct batch **batch, const struct top_options *options, FILE *file);
/* `order`: rows to print, sorted. Flushes, so that a reader at the other end of a pipe is live. */
int batch_interval(struct batch *batch, const struct top_model *model, const __u32 *order,
		   size_t count);
int batch_close(struct batch *batch);

#endif
