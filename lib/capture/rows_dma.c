// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/dma.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row dma_rows[] = {
	{PROBE_DMA_MAP, "dma_map", OBJECT_DMA, EVENT_DMA_MAP, false, NULL,
	 TP_BTF_RENAMED(dma_map_phys, dma_map_page)},
	{PROBE_DMA_MAP_SG, "dma_map_sg", OBJECT_DMA, EVENT_DMA_MAP, false, NULL,
	 TP_BTF(dma_map_sg)},
	{PROBE_DMA_UNMAP, "dma_unmap", OBJECT_DMA, EVENT_DMA_UNMAP, false, NULL,
	 TP_BTF_RENAMED(dma_unmap_phys, dma_unmap_page)},
	{PROBE_DMA_UNMAP_SG, "dma_unmap_sg", OBJECT_DMA, EVENT_DMA_UNMAP, false, NULL,
	 TP_BTF(dma_unmap_sg)},
	{PROBE_DMA_ALLOC, "dma_alloc", OBJECT_DMA, EVENT_DMA_ALLOC, false, NULL, TP_BTF(dma_alloc)},
	{PROBE_DMA_FREE, "dma_free", OBJECT_DMA, EVENT_DMA_FREE, false, NULL, TP_BTF(dma_free)},
	{PROBE_DMA_SYNC_CPU, "dma_sync_cpu", OBJECT_DMA, EVENT_DMA_SYNC, false, NULL,
	 TP_BTF(dma_sync_single_for_cpu)},
	{PROBE_DMA_SYNC_DEVICE, "dma_sync_device", OBJECT_DMA, EVENT_DMA_SYNC, false, NULL,
	 TP_BTF(dma_sync_single_for_device)},
	{PROBE_DMA_SYNC_SG_CPU, "dma_sync_sg_cpu", OBJECT_DMA, EVENT_DMA_SYNC, false, NULL,
	 TP_BTF(dma_sync_sg_for_cpu)},
	{PROBE_DMA_SYNC_SG_DEVICE, "dma_sync_sg_device", OBJECT_DMA, EVENT_DMA_SYNC, false, NULL,
	 TP_BTF(dma_sync_sg_for_device)},
};

const size_t dma_row_count = sizeof(dma_rows) / sizeof(dma_rows[0]);
