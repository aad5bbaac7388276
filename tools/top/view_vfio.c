// SPDX-License-Identifier: GPL-2.0
/* View "vfio": containers and address spaces, how near they are to their limits, what was refused. */
#include "lib/analyze/vfio.h"
#include "tools/top/views.h"

/* Of all containers together. */
static __u64 view_vfio_refused(const struct analysis *a)
{
	__u64 sum = 0;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(a->session, h)) {
		const struct vfio_container *container = vfio_container(a->vfio, h);

		sum += container ? container->failed : 0;
	}
	return sum;
}

static void view_vfio_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	snprintf(text, VIEW_TOTALS, "VFIO containers %u, requests refused %llu",
		 vfio_containers(a->vfio), view_vfio_refused(a));
}

static __u64 view_vfio_count(const struct analysis *a)
{
	return vfio_containers(a->vfio);
}

const struct view view_vfio = {
	.name = "vfio",
	.write = vfio_write,
	.columns =
		{
			{"CONTAINER", "container", VIEW_AS_IS, 13, 0},
			{"COMM", "comm", VIEW_AS_IS, 9, 7},
			{"MAP/s", "maps", VIEW_RATE, 5, 5, 1},
			{"FAIL", "failed", VIEW_AS_IS, 5, 1, 1, 1},
			{"LOCK", "locked", VIEW_AS_IS, 5, 3},
			{"LIMIT", "memlock", VIEW_AS_IS, 5, 4},
			{"LIM%", "memlock_used", VIEW_AS_IS, 5, 2, 50, 90},
			{"ENTRS", "entries", VIEW_AS_IS, 5, 8},
			{"ENT%", "entries_used", VIEW_AS_IS, 5, 6, 50, 90},
			{"P50", "map_p50", VIEW_AS_IS, 5, 10},
			{"P99", "map_p99", VIEW_AS_IS, 5, 9},
			{"PINS", "still_pinned", VIEW_AS_IS, 5, 11},
			{"MAPS", "maps", VIEW_AS_IS, 5, 12},
			{"PIN99", "pin_p99", VIEW_AS_IS, 5, 13},
			{"UNM/s", "unmaps", VIEW_RATE, 5, 14},
			{"IOMMU", "iommu", VIEW_AS_IS, 7, 15},
		},
	.keys = 1,
	.windowed = true,
	.sort = "LIM%",
	.tables = {vfio_write_failures, vfio_write_runs},
	.totals = view_vfio_totals,
	.count = view_vfio_count,
	.nothing = "No VFIO container and no address space of iommufd",
	.paths = {PATH_VFIO, PATH_IOMMUFD},
};
