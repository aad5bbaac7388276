// SPDX-License-Identifier: GPL-2.0
/* What `faultline-inject vfio` does with its devices, action by action. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/real/vfio_run.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define LOG_PATIENCE_NS NSEC_PER_SEC
#define LOG_ATTEMPTS	12		    /* the kernel's rate limit is one of 5 s */
#define STAGGER_NS	(4 * NSEC_PER_MSEC) /* QEMU's VT-d keeps one fault until it was read */
#define TRANSFER_BYTES	(3 * NVME_PAGE)	    /* takes a PRP list */

static void vfio_fill(char *memory, size_t bytes, __u64 seed)
{
	for (size_t i = 0; i < bytes; i++)
		memory[i] = (char)(seed * 31 + i * 7 + (i >> 8));
}

static void vfio_compare(struct vfio_run *run, const char *a, const char *b, size_t bytes)
{
	if (!memcmp(a, b, bytes))
		run->result.verified += bytes;
	else
		run->result.wrong += bytes;
}

static int map_data(struct vfio_run *run, size_t bytes)
{
	int error = space_map(&run->space, vfio_run_data(run), VFIO_IOVA_BUFFER, bytes);

	if (error)
		return failed(error, "the data cannot be mapped: %s", strerror(-error));
	vfio_run_peak(run);
	return 0;
}

/* Memory to device, device to other memory. */
static int transfer_edu(struct vfio_run *run, struct master *master, __u64 round)
{
	char *data = vfio_run_data(run);
	struct master_dma out = {MASTER_READS_MEMORY, VFIO_IOVA_BUFFER};
	struct master_dma in = {MASTER_WRITES_MEMORY, VFIO_IOVA_BUFFER + NVME_PAGE};
	bool refused;
	int error;

	vfio_fill(data, NVME_PAGE, round);
	memset(data + NVME_PAGE, 0, NVME_PAGE);
	error = master_dma(master, &out, &refused);
	error = error ? error : master_dma(master, &in, &refused);
	if (!error)
		vfio_compare(run, data, data + NVME_PAGE, master->bytes);
	return error;
}

/* Store and read back, or, where the medium is not ours, read twice. */
static int transfer_nvme(struct vfio_run *run, struct master *master, __u64 round)
{
	__u64 first = VFIO_IOVA_BUFFER, second = first + 4 * (__u64)NVME_PAGE, per_round, block;
	char *data = vfio_run_data(run);
	bool refused;
	int error;

	per_round = TRANSFER_BYTES / master->block_bytes;
	if (master->blocks < per_round)
		return failed(-ERANGE, "%s: a namespace of %llu blocks is too small",
			      master->device.address, master->blocks);
	block = round * per_round % (master->blocks - per_round + 1);
	vfio_fill(data, TRANSFER_BYTES, round);
	memset(data + 4 * NVME_PAGE, 0, TRANSFER_BYTES);
	error = nvme_move(master, master->may_overwrite, block, first, TRANSFER_BYTES, &refused);
	error = error ? error : nvme_move(master, false, block, second, TRANSFER_BYTES, &refused);
	if (!error)
		vfio_compare(run, data, data + 4 * NVME_PAGE, TRANSFER_BYTES);
	return error;
}

int vfio_act_transfer(struct vfio_run *run)
{
	int error = map_data(run, 8 * NVME_PAGE);

	for (__u64 round = 0; !error && round < run->job->count; round++) {
		for (unsigned int i = 0; !error && i < run->master_count; i++)
			error = run->masters[i].kind == MASTER_NVME
					? transfer_nvme(run, &run->masters[i], round)
					: transfer_edu(run, &run->masters[i], round);
		error = error ? error : vfio_run_pause(run);
	}
	if (!error && space_unmap(&run->space, VFIO_IOVA_BUFFER, 8 * NVME_PAGE))
		error = failed(-EIO, "the data cannot be unmapped");
	return error;
}

static __u64 vfio_absent(__u64 number)
{
	return VFIO_IOVA_ABSENT + number % VFIO_ABSENT_PAGES * NVME_PAGE;
}

/* Each device begins up to `depth`, then all are waited for. */
static int fault_round(struct vfio_run *run, __u64 *left)
{
	unsigned int begun[VFIO_DEVICES] = {0};
	const struct vfio_job *job = run->job;
	bool refused;
	int error = 0;

	for (unsigned int d = 0; d < job->depth; d++) {
		for (unsigned int i = 0; !error && *left && i < run->master_count; i++) {
			struct master_dma dma = {job->read_direction ? MASTER_READS_MEMORY
								     : MASTER_WRITES_MEMORY,
						 vfio_absent(run->result.faulting)};

			if (begun[i] >= run->masters[i].depth)
				continue;
			if (i)
				verb_sleep_until(monotonic_ns() + STAGGER_NS);
			error = master_begin(&run->masters[i], &dma);
			if (error)
				break;
			begun[i]++;
			--*left;
			run->result.faulting++;
		}
	}
	for (unsigned int i = 0; i < run->master_count; i++)
		for (; begun[i] && !error; begun[i]--)
			error = master_wait(&run->masters[i], &refused);
	return error;
}

int vfio_act_fault(struct vfio_run *run)
{
	__u64 left = run->job->count;
	int error = 0;

	while (!error && left) {
		error = fault_round(run, &left);
		error = error ? error : vfio_run_pause(run);
	}
	return error;
}

/* What the device will write: its buffer filled from memory, or the identity it always tells. */
static int expected_data(struct vfio_run *run, struct master *master, __u64 round)
{
	struct master_dma dma = {MASTER_READS_MEMORY, VFIO_IOVA_BUFFER};
	bool refused;

	if (master->kind == MASTER_NVME)
		dma.direction = MASTER_WRITES_MEMORY;
	else
		vfio_fill(vfio_run_data(run), NVME_PAGE, round + 1);
	return master_dma(master, &dma, &refused);
}

/* As a device would: again and again, for the kernel may be tired of telling. */
static int fault_until_reported(struct vfio_run *run, struct master *master,
				const struct master_dma *dma)
{
	int error = kernel_log_read(&run->log);
	bool refused;

	for (unsigned int i = 0; !error && i < LOG_ATTEMPTS; i++) {
		error = master_dma(master, dma, &refused);
		run->result.faulting += !error;
		if (!error && kernel_log_wait(&run->log, dma->iova, LOG_PATIENCE_NS))
			return 0;
		if (verb_stop)
			return -EINTR;
	}
	return error ? error
		     : failed(-ETIMEDOUT,
			      "the kernel has not reported a fault at 0x%llx in %d attempts: does "
			      "it report those of this IOMMU?",
			      dma->iova, LOG_ATTEMPTS);
}

/* A fault, the page mapped because the kernel named it, and the same DMA once more. */
static int retry_once(struct vfio_run *run, struct master *master, __u64 round)
{
	char *page = vfio_run_data(run) + 4 * NVME_PAGE;
	struct master_dma dma = {MASTER_WRITES_MEMORY, vfio_absent(round)};
	bool refused;
	int error = expected_data(run, master, round);

	memset(page, 0, NVME_PAGE);
	error = error ? error : fault_until_reported(run, master, &dma);
	if (error)
		return error;
	error = space_map(&run->space, page, dma.iova, NVME_PAGE);
	if (error)
		return failed(error, "the page that faulted cannot be mapped: %s",
			      strerror(-error));
	vfio_run_peak(run);
	error = master_dma(master, &dma, &refused);
	run->result.retried++;
	vfio_compare(run, vfio_run_data(run), page, master->bytes);
	if (!error && space_unmap(&run->space, dma.iova, NVME_PAGE))
		error = failed(-EIO, "the page at 0x%llx cannot be unmapped", dma.iova);
	return error;
}

int vfio_act_retry(struct vfio_run *run)
{
	int error = map_data(run, NVME_PAGE);

	for (__u64 round = 0; !error && round < run->job->count; round++) {
		for (unsigned int i = 0; !error && i < run->master_count; i++)
			error = retry_once(run, &run->masters[i], round * run->master_count + i);
		error = error ? error : vfio_run_pause(run);
	}
	return error;
}

/* A driver that unmaps while its device still writes: the same address, now nobody's. */
static int stale_once(struct vfio_run *run, struct master *master, __u64 round)
{
	char *page = vfio_run_data(run) + 4 * NVME_PAGE;
	struct master_dma dma = {MASTER_WRITES_MEMORY, vfio_absent(round)};
	bool refused;
	int error = space_map(&run->space, page, dma.iova, NVME_PAGE);

	if (error)
		return failed(error, "a page cannot be mapped: %s", strerror(-error));
	vfio_run_peak(run);
	error = master_dma(master, &dma, &refused);
	if (!error && space_unmap(&run->space, dma.iova, NVME_PAGE))
		error = failed(-EIO, "the page at 0x%llx cannot be unmapped", dma.iova);
	error = error ? error : master_dma(master, &dma, &refused);
	run->result.faulting += !error;
	return error;
}

int vfio_act_stale(struct vfio_run *run)
{
	int error = 0;

	for (__u64 round = 0; !error && round < run->job->count; round++) {
		for (unsigned int i = 0; !error && i < run->master_count; i++)
			error = stale_once(run, &run->masters[i], round * run->master_count + i);
		error = error ? error : vfio_run_pause(run);
	}
	return error;
}

int vfio_act_churn(struct vfio_run *run)
{
	const struct vfio_job *job = run->job;
	int error = 0;

	for (__u64 i = 0; !error && i < job->count; i++) {
		error = space_map(&run->space, vfio_run_data(run), VFIO_IOVA_BUFFER, job->size);
		if (error)
			return failed(error, "map %llu of %llu: %s", i + 1, job->count,
				      strerror(-error));
		if (!i)
			vfio_run_peak(run);
		error = space_unmap(&run->space, VFIO_IOVA_BUFFER, job->size);
		if (error)
			return failed(error, "unmap %llu of %llu: %s", i + 1, job->count,
				      strerror(-error));
		error = vfio_run_pause(run);
	}
	return error;
}

/* Root may lock without limit as long as it has this. */
static int drop_lock_capability(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return failed(-errno, "capabilities: %s", strerror(errno));
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, data))
		return failed(-errno, "capabilities: %s", strerror(errno));
	return 0;
}

static int limit_memlock(__u64 bytes)
{
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return failed(-errno, "RLIMIT_MEMLOCK of %llu bytes: %s", bytes, strerror(errno));
	return drop_lock_capability();
}

/* The same memory again and again: each mapping of it counts. */
int vfio_act_limit(struct vfio_run *run)
{
	const struct vfio_job *job = run->job;
	int error = job->memlock ? limit_memlock(job->memlock) : 0, refusal = 0;
	__u64 mapped = 0;

	while (!error && mapped < job->count && !refusal) {
		refusal = space_map(&run->space, vfio_run_data(run),
				    VFIO_IOVA_BUFFER + mapped * job->size, job->size);
		mapped += !refusal;
		error = vfio_run_pause(run);
	}
	vfio_run_peak(run);
	for (__u64 i = 0; i < mapped; i++)
		if (space_unmap(&run->space, VFIO_IOVA_BUFFER + i * job->size, job->size))
			return failed(-EIO, "mapping %llu cannot be undone", i);
	return error;
}

static int reset_once(struct vfio_run *run, struct master *master)
{
	struct master_dma dma = {MASTER_WRITES_MEMORY, VFIO_IOVA_BUFFER};
	__u64 interrupts;
	bool refused;
	int error = master_dma(master, &dma, &refused);

	error = error ? error : vfio_device_interrupts(&master->device, 1000, &interrupts);
	if (!error && !interrupts)
		error = failed(-EIO, "%s: a DMA ended without an interrupt",
			       master->device.address);
	if (error)
		return error;
	run->result.verified += master->bytes;
	error = vfio_device_unwire(&master->device);
	error = error ? error : vfio_device_reset(&master->device);
	error = error ? error : vfio_device_wire(&master->device);
	return error ? error : master_start(master);
}

int vfio_act_reset(struct vfio_run *run)
{
	int error = map_data(run, NVME_PAGE);
	__u64 late;

	for (__u64 round = 0; !error && round < run->job->count; round++) {
		for (unsigned int i = 0; !error && i < run->master_count; i++)
			error = reset_once(run, &run->masters[i]);
		error = error ? error : vfio_run_pause(run);
	}
	for (unsigned int i = 0; !error && i < run->master_count; i++)
		error = vfio_device_interrupts(&run->masters[i].device, 0, &late);
	return error;
}
