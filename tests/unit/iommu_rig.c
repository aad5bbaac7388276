// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/iommu_rig.h"

static void iommu_rig_start(struct iommu_rig *r, __u16 queues)
{
	pthread_mutex_lock(&r->iommu.lock);
	for (__u16 q = 0; q < queues; q++)
		assert_int_equal(frontend_start_queue(&r->rig.front, q, 0), 0);
	pthread_mutex_unlock(&r->iommu.lock);
}

void iommu_rig_open(struct iommu_rig *r, __u16 queues, __u32 size)
{
	vhost_plan.tenant.vm.iommu = true;
	vhost_plan.device.queues = queues;
	vhost_rig_open(&r->rig);
	vhost_rig_connect(&r->rig);
	frontend_iommu_open(&r->iommu, &r->rig.front);
	frontend_negotiate(&r->rig.front, ~0ull);
	assert_true(r->rig.front.features & FRONTEND_BIT(VIRTIO_F_ACCESS_PLATFORM));
	frontend_iommu_start(&r->iommu);
	frontend_set_inflight(&r->rig.front, queues, (__u16)size);
	for (__u16 q = 0; q < queues; q++)
		frontend_make_queue(&r->rig.front, q, size);
	iommu_rig_start(r, queues);
}

void iommu_rig_close(struct iommu_rig *r)
{
	frontend_iommu_close(&r->iommu);
	vhost_rig_close(&r->rig);
}

struct vhost_iotlb_stats iommu_rig_stats(struct iommu_rig *r)
{
	struct vhost_iotlb_stats stats;

	vhost_iotlb_stats(r->rig.block->vhost, &stats);
	return stats;
}

int iommu_rig_stop(struct iommu_rig *r, __u16 index)
{
	int base;

	pthread_mutex_lock(&r->iommu.lock);
	base = frontend_stop_queue(&r->rig.front, index);
	pthread_mutex_unlock(&r->iommu.lock);
	return base;
}
