/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel paths: what a host can show or not, in the words of who asks. Every probe belongs to one,
 * by its object unless its row says otherwise.
 */
#ifndef FAULTLINE_PATHS_H
#define FAULTLINE_PATHS_H

struct probe_row;

/* In the order in which they are told: what faults first, what surrounds it then. */
enum path_id {
	PATH_NONE, /* of a row: its object's */
	PATH_EMULATED,
	PATH_CORE,
	PATH_QUEUES,
	PATH_RDMA,
	PATH_IOMMUFD,
	PATH_VFIO,
	PATH_IOMMU,
	PATH_DMA,
	PATH_MEMORY,
	PATH_CPU,
	PATH_BLOCK,
	PATH_SCHED,
	PATH_COUNT,
};

/* "kernel page requests"; "other probes" for PATH_NONE. */
const char *path_name(enum path_id path);
/* What a kernel or a host must have for it: the remedy where nothing of it is there. */
const char *path_needs(enum path_id path);
enum path_id path_of(const struct probe_row *row);

#endif
