/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The front-end of tests behind an IOMMU: a thread of its own answers misses by a table of the test's, as QEMU's main loop does. IOVAs are
 * FRONTEND_IOVA + guest address; behind a page of them any of the memory's may lie.
 *
 * The front-end's socket is shared: everything that asks there does so with the lock.
 */
#ifndef FAULTLINE_TESTS_VHOST_IOMMU_H
#define FAULTLINE_TESTS_VHOST_IOMMU_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/vhost_frontend.h"

#define FRONTEND_IOVA (~0ull - 0xffffffull) /* the last 16 MiB that there are */
#define IOMMU_PAGES   4096
#define IOMMU_NOTHING (~0ull)

struct frontend_iommu {
	struct frontend *front;
	pthread_mutex_t lock; /* of the front-end's socket, and of these */
	pthread_t thread;
	int channel;		 /* ours; -1: none */
	__u64 page[IOMMU_PAGES]; /* guest address behind a page; IOMMU_NOTHING */
	__u8 permissions[IOMMU_PAGES];
	_Atomic __u64 misses, updates;
	atomic_bool silent; /* answers nothing */
	atomic_bool empty;  /* answers, and tells nothing */
	atomic_bool fickle; /* takes every third back before the answer */
};

/* Everything is mapped, to its own guest address, for reading and writing. Before frontend_negotiate(). */
void frontend_iommu_open(struct frontend_iommu *iommu, struct frontend *front);
/* Gives the device the channel, a thread at its other end. After frontend_negotiate(). */
void frontend_iommu_start(struct frontend_iommu *iommu);
void frontend_iommu_close(struct frontend_iommu *iommu);
/* One message of the IOTLB: what the device says of it, -1: it has hung up. */
int frontend_iotlb(struct frontend_iommu *iommu, __u8 type, __u64 iova, __u64 bytes, __u64 user,
		   __u8 permissions);
/* Maps a page, named by the guest address of its IOVA, to another, or to nothing, as a driver does: then the device is told. */
void frontend_iommu_map(struct frontend_iommu *iommu, __u64 at, __u64 guest_address,
			__u8 permissions);

#endif
