// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/iommu.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row iommu_rows[] = {
	{PROBE_IOMMU_MAP, "iommu_map", OBJECT_IOMMU, EVENT_IOMMU_MAP, false, NULL, TP_BTF(map)},
	{PROBE_IOMMU_UNMAP, "iommu_unmap", OBJECT_IOMMU, EVENT_IOMMU_UNMAP, false, NULL,
	 TP_BTF(unmap)},
	{PROBE_IOMMU_IO_PAGE_FAULT, "io_page_fault", OBJECT_IOMMU, EVENT_IOMMU_IO_PAGE_FAULT, false,
	 NULL, TP_BTF(io_page_fault)},
};

const size_t iommu_row_count = sizeof(iommu_rows) / sizeof(iommu_rows[0]);
