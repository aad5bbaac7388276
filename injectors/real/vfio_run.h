/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A driver in user space at work: devices, their address space, what is done with them. All
 * counters are its own, none is asked of who watches.
 */
#ifndef FAULTLINE_REAL_VFIO_RUN_H
#define FAULTLINE_REAL_VFIO_RUN_H

#include "injectors/real/kernel_log.h"
#include "injectors/real/vfio_job.h"

#define VFIO_IOVA_CONTROL 0x01000000ull /* queues, 1 MiB a device */
#define VFIO_IOVA_BUFFER  0x02000000ull /* data */
#define VFIO_IOVA_ABSENT  0x0a000000ull /* what faults: never mapped but by retry */
#define VFIO_ABSENT_PAGES 1024u

struct vfio_result {
	__u64 dmas, refused;   /* begun; the device says they failed */
	__u64 faulting;	       /* of the DMAs: aimed at an address that was not mapped */
	__u64 reported;	       /* faults whose address stood in the kernel's log */
	__u64 suppressed;      /* what the kernel's log said to have left out */
	__u64 retried;	       /* redone after the page was mapped */
	__u64 verified, wrong; /* bytes that came over right, and not */
	__u64 locked, pinned;  /* bytes at the peak: VmLck and VmPin of this process */
	__u64 duration_ns;     /* of the action alone */
};

struct vfio_run {
	const struct vfio_job *job;
	struct space space;
	struct master masters[VFIO_DEVICES];
	unsigned int master_count;
	char *memory; /* all that devices may see: control, then data */
	size_t memory_bytes;
	struct kernel_log log;
	struct vfio_result result;
};

int vfio_run_open(struct vfio_run *run, const struct vfio_job *job);
/* -EINTR: told to stop. The result holds what was done in any case. */
int vfio_run_act(struct vfio_run *run);
void vfio_run_close(struct vfio_run *run);

int vfio_act_transfer(struct vfio_run *run);
int vfio_act_fault(struct vfio_run *run);
int vfio_act_retry(struct vfio_run *run);
int vfio_act_stale(struct vfio_run *run);
int vfio_act_churn(struct vfio_run *run);
int vfio_act_limit(struct vfio_run *run);
int vfio_act_reset(struct vfio_run *run);
/* Memory that devices may see after it has been mapped. */
char *vfio_run_data(const struct vfio_run *run);
/* Keeps the pace; -EINTR: told to stop. */
int vfio_run_pause(const struct vfio_run *run);
/* Takes VmLck and VmPin into the result if they are higher than before. */
void vfio_run_peak(struct vfio_run *run);

#endif
