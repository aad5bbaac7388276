// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/vfio_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CONTROL_STEP 0x100000ull

char *vfio_run_data(const struct vfio_run *run)
{
	return run->memory + (size_t)run->job->device_count * MASTER_CONTROL_BYTES;
}

int vfio_run_pause(const struct vfio_run *run)
{
	if (verb_stop)
		return -EINTR;
	if (!run->job->interval_ns)
		return 0;
	return verb_sleep_until(monotonic_ns() + run->job->interval_ns);
}

static __u64 status_bytes(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) << 10 : 0;
}

void vfio_run_peak(struct vfio_run *run)
{
	char text[4096];
	FILE *file = fopen("/proc/self/status", "re");
	size_t bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	__u64 locked, pinned;

	if (file)
		fclose(file);
	text[bytes] = '\0';
	locked = status_bytes(text, "\nVmLck:");
	pinned = status_bytes(text, "\nVmPin:");
	if (locked > run->result.locked)
		run->result.locked = locked;
	if (pinned > run->result.pinned)
		run->result.pinned = pinned;
}

static int take_memory(struct vfio_run *run)
{
	run->memory_bytes = (size_t)run->job->device_count * MASTER_CONTROL_BYTES +
			    (size_t)run->job->size + 16 * NVME_PAGE;
	run->memory = mmap(NULL, run->memory_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (run->memory == MAP_FAILED) {
		run->memory = NULL;
		return failed(-errno, "no memory for %zu bytes of DMA: %s", run->memory_bytes,
			      strerror(errno));
	}
	return 0;
}

/* The device joins the space before its queues can be mapped: type1 has none until then. */
static int open_master(struct vfio_run *run, unsigned int number)
{
	const char *address = run->job->devices[number];
	struct master *master = &run->masters[number];
	int fd, error;

	master->may_overwrite = run->job->overwrite;
	master->interrupts = run->job->action == VFIO_RESET;
	error = master_identify(address, &master->kind);
	if (error)
		return error;
	fd = space_add_device(&run->space, address);
	if (fd < 0)
		return fd;
	run->master_count = number + 1;
	error = vfio_device_open(&master->device, address, fd);
	if (error)
		return error;
	master->control = run->memory + (size_t)number * MASTER_CONTROL_BYTES;
	master->control_iova = VFIO_IOVA_CONTROL + number * CONTROL_STEP;
	if (master->kind == MASTER_NVME) {
		error = space_map(&run->space, master->control, master->control_iova,
				  MASTER_CONTROL_BYTES);
		if (error)
			return failed(error, "%s: its queues cannot be mapped: %s", address,
				      strerror(-error));
	}
	if (master->interrupts)
		error = vfio_device_wire(&master->device);
	return error ? error : master_start(master);
}

int vfio_run_open(struct vfio_run *run, const struct vfio_job *job)
{
	int error;

	*run = (struct vfio_run){.job = job, .space.fd = -1, .log.fd = -1};
	for (unsigned int i = 0; i < VFIO_DEVICES; i++)
		run->masters[i].device.fd = run->masters[i].device.irq = -1;
	error = take_memory(run);
	error = error ? error : kernel_log_open(&run->log);
	error = error ? error : space_open(&run->space, job->iommu);
	for (unsigned int i = 0; !error && i < job->device_count; i++)
		error = open_master(run, i);
	return error;
}

void vfio_run_close(struct vfio_run *run)
{
	for (unsigned int i = 0; i < run->master_count; i++) {
		master_stop(&run->masters[i]);
		vfio_device_close(&run->masters[i].device);
	}
	/* The kernel takes back what is still mapped with the last descriptor. */
	space_close(&run->space);
	kernel_log_close(&run->log);
	if (run->memory)
		munmap(run->memory, run->memory_bytes);
	run->memory = NULL;
}

int vfio_run_act(struct vfio_run *run)
{
	static int (*const actions[VFIO_ACTIONS])(struct vfio_run * run) = {
		[VFIO_TRANSFER] = vfio_act_transfer, [VFIO_FAULT] = vfio_act_fault,
		[VFIO_RETRY] = vfio_act_retry,	     [VFIO_STALE] = vfio_act_stale,
		[VFIO_CHURN] = vfio_act_churn,	     [VFIO_LIMIT] = vfio_act_limit,
		[VFIO_RESET] = vfio_act_reset,
	};
	__u64 began = monotonic_ns();
	int error = actions[run->job->action](run), logged;

	run->result.duration_ns = monotonic_ns() - began;
	vfio_run_peak(run);
	for (unsigned int i = 0; i < run->master_count; i++) {
		run->result.dmas += run->masters[i].dmas;
		run->result.refused += run->masters[i].refused;
	}
	logged = kernel_log_read(&run->log);
	run->result.reported = run->log.faults;
	run->result.suppressed = run->log.suppressed;
	return error ? error : logged;
}
