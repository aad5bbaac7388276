// SPDX-License-Identifier: GPL-2.0
/* DMA mappings made and removed at a caller's wish, of memory that is the module's own. */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"

struct mapping {
	u32 kind, segments;
	enum dma_data_direction direction;
	size_t size; /* of it, or of a segment */
	dma_addr_t iova;
	void *memory; /* coherent, or of a single mapping */
	u32 merged;
	struct sg_table table;
	struct client *client; /* that unmaps it by closing; NULL: none */
};

static size_t total_size(const struct mapping *mapping)
{
	return mapping->kind == FAULTLINE_DMA_LIST ? mapping->size * mapping->segments
						   : mapping->size;
}

static void free_list(struct mapping *mapping)
{
	struct scatterlist *segment;
	u32 i;

	for_each_sg(mapping->table.sgl, segment, mapping->segments, i)
		if (sg_page(segment))
			__free_pages(sg_page(segment), get_order(mapping->size));
	sg_free_table(&mapping->table);
}

static int alloc_list(struct mapping *mapping)
{
	struct scatterlist *segment;
	int err = sg_alloc_table(&mapping->table, mapping->segments, GFP_KERNEL);
	u32 i;

	if (err)
		return err;
	for_each_sg(mapping->table.sgl, segment, mapping->segments, i) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(mapping->size));

		if (!page) {
			free_list(mapping);
			return -ENOMEM;
		}
		sg_set_page(segment, page, mapping->size, 0);
	}
	return 0;
}

static int map_list(struct device *dev, struct mapping *mapping)
{
	int err = alloc_list(mapping);

	if (err)
		return err;
	mapping->merged =
		dma_map_sg(dev, mapping->table.sgl, mapping->segments, mapping->direction);
	if (!mapping->merged) {
		free_list(mapping);
		return -EIO;
	}
	mapping->iova = sg_dma_address(mapping->table.sgl);
	return 0;
}

static int map_page(struct device *dev, struct mapping *mapping)
{
	mapping->memory =
		(void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(mapping->size));
	if (!mapping->memory)
		return -ENOMEM;
	mapping->iova = dma_map_page(dev, virt_to_page(mapping->memory), 0, mapping->size,
				     mapping->direction);
	if (dma_mapping_error(dev, mapping->iova)) {
		free_pages((unsigned long)mapping->memory, get_order(mapping->size));
		return -EIO;
	}
	return 0;
}

static int map_coherent(struct device *dev, struct mapping *mapping)
{
	mapping->memory = dma_alloc_coherent(dev, mapping->size, &mapping->iova, GFP_KERNEL);
	return mapping->memory ? 0 : -EIO;
}

static int map_by_kind(struct device *dev, struct mapping *mapping)
{
	switch (mapping->kind) {
	case FAULTLINE_DMA_LIST:
		return map_list(dev, mapping);
	case FAULTLINE_DMA_COHERENT:
		return map_coherent(dev, mapping);
	default:
		return map_page(dev, mapping);
	}
}

static void unmap_by_kind(struct device *dev, struct mapping *mapping)
{
	switch (mapping->kind) {
	case FAULTLINE_DMA_LIST:
		dma_unmap_sg(dev, mapping->table.sgl, mapping->segments, mapping->direction);
		free_list(mapping);
		break;
	case FAULTLINE_DMA_COHERENT:
		dma_free_coherent(dev, mapping->size, mapping->memory, mapping->iova);
		break;
	default:
		dma_unmap_page(dev, mapping->iova, mapping->size, mapping->direction);
		free_pages((unsigned long)mapping->memory, get_order(mapping->size));
	}
}

static void note(struct accelerator *accelerator, enum faultline_log_kind kind, u32 handle,
		 const struct mapping *mapping, int result, u64 began)
{
	struct faultline_counters *counters = &accelerator->counters;
	struct record *record;

	spin_lock(&faultline.lock);
	if (result) {
		counters->dma_failures++;
	} else if (kind == FAULTLINE_LOG_DMA_MAP) {
		counters->dma_maps++;
		counters->dma_bytes_mapped += total_size(mapping);
	} else {
		counters->dma_unmaps++;
		counters->dma_bytes_unmapped += total_size(mapping);
	}
	record = log_add(accelerator, kind);
	if (record) {
		record->entry.result = result;
		record->entry.handle = handle;
		record->entry.address = result ? 0 : mapping->iova;
		record->entry.size = total_size(mapping);
		record->entry.raised_ns = began;
		record->entry.reported_ns = ktime_get_ns();
	}
	spin_unlock(&faultline.lock);
}

static int map_one(struct client *client, struct accelerator *accelerator,
		   const struct faultline_dma_map *map, struct faultline_dma_mapping *result)
{
	struct mapping *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	u64 began;
	int err;

	if (!mapping)
		return -ENOMEM;
	mapping->kind = map->kind;
	mapping->segments = map->segments;
	mapping->size = map->size;
	mapping->direction =
		map->kind == FAULTLINE_DMA_COHERENT ? DMA_BIDIRECTIONAL : map->direction;
	err = xa_alloc(&accelerator->mappings, &result->handle, mapping, xa_limit_31b, GFP_KERNEL);
	if (err) {
		kfree(mapping);
		return err;
	}
	mapping->client = map->flags & FAULTLINE_DMA_KEEP ? NULL : client;
	began = ktime_get_ns();
	err = map_by_kind(&accelerator->pdev->dev, mapping);
	note(accelerator, FAULTLINE_LOG_DMA_MAP, result->handle, mapping, err, began);
	if (err) {
		xa_erase(&accelerator->mappings, result->handle);
		kfree(mapping);
		return err;
	}
	result->iova = mapping->iova;
	result->size = total_size(mapping);
	result->segments = mapping->merged;
	return 0;
}

static int check_map(const struct faultline_dma_map *map)
{
	bool list = map->kind == FAULTLINE_DMA_LIST;

	if (map->kind < FAULTLINE_DMA_PAGE || map->kind > FAULTLINE_DMA_LIST ||
	    map->direction > FAULTLINE_DMA_FROM_DEVICE || map->reserved ||
	    map->flags & ~FAULTLINE_DMA_KEEP || !map->size || map->size > FAULTLINE_DMA_SIZE_MAX ||
	    !map->count || map->count > FAULTLINE_BATCH_MAX)
		return -EINVAL;
	if (list ? !map->segments || map->segments > FAULTLINE_DMA_SEGMENTS_MAX : map->segments)
		return -EINVAL;
	return 0;
}

int dma_map(struct client *client, struct accelerator *accelerator, struct faultline_dma_map *map)
{
	struct faultline_dma_mapping __user *user = u64_to_user_ptr(map->mappings);
	int err = check_map(map);

	map->mapped = 0;
	while (!err && map->mapped < map->count) {
		struct faultline_dma_mapping result = {0};

		mutex_lock(&faultline.mutex);
		err = accelerator->pdev ? map_one(client, accelerator, map, &result) : -ENODEV;
		mutex_unlock(&faultline.mutex);
		if (!err && copy_to_user(user + map->mapped, &result, sizeof(result)))
			err = -EFAULT;
		if (!err)
			map->mapped++;
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	return err;
}

static int unmap_one(struct accelerator *accelerator, u32 handle)
{
	struct mapping *mapping = xa_erase(&accelerator->mappings, handle);
	u64 began = ktime_get_ns();

	if (!mapping)
		return -ENOENT;
	unmap_by_kind(&accelerator->pdev->dev, mapping);
	note(accelerator, FAULTLINE_LOG_DMA_UNMAP, handle, mapping, 0, began);
	kfree(mapping);
	return 0;
}

static u32 unmap_every(struct accelerator *accelerator)
{
	struct mapping *mapping;
	unsigned long handle;
	u32 unmapped = 0;

	xa_for_each(&accelerator->mappings, handle, mapping)
		if (!unmap_one(accelerator, handle))
			unmapped++;
	return unmapped;
}

void dma_unmap_all(struct accelerator *accelerator)
{
	lockdep_assert_held(&faultline.mutex);
	unmap_every(accelerator);
}

void dma_unmap_of_client(struct client *client)
{
	struct mapping *mapping;
	unsigned long handle;

	lockdep_assert_held(&faultline.mutex);
	for (u32 i = 0; i < faultline.devices; i++)
		xa_for_each(&faultline.accelerators[i].mappings, handle, mapping)
			if (mapping->client == client)
				unmap_one(&faultline.accelerators[i], handle);
}

static int unmap_next(struct accelerator *accelerator, struct faultline_dma_unmap *unmap)
{
	u32 __user *handles = u64_to_user_ptr(unmap->handles);
	u32 handle;
	int err;

	if (get_user(handle, handles + unmap->unmapped))
		return -EFAULT;
	mutex_lock(&faultline.mutex);
	err = accelerator->pdev ? unmap_one(accelerator, handle) : -ENODEV;
	mutex_unlock(&faultline.mutex);
	if (!err)
		unmap->unmapped++;
	return err;
}

int dma_unmap(struct accelerator *accelerator, struct faultline_dma_unmap *unmap)
{
	int err = 0;

	unmap->unmapped = 0;
	if (unmap->reserved || unmap->count > FAULTLINE_BATCH_MAX)
		return -EINVAL;
	if (!unmap->count) {
		mutex_lock(&faultline.mutex);
		if (accelerator->pdev)
			unmap->unmapped = unmap_every(accelerator);
		else
			err = -ENODEV;
		mutex_unlock(&faultline.mutex);
		return err;
	}
	while (!err && unmap->unmapped < unmap->count) {
		err = unmap_next(accelerator, unmap);
		cond_resched();
	}
	return err;
}

static void sync_once(struct device *dev, struct mapping *mapping, u32 to)
{
	if (mapping->kind == FAULTLINE_DMA_LIST && to == FAULTLINE_SYNC_FOR_CPU)
		dma_sync_sg_for_cpu(dev, mapping->table.sgl, mapping->segments, mapping->direction);
	else if (mapping->kind == FAULTLINE_DMA_LIST)
		dma_sync_sg_for_device(dev, mapping->table.sgl, mapping->segments,
				       mapping->direction);
	else if (to == FAULTLINE_SYNC_FOR_CPU)
		dma_sync_single_for_cpu(dev, mapping->iova, mapping->size, mapping->direction);
	else
		dma_sync_single_for_device(dev, mapping->iova, mapping->size, mapping->direction);
}

int dma_sync(struct accelerator *accelerator, const struct faultline_dma_sync *sync)
{
	struct mapping *mapping;
	int err = 0;

	if (sync->to > FAULTLINE_SYNC_FOR_DEVICE || !sync->count ||
	    sync->count > FAULTLINE_BATCH_MAX)
		return -EINVAL;
	mutex_lock(&faultline.mutex);
	mapping = xa_load(&accelerator->mappings, sync->handle);
	if (!accelerator->pdev)
		err = -ENODEV;
	else if (!mapping || mapping->kind == FAULTLINE_DMA_COHERENT)
		err = -ENOENT;
	for (u32 i = 0; !err && i < sync->count; i++)
		sync_once(&accelerator->pdev->dev, mapping, sync->to);
	if (!err) {
		spin_lock(&faultline.lock);
		accelerator->counters.dma_syncs += sync->count;
		spin_unlock(&faultline.lock);
	}
	mutex_unlock(&faultline.mutex);
	return err;
}
