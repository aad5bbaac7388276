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
#include "lib/analyze/window.h"

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

enum vfio_latency { VFIO_MAP_NS, VFIO_UNMAP_NS, VFIO_PIN_NS, VFIO_LATENCIES };

struct vfio_container {
	__u64 maps, unmaps; /* that went well */
	__u64 failed;	    /* requests of any of these */
	__u64 closed;	    /* mappings that the kernel took back at the end */
	__u64 mapped, unmapped, pinned, unpinned; /* bytes */
	__u64 runs[VFIO_ORDERS], run_bytes[VFIO_ORDERS];
	__u64 pins, most_maps; /* maps: within one second */
	__u64 window, window_maps;
	struct histogram latency[VFIO_LATENCIES];
	struct histogram *newest; /* likewise, in the window of the last look; NULL: none yet */
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

/* `windowed`: vfio_look() will be called. Counted is what happened within `period` (NULL: everything);
 * how near a limit is stands from before it. */
int vfio_create(struct vfio **vfio, bool windowed, const struct period *period);
struct stream vfio_stream(struct vfio *vfio);
void vfio_destroy(struct vfio *vfio);
/* From now on the newest latencies are of the length_ns before now_ns. */
void vfio_look(const struct analysis *analysis, __u64 now_ns, __u64 length_ns);
/* Containers that were seen; 0: no VFIO in this recording. */
unsigned int vfio_containers(const struct vfio *vfio);
/* NULL if the handle is no container that did anything. */
const struct vfio_container *vfio_container(const struct vfio *vfio, __u32 handle);
const struct vfio_device_use *vfio_device(const struct vfio *vfio, __u32 handle);

enum vfio_trouble { VFIO_FINE, VFIO_NEAR_LIMIT, VFIO_REFUSED };
/* The first of the sentences below, without its full stop, of a container with the worst trouble. */
enum vfio_trouble vfio_worst(const struct vfio *vfio, const struct session *session, char *text,
			     size_t size);
/* Table "vfio": a row a container. `span` is of latencies; everything else is since the start. */
analyzer_write vfio_write;
/* Tables "vfio_runs", "vfio_failures", "vfio_devices". */
analyzer_write vfio_write_runs, vfio_write_failures, vfio_write_devices;

#endif
