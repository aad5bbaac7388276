// SPDX-License-Identifier: GPL-2.0
/*
 * A disk: reads and writes of a real file straight into and out of guest memory, no copy. The file
 * system call runs on the DMA mapping, where an absent page gives EFAULT instead of being resolved.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injectors/emu/devices/block_private.h"
#include "injectors/emu/devices/engine.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/workload_device.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static enum ring_status block_check(void *model, const struct engine_request *request)
{
	const struct block *block = model;
	__u64 sectors = block->file.bytes / RING_SECTOR;
	__u64 count = request->bytes / RING_SECTOR;

	if (request->opcode == RING_FLUSH)
		return RING_OK;
	if (request->opcode != RING_READ && request->opcode != RING_WRITE)
		return RING_INVALID;
	if (request->target > sectors || count > sectors - request->target)
		return RING_INVALID;
	for (unsigned int i = 0; i < request->segments; i++) {
		if (request->segment[i].length % RING_SECTOR)
			return RING_INVALID;
		if (block->direct && request->segment[i].iova % RING_SECTOR)
			return RING_INVALID;
	}
	return RING_OK;
}

/* Drops `bytes` that were transferred from the front of the vector. */
static void vector_advance(struct block_vector *left, size_t bytes)
{
	left->offset += bytes;
	while (left->count && bytes >= left->iov->iov_len) {
		bytes -= left->iov->iov_len;
		left->iov++;
		left->count--;
	}
	if (left->count) {
		left->iov->iov_base = (char *)left->iov->iov_base + bytes;
		left->iov->iov_len -= bytes;
	}
}

int block_transfer(int descriptor, struct block_vector *left, bool read)
{
	while (left->count) {
		off_t offset = (off_t)left->offset;
		ssize_t done = read ? preadv(descriptor, left->iov, left->count, offset)
				    : pwritev(descriptor, left->iov, left->count, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		vector_advance(left, (size_t)done);
	}
	return 0;
}

static int block_flush(const struct block *block, enum ring_status *status)
{
	*status = fdatasync(block->file.descriptor) ? RING_IO_ERROR : RING_OK;
	return 0;
}

void block_wait_for_medium(const struct block *block, __u64 bytes)
{
	__u64 ns = block->medium_latency_ns;

	if (block->medium_bytes_per_s)
		ns += bytes * NSEC_PER_SEC / block->medium_bytes_per_s;
	if (ns)
		sleep_until(monotonic_ns() + ns);
}

static int block_execute(void *model, struct port *port, __u16 queue,
			 const struct engine_request *request, void *scratch,
			 enum ring_status *status)
{
	bool read = request->opcode == RING_READ;
	__u64 offset = request->target * RING_SECTOR;
	struct block *block = model;
	struct dma *dma = scratch;
	struct block_vector left;
	int err = 0;

	if (request->opcode == RING_FLUSH)
		return block_flush(block, status);
	block_wait_for_medium(block, request->bytes);
	for (unsigned int i = 0; !err && i < request->segments; i++) {
		const struct engine_segment *segment = &request->segment[i];

		err = port_dma_begin(port, queue, request->pasid, segment->iova, segment->length,
				     read, dma);
		if (err)
			break;
		left = (struct block_vector){dma->iov, (int)dma->segments, offset};
		err = block_transfer(block->file.descriptor, &left, read);
		if (err == -EFAULT)
			port_dma_violation(port, segment->iova);
		port_dma_end(port, dma);
		offset += segment->length;
	}
	if (err == -ESHUTDOWN)
		return err;
	*status = !err ? RING_OK : err == -EINVAL ? RING_INVALID : RING_IO_ERROR;
	return 0;
}

static void block_report(void *model, struct port *port, __u16 queue,
			 const struct engine_request *request, __u8 code, __u64 start_ns,
			 __u64 end_ns)
{
	__u8 flags = request->opcode == RING_READ ? EVENT_WRITE : EVENT_READ;

	(void)model;
	for (unsigned int i = 0; i < request->segments; i++)
		port_io_done(port, queue, request->segment[i].iova, request->segment[i].length,
			     flags, i + 1 < request->segments ? code | IO_PART : code, start_ns,
			     end_ns);
}

static const struct engine_model block_model = {
	.class = &block_class,
	.scratch_bytes = (sizeof(struct dma) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1),
	.check = block_check,
	.execute = block_execute,
	.report = block_report,
};

static int block_start(void **device, struct port *port, const struct device_setup *setup)
{
	const struct block_settings *settings = setup->settings;
	struct block *block = calloc(1, sizeof(*block));
	int err;

	if (!block)
		return failed(-ENOMEM, "no memory for a block device");
	err = block_file_open(&block->file, settings, setup->directory);
	if (err)
		goto free_block;
	block->direct = settings->file_direct;
	block->medium_latency_ns = settings->medium_latency_ns;
	block->medium_bytes_per_s = settings->medium_bytes_per_s;
	setup->channel->disk_bytes = block->file.bytes;
	setup->channel->disk_zeroed = block->file.zeroed;
	if (*settings->vhost.socket)
		err = block_vhost_start(block, port, setup);
	else
		err = engine_start(&block->engine, &block_model, block, port, setup->channel);
	if (err)
		goto close_file;
	*device = block;
	return 0;

close_file:
	block_file_close(&block->file);
free_block:
	free(block);
	return err;
}

static void block_stop(void *device)
{
	struct block *block = device;

	if (block->vhost)
		block_vhost_stop(block);
	else
		engine_stop(block->engine);
	block_file_close(&block->file);
	free(block);
}

static struct device_file *block_given_file(struct device_settings *settings)
{
	return &((struct block_settings *)settings->bytes)->file;
}

static struct vhost *block_vhost_device(void *device)
{
	return ((struct block *)device)->vhost;
}

static struct vhost_settings *block_vhost_settings(struct device_settings *settings)
{
	return &((struct block_settings *)settings->bytes)->vhost;
}

/* A workload writes no file that it may not, and its I/Os fit on the disk. */
static int block_agree(const struct device_check *check)
{
	const struct device_config *device = check->device;
	const struct block_settings *settings = (const void *)device->settings.bytes;
	const struct workload_config *workload = check->workload;
	__u64 largest = workload ? workload_largest(workload) : 0;

	if (device->lookup == LOOKUP_UFFD && settings->file_direct)
		return failed(
			-EBADMSG,
			"%s: file_direct=yes of %s pins its guest's pages, which with "
			"lookup=uffd nobody knows of who evicts them; accepted: file_direct=no, or "
			"another lookup",
			check->where, device->name);
	if (workload && *settings->file.path && !settings->file.writable &&
	    workload->read_percent < 100)
		return failed(-EBADMSG,
			      "%s: [workload %s] would write %s, the file of %s; accepted: "
			      "read_percent=100, or writable=yes of the device",
			      check->where, workload->name, settings->file.path, device->name);
	if (!*settings->file.path && largest > settings->file_bytes)
		return failed(
			-EBADMSG,
			"%s: [workload %s] sizes=%llu: accepted: at most %llu, the file_bytes of "
			"%s",
			check->where, workload->name, largest, settings->file_bytes, device->name);
	return 0;
}

#define SETTING(member) DEVICE_SETTING(struct block_settings, member)
#define MIB		(1024.0 * 1024)

static const struct option_choice on_fault_choices[] = {
	{"park", VHOST_PARK},
	{"pause", VHOST_PAUSE},
	{NULL},
};

static const struct option_row block_rows[] = {
	{"device", "file", OPTION_TEXT, SETTING(file.path), .otherwise = "",
	 .meaning = "backing file; empty: an unlinked one of file_bytes"},
	{"device", "writable", OPTION_BOOL, SETTING(file.writable), .otherwise = "no",
	 .meaning = "`file` may be written; a block device needs --yes-i-mean-it as well",
	 .needs = {{"file", "*"}}},
	{"device", "file_bytes", OPTION_BYTES, SETTING(file_bytes), 2 * MIB, 1024 * 1024 * MIB,
	 "64M", .meaning = "size of the unlinked backing file", .multiple = 4096,
	 .needs = {{"file", ""}}},
	{"device", "file_direct", OPTION_BOOL, SETTING(file_direct), .otherwise = "no",
	 .meaning = "reads and writes the backing file with O_DIRECT"},
	{"device", "medium_latency", OPTION_TIME, SETTING(medium_latency_ns), 0, 1e8, "0",
	 .meaning = "what the medium takes for each I/O, one at a time in each queue"},
	{"device", "medium_bandwidth", OPTION_BYTES, SETTING(medium_bytes_per_s), 16 * MIB,
	 1024 * 1024 * MIB, "", .meaning = "bytes per second of the medium, for each queue"},
	{"device", "socket", OPTION_TEXT, SETTING(vhost.socket), .otherwise = "",
	 .meaning =
		 "path at which a virtual machine finds the device (vhost-user); empty: one that "
		 "lasts as long as the run",
	 .needs = {{"tenant.backend", "vm"}}},
	{"device", "on_fault", OPTION_CHOICE, SETTING(vhost.on_fault), .otherwise = "park",
	 .choices = on_fault_choices,
	 .meaning = "of a virtual machine's device: what a queue does while a request waits for "
		    "pages: its other requests go on, or it pauses",
	 .needs = {{"tenant.backend", "vm"}}},
	{"device", "bypass", OPTION_BOOL, SETTING(vhost.bypass), .otherwise = "no",
	 .meaning = "it moves data by a mapping of its guest's memory that the pager knows nothing "
		    "of: a control, whose pages are counted as `bypassed` and may be lost",
	 .needs = {{"lookup", "uffd"}}},
};

const struct device_class block_class = {
	.name = "block",
	.meaning = "reads and writes of a backing file",
	.rows = block_rows,
	.row_count = sizeof(block_rows) / sizeof(block_rows[0]),
	.settings_bytes = DEVICE_SETTINGS(struct block_settings),
	.depth_max = WORKLOAD_DEPTH_MAX,
	.data_align = 64,
	.io = DEVICE_IO_DISK,
	.file = block_given_file,
	.vhost = block_vhost_settings,
	.vhost_device = block_vhost_device,
	.check = block_agree,
	.start = block_start,
	.stop = block_stop,
	.driver = &workload_driver,
};
