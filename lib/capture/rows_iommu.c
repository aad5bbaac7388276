// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/iommu.bpf.c. */
#include "lib/capture/rows.h"

/* `more` are fields by name. */
#define ROW_AT(place_, id, name, kind, more, ...)                                       \
	{                                                                               \
		PROBE_##id, name, OBJECT_IOMMU, kind, false, NULL, {__VA_ARGS__}, more, \
			.place = place_                                                 \
	}
#define ROW_WITH(id, name, kind, more, ...) ROW_AT(PLACE_IOMMU, id, name, kind, more, __VA_ARGS__)
#define ROW(id, name, kind, ...)	    ROW_WITH(id, name, kind, .note = NULL, __VA_ARGS__)
/* What the hardware does is told also where it only remaps interrupts. */
#define VTD_ROW(id, name, kind, more, ...) \
	ROW_AT(PLACE_VTD_HARDWARE, id, name, kind, more, __VA_ARGS__)
#define TRACEPOINT(symbol)                               \
	{                                                \
		ATTACH_TP_BTF, #symbol, #symbol, NULL, 0 \
	}
#define FUNCTION(symbol, entry, exit, arguments)                 \
	{                                                        \
		ATTACH_FUNCTION, #symbol, entry, exit, arguments \
	}

/* A kernel has the functions of both drivers, a host has one kind of IOMMU. */
#define DRIVER(driver, symbol, entry, exit)                                    \
	{                                                                      \
		ATTACH_FUNCTION, #symbol, entry, exit, .place = PLACE_##driver \
	}

const struct probe_row iommu_rows[] = {
	ROW(IOMMU_MAP, "iommu_map", EVENT_IOMMU_MAP, TRACEPOINT(map)),
	ROW(IOMMU_UNMAP, "iommu_unmap", EVENT_IOMMU_UNMAP, TRACEPOINT(unmap)),
	ROW_WITH(IOMMU_MAP_DOMAIN, "iommu_map_domain", EVENT_IOMMU_MAP, .with = "iommu_map",
		 FUNCTION(iommu_map_nosync, "maps_nosync", NULL, 0),
		 FUNCTION(__iommu_map, "maps", NULL, 0)),
	ROW_WITH(IOMMU_UNMAP_DOMAIN, "iommu_unmap_domain", EVENT_IOMMU_UNMAP, .with = "iommu_unmap",
		 FUNCTION(__iommu_unmap, "unmaps", NULL, 0)),
	ROW(IOMMU_ATTACH, "iommu_attach", EVENT_IOMMU_ATTACH,
	    FUNCTION(__iommu_attach_device, NULL, "attached_in_two", 2),
	    FUNCTION(__iommu_attach_device, NULL, "attached_in_three", 3),
	    TRACEPOINT(attach_device_to_domain)),
	VTD_ROW(IOMMU_FLUSH, "iommu_flush", EVENT_IOMMU_FLUSH, .note = NULL,
		FUNCTION(qi_submit_sync, "submits_flush", "submitted_flush", 0)),
	ROW(IOMMU_SYNC, "iommu_sync", EVENT_IOMMU_FLUSH,
	    DRIVER(VTD, intel_iommu_tlb_sync, "intel_syncs", "intel_synced"),
	    DRIVER(AMD_VI, amd_iommu_iotlb_sync, "amd_syncs", "amd_synced")),
	ROW(IOMMU_FLUSH_ALL, "iommu_flush_all", EVENT_IOMMU_FLUSH,
	    DRIVER(VTD, intel_flush_iotlb_all, "intel_flushes", "intel_flushed"),
	    DRIVER(AMD_VI, amd_iommu_flush_iotlb_all, "amd_flushes", "amd_flushed")),
	ROW(IOMMU_IO_PAGE_FAULT, "io_page_fault", EVENT_IOMMU_IO_PAGE_FAULT,
	    TRACEPOINT(io_page_fault)),
	VTD_ROW(VTD_FAULT, "vtd_fault", EVENT_IOMMU_UNSEEN, .note = NULL,
		FUNCTION(dmar_fault, "handles_faults", "handled_faults", 0)),
	VTD_ROW(VTD_FAULT_TEXT, "vtd_fault_text", EVENT_IOMMU_FAULT, .optional = true,
		TRACEPOINT(console)),
};

const size_t iommu_row_count = sizeof(iommu_rows) / sizeof(iommu_rows[0]);
