// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/probes.h"

#define USDT(name)                                     \
	{                                              \
		{                                      \
			ATTACH_USDT, #name, "emulator" \
		}                                      \
	}
#define TP_BTF(name)                                \
	{                                           \
		{                                   \
			ATTACH_TP_BTF, #name, #name \
		}                                   \
	}

#define TP_BTF_RENAMED(name, before)                    \
	{                                               \
		{ATTACH_TP_BTF, #name, #name},          \
		{                                       \
			ATTACH_TP_BTF, #before, #before \
		}                                       \
	}

/* Functions of the kernel's own fault path get rows with ATTACH_FENTRY, then ATTACH_KPROBE. */
const struct probe_row probe_rows[PROBE_COUNT] = {
	[PROBE_FAULT_DETECT] = {"fault_detect", OBJECT_EMU, EVENT_FAULT_DETECT, true,
				USDT(fault_detect)},
	[PROBE_FAULT_REQUEST] = {"fault_request", OBJECT_EMU, EVENT_FAULT_REQUEST, true,
				 USDT(fault_request)},
	[PROBE_FAULT_ISR] = {"fault_isr", OBJECT_EMU, EVENT_FAULT_ISR, false, USDT(fault_isr)},
	[PROBE_FAULT_HANDLER] = {"fault_handler", OBJECT_EMU, EVENT_FAULT_HANDLER, false,
				 USDT(fault_handler)},
	[PROBE_FAULT_RESOLVED] = {"fault_resolved", OBJECT_EMU, EVENT_FAULT_RESOLVED, false,
				  USDT(fault_resolved)},
	[PROBE_FAULT_MAPPED] = {"fault_mapped", OBJECT_EMU, EVENT_FAULT_MAPPED, false,
				USDT(fault_mapped)},
	[PROBE_FAULT_RESPONSE] = {"fault_response", OBJECT_EMU, EVENT_FAULT_RESPONSE, true,
				  USDT(fault_response)},
	[PROBE_FAULT_RESUME] = {"fault_resume", OBJECT_EMU, EVENT_FAULT_RESUME, true,
				USDT(fault_resume)},
	[PROBE_FAULT_OVERFLOW] = {"fault_overflow", OBJECT_EMU, EVENT_FAULT_OVERFLOW, false,
				  USDT(fault_overflow)},
	[PROBE_INVALIDATE_START] = {"invalidate_start", OBJECT_EMU, EVENT_INVALIDATE_START, false,
				    USDT(invalidate_start)},
	[PROBE_INVALIDATE_DEVICE] = {"invalidate_device", OBJECT_EMU, EVENT_INVALIDATE_DEVICE,
				     false, USDT(invalidate_device)},
	[PROBE_INVALIDATE_ACK] = {"invalidate_ack", OBJECT_EMU, EVENT_INVALIDATE_ACK, false,
				  USDT(invalidate_ack)},
	[PROBE_INVALIDATE_FREED] = {"invalidate_freed", OBJECT_EMU, EVENT_INVALIDATE_FREED, false,
				    USDT(invalidate_freed)},
	[PROBE_INJECT_START] = {"inject_start", OBJECT_EMU, EVENT_INJECT_START, false,
				USDT(inject_start)},
	[PROBE_INJECT_STOP] = {"inject_stop", OBJECT_EMU, EVENT_INJECT_STOP, false,
			       USDT(inject_stop)},
	[PROBE_PAGE_FAULT_USER] = {"page_fault_user", OBJECT_MM, EVENT_CPU_FAULT, true,
				   TP_BTF(page_fault_user)},
	[PROBE_PAGE_FAULT_KERNEL] = {"page_fault_kernel", OBJECT_MM, EVENT_CPU_FAULT, false,
				     TP_BTF(page_fault_kernel)},
	[PROBE_SCHED_WAKEUP] = {"sched_wakeup", OBJECT_SCHED, EVENT_SCHED_WAKEUP, false,
				TP_BTF(sched_wakeup)},
	[PROBE_SCHED_SWITCH] = {"sched_switch", OBJECT_SCHED, EVENT_SCHED_RUN, false,
				TP_BTF(sched_switch)},
	[PROBE_IOMMU_MAP] = {"iommu_map", OBJECT_IOMMU, EVENT_IOMMU_MAP, false, TP_BTF(map)},
	[PROBE_IOMMU_UNMAP] = {"iommu_unmap", OBJECT_IOMMU, EVENT_IOMMU_UNMAP, false,
			       TP_BTF(unmap)},
	[PROBE_IOMMU_IO_PAGE_FAULT] = {"io_page_fault", OBJECT_IOMMU, EVENT_IOMMU_IO_PAGE_FAULT,
				       false, TP_BTF(io_page_fault)},
	[PROBE_DMA_MAP] = {"dma_map", OBJECT_DMA, EVENT_DMA_MAP, false,
			   TP_BTF_RENAMED(dma_map_phys, dma_map_page)},
	[PROBE_DMA_MAP_SG] = {"dma_map_sg", OBJECT_DMA, EVENT_DMA_MAP, false, TP_BTF(dma_map_sg)},
	[PROBE_DMA_UNMAP] = {"dma_unmap", OBJECT_DMA, EVENT_DMA_UNMAP, false,
			     TP_BTF_RENAMED(dma_unmap_phys, dma_unmap_page)},
	[PROBE_DMA_UNMAP_SG] = {"dma_unmap_sg", OBJECT_DMA, EVENT_DMA_UNMAP, false,
				TP_BTF(dma_unmap_sg)},
	[PROBE_DMA_ALLOC] = {"dma_alloc", OBJECT_DMA, EVENT_DMA_ALLOC, false, TP_BTF(dma_alloc)},
	[PROBE_DMA_FREE] = {"dma_free", OBJECT_DMA, EVENT_DMA_FREE, false, TP_BTF(dma_free)},
	[PROBE_DMA_SYNC_CPU] = {"dma_sync_cpu", OBJECT_DMA, EVENT_DMA_SYNC, false,
				TP_BTF(dma_sync_single_for_cpu)},
	[PROBE_DMA_SYNC_DEVICE] = {"dma_sync_device", OBJECT_DMA, EVENT_DMA_SYNC, false,
				   TP_BTF(dma_sync_single_for_device)},
	[PROBE_DMA_SYNC_SG_CPU] = {"dma_sync_sg_cpu", OBJECT_DMA, EVENT_DMA_SYNC, false,
				   TP_BTF(dma_sync_sg_for_cpu)},
	[PROBE_DMA_SYNC_SG_DEVICE] = {"dma_sync_sg_device", OBJECT_DMA, EVENT_DMA_SYNC, false,
				      TP_BTF(dma_sync_sg_for_device)},
	[PROBE_BLOCK_ISSUE] = {"block_issue", OBJECT_BLOCK, EVENT_BLOCK_COMPLETE, false,
			       TP_BTF(block_rq_issue)},
	[PROBE_BLOCK_COMPLETE] = {"block_complete", OBJECT_BLOCK, EVENT_BLOCK_COMPLETE, false,
				  TP_BTF(block_rq_complete)},
};
