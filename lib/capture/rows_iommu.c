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
#define ROW_BESIDE(id, name, kind, neighbour, without_, ...)                         \
	{                                                                            \
		PROBE_##id, name, OBJECT_IOMMU, kind, false, NULL, {__VA_ARGS__},    \
			.with = neighbour, .place = PLACE_IOMMU, .without = without_ \
	}
#define FLUSHES "not all flushes of the IOMMU are counted"
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
	ROW_BESIDE(IOMMU_MAP, "iommu_map", EVENT_IOMMU_MAP, "iommu_map_domain",
		   "IOMMU mappings are not counted", TRACEPOINT(map)),
	ROW_BESIDE(IOMMU_UNMAP, "iommu_unmap", EVENT_IOMMU_UNMAP, "iommu_unmap_domain",
		   "IOMMU unmaps are not counted", TRACEPOINT(unmap)),
	ROW_BESIDE(IOMMU_MAP_DOMAIN, "iommu_map_domain", EVENT_IOMMU_MAP, "iommu_map",
		   "the devices of IOMMU mappings are not known",
		   FUNCTION(iommu_map_nosync, "maps_nosync", NULL, 0),
		   FUNCTION(__iommu_map, "maps", NULL, 0)),
	ROW_BESIDE(IOMMU_UNMAP_DOMAIN, "iommu_unmap_domain", EVENT_IOMMU_UNMAP, "iommu_unmap",
		   "the devices of IOMMU unmaps are not known",
		   FUNCTION(__iommu_unmap, "unmaps", NULL, 0)),
	ROW_WITH(IOMMU_ATTACH, "iommu_attach", EVENT_IOMMU_ATTACH,
		 .without = "domains of devices attached meanwhile are not known",
		 FUNCTION(__iommu_attach_device, NULL, "attached_in_two", 2),
		 FUNCTION(__iommu_attach_device, NULL, "attached_in_three", 3),
		 TRACEPOINT(attach_device_to_domain)),
	ROW_WITH(IOMMU_DOMAIN_FREE, "iommu_domain_free", EVENT_IOMMU_ATTACH, .optional = true,
		 FUNCTION(iommu_domain_free, "domain_freed", NULL, 0)),
	VTD_ROW(IOMMU_FLUSH, "iommu_flush", EVENT_IOMMU_FLUSH, .without = FLUSHES,
		FUNCTION(qi_submit_sync, "submits_flush", "submitted_flush", 0)),
	ROW_WITH(IOMMU_SYNC, "iommu_sync", EVENT_IOMMU_FLUSH, .without = FLUSHES,
		 DRIVER(VTD, intel_iommu_tlb_sync, "intel_syncs", "intel_synced"),
		 DRIVER(AMD_VI, amd_iommu_iotlb_sync, "amd_syncs", "amd_synced")),
	ROW_WITH(IOMMU_FLUSH_ALL, "iommu_flush_all", EVENT_IOMMU_FLUSH, .without = FLUSHES,
		 DRIVER(VTD, intel_flush_iotlb_all, "intel_flushes", "intel_flushed"),
		 DRIVER(AMD_VI, amd_iommu_flush_iotlb_all, "amd_flushes", "amd_flushed")),
	ROW_WITH(IOMMU_IO_PAGE_FAULT, "io_page_fault", EVENT_IOMMU_IO_PAGE_FAULT,
		 .without = "IOMMU faults that drivers report are not counted",
		 TRACEPOINT(io_page_fault)),
	VTD_ROW(VTD_FAULT, "vtd_fault", EVENT_IOMMU_UNSEEN,
		.without = "VT-d faults that the log suppresses are not counted",
		FUNCTION(dmar_fault, "handles_faults", "handled_faults", 0)),
	VTD_ROW(VTD_FAULT_TEXT, "vtd_fault_text", EVENT_IOMMU_FAULT, .optional = true,
		TRACEPOINT(console)),
};

const size_t iommu_row_count = sizeof(iommu_rows) / sizeof(iommu_rows[0]);
