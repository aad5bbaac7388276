// SPDX-License-Identifier: GPL-2.0
/* Page requests in the kernel's I/O page fault core, and the processes that PASIDs mean. */
#include "lib/capture/paths/rows.h"
#include "bpf/iopf.skel.h"
#include "bpf/iopf_end.skel.h"
#include "bpf/pasid.skel.h"

DEFINE_OBJECT(iopf, .knows_devices = true);
static DEFINE_OBJECT(iopf_end, .knows_devices = true);
static DEFINE_OBJECT(pasid, .knows_devices = true);

#define REPORT "iommu_report_device_fault"

static const struct probe_row rows[] = {
	{PROBE_IOPF_REPORT, "iopf_report", &iopf_object, EVENT_FAULT_ISR,
	 METHODS(FUNCTION(iommu_report_device_fault, "iopf_report", "iopf_reported")),
	 .with = "iopf_response", .place = PLACE_PAGE_REQUESTS,
	 .without = "kernel page requests are not seen, and not counted"},
	{PROBE_IOPF_QUEUED, "iopf_queued", &iopf_object, EVENT_FAULT_QUEUED,
	 METHODS(TRACEPOINT_AS(workqueue_queue_work, "iopf_queued")), .needs = REPORT,
	 .every = FROM_WORKER, .place = PLACE_PAGE_REQUESTS,
	 .without =
		 "kernel page requests of one number that are on their way at once are not told apart"},
	{PROBE_IOPF_HANDLER, "iopf_handler", &iopf_object, EVENT_FAULT_HANDLER,
	 METHODS(TRACEPOINT_AS(workqueue_execute_start, "iopf_handler", "iopf_handled", 0,
			       "workqueue_execute_end")),
	 .needs = REPORT, .every = FROM_SVA, .place = PLACE_PAGE_REQUESTS,
	 .without = "stage dispatch of kernel page requests is part of the next one seen"},
	{PROBE_IOPF_RESPONSE, "iopf_response", &iopf_end_object, EVENT_FAULT_RESPONSE,
	 METHODS(FUNCTION(iopf_group_response, "iopf_response", "iopf_responded"),
		 FUNCTION(iommu_page_response, "iopf_response_6_1", "iopf_responded_6_1")),
	 .with = "iopf_free iopf_handler", .place = PLACE_PAGE_REQUESTS,
	 .without =
		 "whether and when kernel page requests were answered is not known: they stay unfinished"},
	{PROBE_IOPF_FREE, "iopf_free", &iopf_end_object, EVENT_FAULT_RESPONSE,
	 METHODS(FUNCTION(iopf_free_group, "iopf_free")), .every = FROM_CORE, .optional = true,
	 .place = PLACE_PAGE_REQUESTS,
	 .without = "kernel page requests that went without an answer stay unfinished"},
	{PROBE_IOPF_REMOVE, "iopf_remove", &iopf_end_object, EVENT_FAULT_RESPONSE,
	 METHODS(FUNCTION(iopf_queue_remove_device, "iopf_remove", "iopf_removed")),
	 .place = PLACE_PAGE_REQUESTS,
	 .without = "page requests that ended because their device was removed stay unfinished",
	 .unaccused = "a device is seldom removed"},
	{PROBE_IOPF_DISCARD, "iopf_discard", &iopf_end_object, EVENT_FAULT_DISCARD,
	 METHODS(FUNCTION(iopf_queue_discard_partial, "iopf_discard")),
	 .place = PLACE_PAGE_REQUESTS,
	 .without = "discarded kernel page requests are not known as such: they stay unfinished",
	 .unaccused = "a queue is seldom discarded"},
	{PROBE_PASID_ATTACH, "pasid_attach", &pasid_object, EVENT_PASID_ATTACH,
	 METHODS(FUNCTION(iommu_attach_device_pasid, NULL, "pasid_attach"),
		 FUNCTION(iommu_sva_alloc_pasid, NULL, "pasid_alloc")),
	 .place = PLACE_PASIDS,
	 .without =
		 "processes bound to devices meanwhile are not known, nor whose their page requests are",
	 .unaccused = "a process may be bound before the recording"},
	{PROBE_PASID_DETACH, "pasid_detach", &pasid_object, EVENT_PASID_DETACH,
	 METHODS(FUNCTION(iommu_detach_device_pasid, "pasid_detach")), .place = PLACE_PASIDS,
	 .unaccused = "a process may stay bound"},
	{PROBE_PASID_FIND, "pasid_find", &pasid_object, EVENT_PASID_ATTACH,
	 METHODS(FUNCTION(iommu_sva_find, NULL, "pasid_find")), .optional = true,
	 .place = PLACE_PASIDS},
};

const struct path iopf_path = {
	.name = "kernel page requests",
	.needs = "a device with PRI behind an IOMMU that takes its requests, and a kernel "
		 "with CONFIG_IOMMU_IOPF",
	ROWS(rows),
};
