/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which memory devices touch, and how often (VPRI section 3.3, figures 9 to 11).
 *
 * Fed by aggregate frames: per window, device and 4 KiB page, the accesses. Time is known to the
 * window (1 s), so an interval is the distance of two windows; accesses within one window are
 * re-accesses after less than a second. A simulated fault is an access to a 2 MiB page more than a
 * threshold after the access before it: what would have faulted had the page been taken back
 * meanwhile. A first access is none.
 */
#ifndef FAULTLINE_FOOTPRINT_H
#define FAULTLINE_FOOTPRINT_H

#include "bpf/page.h"
#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"

#define FOOTPRINT_HUGE_SHIFT 21

struct footprint_config {
	size_t history_windows;	  /* points kept of the curve per device, 0: all */
	__u64 simulated_fault_ns; /* 0: 300 s */
	__u64 window_ns; /* what is touched within each such time is told, whole seconds; 0: nothing */
	struct period period; /* accesses before it tell only how long ago they were */
};

struct footprint_device {
	__u64 bytes;	    /* distinct 4 KiB pages so far */
	__u64 huge_bytes;   /* distinct 2 MiB pages so far */
	__u64 window_bytes; /* distinct 4 KiB pages of the newest window */
	__u64 accesses;	    /* reads and writes, counted per 4 KiB page */
	__u64 reads;
	__u64 writes;
	__u64 simulated_faults;
};

struct footprint;

int footprint_create(struct footprint **footprint, const struct footprint_config *config);
struct stream footprint_stream(struct footprint *footprint);
void footprint_destroy(struct footprint *footprint);
/* Zeros for a device without accesses. */
struct footprint_device footprint_device(const struct footprint *footprint, __u32 device);
/* Intervals between accesses to one 2 MiB page, in windows; NULL for a device without. */
const struct histogram *footprint_intervals(const struct footprint *footprint, __u32 device);
/* Percent of the device's memory, NAN if that is unknown. */
double footprint_percent(const struct session *session, __u32 device, __u64 bytes);

#endif
