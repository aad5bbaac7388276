/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the analyzer of on-demand paging: what odp.c keeps and odp_tables.c writes. */
#ifndef FAULTLINE_ODP_PRIVATE_H
#define FAULTLINE_ODP_PRIVATE_H

#include "lib/analyze/hash.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/slots.h"

#define ODP_REGIONS_MAX 4096

#define SPANS_KEPT 64 /* faults at once, and the newest of those that are over */

/* When a fault was being served; end_ns 0: it still is. */
struct odp_span {
	__u64 begin_ns, end_ns;
	__u32 instance;
};

struct odp_device {
	struct odp_totals totals;
	struct odp_counter counters[RDMA_COUNTERS];
	struct odp_span open[SPANS_KEPT], over[SPANS_KEPT];
	size_t open_count, over_count; /* over_count: of all, the ring's position */
	bool counted;		       /* some counter moved */
	bool paged;		       /* totals hold something */
};

struct odp_region_key {
	__u32 device, key;
};

struct odp_entry {
	struct odp_region_key key;
	struct odp_region region;
	UT_hash_handle hh;
};

/* Who a pid was when its regions were met. */
struct odp_process {
	__u32 pid;
	char comm[16];
	UT_hash_handle hh;
};

struct odp {
	const struct session *session;
	struct slots devices; /* struct odp_device * */
	struct odp_entry *regions;
	struct odp_process *processes;
	__u64 dropped, forgotten;
	/* Of emulated devices: over, but the batch of events that told it, and of its region, is not read yet. */
	struct fault *waiting;
	size_t waiting_count, waiting_room;
	struct window *window; /* NULL: nobody looks */
};

struct odp_device *odp_device_find(const struct odp *odp, __u32 device);

/* An RDMA device of an emulated machine: faults by address, a page each. */
bool odp_is_emulated(const struct odp *odp, __u32 device);
/* NULL: there is no room. */
struct odp_region *odp_region_make(struct odp *odp, __u32 device, __u32 key);
/* Of an emulated device at that time; NULL: none, or it is not known which. */
struct odp_region *odp_region_at(const struct odp *odp, __u32 device, __u64 address, __u64 time_ns);
void odp_take_region(struct odp *odp, const struct event *e);

#endif
