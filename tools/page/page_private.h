/* SPDX-License-Identifier: GPL-2.0 */
/* What is collected of a part of a recording while it is read, and the sections that are written of it. */
#ifndef FAULTLINE_PAGE_PRIVATE_H
#define FAULTLINE_PAGE_PRIVATE_H

#include "lib/analyze/analysis.h"
#include "tools/page/page.h"
#include "tools/page/series.h"

#define PAGE_SLOWEST 30

struct page_draft {
	const struct export_part *part;
	struct analysis *analysis;
	FILE *out;
	struct page_series faults;		/* how long each took, by when it began */
	struct page_series ios;			/* completed within each second */
	struct page_series io_mean;		/* latency within each second */
	struct page_series io_most;		/* likewise the greatest */
	struct page_series io_single;		/* latencies of those recorded one by one */
	struct fault slowest[PAGE_SLOWEST + 1]; /* slowest first */
	size_t slowest_count;
};

/* Sized for the part; then fed by the sink that is added to its analysis, and by the stream. -ENOSPC. */
int page_collect(struct page_draft *page);
struct stream page_stream(struct page_draft *page);
/* From the first timestamp seen to the last. */
__u64 page_fault_ns(const struct fault *fault);

/* Plots as SVG, and what a script needs to draw them itself. */
void page_write_plots(const struct page_draft *page);
void page_write_data(const struct page_draft *page);
/* A bar of stages of each of the slowest. */
void page_write_slowest(const struct page_draft *page);
/* Tables and sentences, section by section. */
int page_write_head(const struct page_draft *page);
int page_write_devices(const struct page_draft *page);
int page_write_stages(const struct page_draft *page);
int page_write_objectives(const struct page_draft *page);
int page_write_faults(const struct page_draft *page);
int page_write_rest(const struct page_draft *page);
int page_write_limits(const struct page_draft *page);

#endif
