// SPDX-License-Identifier: GPL-2.0
/* DMA mappings and unrecoverable faults: as many as were asked for, one after the other. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "injectors/real/iopf.h"

static int iopf_map(const struct iopf_run *run, __u32 device, __u32 direction,
		    struct faultline_dma_mapping *mapping)
{
	const struct iopf_options *options = run->options;
	struct faultline_dma_map request = {
		.device = device,
		.kind = options->dma_kind,
		.direction = direction,
		.segments = options->dma_kind == FAULTLINE_DMA_LIST ? options->segments : 0,
		.size = options->size,
		.count = 1,
		.flags = options->keep ? FAULTLINE_DMA_KEEP : 0,
		.mappings = (uintptr_t)mapping,
	};

	return iopf_call(&run->device, FAULTLINE_IOC_DMA_MAP, &request, "cannot map for DMA");
}

static int iopf_unmap(const struct iopf_run *run, __u32 device, __u32 handle)
{
	struct faultline_dma_unmap request = {
		.device = device, .count = 1, .handles = (uintptr_t)&handle};

	return iopf_call(&run->device, FAULTLINE_IOC_DMA_UNMAP, &request, "cannot unmap");
}

static __u32 iopf_device_of(const struct iopf_options *options, __u32 index)
{
	return options->devices[index % options->device_count];
}

/* At most `live` mappings at a time: a new one takes the place of the oldest. */
static int map_and_unmap(struct iopf_run *run)
{
	const struct iopf_options *options = run->options;
	__u32 live =
		options->live && options->live < options->count ? options->live : options->count;
	struct faultline_dma_mapping *mappings = calloc(live, sizeof(*mappings));
	__u32 mapped = 0, unmapped = 0;
	int err = mappings ? 0 : failed(-ENOMEM, "out of memory for %u mappings", live);

	for (; mapped < options->count && !err && !verb_stop; mapped++) {
		if (mapped >= live) {
			err = iopf_unmap(run, iopf_device_of(options, unmapped),
					 mappings[unmapped % live].handle);
			unmapped++;
		}
		if (!err)
			err = iopf_map(run, iopf_device_of(options, mapped), FAULTLINE_DMA_BOTH,
				       &mappings[mapped % live]);
	}
	for (; unmapped < mapped && !err && !options->keep; unmapped++)
		err = iopf_unmap(run, iopf_device_of(options, unmapped),
				 mappings[unmapped % live].handle);
	free(mappings);
	if (!err && verb_stop)
		err = failed(-EINTR, "interrupted");
	return err;
}

/* A buffer that was unmapped, or one that the device may read only, and accesses to it. */
static int iopf_dma_fault(struct iopf_run *run, __u32 device, __u32 count)
{
	const struct iopf_options *options = run->options;
	struct faultline_dma_mapping mapping;
	struct faultline_access access = {.device = device, .write = 1, .stride = options->stride};
	int err = iopf_map(run, device,
			   options->forbidden ? FAULTLINE_DMA_TO_DEVICE : FAULTLINE_DMA_BOTH,
			   &mapping);

	if (!err && !options->forbidden)
		err = iopf_unmap(run, device, mapping.handle);
	while (!err && count && !verb_stop) {
		__u64 within = (mapping.size + options->stride - 1) / options->stride;

		/* Over and over the buffer: what lies behind it may be somebody else's. */
		access.iova = mapping.iova & ~7ull;
		access.count = count < within ? count : (__u32)within;
		err = iopf_call(&run->device, FAULTLINE_IOC_ACCESS, &access, "cannot access");
		count -= access.count;
	}
	if (!err && options->forbidden && !options->keep)
		err = iopf_unmap(run, device, mapping.handle);
	if (!err && verb_stop)
		err = failed(-EINTR, "interrupted");
	return err;
}

int iopf_run_dma(struct iopf_run *run)
{
	const struct iopf_options *options = run->options;
	__u32 left = options->count;
	int err = 0;

	if (!(run->device.info.features & FAULTLINE_FEATURE_DMA))
		return failed(-EOPNOTSUPP, "DMA of the emulated devices bypasses their IOMMU here: "
					   "boot the kernel without iommu.passthrough");
	err = iopf_remember(run);
	if (!err && options->what == IOPF_DMA)
		return map_and_unmap(run);
	for (__u32 i = 0; i < options->device_count && !err; i++) {
		__u32 share = left / (options->device_count - i);

		left -= share;
		if (share)
			err = iopf_dma_fault(run, options->devices[i], share);
	}
	return err;
}
