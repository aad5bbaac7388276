/* SPDX-License-Identifier: GPL-2.0 */
/* What the page tables (iommu.c) and the IOTLB in front of them (iotlb.c) share. */
#ifndef FAULTLINE_IOMMU_PRIVATE_H
#define FAULTLINE_IOMMU_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/iommu.h"

/*
 * Entries of tables hold the table's address in this process instead of a physical one: user
 * addresses fit the format's 52 bits.
 *
 * A table is freed only with its domain. A walker holds nothing that would tell when it has left a
 * table, and IOVA windows are small: the memory is bounded by what was ever mapped.
 */
struct iommu_domain {
	pthread_mutex_t update;
	_Atomic __u64 *root;
	struct iotlb *iotlb; /* NULL: none */
	__u32 number;	     /* of this domain in it */
	struct iommu_domain_stats stats;
};

/* After the tables have changed for the range, with `update` held: drops what was learnt before. */
void iotlb_forget(struct iommu_domain *domain, __u64 iova, __u64 length);
/* The domain goes: drops all of it. */
void iotlb_detach(struct iommu_domain *domain);

#endif
