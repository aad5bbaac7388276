// SPDX-License-Identifier: GPL-2.0
/*
 * Who resolves page requests. Where the kernel's shared virtual addressing works (7.x), all of it
 * is the kernel's. Debian's 6.12 has it compiled out on x86 behind iommu_sva_bind_device(): there
 * this file brings the domain and its handler, the kernel's core still does report, grouping and
 * response. On 6.1 the handler is the kernel's too, only its registration is ours.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "device.h"

#ifdef FAULTLINE_FAULT_EVENT

int consumer_add_device(struct accelerator *accelerator)
{
	struct device *dev = &accelerator->pdev->dev;
	int err = iopf_queue_add_device(faultline.iopf_queue, dev);

	if (err)
		return err;
	err = iommu_register_device_fault_handler(dev, iommu_queue_iopf, dev);
	if (err)
		iopf_queue_remove_device(faultline.iopf_queue, dev);
	else
		faultline.consumer = FAULTLINE_CONSUMER_QUEUE;
	return err;
}

void consumer_remove_device(struct accelerator *accelerator)
{
	struct device *dev = &accelerator->pdev->dev;

	WARN_ON(iommu_unregister_device_fault_handler(dev));
	iopf_queue_remove_device(faultline.iopf_queue, dev);
}

/* The address space has its PASID until it goes: the kernel's handler finds it by that. */
int consumer_bind(struct bond *bond)
{
	int err = iommu_sva_alloc_pasid(bond->mm, 1, FAULTLINE_PASID_LIMIT - 1);

	bond->pasid = bond->mm->pasid;
	return err;
}

void consumer_unbind(struct bond *bond)
{
}

#else

static struct device *device_of(const struct bond *bond)
{
	return &bond->accelerator->pdev->dev;
}

static int attach_pasid(SET_PASID_ARGUMENTS)
{
	return 0;
}

static void free_domain(struct iommu_domain *domain)
{
	kfree(domain);
}

static const struct iommu_domain_ops sva_ops = {
	.set_dev_pasid = attach_pasid,
	.free = free_domain,
};

struct iommu_domain *consumer_alloc_sva(struct device *dev, struct mm_struct *mm)
{
	struct iommu_domain *domain = kzalloc(sizeof(*domain), GFP_KERNEL);

	if (!domain)
		return ERR_PTR(-ENOMEM);
	domain->ops = &sva_ops;
	return domain;
}

static int kernel_bind(struct bond *bond)
{
	struct iommu_sva *sva = iommu_sva_bind_device(device_of(bond), bond->mm);

	if (IS_ERR(sva))
		return PTR_ERR(sva);
	bond->handle = sva;
	bond->pasid = iommu_sva_get_pasid(sva);
	return 0;
}

#ifndef FAULTLINE_COOKIE_TYPE

/* An address space with its PASID, and the devices it is attached to. */
struct space {
	struct list_head list;
	struct mm_struct *mm;
	struct iommu_domain domain;
	ioasid_t pasid;
	u32 bonds, bonds_of[FAULTLINE_DEVICES_MAX];
	struct iommu_attach_handle handles[FAULTLINE_DEVICES_MAX];
};

static LIST_HEAD(spaces); /* under faultline.mutex */

static bool may_access(const struct vm_area_struct *vma, u32 permissions)
{
	unsigned long needed = 0;

	if (permissions & IOMMU_FAULT_PERM_READ)
		needed |= VM_READ;
	if (permissions & IOMMU_FAULT_PERM_WRITE)
		needed |= VM_WRITE;
	if (permissions & IOMMU_FAULT_PERM_EXEC)
		needed |= VM_EXEC;
	return !(needed & ~vma->vm_flags);
}

static bool resolve_mapped(struct mm_struct *mm, const struct iommu_fault_page_request *request)
{
	struct vm_area_struct *vma = vma_lookup(mm, request->addr);
	unsigned int flags = FAULT_FLAG_REMOTE;

	if (!vma || !may_access(vma, request->perm))
		return false;
	if (request->perm & IOMMU_FAULT_PERM_WRITE)
		flags |= FAULT_FLAG_WRITE;
	if (request->perm & IOMMU_FAULT_PERM_EXEC)
		flags |= FAULT_FLAG_INSTRUCTION;
	if (!(request->perm & IOMMU_FAULT_PERM_PRIV))
		flags |= FAULT_FLAG_USER;
	return !(handle_mm_fault(vma, request->addr, flags, NULL) & VM_FAULT_ERROR);
}

static bool resolve_request(struct mm_struct *mm, const struct iommu_fault_page_request *request)
{
	bool resolved;

	if (!mmget_not_zero(mm))
		return false;
	mmap_read_lock(mm);
	resolved = resolve_mapped(mm, request);
	mmap_read_unlock(mm);
	mmput(mm);
	return resolved;
}

/* As the kernel's: the first request that fails decides for its group, the rest is left alone. */
static void resolve_group(struct work_struct *work)
{
	struct iopf_group *group = container_of(work, struct iopf_group, work);
	struct mm_struct *mm = group->attach_handle->domain->mm;
	enum iommu_page_response_code code = IOMMU_PAGE_RESP_SUCCESS;
	struct iopf_fault *request;

	list_for_each_entry(request, &group->faults, list) {
		if (resolve_request(mm, &request->fault.prm))
			continue;
		code = IOMMU_PAGE_RESP_INVALID;
		break;
	}
	iopf_group_response(group, code);
	iopf_free_group(group);
}

static int queue_group(struct iopf_group *group)
{
	INIT_WORK(&group->work, resolve_group);
	return queue_work(group->fault_param->queue->wq, &group->work) ? 0 : -EBUSY;
}

static struct space *space_new(struct device *dev, struct mm_struct *mm)
{
	struct space *space = kzalloc(sizeof(*space), GFP_KERNEL);

	if (!space)
		return ERR_PTR(-ENOMEM);
	space->pasid = iommu_alloc_global_pasid(dev);
	if (space->pasid == IOMMU_PASID_INVALID) {
		kfree(space);
		return ERR_PTR(-ENOSPC);
	}
	mmgrab(mm);
	space->mm = mm;
	space->domain.type = IOMMU_DOMAIN_SVA;
	space->domain.ops = &sva_ops;
	space->domain.owner = &device_iommu_ops;
	space->domain.mm = mm;
	space->domain.iopf_handler = queue_group;
	list_add(&space->list, &spaces);
	return space;
}

static struct space *space_get(struct device *dev, struct mm_struct *mm)
{
	struct space *space;

	list_for_each_entry(space, &spaces, list)
		if (space->mm == mm)
			return space;
	return space_new(dev, mm);
}

static void space_free_unused(struct space *space)
{
	if (space->bonds)
		return;
	list_del(&space->list);
	iommu_free_global_pasid(space->pasid);
	mmdrop(space->mm);
	kfree(space);
}

static int module_bind(struct bond *bond)
{
	struct device *dev = device_of(bond);
	u32 number = bond->accelerator->number;
	struct space *space = space_get(dev, bond->mm);
	int err = 0;

	if (IS_ERR(space))
		return PTR_ERR(space);
	if (!space->bonds_of[number])
		err = iommu_attach_device_pasid(&space->domain, dev, space->pasid,
						&space->handles[number]);
	if (!err) {
		space->bonds_of[number]++;
		space->bonds++;
		bond->handle = space;
		bond->pasid = space->pasid;
	}
	space_free_unused(space);
	return err;
}

static void module_unbind(struct bond *bond)
{
	struct space *space = bond->handle;
	u32 number = bond->accelerator->number;

	if (!--space->bonds_of[number])
		iommu_detach_device_pasid(&space->domain, device_of(bond), space->pasid);
	space->bonds--;
	space_free_unused(space);
}

#else

static int module_bind(struct bond *bond)
{
	return -EOPNOTSUPP;
}

static void module_unbind(struct bond *bond)
{
}

#endif

int consumer_bind(struct bond *bond)
{
	return faultline.consumer == FAULTLINE_CONSUMER_KERNEL ? kernel_bind(bond)
							       : module_bind(bond);
}

void consumer_unbind(struct bond *bond)
{
	if (faultline.consumer == FAULTLINE_CONSUMER_KERNEL)
		iommu_sva_unbind_device(bond->handle);
	else
		module_unbind(bond);
}

/* Headers do not tell whether the kernel's own binding is compiled in: one try does. */
static int find_consumer(struct accelerator *accelerator)
{
	struct bond trial = {.accelerator = accelerator, .mm = current->mm};
	int err = kernel_bind(&trial);

	if (!err) {
		iommu_sva_unbind_device(trial.handle);
		faultline.consumer = FAULTLINE_CONSUMER_KERNEL;
	} else if (err == -EOPNOTSUPP && !IS_ENABLED(FAULTLINE_COOKIE_TYPE)) {
		faultline.consumer = FAULTLINE_CONSUMER_MODULE;
		err = 0;
	}
	return err;
}

int consumer_add_device(struct accelerator *accelerator)
{
	int err = iopf_queue_add_device(faultline.iopf_queue, &accelerator->pdev->dev);

	if (err || faultline.consumer)
		return err;
	err = find_consumer(accelerator);
	if (err) {
		pr_err("shared virtual addressing does not work on this kernel: error %d\n", err);
		iopf_queue_remove_device(faultline.iopf_queue, &accelerator->pdev->dev);
	}
	return err;
}

void consumer_remove_device(struct accelerator *accelerator)
{
	iopf_queue_remove_device(faultline.iopf_queue, &accelerator->pdev->dev);
}

#endif
