// SPDX-License-Identifier: GPL-2.0
/* The device's own DMA: through its domain, with a report of what is not mapped. */
#include <linux/ktime.h>

#include "device.h"

/* False: DMA bypasses the emulated IOMMU, as with a kernel started in passthrough. */
bool device_has_translation(struct accelerator *accelerator)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&accelerator->pdev->dev);

	return domain && iommufd_parent_of(domain)->ops == &paging_ops;
}

static void note_fault(struct accelerator *accelerator, unsigned long iova, bool write, u64 began)
{
	struct record *record;

	spin_lock(&faultline.lock);
	accelerator->counters.io_page_faults++;
	record = log_add(accelerator, FAULTLINE_LOG_IO_PAGE_FAULT);
	if (record) {
		record->entry.address = iova;
		record->entry.permissions = write ? FAULTLINE_WRITE : FAULTLINE_READ;
		record->entry.raised_ns = began;
		record->entry.reported_ns = ktime_get_ns();
	}
	spin_unlock(&faultline.lock);
}

static int access_once(struct accelerator *accelerator, unsigned long iova, bool write, u64 *value)
{
	struct device *dev = &accelerator->pdev->dev;
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	u64 began = ktime_get_ns();
	int err = domain ? paging_access(domain, iova, write, value) : -EOPNOTSUPP;

	if (err != -EOPNOTSUPP) {
		spin_lock(&faultline.lock);
		accelerator->counters.accesses++;
		spin_unlock(&faultline.lock);
	}
	if (err == -EFAULT) {
		report_iommu_fault(domain, dev, iova, write ? IOMMU_FAULT_WRITE : IOMMU_FAULT_READ);
		note_fault(accelerator, iova, write, began);
	}
	return err;
}

int device_access(struct accelerator *accelerator, struct faultline_access *access)
{
	u32 count = access->count;

	access->faults = 0;
	if (access->write > 1 || access->iova % sizeof(u64) || access->stride % sizeof(u64) ||
	    !count || count > FAULTLINE_BATCH_MAX)
		return -EINVAL;
	for (u32 i = 0; i < count; i++) {
		int err;

		mutex_lock(&faultline.mutex);
		err = accelerator->pdev
			      ? access_once(accelerator, access->iova + i * access->stride,
					    access->write, &access->value)
			      : -ENODEV;
		mutex_unlock(&faultline.mutex);
		if (err == -EFAULT)
			access->faults++;
		else if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
