/* SPDX-License-Identifier: GPL-2.0 */
/* Devices whose control goes through the hypervisor (docs/hyv.md): what their analyzers have in common. */
#ifndef FAULTLINE_HYV_H
#define FAULTLINE_HYV_H

#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"

/* Their models are "rdma/MODE". */
enum hyv_mode {
	HYV_OTHER, /* has none, or is not known */
	HYV_NATIVE,
	HYV_HYBRID,
	HYV_PASSTHROUGH,
	HYV_ODP,
	HYV_MODES,
};

enum hyv_mode hyv_mode(const struct session *session, __u32 device);
const char *hyv_mode_name(enum hyv_mode mode); /* "-" for HYV_OTHER */
/* "-": not known. */
const char *hyv_tenant(const struct session *session, __u32 device);

/* A histogram that is made as it is first asked for; NULL without memory. */
struct histogram *hyv_histogram(struct histogram **histogram);
/* Adds what a window counted: buckets, exact sum and maximum. Counts that had no time are not among them. */
void hyv_take_row(struct histogram *histogram, const struct aggregate_frame *frame,
		  const struct aggregate_row *row);
/* CELL_NONE where there is none. */
__u64 hyv_percentile(const struct histogram *histogram, double percent);

#endif
