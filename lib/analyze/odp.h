/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA on-demand paging: faults, invalidations and prefetches of each memory region (NPF section 4),
 * beside what the device counted itself meanwhile.
 *
 * Devices of the kernel name the region of a fault. Those of emulated devices fault by address: the fault is of the one region
 * that pages on demand and has the page, of an implicit one only if there is no other; of several it counts for
 * the device alone.
 *
 * A device's counter is read now and then: what moved between two readings is held against the
 * faults that were being served between them. That they overlap in time is all that is said.
 */
#ifndef FAULTLINE_ODP_H
#define FAULTLINE_ODP_H

#include "lib/analyze/histogram.h"
#include "lib/analyze/session.h"
#include "lib/analyze/window.h"

struct faults;
struct odp;

/* Of one region, or summed over a device's. */
struct odp_totals {
	__u64 faults;
	__u64 failed;  /* answered with an error: no such memory, or access refused */
	__u64 major;   /* storage was read */
	__u64 unknown; /* it was not seen whether */
	__u64 pages;   /* entered into the device's translation by faults */
	__u64 bytes;   /* that faults asked for */
	__u64 invalidations;
	__u64 invalidated_pages; /* that the device lost by them */
	__u64 prefetches;	 /* by advice, not by fault */
	__u64 prefetched_pages;
	struct histogram latency; /* of faults, first to last timestamp */
	struct histogram
		*newest; /* those in the window of the last look; NULL: there was none yet */
};

struct odp_region {
	__u32 device;
	__u32 key;
	__u32 pid; /* who registered it, 0 if no event told */
	__u64 address, length;
	enum region_kind kind; /* REGION_KERNEL: of a device of the kernel, which does not tell */
	bool implicit;
	bool gone;
	__u64 from_ns, gone_ns; /* when that was told, 0: it was not */
	struct odp_totals totals;
};

struct odp_counter {
	__u64 moved;
	__u64 during;	  /* of these, between readings with a fault being served */
	__u64 longest_ns; /* such fault */
};

/* `windowed`: odp_look() will be called. */
int odp_create(struct odp **odp, const struct session *session, struct faults *faults,
	       bool windowed);
struct stream odp_stream(struct odp *odp);
void odp_destroy(struct odp *odp);

/* From now on the newest latencies are of the length_ns before now_ns. */
void odp_look(const struct analysis *analysis, __u64 now_ns, __u64 length_ns);

/* NULL if the device had none. */
const struct odp_totals *odp_of_device(const struct odp *odp, __u32 device);
const struct odp_region *odp_region(const struct odp *odp, __u32 device, __u32 key);
size_t odp_region_count(const struct odp *odp);
/* Regions beyond what is kept: their faults count for the device only. */
__u64 odp_regions_dropped(const struct odp *odp);
/* Regions that had gone without a fault, and were forgotten to make room. */
__u64 odp_regions_forgotten(const struct odp *odp);
/* NULL if none of the device's has moved. */
const struct odp_counter *odp_counter(const struct odp *odp, __u32 device,
				      enum rdma_counter counter);
/* Whether there is anything to write. */
bool odp_seen(const struct odp *odp);

/*
 * Table "odp": a row a device with all its regions, then a row a region, most faults first. `span` is
 * of latencies; everything else is since the start.
 */
analyzer_write odp_write;
/* Table "rdma_counters": those that moved. */
analyzer_write odp_write_counters;

#endif
