/* SPDX-License-Identifier: GPL-2.0 */
/* Batch output of the views that are tables. */
#ifndef FAULTLINE_TOP_BATCH_VIEW_H
#define FAULTLINE_TOP_BATCH_VIEW_H

#include "tools/top/model.h"

struct batch_view;

/* Text goes to `file` as it is on an 80-column screen; CSV and JSON to the writer, every cell. */
int batch_view_open(struct batch_view **batch, const struct view *view, struct writer *writer,
		    FILE *file, bool text);
int batch_view_interval(struct batch_view *batch, const struct top_model *model, const __u32 *order,
			size_t count);
int batch_view_close(struct batch_view *batch);

#endif
