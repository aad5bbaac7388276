// SPDX-License-Identifier: GPL-2.0
/* View "rdma": on-demand paging by device and memory region, beside what the device counted. */
#include "lib/analyze/odp.h"
#include "tools/top/views.h"

struct sums {
	__u64 faults, pages, invalidated;
};

static struct sums sums_of(const struct analysis *a)
{
	struct sums sums = {0};

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		const struct odp_totals *totals = odp_of_device(a->odp, h);

		if (!totals)
			continue;
		sums.faults += totals->faults;
		sums.pages += totals->pages;
		sums.invalidated += totals->invalidated_pages;
	}
	return sums;
}

static void view_rdma_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	struct sums sums = sums_of(a);

	snprintf(text, VIEW_TOTALS,
		 "on-demand faults %llu, pages in %llu, taken back %llu, regions %zu", sums.faults,
		 sums.pages, sums.invalidated, odp_region_count(a->odp));
}

static __u64 view_rdma_count(const struct analysis *a)
{
	return sums_of(a).faults;
}

const struct view view_rdma = {
	.name = "rdma",
	.write = odp_write,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 8, 0},
			{"REGION", "region", VIEW_AS_IS, 8, 4},
			{"PROCESS", "process", VIEW_AS_IS, 10, 6},
			{"FLT/s", "faults", VIEW_RATE, 5, 1, 1},
			{"TOTAL", "faults", VIEW_AS_IS, 5, 2, 1},
			{"P50", "p50", VIEW_AS_IS, 5, 8},
			{"P99", "p99", VIEW_AS_IS, 5, 3},
			{"MAX", "max", VIEW_AS_IS, 5, 7},
			{"INV/s", "invalidations", VIEW_RATE, 5, 5, 1},
			{"FAIL", "failed", VIEW_AS_IS, 4, 9, 1, 1},
			{"MAJOR", "major", VIEW_AS_IS, 5, 10},
			{"PAGES", "pages", VIEW_AS_IS, 5, 11},
			{"GONE", "invalidated", VIEW_AS_IS, 5, 12},
			{"ADVIS", "prefetched", VIEW_AS_IS, 5, 13},
			{"KIND", "kind", VIEW_AS_IS, 8, 14},
			{"LENGT", "length", VIEW_AS_IS, 5, 15},
		},
	.keys = 2,
	.windowed = true,
	.sort = "TOTAL",
	.tables = {odp_write_counters},
	.totals = view_rdma_totals,
	.count = view_rdma_count,
	.nothing = "No RDMA on-demand paging",
	.paths = {PATH_RDMA},
};
