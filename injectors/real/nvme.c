// SPDX-License-Identifier: GPL-2.0
/*
 * An NVMe controller driven from user space: admin queue, one I/O queue, polled or with the
 * interrupt of vector 0.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "injectors/real/master.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

enum {
	REGISTER_CAP = 0x00,
	REGISTER_CC = 0x14,
	REGISTER_CSTS = 0x1c,
	REGISTER_AQA = 0x24,
	REGISTER_ASQ = 0x28,
	REGISTER_ACQ = 0x30,
	REGISTER_DOORBELLS = 0x1000,
};

enum { CSTS_READY = 1, CSTS_FATAL = 2 };

#define CC_ENABLE   (1u | 6u << 16 | 4u << 20) /* entries of 64 and of 16 bytes, pages of 4 KiB */
#define PATIENCE_NS (20 * NSEC_PER_SEC)

/* Pages of the control memory. */
enum { PAGE_ADMIN_SQ, PAGE_ADMIN_CQ, PAGE_IO_SQ, PAGE_IO_CQ, PAGE_IDENTIFY, PAGE_LIST };

static void *nvme_page(const struct master *master, unsigned int number)
{
	return (char *)master->control + (size_t)number * NVME_PAGE;
}

static __u64 page_iova(const struct master *master, unsigned int number)
{
	return master->control_iova + (__u64)number * NVME_PAGE;
}

static void queue_init(struct master *master, struct nvme_queue *queue, unsigned int number,
		       unsigned int first_page)
{
	*queue = (struct nvme_queue){
		.submission = nvme_page(master, first_page),
		.completion = nvme_page(master, first_page + 1),
		.submission_iova = page_iova(master, first_page),
		.completion_iova = page_iova(master, first_page + 1),
		.number = number,
		.phase = 1,
	};
	memset(queue->submission, 0, NVME_PAGE);
	memset((void *)queue->completion, 0, NVME_PAGE);
}

static size_t nvme_doorbell(const struct master *master, const struct nvme_queue *queue,
			    bool completion)
{
	return REGISTER_DOORBELLS +
	       (size_t)(2 * queue->number + completion) * master->doorbell_stride;
}

static void nvme_submit(struct master *master, struct nvme_queue *queue,
			struct vfio_nvme_command *command)
{
	command->id = master->next_id++;
	queue->submission[queue->tail] = *command;
	queue->tail = (queue->tail + 1) % NVME_ENTRIES;
	atomic_thread_fence(memory_order_seq_cst); /* the entry is there before its bell rings */
	device_write32(&master->device, nvme_doorbell(master, queue, false), queue->tail);
}

static int nvme_take(struct master *master, struct nvme_queue *queue, bool *refused,
		     struct vfio_nvme_completion *completion)
{
	volatile struct vfio_nvme_completion *entry = &queue->completion[queue->head];
	__u64 began = monotonic_ns();

	while ((entry->status & 1) != queue->phase) {
		if (device_read32(&master->device, REGISTER_CSTS) & CSTS_FATAL)
			return failed(-EIO, "%s: the controller reports a fatal error",
				      master->device.address);
		if (!master_patience(began, PATIENCE_NS))
			return failed(-ETIMEDOUT, "%s: no completion within 20 s",
				      master->device.address);
	}
	atomic_thread_fence(memory_order_seq_cst);
	completion->status = entry->status;
	*refused = nvme_status(completion) != 0;
	if (++queue->head == NVME_ENTRIES) {
		queue->head = 0;
		queue->phase ^= 1;
	}
	device_write32(&master->device, nvme_doorbell(master, queue, true), queue->head);
	return 0;
}

static int nvme_execute(struct master *master, struct nvme_queue *queue,
			struct vfio_nvme_command *command, const char *what)
{
	struct vfio_nvme_completion completion;
	bool refused;
	int error;

	nvme_submit(master, queue, command);
	error = nvme_take(master, queue, &refused, &completion);
	if (!error && refused)
		error = failed(-EIO, "%s: %s: refused with status 0x%03x", master->device.address,
			       what, nvme_status(&completion));
	return error;
}

static int wait_ready(struct master *master, __u32 wanted)
{
	__u64 began = monotonic_ns();

	while ((device_read32(&master->device, REGISTER_CSTS) & CSTS_READY) != wanted)
		if (!master_patience(began, PATIENCE_NS))
			return failed(-ETIMEDOUT, "%s: the controller does not become %s",
				      master->device.address, wanted ? "ready" : "disabled");
	return 0;
}

static int nvme_enable(struct master *master)
{
	struct vfio_device *device = &master->device;
	int error;

	device_write32(device, REGISTER_CC, 0);
	error = wait_ready(master, 0);
	if (error)
		return error;
	queue_init(master, &master->admin, 0, PAGE_ADMIN_SQ);
	queue_init(master, &master->io, 1, PAGE_IO_SQ);
	device_write32(device, REGISTER_AQA, (NVME_ENTRIES - 1) << 16 | (NVME_ENTRIES - 1));
	device_write64(device, REGISTER_ASQ, master->admin.submission_iova);
	device_write64(device, REGISTER_ACQ, master->admin.completion_iova);
	device_write32(device, REGISTER_CC, CC_ENABLE);
	return wait_ready(master, CSTS_READY);
}

/* How large namespace 1 is and its blocks are. */
static int look_at_namespace(struct master *master)
{
	const unsigned char *identity = nvme_page(master, PAGE_IDENTIFY);
	struct vfio_nvme_command command;
	unsigned int format;
	__u32 shape;
	int error;

	nvme_identify(&command, NVME_IDENTIFY_NAMESPACE, 1, page_iova(master, PAGE_IDENTIFY));
	error = nvme_execute(master, &master->admin, &command, "identify namespace 1");
	if (error)
		return error;
	memcpy(&master->blocks, identity, sizeof(master->blocks));
	format = identity[26] & 0xf;
	memcpy(&shape, identity + 128 + (size_t)4 * format, sizeof(shape));
	master->block_bytes = 1u << (shape >> 16 & 0xff);
	if (!master->blocks || master->block_bytes < 512 || master->block_bytes > NVME_PAGE)
		return failed(-EOPNOTSUPP, "%s: namespace 1 has %llu blocks of %u bytes",
			      master->device.address, master->blocks, master->block_bytes);
	return 0;
}

int nvme_start(struct master *master)
{
	__u64 capabilities = device_read64(&master->device, REGISTER_CAP);
	struct vfio_nvme_command command;
	int error;

	master->depth = MASTER_DEPTH_MAX;
	master->bytes = NVME_PAGE;
	master->doorbell_stride = 4u << (capabilities >> 32 & 0xf);
	error = nvme_enable(master);
	error = error ? error : look_at_namespace(master);
	if (error)
		return error;
	nvme_create_completion_queue(&command, master->io.completion_iova,
				     master->interrupts ? 0 : -1);
	error = nvme_execute(master, &master->admin, &command, "create the I/O completion queue");
	if (error)
		return error;
	nvme_create_submission_queue(&command, master->io.submission_iova);
	return nvme_execute(master, &master->admin, &command, "create the I/O submission queue");
}

void nvme_stop(struct master *master)
{
	device_write32(&master->device, REGISTER_CC, 0);
	wait_ready(master, 0);
}

/*
 * Into memory: the controller's identity, which needs no medium and is moved at once. Out of it: a
 * block that is stored.
 */
int nvme_begin(struct master *master, const struct master_dma *dma)
{
	struct vfio_nvme_command command;

	if (dma->direction == MASTER_WRITES_MEMORY) {
		nvme_identify(&command, NVME_IDENTIFY_CONTROLLER, 0, dma->iova);
		nvme_submit(master, &master->admin, &command);
		return 0;
	}
	return failed(-EOPNOTSUPP,
		      "%s: an NVMe controller reads memory only to store it; use the "
		      "action transfer",
		      master->device.address);
}

int nvme_wait(struct master *master, bool *refused)
{
	struct vfio_nvme_completion completion;

	return nvme_take(master, &master->admin, refused, &completion);
}

int nvme_move(struct master *master, bool store, __u64 block, __u64 iova, __u64 bytes,
	      bool *refused)
{
	__u32 blocks = (__u32)(bytes / master->block_bytes);
	struct vfio_nvme_completion completion;
	struct vfio_nvme_command command;
	int error;

	if (store && !master->may_overwrite)
		return failed(-EPERM, "%s: storing needs --overwrite", master->device.address);
	if (!blocks || block + blocks > master->blocks)
		return failed(-ERANGE, "%s: %u blocks from block %llu on; it has %llu of %u bytes",
			      master->device.address, blocks, block, master->blocks,
			      master->block_bytes);
	nvme_transfer(&command, store, block, blocks);
	error = nvme_prps(&command, iova, bytes, nvme_page(master, PAGE_LIST),
			  page_iova(master, PAGE_LIST));
	if (error < 0)
		return error;
	nvme_submit(master, &master->io, &command);
	master->dmas++;
	error = nvme_take(master, &master->io, refused, &completion);
	master->refused += !error && *refused;
	return error;
}
