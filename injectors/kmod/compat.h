/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the kernels differ. Kbuild finds in the headers at hand what a macro named FAULTLINE_*
 * stands for; no version is asked, as distributions move such changes between versions.
 *
 * FAULTLINE_FAULT_EVENT     page requests are struct iommu_fault_event, answered with an int,
 *                           and the kernel's handler is registered by the driver (6.1)
 * FAULTLINE_PASID           domains are attached to PASIDs by the core (6.12 and later)
 * FAULTLINE_PASID_OLD       set_dev_pasid() is told the domain before (late 6.12.y, 7.x)
 * FAULTLINE_ATTACH_OLD      attach_dev() is told the domain before (7.x)
 * FAULTLINE_REMOVE_PASID    remove_dev_pasid() instead of blocked_domain's set_dev_pasid()
 * FAULTLINE_ALLOC_PAGING    domain_alloc_paging() and static domains instead of domain_alloc()
 * FAULTLINE_ALLOC_SVA       domain_alloc_sva()
 * FAULTLINE_PAGING_FLAGS    domain_alloc_paging_flags() instead of domain_alloc_user()
 * FAULTLINE_NAMESPACE_WORD  namespaces of symbols are words, not strings
 * FAULTLINE_IOMMUFD_PASID   iommufd attaches devices with a PASID
 * FAULTLINE_COOKIE_TYPE     the kernel's own SVA is built on x86; see consumer.c
 * FAULTLINE_OPS_PGSIZES     page sizes are the driver's, not a domain's
 */
#ifndef FAULTLINE_COMPAT_H
#define FAULTLINE_COMPAT_H

#ifdef FAULTLINE_NO_HEADER
#error "features.sh could not read include/linux/iommu.h of this kernel"
#endif

#include <linux/device.h>
#include <linux/iommu.h>

#ifdef FAULTLINE_FAULT_EVENT
/* 6.1 keeps these in a private header and exports them all the same. */
struct iopf_queue;
struct iopf_queue *iopf_queue_alloc(const char *name);
void iopf_queue_free(struct iopf_queue *queue);
int iopf_queue_add_device(struct iopf_queue *queue, struct device *dev);
int iopf_queue_remove_device(struct iopf_queue *queue, struct device *dev);
int iopf_queue_flush_dev(struct device *dev);
int iopf_queue_discard_partial(struct iopf_queue *queue);
int iommu_queue_iopf(struct iommu_fault *fault, void *cookie);
int iommu_sva_alloc_pasid(struct mm_struct *mm, ioasid_t min, ioasid_t max);

typedef struct iommu_fault_event fault_event;
typedef struct iommu_fault_event response_event;
#define RESPONSE_RETURN int
#define RESPONSE_DONE	return 0
#else
#include <linux/iommufd.h>

typedef struct iopf_fault fault_event;
typedef struct iopf_fault response_event;
#define RESPONSE_RETURN void
#define RESPONSE_DONE	return
#endif

#ifdef FAULTLINE_ATTACH_OLD
#define ATTACH_ARGUMENTS struct iommu_domain *domain, struct device *dev, struct iommu_domain *old
#else
#define ATTACH_ARGUMENTS struct iommu_domain *domain, struct device *dev
#endif

#ifdef FAULTLINE_PASID_OLD
#define SET_PASID_ARGUMENTS \
	struct iommu_domain *domain, struct device *dev, ioasid_t pasid, struct iommu_domain *old
#else
#define SET_PASID_ARGUMENTS struct iommu_domain *domain, struct device *dev, ioasid_t pasid
#endif

#endif
