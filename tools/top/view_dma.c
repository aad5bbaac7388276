// SPDX-License-Identifier: GPL-2.0
/* View "dma": what each device has mapped, and who has left mappings behind. */
#include "lib/analyze/mappings.h"
#include "lib/base/units.h"
#include "tools/top/views.h"

static void view_dma_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	struct mappings_device all = mappings_all(a->mappings);
	char live[UNITS_TEXT], old[UNITS_TEXT];

	if (mappings_unknown(a->mappings))
		snprintf(text, VIEW_TOTALS, "mappings live not known, not in the table %llu",
			 all.refused);
	else
		snprintf(text, VIEW_TOTALS,
			 "mappings live %llu, %s, old %llu, %s, not in the table %llu", all.live,
			 units_format_size(all.live_bytes, live), all.old,
			 units_format_size(all.old_bytes, old), all.refused);
}

static __u64 view_dma_count(const struct analysis *a)
{
	return mappings_all(a->mappings).live;
}

const struct view view_dma = {
	.name = "dma",
	.write = mappings_write_devices,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 14, 0},
			{"DRIVER", "driver", VIEW_AS_IS, 8, 9},
			{"MAP/s", "maps", VIEW_RATE, 5, 1, 1},
			{"UNM/s", "unmaps", VIEW_RATE, 5, 6},
			{"LIVE", "live", VIEW_AS_IS, 5, 2, 1},
			{"SIZE", "live_size", VIEW_AS_IS, 5, 3},
			{"PEAK", "peak_size", VIEW_AS_IS, 5, 7},
			{"OLD", "old", VIEW_AS_IS, 5, 4, 1, 1},
			{"OLDSZ", "old_size", VIEW_AS_IS, 5, 8},
			{"MAPS", "maps", VIEW_AS_IS, 5, 5},
			{"MEAN", "map_mean", VIEW_AS_IS, 5, 10},
			{"ALC/s", "allocs", VIEW_RATE, 5, 11},
			{"HUGE", "huge_pages", VIEW_AS_IS, 5, 12},
			{"UNKNO", "unknown", VIEW_AS_IS, 5, 13},
			{"REFUS", "refused", VIEW_AS_IS, 5, 14, 1, 1},
		},
	.keys = 1,
	.sort = "SIZE",
	.tables = {mappings_write_old, mappings_write_mappers},
	.totals = view_dma_totals,
	.count = view_dma_count,
	.nothing = "No DMA mapping",
	.paths = {PATH_DMA},
};
