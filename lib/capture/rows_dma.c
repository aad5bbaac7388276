// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/dma.bpf.c. */
#include "lib/capture/rows.h"

/* `without` is said of those whose calls are then in no number; `more` are fields by name. */
#define DMA_ROW(id, name, kind, without_, more, ...)                                      \
	{                                                                                 \
		PROBE_DMA_##id, name, OBJECT_DMA, kind, false, NULL, {__VA_ARGS__}, more, \
			.without = without_                                               \
	}
/* An interface that came later: kernels without it have no callers of it. */
#define DMA_ROW_SINCE(id, name, kind, more, ...)                                          \
	{                                                                                 \
		PROBE_DMA_##id, name, OBJECT_DMA, kind, false, NULL, {__VA_ARGS__}, more, \
			.optional = true                                                  \
	}
/* Where the IOMMU translates, each leads to one call of its functions, or MANY. */
#define ONE(begins, neighbour)	.with = (begins), .shares = (neighbour)
#define MANY(begins, neighbour) .with = (begins), .shares = (neighbour), .many = true
#define NOTHING			.note = NULL
#define NOT_MAPPED(what) \
	"DMA mappings by " what " are not counted, and which mappings live is not known"
#define NOT_UNMAPPED(what) \
	"DMA unmaps by " what " are not counted, and which mappings live is not known"
#define NOT_SYNCED "not all DMA syncs are counted"
#define TRACEPOINT(symbol)                               \
	{                                                \
		ATTACH_TP_BTF, #symbol, #symbol, NULL, 0 \
	}
#define FUNCTION(symbol, entry, exit)                    \
	{                                                \
		ATTACH_FUNCTION, #symbol, entry, exit, 0 \
	}

/* Where there is no tracepoint, newer kernels have none because these end in other functions. */
#define RESOURCE(symbol, entry, exit)                                                  \
	{                                                                              \
		ATTACH_FUNCTION, #symbol, entry, exit, 0, .place = PLACE_DMA_RESOURCES \
	}

const struct probe_row dma_rows[] = {
	DMA_ROW(MAP, "dma_map", EVENT_DMA_MAP, NOT_MAPPED("page"), ONE("dma_unmap", "iommu_map"),
		TRACEPOINT(dma_map_phys), TRACEPOINT(dma_map_page),
		FUNCTION(dma_map_page_attrs, "calls_map", "called_map")),
	DMA_ROW(MAP_RESOURCE, "dma_map_resource", EVENT_DMA_MAP, NULL,
		ONE("dma_unmap_resource", "iommu_map"), TRACEPOINT(dma_map_resource),
		RESOURCE(dma_map_resource, NULL, "called_map_resource")),
	DMA_ROW(MAP_SG, "dma_map_sg", EVENT_DMA_MAP, NOT_MAPPED("list"),
		MANY("dma_unmap_sg", "iommu_map"), TRACEPOINT(dma_map_sg),
		FUNCTION(__dma_map_sg_attrs, "calls_map_sg", "called_map_sg")),
	DMA_ROW(UNMAP, "dma_unmap", EVENT_DMA_UNMAP, NOT_UNMAPPED("page"),
		ONE("dma_map", "iommu_unmap"), TRACEPOINT(dma_unmap_phys),
		TRACEPOINT(dma_unmap_page),
		FUNCTION(dma_unmap_page_attrs, "calls_unmap", "called_unmap")),
	DMA_ROW(UNMAP_RESOURCE, "dma_unmap_resource", EVENT_DMA_UNMAP, NULL,
		ONE("dma_map_resource", "iommu_unmap"), TRACEPOINT(dma_unmap_resource),
		RESOURCE(dma_unmap_resource, "called_unmap_resource", NULL)),
	DMA_ROW(UNMAP_SG, "dma_unmap_sg", EVENT_DMA_UNMAP, NOT_UNMAPPED("list"),
		ONE("dma_map_sg", "iommu_unmap"), TRACEPOINT(dma_unmap_sg),
		FUNCTION(dma_unmap_sg_attrs, "called_unmap_sg", NULL)),
	DMA_ROW(ALLOC, "dma_alloc", EVENT_DMA_ALLOC, NOT_MAPPED("allocation"),
		MANY("dma_free", "iommu_map"), TRACEPOINT(dma_alloc),
		FUNCTION(dma_alloc_attrs, "calls_alloc", "called_alloc")),
	DMA_ROW(ALLOC_PAGES, "dma_alloc_pages", EVENT_DMA_ALLOC, NOT_MAPPED("allocation of pages"),
		MANY("dma_free_pages", "iommu_map"), TRACEPOINT(dma_alloc_pages),
		FUNCTION(dma_alloc_pages, NULL, "called_alloc_pages")),
	DMA_ROW(ALLOC_SGT, "dma_alloc_sgt", EVENT_DMA_ALLOC, NOT_MAPPED("allocation of lists"),
		MANY("dma_free_sgt", "iommu_map"), TRACEPOINT(dma_alloc_sgt),
		FUNCTION(dma_alloc_noncontiguous, NULL, "called_alloc_sgt")),
	DMA_ROW(FREE, "dma_free", EVENT_DMA_FREE, NOT_UNMAPPED("freeing"),
		ONE("dma_alloc", "iommu_unmap"), TRACEPOINT(dma_free),
		FUNCTION(dma_free_attrs, "called_free", NULL)),
	DMA_ROW(FREE_PAGES, "dma_free_pages", EVENT_DMA_FREE, NOT_UNMAPPED("freeing of pages"),
		ONE("dma_alloc_pages", "iommu_unmap"), TRACEPOINT(dma_free_pages),
		FUNCTION(dma_free_pages, "called_free_pages", NULL)),
	DMA_ROW(FREE_SGT, "dma_free_sgt", EVENT_DMA_FREE, NOT_UNMAPPED("freeing of lists"),
		ONE("dma_alloc_sgt", "iommu_unmap"), TRACEPOINT(dma_free_sgt),
		FUNCTION(dma_free_noncontiguous, "called_free_sgt", NULL)),
	DMA_ROW_SINCE(IOVA_ALLOC, "dma_iova_alloc", EVENT_DMA_MAP, NOTHING,
		      FUNCTION(dma_iova_try_alloc, NULL, "called_iova_alloc")),
	DMA_ROW_SINCE(IOVA_LINK, "dma_iova_link", EVENT_DMA_MAP, MANY(NULL, "iommu_map"),
		      FUNCTION(dma_iova_link, NULL, "called_iova_link")),
	DMA_ROW_SINCE(IOVA_UNLINK, "dma_iova_unlink", EVENT_DMA_UNMAP, MANY(NULL, "iommu_unmap"),
		      FUNCTION(dma_iova_unlink, "called_iova_unlink", NULL)),
	DMA_ROW_SINCE(IOVA_FREE, "dma_iova_free", EVENT_DMA_UNMAP, NOTHING,
		      FUNCTION(dma_iova_free, "called_iova_free", NULL)),
	DMA_ROW_SINCE(IOVA_DESTROY, "dma_iova_destroy", EVENT_DMA_UNMAP, MANY(NULL, "iommu_unmap"),
		      FUNCTION(dma_iova_destroy, "called_iova_destroy", NULL)),
	DMA_ROW(SYNC_CPU, "dma_sync_cpu", EVENT_DMA_SYNC, NOT_SYNCED, NOTHING,
		TRACEPOINT(dma_sync_single_for_cpu),
		FUNCTION(dma_sync_single_for_cpu, "called_sync_cpu", NULL)),
	DMA_ROW(SYNC_DEVICE, "dma_sync_device", EVENT_DMA_SYNC, NOT_SYNCED, NOTHING,
		TRACEPOINT(dma_sync_single_for_device),
		FUNCTION(dma_sync_single_for_device, "called_sync_device", NULL)),
	DMA_ROW(SYNC_SG_CPU, "dma_sync_sg_cpu", EVENT_DMA_SYNC, NOT_SYNCED, NOTHING,
		TRACEPOINT(dma_sync_sg_for_cpu),
		FUNCTION(dma_sync_sg_for_cpu, "called_sync_sg_cpu", NULL)),
	DMA_ROW(SYNC_SG_DEVICE, "dma_sync_sg_device", EVENT_DMA_SYNC, NOT_SYNCED, NOTHING,
		TRACEPOINT(dma_sync_sg_for_device),
		FUNCTION(dma_sync_sg_for_device, "called_sync_sg_device", NULL)),
};

const size_t dma_row_count = sizeof(dma_rows) / sizeof(dma_rows[0]);
