// SPDX-License-Identifier: GPL-2.0
/* What the DMA API and others ask of an IOMMU, what it is made to forget, and what it reports. */
#include "lib/capture/paths/rows.h"
#include "bpf/iommu.skel.h"

static DEFINE_OBJECT(iommu, .knows_devices = true);

#define FLUSHES "not all flushes of the IOMMU are counted"

/*
 * A kernel has the functions of all drivers, a host has one kind of IOMMU. What VT-d does is told also where
 * it only remaps interrupts.
 */
static const struct probe_row rows[] = {
	{PROBE_IOMMU_MAP, "iommu_map", &iommu_object, EVENT_IOMMU_MAP, METHODS(TRACEPOINT(map)),
	 .with = "iommu_map_domain", .place = PLACE_IOMMU,
	 .without = "IOMMU mappings are not counted"},
	{PROBE_IOMMU_UNMAP, "iommu_unmap", &iommu_object, EVENT_IOMMU_UNMAP,
	 METHODS(TRACEPOINT(unmap)), .with = "iommu_unmap_domain", .place = PLACE_IOMMU,
	 .without = "IOMMU unmaps are not counted"},
	{PROBE_IOMMU_MAP_DOMAIN, "iommu_map_domain", &iommu_object, EVENT_IOMMU_MAP,
	 METHODS(FUNCTION(iommu_map_nosync, "maps_nosync"), FUNCTION(__iommu_map, "maps")),
	 .with = "iommu_map", .place = PLACE_IOMMU,
	 .without = "the devices of IOMMU mappings are not known"},
	{PROBE_IOMMU_UNMAP_DOMAIN, "iommu_unmap_domain", &iommu_object, EVENT_IOMMU_UNMAP,
	 METHODS(FUNCTION(__iommu_unmap, "unmaps")), .with = "iommu_unmap", .place = PLACE_IOMMU,
	 .without = "the devices of IOMMU unmaps are not known"},
	{PROBE_IOMMU_ATTACH, "iommu_attach", &iommu_object, EVENT_IOMMU_ATTACH,
	 METHODS(FUNCTION(__iommu_attach_device, NULL, "attached_in_two", 2),
		 FUNCTION(__iommu_attach_device, NULL, "attached_in_three", 3),
		 TRACEPOINT(attach_device_to_domain)),
	 .without = "domains of devices attached meanwhile are not known", .place = PLACE_IOMMU,
	 .unaccused = "a device may be attached before the recording"},
	{PROBE_IOMMU_DOMAIN_FREE, "iommu_domain_free", &iommu_object, EVENT_IOMMU_ATTACH,
	 METHODS(FUNCTION(iommu_domain_free, "domain_freed")), .optional = true,
	 .place = PLACE_IOMMU},
	{PROBE_IOMMU_FLUSH, "iommu_flush", &iommu_object, EVENT_IOMMU_FLUSH,
	 METHODS(FUNCTION(qi_submit_sync, "submits_flush", "submitted_flush")), .without = FLUSHES,
	 .place = PLACE_VTD_HARDWARE, .unaccused = "no call need flush"},
	{PROBE_IOMMU_SYNC, "iommu_sync", &iommu_object, EVENT_IOMMU_FLUSH,
	 METHODS(FUNCTION(intel_iommu_tlb_sync, "intel_syncs", "intel_synced", .place = PLACE_VTD),
		 FUNCTION(amd_iommu_iotlb_sync, "amd_syncs", "amd_synced", .place = PLACE_AMD_VI)),
	 .without = FLUSHES, .place = PLACE_IOMMU, .unaccused = "no call need flush"},
	{PROBE_IOMMU_FLUSH_ALL, "iommu_flush_all", &iommu_object, EVENT_IOMMU_FLUSH,
	 METHODS(FUNCTION(intel_flush_iotlb_all, "intel_flushes", "intel_flushed",
			  .place = PLACE_VTD),
		 FUNCTION(amd_iommu_flush_iotlb_all, "amd_flushes", "amd_flushed",
			  .place = PLACE_AMD_VI)),
	 .without = FLUSHES, .place = PLACE_IOMMU, .unaccused = "no call need flush"},
	{PROBE_IOMMU_IO_PAGE_FAULT, "io_page_fault", &iommu_object, EVENT_IOMMU_IO_PAGE_FAULT,
	 METHODS(TRACEPOINT(io_page_fault)),
	 .without = "IOMMU faults that drivers report are not counted", .place = PLACE_IOMMU,
	 .unaccused = "nothing need fail"},
	{PROBE_VTD_FAULT, "vtd_fault", &iommu_object, EVENT_IOMMU_UNSEEN,
	 METHODS(FUNCTION(dmar_fault, "handles_faults", "handled_faults")),
	 .without = "VT-d faults that the log suppresses are not counted",
	 .place = PLACE_VTD_HARDWARE, .unaccused = "nothing need fail"},
	{PROBE_VTD_FAULT_TEXT, "vtd_fault_text", &iommu_object, EVENT_IOMMU_FAULT,
	 METHODS(TRACEPOINT(console)), .optional = true, .place = PLACE_VTD_HARDWARE},
};

const struct path iommu_path = {
	.name = "IOMMU",
	.needs = "intel_iommu=on or amd_iommu=on, on hardware or with a vIOMMU",
	ROWS(rows),
};
