/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VFIO containers and iommufd address spaces: what their owners map and pin, how long that takes, how
 * near they are to their limits, what was refused; and the devices' resets and interrupts.
 *
 * Counted second by second unless the kinds were recorded one by one: the numbers are the same.
 */
#ifndef FAULTLINE_VFIO_H
#define FAULTLINE_VFIO_H

#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"

#define VFIO_ORDERS   48 /* 2^47 pages are more than any machine has */
#define VFIO_FAILURES 16 /* different ones of a container; what comes later counts as the last */
#define VFIO_LIMITS   2
#define VFIO_CLOSE    90 /* percent of a limit from which it is close */

struct vfio_failure {
	__u16 kind; /* EVENT_VFIO_MAP, _UNMAP, _PIN */
	__u8 error;
	__u64 count;
};

struct vfio_limit_use {
	__u64 used, peak; /* bytes (memlock) or mappings */
	__u64 limit;	  /* UINT64_MAX: none */
	bool seen;
	bool exempt; /* the owner may exceed it: CAP_IPC_LOCK */
};

struct vfio_container {
	__u64 maps, unmaps; /* that went well */
	__u64 failed;	    /* requests of any of these */
	__u64 closed;	    /* mappings that the kernel took back at the end */
	__u64 mapped, unmapped, pinned, unpinned; /* bytes */
	__u64 runs[VFIO_ORDERS], run_bytes[VFIO_ORDERS];
	__u64 pins, most_maps; /* maps: within one second */
	__u64 window, window_maps;
	struct histogram map_ns, unmap_ns, pin_ns;
	struct vfio_limit_use limits[VFIO_LIMITS]; /* by enum vfio_limit */
	struct vfio_failure failures[VFIO_FAILURES];
	unsigned int failure_count;
};

struct vfio_device_use {
	__u64 resets, reset_failed, reset_ns, reset_max_ns;
	__u64 vectors, vectors_failed;
	__u64 interrupts;
};

struct vfio;

int vfio_create(struct vfio **vfio);
struct stream vfio_stream(struct vfio *vfio);
void vfio_destroy(struct vfio *vfio);
/* Containers that were seen; 0: no VFIO in this recording. */
unsigned int vfio_containers(const struct vfio *vfio);
/* NULL if the handle is no container that did anything. */
const struct vfio_container *vfio_container(const struct vfio *vfio, __u32 handle);
const struct vfio_device_use *vfio_device(const struct vfio *vfio, __u32 handle);

/* Sentences: what was refused, which limits are close. */
int vfio_write_findings(const struct vfio *vfio, const struct session *session,
			struct writer *writer);
/* Table "vfio": a row a container. */
int vfio_write(const struct vfio *vfio, const struct session *session, struct writer *writer);
/* Tables "vfio_runs", "vfio_failures", "vfio_devices". */
int vfio_write_runs(const struct vfio *vfio, const struct session *session, struct writer *writer);
int vfio_write_failures(const struct vfio *vfio, const struct session *session,
			struct writer *writer);
int vfio_write_devices(const struct vfio *vfio, const struct session *session,
		       struct writer *writer);

#endif
