/* SPDX-License-Identifier: GPL-2.0 */
/* Takes snapshots of an analysis: from struct live_device to the model of the live view. */
#ifndef FAULTLINE_TOP_COLLECT_H
#define FAULTLINE_TOP_COLLECT_H

#include "tools/top/keys.h"

struct collector;

/*
 * `analysis` and `filter` are borrowed until destroy. window_ns: how long LATENCY_WINDOW is, at least;
 * a longer interval makes it as long. 0: the analysis is not windowed.
 */
int collector_create(struct collector **collector, struct analysis *analysis,
		     const struct collect_filter *filter, __u64 window_ns);
void collector_destroy(struct collector *collector);

/*
 * Looks at the analysis as of now_ns (CLOCK_MONOTONIC), with rates over interval_ns: extends the
 * curves and measures this process. ended: the stream is, so that nothing more will be told. Called every interval, also while the screen is paused. -ENOMEM.
 */
int collect_observe(struct collector *collector, __u64 now_ns, __u64 interval_ns, bool ended);
/* Fills the model with what the last collect_observe() saw, and with the table of model->view. -ENOMEM. */
int collect_model(struct collector *collector, struct top_model *model);
/* Fills just the table of model->view, with latencies of model->span. -ENOMEM. */
int collect_table(struct collector *collector, struct top_model *model);
/* Fills the detail of a device; leaves it empty if the analysis does not know it. */
void collect_detail(struct collector *collector, struct top_detail *detail, __u32 device);
/* Fills the tables that a view shows below its chosen row. -ENOMEM. */
int collect_row(struct collector *collector, struct top_detail *detail,
		const struct top_view *view);

#endif
