/* SPDX-License-Identifier: GPL-2.0 */
/* What a [device] with model=rdma says of itself (rdma_class.c has the rows, their ranges and meanings). */
#ifndef FAULTLINE_RDMA_SETTINGS_H
#define FAULTLINE_RDMA_SETTINGS_H

#include <linux/types.h>
#include <sched.h>
#include <stdbool.h>

enum rdma_profile { RDMA_PROFILE_IDEAL, RDMA_PROFILE_CONNECTX };
enum rdma_prefault { RDMA_PREFAULT_PAGE, RDMA_PREFAULT_REQUEST };

struct rdma_settings {
	char peer[128];	   /* TENANT/DEVICE */
	__u32 peer_device; /* machine index, of the plan */
	__u64 link;	   /* bits per second, 0: no limit */
	__u64 link_delay_ns;
	__u32 mtu; /* 1024 or 4096 */
	__u32 queue_pairs;
	cpu_set_t engine_cpus; /* where its thread runs, empty: all */
	__u64 timeout_ns;
	__u32 retries, rnr_retries, rnr_timer;
	__u32 fault; /* index in fault_policies[] */
	bool read_rnr;
	__u32 fault_limit;
	__u64 clear_delay_ns;
	enum rdma_prefault prefault;
	enum rdma_profile profile;
	/* Devices with a mode (hyv_layout.h). */
	__u32 mode; /* enum rdma_mode */
	bool skip_contiguous; /* no remap of regions that are in one piece of guest memory (the paper: of one page alone) */
	bool host_queues; /* queues are the host's and mapped bottom-up (Chelsio), else the guest's (ConnectX) */
	bool forward_posts;	/* SoftiWARP */
	__u64 install_ns;	/* the device's own time to create a queue pair, and ... */
	__u64 install_entry_ns; /* ... for each entry of its queues; set, not measured */
	__u64 register_page_ns; /* likewise for each page of a region */
};

#endif
