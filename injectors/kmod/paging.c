// SPDX-License-Identifier: GPL-2.0
/* A domain whose page table is an array: one entry a page, with its rights. */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/slab.h>

#include "device.h"

struct paging_domain {
	struct iommu_domain domain;
	struct xarray pages;		 /* IOVA / PAGE_SIZE -> page frame number and rights */
	struct accelerator *accelerator; /* whose counters count; under faultline.lock */
};

#define ENTRY_RIGHTS (IOMMU_READ | IOMMU_WRITE)
#define ENTRY_SHIFT  2

static struct paging_domain *paging_of(struct iommu_domain *domain)
{
	return container_of(domain, struct paging_domain, domain);
}

struct iommu_domain *paging_alloc(void)
{
	struct paging_domain *paging = kzalloc(sizeof(*paging), GFP_KERNEL);

	if (!paging)
		return NULL;
	xa_init(&paging->pages);
	paging->domain.ops = &paging_ops;
	paging->domain.pgsize_bitmap = PAGE_SIZE;
	paging->domain.geometry.aperture_end = DMA_BIT_MASK(48);
	paging->domain.geometry.force_aperture = true;
	return &paging->domain;
}

static void paging_free(struct iommu_domain *domain)
{
	struct paging_domain *paging = paging_of(domain);

	xa_destroy(&paging->pages);
	kfree(paging);
}

void paging_used_by(struct iommu_domain *domain, struct accelerator *accelerator)
{
	spin_lock(&faultline.lock);
	paging_of(domain)->accelerator = accelerator;
	spin_unlock(&faultline.lock);
}

static int paging_attach(ATTACH_ARGUMENTS)
{
	paging_used_by(domain, accelerator_of(dev));
	return 0;
}

#ifndef FAULTLINE_ALLOC_PAGING
static void paging_detach(struct iommu_domain *domain, struct device *dev)
{
}
#endif

static void count_map(struct paging_domain *paging, size_t pages)
{
	spin_lock(&faultline.lock);
	if (paging->accelerator) {
		paging->accelerator->counters.iommu_maps++;
		paging->accelerator->counters.iommu_pages_mapped += pages;
	}
	spin_unlock(&faultline.lock);
}

static void count_unmap(struct paging_domain *paging, size_t pages)
{
	spin_lock(&faultline.lock);
	if (paging->accelerator) {
		paging->accelerator->counters.iommu_unmaps++;
		paging->accelerator->counters.iommu_pages_unmapped += pages;
	}
	spin_unlock(&faultline.lock);
}

static int paging_map(struct iommu_domain *domain, unsigned long iova, phys_addr_t physical,
		      size_t page_size, size_t count, int rights, gfp_t gfp, size_t *mapped)
{
	struct paging_domain *paging = paging_of(domain);
	size_t done;
	int err = 0;

	for (done = 0; done < count; done++) {
		unsigned long frame = PHYS_PFN(physical) + done;
		void *entry = xa_mk_value(frame << ENTRY_SHIFT | (rights & ENTRY_RIGHTS));

		err = xa_err(xa_store(&paging->pages, (iova >> PAGE_SHIFT) + done, entry, gfp));
		if (err)
			break;
	}
	*mapped = done * PAGE_SIZE;
	count_map(paging, done);
	return err;
}

static size_t paging_unmap(struct iommu_domain *domain, unsigned long iova, size_t page_size,
			   size_t count, struct iommu_iotlb_gather *gather)
{
	struct paging_domain *paging = paging_of(domain);
	size_t done;

	for (done = 0; done < count; done++)
		if (!xa_erase(&paging->pages, (iova >> PAGE_SHIFT) + done))
			break;
	count_unmap(paging, done);
	return done * PAGE_SIZE;
}

static phys_addr_t entry_address(void *entry, unsigned long iova)
{
	return PFN_PHYS(xa_to_value(entry) >> ENTRY_SHIFT) + offset_in_page(iova);
}

static phys_addr_t paging_iova_to_phys(struct iommu_domain *domain, dma_addr_t iova)
{
	void *entry = xa_load(&paging_of(domain)->pages, iova >> PAGE_SHIFT);

	return entry ? entry_address(entry, iova) : 0;
}

const struct iommu_domain_ops paging_ops = {
	.attach_dev = paging_attach,
#ifndef FAULTLINE_ALLOC_PAGING
	.detach_dev = paging_detach,
#endif
	.map_pages = paging_map,
	.unmap_pages = paging_unmap,
	.iova_to_phys = paging_iova_to_phys,
	.free = paging_free,
};

/*
 * The device's own access, 8 bytes. -EFAULT: not mapped, or not with that right. Memory is touched
 * under the array's lock, so that who unmaps it may free it afterwards.
 */
int paging_access(struct iommu_domain *domain, unsigned long iova, bool write, u64 *value)
{
	struct paging_domain *paging;
	unsigned long right = write ? IOMMU_WRITE : IOMMU_READ;
	int err = -EFAULT;
	void *entry;
	u64 *memory;

	domain = iommufd_parent_of(domain);
	if (domain->ops != &paging_ops)
		return -EOPNOTSUPP;
	paging = paging_of(domain);
	xa_lock(&paging->pages);
	entry = xa_load(&paging->pages, iova >> PAGE_SHIFT);
	if (entry && xa_to_value(entry) & right) {
		memory = phys_to_virt(entry_address(entry, iova));
		if (write)
			WRITE_ONCE(*memory, *value);
		else
			*value = READ_ONCE(*memory);
		err = 0;
	}
	xa_unlock(&paging->pages);
	return err;
}
