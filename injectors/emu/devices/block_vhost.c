// SPDX-License-Identifier: GPL-2.0
/* The disk as virtio-blk (virtio 1.2, 5.2), over vhost-user. */
#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_blk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/devices/block_private.h"
#include "lib/base/fail.h"

#define BLOCK_SEGMENTS	    126 /* of data: what a queue of 128 has room for beside header and status */
#define BLOCK_RANGES	    16 /* of a DISCARD or WRITE_ZEROES */
#define BLOCK_RANGE_SECTORS (1u << 22)
#define BLOCK_REPORT_RANGES 32
#define BLOCK_HEADER	    sizeof(struct virtio_blk_outhdr)
#define BLOCK_FEATURE(NAME) (1ull << VIRTIO_BLK_F_##NAME)

/* How far a request has come: it may be parked at any of its pages. */
struct block_progress {
	struct virtio_blk_outhdr header;
	bool begun, ended;
	bool invalid; /* nothing was moved: it makes no sense */
	__u8 status;
	__u64 moved; /* bytes of its data, or ranges */
};

static void virtio_blk_config(void *model, void *space)
{
	const struct block *block = model;
	struct virtio_blk_config config = {
		.capacity = block->file.bytes / RING_SECTOR,
		.seg_max = BLOCK_SEGMENTS,
		.blk_size = RING_SECTOR,
		.num_queues = block->queues,
		.max_discard_sectors = BLOCK_RANGE_SECTORS,
		.max_discard_seg = BLOCK_RANGES,
		.discard_sector_alignment = PAGE_BYTES / RING_SECTOR,
		.max_write_zeroes_sectors = BLOCK_RANGE_SECTORS,
		.max_write_zeroes_seg = BLOCK_RANGES,
		.write_zeroes_may_unmap = 1,
	};

	memcpy(space, &config, sizeof(config));
}

static bool on_disk(const struct block *block, __u64 sector, __u64 count)
{
	__u64 sectors = block->file.bytes / RING_SECTOR;

	return sector <= sectors && count <= sectors - sector;
}

/* A page that the guest had given back, and now uses again, is brought on the way. */
static int block_move_piece(struct block *block, struct dma *dma, __u64 offset, bool in)
{
	struct block_vector left = {dma->iov, (int)dma->segments, offset};
	int result;

	do
		result = block_transfer(block->file.descriptor, &left, in);
	while (result == -EFAULT && !port_dma_undiscard(block->port, dma));
	if (result == -EFAULT)
		port_dma_violation(block->port, dma->iova);
	return result;
}

/* IN and OUT; the status is the last byte that the device may write. */
static int block_move(struct block *block, struct vhost_request *request,
		      struct block_progress *progress, struct dma *dma)
{
	bool in = progress->header.type == VIRTIO_BLK_T_IN;
	__u64 bytes = in ? request->writable_bytes - 1 : request->readable_bytes - BLOCK_HEADER;
	__u64 sector = progress->header.sector, offset = sector * RING_SECTOR;
	int result = 0;

	if (bytes % RING_SECTOR || !on_disk(block, sector, bytes / RING_SECTOR))
		return -EINVAL;
	while (progress->moved < bytes && !result) {
		result = vhost_request_dma(request, in, progress->moved + (in ? 0 : BLOCK_HEADER),
					   bytes - progress->moved, dma);
		if (result)
			break;
		result = block_move_piece(block, dma, offset + progress->moved, in);
		progress->moved += result ? 0 : dma->length;
		vhost_request_dma_end(request, dma);
	}
	return result;
}

static int block_zero(const struct block *block,
		      const struct virtio_blk_discard_write_zeroes *range, bool discard)
{
	off_t at = (off_t)(range->sector * RING_SECTOR),
	      bytes = (off_t)range->num_sectors * RING_SECTOR;
	bool unmap = discard || range->flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (!bytes)
		return 0;
	if (!unmap && !fallocate(block->file.descriptor, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
				 at, bytes))
		return 0;
	return fallocate(block->file.descriptor, punch, at, bytes) ? -errno : 0;
}

static int block_zero_ranges(struct block *block, struct vhost_request *request,
			     struct block_progress *progress)
{
	bool discard = progress->header.type == VIRTIO_BLK_T_DISCARD;
	__u32 flags = discard ? 0 : VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	__u64 bytes = request->readable_bytes - BLOCK_HEADER;
	struct virtio_blk_discard_write_zeroes range;
	int result = 0;

	if (!bytes || bytes % sizeof(range) || bytes / sizeof(range) > BLOCK_RANGES)
		return -EINVAL;
	while (progress->moved < bytes / sizeof(range) && !result) {
		result = vhost_request_read(request, BLOCK_HEADER + progress->moved * sizeof(range),
					    &range, sizeof(range));
		if (result)
			return result;
		if (range.flags & ~flags)
			return -EOPNOTSUPP;
		if (range.num_sectors > BLOCK_RANGE_SECTORS ||
		    !on_disk(block, range.sector, range.num_sectors))
			return -EINVAL;
		result = block_zero(block, &range, discard);
		progress->moved++;
	}
	return result;
}

static int block_identify(struct block *block, struct vhost_request *request)
{
	char identity[VIRTIO_BLK_ID_BYTES] = {0};

	if (request->writable_bytes != sizeof(identity) + 1)
		return -EINVAL;
	memcpy(identity, block->name, strnlen(block->name, sizeof(identity)));
	return vhost_request_write(request, 0, identity, sizeof(identity));
}

static bool block_writes(__u32 type)
{
	return type == VIRTIO_BLK_T_OUT || type == VIRTIO_BLK_T_DISCARD ||
	       type == VIRTIO_BLK_T_WRITE_ZEROES;
}

static int block_do(struct block *block, struct vhost_request *request,
		    struct block_progress *progress, struct dma *dma)
{
	if (block->read_only && block_writes(progress->header.type))
		return -EROFS;
	switch (progress->header.type) {
	case VIRTIO_BLK_T_IN:
	case VIRTIO_BLK_T_OUT:
		return block_move(block, request, progress, dma);
	case VIRTIO_BLK_T_FLUSH:
		return fdatasync(block->file.descriptor) ? -errno : 0;
	case VIRTIO_BLK_T_GET_ID:
		return block_identify(block, request);
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
		return block_zero_ranges(block, request, progress);
	default:
		return -EOPNOTSUPP;
	}
}

static int block_begin(struct block *block, struct vhost_request *request,
		       struct block_progress *progress)
{
	int result = vhost_request_read(request, 0, &progress->header, BLOCK_HEADER);

	if (result)
		return result;
	progress->begun = true;
	if (progress->header.type == VIRTIO_BLK_T_IN || progress->header.type == VIRTIO_BLK_T_OUT)
		block_wait_for_medium(block, request->readable_bytes + request->writable_bytes -
						     BLOCK_HEADER - 1);
	return 0;
}

static void block_set_status(struct vhost_request *request, struct block_progress *progress,
			     int result)
{
	progress->ended = true;
	progress->status = !result		   ? VIRTIO_BLK_S_OK
			   : result == -EOPNOTSUPP ? VIRTIO_BLK_S_UNSUPP
						   : VIRTIO_BLK_S_IOERR;
	progress->invalid = result == -EINVAL || !progress->begun;
	request->used = 1;
	if (progress->begun && progress->header.type == VIRTIO_BLK_T_IN)
		request->used += (__u32)progress->moved;
	if (progress->header.type == VIRTIO_BLK_T_GET_ID && !result)
		request->used += VIRTIO_BLK_ID_BYTES;
}

/* The driver waits for nothing else: a page response that fails may be followed by a good one. */
static int block_answer(struct vhost_request *request, const struct block_progress *progress)
{
	int result = vhost_request_write(request, request->writable_bytes - 1, &progress->status,
					 sizeof(progress->status));

	if (result == -EINVAL)
		return failed(-EPROTO, "the status of a request lies nowhere in memory");
	return result < 0 && result != -ESHUTDOWN ? vhost_request_retry(request) : result;
}

static int virtio_blk_serve(void *model, struct vhost_request *request, void *scratch)
{
	struct block_progress *progress = request->own;
	struct block *block = model;
	int result = 0;

	if (!request->writable_bytes)
		return failed(-EPROTO, "a request without room for its status");
	if (!progress->begun && request->readable_bytes >= BLOCK_HEADER)
		result = block_begin(block, request, progress);
	else if (!progress->begun)
		result = -EINVAL;
	if (!result && !progress->ended)
		result = block_do(block, request, progress, scratch);
	if (result == VHOST_PARKED || result == -ESHUTDOWN)
		return result;
	if (!progress->ended)
		block_set_status(request, progress, result);
	return block_answer(request, progress);
}

/* All ranges of an I/O, the last of which stands for it. */
static void virtio_blk_report(void *model, struct vhost_request *request, __u8 code, __u64 end_ns)
{
	const struct block_progress *progress = request->own;
	bool in = progress->header.type == VIRTIO_BLK_T_IN;
	__u64 base = in ? 0 : BLOCK_HEADER, at = base;
	struct io_range ranges[BLOCK_REPORT_RANGES];
	const struct block *block = model;
	__u64 end = in ? request->writable_bytes - 1 : request->readable_bytes;
	__u32 count = 1;
	bool more;

	if (progress->invalid || (!in && progress->header.type != VIRTIO_BLK_T_OUT))
		return;
	code |= progress->status ? IO_ERROR : IO_OK;
	while (at < end && count) {
		count = vhost_request_ranges(request, in, at, end - at, ranges,
					     BLOCK_REPORT_RANGES);
		for (__u32 i = 0; i < count; i++) {
			at += ranges[i].length;
			/* Of one that failed the rest was not reached. */
			more = at < end && (i + 1 < count || count == BLOCK_REPORT_RANGES);
			ranges[i].code = more ? code | IO_PART : code;
			ranges[i].start_ns = request->start_ns;
			ranges[i].end_ns = end_ns;
		}
		if (count)
			port_ios_done(block->port, request->index, ranges, count);
	}
	if (at > base)
		histogram_add(&block->latency[request->index], end_ns - request->start_ns);
}

static const struct vhost_model virtio_blk_model = {
	.name = "virtio-blk",
	.features = BLOCK_FEATURE(SEG_MAX) | BLOCK_FEATURE(BLK_SIZE) | BLOCK_FEATURE(FLUSH) |
		    BLOCK_FEATURE(DISCARD) | BLOCK_FEATURE(WRITE_ZEROES),
	.config_bytes = sizeof(struct virtio_blk_config),
	.request_bytes = sizeof(struct block_progress),
	.scratch_bytes = sizeof(struct dma),
	.config = virtio_blk_config,
	.serve = virtio_blk_serve,
	.report = virtio_blk_report,
};

int block_vhost_start(struct block *block, struct port *port, const struct device_setup *setup)
{
	const struct block_settings *settings = setup->settings;
	const struct channel_config *channel = &setup->channel->config;
	struct vhost_config config = {
		.socket = settings->vhost.socket,
		.name = block->name,
		.port = port,
		.memory = setup->memory,
		.iova_offset = channel->iova_offset,
		.pasid = channel->pasid,
		.queues = channel->queues,
		.on_fault = settings->vhost.on_fault,
		.iommu = setup->iommu,
		.direct = setup->direct,
		.model = &virtio_blk_model,
		.argument = block,
	};
	int error = 0;

	block->port = port;
	block->queues = channel->queues;
	block->latencies = setup->latencies;
	block->read_only = *settings->file.path && !settings->file.writable;
	snprintf(block->name, sizeof(block->name), "%s/%s", setup->tenant, setup->name);
	if (block->read_only)
		config.features |= BLOCK_FEATURE(RO);
	if (block->queues > 1)
		config.features |= BLOCK_FEATURE(MQ);
	if (settings->vhost.bypass)
		error = guest_memory_unserved(setup->memory, &config.unserved);
	if (error)
		return error;
	block->latency = calloc(channel->queues, sizeof(*block->latency));
	if (!block->latency)
		return failed(-ENOMEM, "no memory for a disk of %u queues", channel->queues);
	for (__u16 q = 0; q < channel->queues; q++)
		histogram_init(&block->latency[q]);
	error = vhost_start(&block->vhost, &config);
	if (error)
		free(block->latency);
	return error;
}

void block_vhost_stop(struct block *block)
{
	vhost_stop(block->vhost);
	for (__u16 q = 0; q < block->queues && block->latencies; q++)
		histogram_merge(block->latencies, &block->latency[q]);
	free(block->latency);
}
