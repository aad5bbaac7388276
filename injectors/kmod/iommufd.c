// SPDX-License-Identifier: GPL-2.0
/*
 * Devices in the hands of iommufd, as VFIO gives it those of others: it attaches them to page tables
 * of user space's making, and user space resolves their page requests, which carry no PASID.
 */
#include <linux/iommufd.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <uapi/linux/iommufd.h>

#include "device.h"

#ifdef FAULTLINE_NAMESPACE_WORD
MODULE_IMPORT_NS(IOMMUFD);
#else
MODULE_IMPORT_NS("IOMMUFD");
#endif

#ifdef FAULTLINE_IOMMUFD_PASID
#define WITH_PASID IOMMU_NO_PASID,
#define THE_PASID  , IOMMU_NO_PASID
#else
#define WITH_PASID
#define THE_PASID
#endif

int iommufd_bind_device(struct client *client, struct accelerator *accelerator,
			struct faultline_iommufd_bind *bind)
{
	struct iommufd_device *device;
	struct iommufd_ctx *context;

	lockdep_assert_held(&faultline.mutex);
	if (bind->reserved || bind->id)
		return -EINVAL;
	if (!accelerator->pdev)
		return -ENODEV;
	if (accelerator->iommufd)
		return -EBUSY;
	context = iommufd_ctx_from_fd(bind->iommufd);
	if (IS_ERR(context))
		return PTR_ERR(context);
	device = iommufd_device_bind(context, &accelerator->pdev->dev, &bind->id);
	iommufd_ctx_put(context);
	if (IS_ERR(device))
		return PTR_ERR(device);
	accelerator->iommufd = device;
	accelerator->iommufd_client = client;
	return 0;
}

int iommufd_attach_device(struct accelerator *accelerator, u32 *page_table)
{
	int err;

	lockdep_assert_held(&faultline.mutex);
	if (!accelerator->iommufd)
		return -ENOTCONN;
	if (accelerator->attached)
		return -EBUSY;
	err = iommufd_device_attach(accelerator->iommufd, WITH_PASID page_table);
	accelerator->attached = !err;
	return err;
}

/* As with a PASID: what is in the queue is reported before, what comes then is refused. */
int iommufd_detach_device(struct accelerator *accelerator)
{
	lockdep_assert_held(&faultline.mutex);
	if (!accelerator->attached)
		return -ENOTCONN;
	prq_refuse_from_now(accelerator, NO_PASID);
	prq_drain();
	iommufd_device_detach(accelerator->iommufd THE_PASID);
	prq_refuse_no_more();
	accelerator->attached = false;
	return 0;
}

void iommufd_give_back(struct accelerator *accelerator)
{
	lockdep_assert_held(&faultline.mutex);
	if (!accelerator->iommufd)
		return;
	if (accelerator->attached)
		iommufd_detach_device(accelerator);
	iommufd_device_unbind(accelerator->iommufd);
	accelerator->iommufd = NULL;
	accelerator->iommufd_client = NULL;
}

#ifdef FAULTLINE_PAGING_FLAGS

struct iommu_domain *iommufd_alloc_domain(struct device *dev, u32 flags,
					  struct iommu_domain *parent)
{
	struct iommu_domain *domain;

	if (flags)
		return ERR_PTR(-EOPNOTSUPP);
	domain = paging_alloc();
	if (!domain)
		return ERR_PTR(-ENOMEM);
	domain->type = IOMMU_DOMAIN_UNMANAGED;
	return domain;
}

struct iommu_domain *iommufd_parent_of(struct iommu_domain *domain)
{
	return domain;
}

#else

/* 6.12 gives page requests to user space only of a domain that is nested in another. */
struct nested_domain {
	struct iommu_domain domain;
	struct iommu_domain *parent;
};

static struct nested_domain *nested_of(struct iommu_domain *domain)
{
	return container_of(domain, struct nested_domain, domain);
}

static int nested_attach(ATTACH_ARGUMENTS)
{
	paging_used_by(nested_of(domain)->parent, accelerator_of(dev));
	return 0;
}

static void nested_free(struct iommu_domain *domain)
{
	kfree(nested_of(domain));
}

/* Nothing is cached: every access walks the page table. */
static int nested_invalidate(struct iommu_domain *domain, struct iommu_user_data_array *array)
{
	return 0;
}

static const struct iommu_domain_ops nested_ops = {
	.attach_dev = nested_attach,
	.cache_invalidate_user = nested_invalidate,
	.free = nested_free,
};

struct iommu_domain *iommufd_alloc_domain(struct device *dev, u32 flags,
					  struct iommu_domain *parent)
{
	struct nested_domain *nested;
	struct iommu_domain *domain;

	if (flags & ~IOMMU_HWPT_ALLOC_NEST_PARENT)
		return ERR_PTR(-EOPNOTSUPP);
	if (!parent) {
		domain = paging_alloc();
		if (!domain)
			return ERR_PTR(-ENOMEM);
		domain->type = IOMMU_DOMAIN_UNMANAGED;
		return domain;
	}
	nested = kzalloc(sizeof(*nested), GFP_KERNEL);
	if (!nested)
		return ERR_PTR(-ENOMEM);
	nested->parent = parent;
	nested->domain.type = IOMMU_DOMAIN_NESTED;
	nested->domain.ops = &nested_ops;
	return &nested->domain;
}

struct iommu_domain *iommufd_parent_of(struct iommu_domain *domain)
{
	return domain->ops == &nested_ops ? nested_of(domain)->parent : domain;
}

#endif
