// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA API: what drivers map for their devices, who did and how long it lives; and when devices go, which all
 * must hear who know them by what the next one may get.
 */
#include "lib/base/clock.h"
#include "lib/capture/capture_private.h"
#include "lib/capture/paths/rows.h"
#include "bpf/device_gone.skel.h"
#include "bpf/dma.skel.h"

static DEFINE_OBJECT(dma, .knows_devices = true);
static DEFINE_OBJECT(device_gone);

#define OLD_MAPPING (60 * NSEC_PER_SEC)

#define NOT_MAPPED(what) \
	"DMA mappings by " what " are not counted, and which mappings live is not known"
#define NOT_UNMAPPED(what) \
	"DMA unmaps by " what " are not counted, and which mappings live is not known"
#define NOT_SYNCED    "not all DMA syncs are counted"
#define NEED_NOT_SYNC "nothing need be synced"

/* Where the IOMMU translates, each leads to one call of its functions, or MANY. */
#define ONE(begins, neighbour)	.with = (begins), .shares = (neighbour)
#define MANY(begins, neighbour) .with = (begins), .shares = (neighbour), .many = true

/*
 * Where there is no tracepoint for resources, newer kernels have none because these end in other functions. An
 * optional interface came later: kernels without it have no callers of it.
 */
static const struct probe_row rows[] = {
	{PROBE_DMA_MAP, "dma_map", &dma_object, EVENT_DMA_MAP,
	 METHODS(TRACEPOINT(dma_map_phys), TRACEPOINT(dma_map_page),
		 FUNCTION(dma_map_page_attrs, "calls_map", "called_map")),
	 ONE("dma_unmap", "iommu_map"), .without = NOT_MAPPED("page")},
	{PROBE_DMA_MAP_RESOURCE, "dma_map_resource", &dma_object, EVENT_DMA_MAP,
	 METHODS(TRACEPOINT(dma_map_resource),
		 FUNCTION(dma_map_resource, NULL, "called_map_resource",
			  .place = PLACE_DMA_RESOURCES)),
	 ONE("dma_unmap_resource", "iommu_map")},
	{PROBE_DMA_MAP_SG, "dma_map_sg", &dma_object, EVENT_DMA_MAP,
	 METHODS(TRACEPOINT(dma_map_sg),
		 FUNCTION(__dma_map_sg_attrs, "calls_map_sg", "called_map_sg")),
	 MANY("dma_unmap_sg", "iommu_map"), .without = NOT_MAPPED("list")},
	{PROBE_DMA_UNMAP, "dma_unmap", &dma_object, EVENT_DMA_UNMAP,
	 METHODS(TRACEPOINT(dma_unmap_phys), TRACEPOINT(dma_unmap_page),
		 FUNCTION(dma_unmap_page_attrs, "calls_unmap", "called_unmap")),
	 ONE("dma_map", "iommu_unmap"), .without = NOT_UNMAPPED("page")},
	{PROBE_DMA_UNMAP_RESOURCE, "dma_unmap_resource", &dma_object, EVENT_DMA_UNMAP,
	 METHODS(TRACEPOINT(dma_unmap_resource),
		 FUNCTION(dma_unmap_resource, "called_unmap_resource",
			  .place = PLACE_DMA_RESOURCES)),
	 ONE("dma_map_resource", "iommu_unmap")},
	{PROBE_DMA_UNMAP_SG, "dma_unmap_sg", &dma_object, EVENT_DMA_UNMAP,
	 METHODS(TRACEPOINT(dma_unmap_sg), FUNCTION(dma_unmap_sg_attrs, "called_unmap_sg")),
	 ONE("dma_map_sg", "iommu_unmap"), .without = NOT_UNMAPPED("list")},
	{PROBE_DMA_ALLOC, "dma_alloc", &dma_object, EVENT_DMA_ALLOC,
	 METHODS(TRACEPOINT(dma_alloc), FUNCTION(dma_alloc_attrs, "calls_alloc", "called_alloc")),
	 MANY("dma_free", "iommu_map"), .without = NOT_MAPPED("allocation")},
	{PROBE_DMA_ALLOC_PAGES, "dma_alloc_pages", &dma_object, EVENT_DMA_ALLOC,
	 METHODS(TRACEPOINT(dma_alloc_pages),
		 FUNCTION(dma_alloc_pages, NULL, "called_alloc_pages")),
	 MANY("dma_free_pages", "iommu_map"), .without = NOT_MAPPED("allocation of pages")},
	{PROBE_DMA_ALLOC_SGT, "dma_alloc_sgt", &dma_object, EVENT_DMA_ALLOC,
	 METHODS(TRACEPOINT(dma_alloc_sgt),
		 FUNCTION(dma_alloc_noncontiguous, NULL, "called_alloc_sgt")),
	 MANY("dma_free_sgt", "iommu_map"), .without = NOT_MAPPED("allocation of lists")},
	{PROBE_DMA_FREE, "dma_free", &dma_object, EVENT_DMA_FREE,
	 METHODS(TRACEPOINT(dma_free), FUNCTION(dma_free_attrs, "called_free")),
	 ONE("dma_alloc", "iommu_unmap"), .without = NOT_UNMAPPED("freeing")},
	{PROBE_DMA_FREE_PAGES, "dma_free_pages", &dma_object, EVENT_DMA_FREE,
	 METHODS(TRACEPOINT(dma_free_pages), FUNCTION(dma_free_pages, "called_free_pages")),
	 ONE("dma_alloc_pages", "iommu_unmap"), .without = NOT_UNMAPPED("freeing of pages")},
	{PROBE_DMA_FREE_SGT, "dma_free_sgt", &dma_object, EVENT_DMA_FREE,
	 METHODS(TRACEPOINT(dma_free_sgt), FUNCTION(dma_free_noncontiguous, "called_free_sgt")),
	 ONE("dma_alloc_sgt", "iommu_unmap"), .without = NOT_UNMAPPED("freeing of lists")},
	{PROBE_DMA_IOVA_ALLOC, "dma_iova_alloc", &dma_object, EVENT_DMA_MAP,
	 METHODS(FUNCTION(dma_iova_try_alloc, NULL, "called_iova_alloc")), .optional = true},
	{PROBE_DMA_IOVA_LINK, "dma_iova_link", &dma_object, EVENT_DMA_MAP,
	 METHODS(FUNCTION(dma_iova_link, NULL, "called_iova_link")), MANY(NULL, "iommu_map"),
	 .optional = true},
	{PROBE_DMA_IOVA_UNLINK, "dma_iova_unlink", &dma_object, EVENT_DMA_UNMAP,
	 METHODS(FUNCTION(dma_iova_unlink, "called_iova_unlink")), MANY(NULL, "iommu_unmap"),
	 .optional = true},
	{PROBE_DMA_IOVA_FREE, "dma_iova_free", &dma_object, EVENT_DMA_UNMAP,
	 METHODS(FUNCTION(dma_iova_free, "called_iova_free")), .optional = true},
	{PROBE_DMA_IOVA_DESTROY, "dma_iova_destroy", &dma_object, EVENT_DMA_UNMAP,
	 METHODS(FUNCTION(dma_iova_destroy, "called_iova_destroy")), MANY(NULL, "iommu_unmap"),
	 .optional = true},
	{PROBE_DMA_SYNC_CPU, "dma_sync_cpu", &dma_object, EVENT_DMA_SYNC,
	 METHODS(TRACEPOINT(dma_sync_single_for_cpu),
		 FUNCTION(dma_sync_single_for_cpu, "called_sync_cpu")),
	 .without = NOT_SYNCED, .unaccused = NEED_NOT_SYNC},
	{PROBE_DMA_SYNC_DEVICE, "dma_sync_device", &dma_object, EVENT_DMA_SYNC,
	 METHODS(TRACEPOINT(dma_sync_single_for_device),
		 FUNCTION(dma_sync_single_for_device, "called_sync_device")),
	 .without = NOT_SYNCED, .unaccused = NEED_NOT_SYNC},
	{PROBE_DMA_SYNC_SG_CPU, "dma_sync_sg_cpu", &dma_object, EVENT_DMA_SYNC,
	 METHODS(TRACEPOINT(dma_sync_sg_for_cpu),
		 FUNCTION(dma_sync_sg_for_cpu, "called_sync_sg_cpu")),
	 .without = NOT_SYNCED, .unaccused = NEED_NOT_SYNC},
	{PROBE_DMA_SYNC_SG_DEVICE, "dma_sync_sg_device", &dma_object, EVENT_DMA_SYNC,
	 METHODS(TRACEPOINT(dma_sync_sg_for_device),
		 FUNCTION(dma_sync_sg_for_device, "called_sync_sg_device")),
	 .without = NOT_SYNCED, .unaccused = NEED_NOT_SYNC},
	{PROBE_DEVICE_RELEASE, "device_release", &device_gone_object, EVENT_DEVICE_NEW,
	 METHODS(FUNCTION(device_release, "device_released"),
		 TRACEPOINT_AS(remove_device_from_group, "device_left_group", NULL,
			       .place = PLACE_IOMMU)),
	 .for_devices = true, .optional = true},
};

static int create_owners(struct capture *c, __u64 now_ns)
{
	const struct owners_config config = {
		.table = c->maps.mappings,
		.stacks = c->maps.stacks,
		.names = c->maps.process_names,
		.old_ns = c->config.old_mapping_ns ? c->config.old_mapping_ns : OLD_MAPPING,
		.devices = c->devices,
	};

	(void)now_ns;
	return owners_create(&c->owners, &config);
}

static int take_live(void *self, const struct event *event)
{
	struct capture *c = self;

	return merge_push(c->merge, source_local(c), event);
}

static bool anything_mapped(const struct capture *c)
{
	return capture_kind_asked(&c->config, EVENT_DMA_LIVE) &&
	       __atomic_load_n(&c->maps.state->mapping_classes, __ATOMIC_RELAXED);
}

static int dma_measure(struct capture *c, __u64 now_ns)
{
	int error;

	if (!anything_mapped(c))
		return 0;
	error = owners_measure(c->owners, c->windows, now_ns);
	if (error || !owners_snapshot_due(c->owners, now_ns))
		return error;
	return owners_snapshot(c->owners, now_ns, take_live, c);
}

static int dma_measure_last(struct capture *c, __u64 now_ns)
{
	int error;

	if (!anything_mapped(c))
		return 0;
	error = owners_measure(c->owners, c->windows, now_ns);
	return error ? error : owners_snapshot(c->owners, now_ns, take_live, c);
}

static int close_owners(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	owners_destroy(c->owners);
	return 0;
}

const struct path dma_path = {
	.name = "DMA mappings",
	.needs = "Linux 6.12 or later, or a kernel with function tracing",
	ROWS(rows),
	.steps = {[STEP_OPEN] = create_owners,
		  [STEP_SECOND] = dma_measure,
		  [STEP_RELEASED] = dma_measure_last,
		  [STEP_CLOSE] = close_owners},
};
