// SPDX-License-Identifier: GPL-2.0
/* View "iommu": devices whose DMA the IOMMU has refused, with who owned the address. */
#include "lib/analyze/iommu_faults.h"
#include "tools/top/views.h"

#define NEWEST 1000

static void write_faults(const struct analysis *a, struct writer *writer,
			 const struct table_wish *wish)
{
	(void)wish;
	iommu_faults_write(a, writer, &(struct table_wish){.limit = NEWEST});
}

static void view_iommu_totals(const struct analysis *a, char text[VIEW_TOTALS])
{
	struct iommu_faults_counts counts;

	iommu_faults_counts(a->iommu_faults, &counts);
	snprintf(text, VIEW_TOTALS,
		 "unrecoverable faults decoded %llu, with an owner %llu, unseen %s%llu",
		 counts.seen, counts.owned, counts.at_least ? "at least " : "", counts.unseen);
}

static __u64 view_iommu_count(const struct analysis *a)
{
	struct iommu_faults_counts counts;

	iommu_faults_counts(a->iommu_faults, &counts);
	return counts.seen + counts.unseen;
}

const struct view view_iommu = {
	.name = "iommu",
	.write = iommu_faults_write_devices,
	.columns =
		{
			{"DEVICE", "device", VIEW_AS_IS, 12, 0},
			{"FLT/s", "faults", VIEW_RATE, 5, 1, 1, 1},
			{"TOTAL", "faults", VIEW_AS_IS, 5, 2, 1},
			{"LAST", "last", VIEW_AS_IS, 8, 7},
			{"ACCESS", "access", VIEW_AS_IS, 6, 6},
			{"ADDRESS", "address", VIEW_AS_IS, 11, 3},
			{"OWNER", "owner", VIEW_AS_IS, 8, 5},
			{"PROCESS", "process", VIEW_AS_IS, 15, 4},
			{"REASON", "reason", VIEW_AS_IS, 24, 8},
			{"DRIVER", "driver", VIEW_AS_IS, 10, 9},
			{"OWNED", "owned", VIEW_AS_IS, 5, 10},
		},
	.keys = 1,
	.sort = "FLT/s",
	.tables = {write_faults},
	.totals = view_iommu_totals,
	.count = view_iommu_count,
	.nothing = "No unrecoverable IOMMU fault",
	.paths = {PATH_IOMMU},
};
