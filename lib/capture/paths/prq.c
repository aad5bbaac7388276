// SPDX-License-Identifier: GPL-2.0
/* The queues of page requests and of their responses in the hardware of VT-d and AMD. */
#include "lib/capture/paths/rows.h"
#include "bpf/prq.skel.h"

static DEFINE_OBJECT(prq);

#define NO_EMULATION   "attaches; no emulation at hand raises it, so no test has seen it fire"
#define QUEUE_UNTOLD   "when the IOMMU's queue told of page requests is not known"
#define ANSWERS_UNTOLD "when the IOMMU's answers were taken is not known"

static const struct probe_row rows[] = {
	{PROBE_PRQ_INTERRUPT, "prq_interrupt", &prq_object, EVENT_FAULT_ISR,
	 METHODS(TRACEPOINT_AS(irq_handler_entry, "prq_interrupt")), .note = NO_EMULATION,
	 .needs = "prq_event_thread", .place = PLACE_VTD_REQUESTS, .without = QUEUE_UNTOLD,
	 .unaccused = UNRAISED},
	{PROBE_PRQ_THREAD, "prq_thread", &prq_object, EVENT_FAULT_ISR,
	 METHODS(FUNCTION(prq_event_thread, "prq_thread", "prq_thread_returns")),
	 .note = NO_EMULATION, .place = PLACE_VTD_REQUESTS, .without = QUEUE_UNTOLD,
	 .unaccused = UNRAISED},
	{PROBE_PRQ_REPORT, "prq_report", &prq_object, EVENT_FAULT_ISR,
	 METHODS(TRACEPOINT_AS(prq_report, "prq_report")), .note = NO_EMULATION,
	 .place = PLACE_VTD_REQUESTS, .without = QUEUE_UNTOLD, .unaccused = UNRAISED},
	{PROBE_PRQ_SUBMIT, "prq_submit", &prq_object, EVENT_FAULT_DELIVERED,
	 METHODS(TRACEPOINT_AS(qi_submit, "prq_submit")), .note = NO_EMULATION,
	 .place = PLACE_VTD_REQUESTS, .without = ANSWERS_UNTOLD, .unaccused = UNRAISED},
	{PROBE_PRQ_DELIVERED, "prq_delivered", &prq_object, EVENT_FAULT_DELIVERED,
	 METHODS(FUNCTION(qi_submit_sync, NULL, "prq_delivered")), .note = NO_EMULATION,
	 .place = PLACE_VTD_REQUESTS, .without = ANSWERS_UNTOLD, .unaccused = UNRAISED},
	{PROBE_PPR_THREAD, "ppr_thread", &prq_object, EVENT_FAULT_ISR,
	 METHODS(FUNCTION(amd_iommu_poll_ppr_log, "ppr_thread", "ppr_thread_returns")),
	 .note = NO_EMULATION, .place = PLACE_AMD_VI_REQUESTS, .without = QUEUE_UNTOLD,
	 .unaccused = UNRAISED},
	{PROBE_PPR_DELIVERED, "ppr_delivered", &prq_object, EVENT_FAULT_DELIVERED,
	 METHODS(FUNCTION(amd_iommu_complete_ppr, "ppr_submit", "ppr_delivered")),
	 .note = NO_EMULATION, .place = PLACE_AMD_VI_REQUESTS, .without = ANSWERS_UNTOLD,
	 .unaccused = UNRAISED},
};

const struct path prq_path = {
	.name = "VT-d and AMD queues",
	.needs = "a kernel with CONFIG_INTEL_IOMMU_SVM or CONFIG_AMD_IOMMU, and hardware "
		 "with PRI",
	ROWS(rows),
};
