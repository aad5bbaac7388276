/* SPDX-License-Identifier: GPL-2.0 */
/* The rig's disk (vhost_rig.h) behind an IOMMU. */
#ifndef FAULTLINE_TESTS_IOMMU_RIG_H
#define FAULTLINE_TESTS_IOMMU_RIG_H

#include "tests/unit/vhost_rig.h"

#include "injectors/emu/vhost/vhost_iotlb.h"
#include "tests/unit/vhost_iommu.h"

struct iommu_rig {
	struct vhost_rig rig;
	struct frontend_iommu iommu;
};

/* After vhost_rig_plan(): with queues of `size` that run, and an in-flight region. */
void iommu_rig_open(struct iommu_rig *r, __u16 queues, __u32 size);
void iommu_rig_close(struct iommu_rig *r);
struct vhost_iotlb_stats iommu_rig_stats(struct iommu_rig *r);
/* GET_VRING_BASE. */
int iommu_rig_stop(struct iommu_rig *r, __u16 index);

#endif
