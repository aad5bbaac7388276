/* SPDX-License-Identifier: GPL-2.0 */
/* What `faultline-inject vfio` was asked to do, checked. */
#ifndef FAULTLINE_REAL_VFIO_JOB_H
#define FAULTLINE_REAL_VFIO_JOB_H

#include "injectors/real/master.h"
#include "injectors/real/verb.h"

#define VFIO_DEVICES 8

enum vfio_action {
	VFIO_TRANSFER, /* DMA to mapped memory, and look at the data */
	VFIO_FAULT,    /* DMA to addresses that are not mapped */
	VFIO_RETRY, /* the same; the kernel's word of the fault maps the page, the DMA is redone */
	VFIO_STALE, /* map, DMA, unmap, the same DMA again */
	VFIO_CHURN, /* map, unmap, again */
	VFIO_LIMIT, /* map until the kernel refuses */
	VFIO_RESET, /* wire an interrupt, use it, reset the device */
	VFIO_ACTIONS,
};

struct vfio_job {
	struct verb_options verb;
	enum vfio_action action;
	const char *action_name;	   /* as it was given */
	const char *devices[VFIO_DEVICES]; /* "0000:00:02.0" */
	size_t device_count;
	enum space_kind iommu;
	__u64 count;	     /* DMAs, rounds or pairs; 0: the action's own default */
	__u64 size;	     /* bytes of one mapping of churn and limit */
	__u64 memlock;	     /* RLIMIT_MEMLOCK, which then holds for root too; 0: left alone */
	__u64 interval_ns;   /* between one DMA or round and the next */
	unsigned int depth;  /* DMAs of a device under way at once */
	bool overwrite;	     /* transfer may store on the medium */
	bool read_direction; /* the device reads memory where it faults */
};

const char *vfio_action_name(enum vfio_action action);
int vfio_parse_action(const char *text, enum vfio_action *action);
/* A PCI address with its domain, as sysfs writes it. The other parameter is for struct cli_option. */
int vfio_check_address(const char *text, void *field);
/* Fills in the action and defaults. -EINVAL with a sentence: what was asked for does not go together. */
int vfio_job_check(void *vfio_job);

#endif
