// SPDX-License-Identifier: GPL-2.0
/* The emulated IOMMU as the kernel's IOMMU core sees it. */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/property.h>

#include "device.h"

struct accelerator *accelerator_of(struct device *dev)
{
	return dev_iommu_priv_get(dev);
}

/* Foreign devices are refused: before 6.12 the core offers those of all buses. */
static struct iommu_device *probe_device(struct device *dev)
{
	for (u32 i = 0; i < faultline.devices; i++) {
		struct accelerator *accelerator = &faultline.accelerators[i];

		if (!accelerator->pdev || dev != &accelerator->pdev->dev)
			continue;
		dev_iommu_priv_set(dev, accelerator);
		return &faultline.iommu;
	}
	return ERR_PTR(-ENODEV);
}

static void release_device(struct device *dev)
{
	dev_iommu_priv_set(dev, NULL);
}

/* Strict translation: every unmap is seen at once, no queue of deferred ones. */
static int def_domain_type(struct device *dev)
{
	return IOMMU_DOMAIN_DMA;
}

static bool is_capable(struct device *dev, enum iommu_cap capability)
{
	return capability == IOMMU_CAP_CACHE_COHERENCY;
}

#ifdef FAULTLINE_ALLOC_PAGING
static int attach_nothing(ATTACH_ARGUMENTS)
{
	return 0;
}

#ifdef FAULTLINE_PASID
/* What was bound to the PASID is drained before the core is asked to detach it: see bond.c. */
static int set_blocked_pasid(SET_PASID_ARGUMENTS)
{
	return 0;
}
#endif

static const struct iommu_domain_ops identity_ops = {
	.attach_dev = attach_nothing,
};

static const struct iommu_domain_ops blocked_ops = {
	.attach_dev = attach_nothing,
#ifdef FAULTLINE_PASID
	.set_dev_pasid = set_blocked_pasid,
#endif
};

static struct iommu_domain identity_domain = {
	.type = IOMMU_DOMAIN_IDENTITY,
	.ops = &identity_ops,
};

static struct iommu_domain blocked_domain = {
	.type = IOMMU_DOMAIN_BLOCKED,
	.ops = &blocked_ops,
};

static struct iommu_domain *alloc_paging(struct device *dev)
{
	return paging_alloc() ?: ERR_PTR(-ENOMEM);
}
#else
static struct iommu_domain *alloc_domain(unsigned int type)
{
	return paging_alloc();
}

/* The core of 6.1 does not set up the DMA API for a device by itself. */
static void probe_finalize(struct device *dev)
{
	iommu_setup_dma_ops(dev, 0, U64_MAX);
}
#endif

#ifdef FAULTLINE_IOMMUFD
#ifdef FAULTLINE_PAGING_FLAGS
static struct iommu_domain *alloc_paging_flags(struct device *dev, u32 flags,
					       const struct iommu_user_data *data)
{
	return iommufd_alloc_domain(dev, flags, NULL);
}
#else
static struct iommu_domain *alloc_user(struct device *dev, u32 flags, struct iommu_domain *parent,
				       const struct iommu_user_data *data)
{
	return iommufd_alloc_domain(dev, flags, parent);
}

/* Page requests are taken from a device as long as it is plugged in. */
static int switch_feature(struct device *dev, enum iommu_dev_features feature)
{
	return feature == IOMMU_DEV_FEAT_IOPF ? 0 : -EOPNOTSUPP;
}
#endif
#endif

#ifdef FAULTLINE_REMOVE_PASID
static void remove_dev_pasid(struct device *dev, ioasid_t pasid, struct iommu_domain *domain)
{
}
#endif

const struct iommu_ops device_iommu_ops = {
	.owner = THIS_MODULE,
	.capable = is_capable,
	.probe_device = probe_device,
	.release_device = release_device,
	.device_group = generic_device_group,
	.def_domain_type = def_domain_type,
	.page_response = device_page_response,
	.default_domain_ops = &paging_ops,
#ifdef FAULTLINE_OPS_PGSIZES
	.pgsize_bitmap = PAGE_SIZE,
#endif
#ifdef FAULTLINE_ALLOC_PAGING
	.domain_alloc_paging = alloc_paging,
	.identity_domain = &identity_domain,
	.blocked_domain = &blocked_domain,
	.release_domain = &blocked_domain,
#else
	.domain_alloc = alloc_domain,
	.probe_finalize = probe_finalize,
#endif
#ifdef FAULTLINE_IOMMUFD
#ifdef FAULTLINE_PAGING_FLAGS
	.domain_alloc_paging_flags = alloc_paging_flags,
#else
	.domain_alloc_user = alloc_user,
	.dev_enable_feat = switch_feature,
	.dev_disable_feat = switch_feature,
#endif
#endif
#ifdef FAULTLINE_ALLOC_SVA
	.domain_alloc_sva = consumer_alloc_sva,
#endif
#ifdef FAULTLINE_REMOVE_PASID
	.remove_dev_pasid = remove_dev_pasid,
#endif
};

int iommu_start(void)
{
	struct fwnode_handle *fwnode;
	int err;

	/* Without a node of its own an IOMMU takes the place that a real one has for all devices. */
	fwnode = fwnode_create_software_node(NULL, NULL);
	if (IS_ERR(fwnode))
		return PTR_ERR(fwnode);
	faultline.iommu.fwnode = fwnode;
#ifndef FAULTLINE_FAULT_EVENT
	faultline.iommu.max_pasids = FAULTLINE_PASID_LIMIT;
#endif
	err = iommu_device_sysfs_add(&faultline.iommu, NULL, NULL, "faultline-iommu");
	if (err)
		goto no_sysfs;
	err = iommu_device_register(&faultline.iommu, &device_iommu_ops, NULL);
	if (err) {
		if (err == -EBUSY)
			pr_err("this kernel takes one IOMMU driver only and has one: boot with intel_iommu=off amd_iommu=off\n");
		goto no_register;
	}
	return 0;
no_register:
	iommu_device_sysfs_remove(&faultline.iommu);
no_sysfs:
	fwnode_remove_software_node(fwnode);
	return err;
}

void iommu_stop(void)
{
#ifdef FAULTLINE_FAULT_EVENT
	/* 6.1 leaves every bus with the operations of a driver that is gone; see docs/kmod.md. */
	if (platform_bus_type.iommu_ops == &device_iommu_ops)
		platform_bus_type.iommu_ops = NULL;
#ifdef CONFIG_PCI
	if (pci_bus_type.iommu_ops == &device_iommu_ops)
		pci_bus_type.iommu_ops = NULL;
#endif
#endif
	iommu_device_unregister(&faultline.iommu);
	iommu_device_sysfs_remove(&faultline.iommu);
	fwnode_remove_software_node(faultline.iommu.fwnode);
}
