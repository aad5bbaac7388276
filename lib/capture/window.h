/* SPDX-License-Identifier: GPL-2.0 */
/* One open window's counts in user space: rows with histograms, and pages. Reused when closed. */
#ifndef FAULTLINE_WINDOW_H
#define FAULTLINE_WINDOW_H

#include "lib/base/stream.h"

struct window_row {
	struct aggregate_key key;
	struct aggregate_counts counts;
	__u32 *buckets; /* HISTOGRAM_BUCKETS, kept for the row's place */
};

/* Open addressing: hash to index + 1 of an array; a power of two, at most half full. */
struct window_index {
	__u32 *slots;
	size_t room;
};

struct capture_window {
	struct window_row *rows;
	size_t row_count, row_room;
	struct window_index row_index;
	struct aggregate_page *pages;
	size_t page_count, page_room;
	struct window_index page_index;
	bool incomplete;
};

/* Find or make. NULL without memory, or beyond `limit`: then the window is incomplete. */
struct window_row *window_row(struct capture_window *window, const struct aggregate_key *key,
			      size_t limit);
struct aggregate_page *window_page(struct capture_window *window, __u32 device, __u32 pasid,
				   __u64 page, size_t limit);
void window_reset(struct capture_window *window);
void window_free(struct capture_window *window);

#endif
