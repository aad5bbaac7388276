// SPDX-License-Identifier: GPL-2.0
/* What the fault service asks of the machine: whose device, make a page present, answer the device. */
#include "injectors/emu/machine_private.h"

#include <errno.h>

#include "injectors/emu/request_truth.h"
#include "lib/base/fail.h"

static __u32 machine_tenant_of(void *argument, __u32 device)
{
	const struct machine *machine = argument;

	return machine->devices[device].config.tenant;
}

static bool read_only(const struct machine_device *device, __u64 guest_address)
{
	return guest_address >= device->read_only_start && guest_address < device->read_only_end;
}

/* Only the permission is missing: the entry is there, and not being taken back. */
static enum mm_cause service_cause_of(const struct machine_device *device,
				      const struct page_request *request)
{
	struct iommu_translation translation;

	if (request->flags & EVENT_WRITE &&
	    iommu_walk(device->domain, request->address, IOMMU_WRITE, &translation) == -EACCES)
		return MM_PERMISSION;
	return MM_NONE;
}

/* A write to what is mapped read-only makes it writable, as after copy-on-write or a dirty log. */
static int grant_page(struct machine *machine, struct machine_device *device,
		      const struct page_request *request, __u64 physical)
{
	__u64 guest_address = request->address - device->iova_offset;
	__u64 permissions = IOMMU_READ;
	int error;

	if (!read_only(device, guest_address) || request->flags & EVENT_WRITE)
		permissions |= IOMMU_WRITE;
	error = iommu_map(device->domain, request->address, physical, PAGE_BYTES, permissions,
			  false);
	if (!error && read_only(device, guest_address) && permissions & IOMMU_WRITE)
		atomic_fetch_add(&machine->upgrades, 1);
	return error;
}

static int service_map(struct machine *machine, struct machine_device *device,
		       const struct page_request *request, __u64 physical)
{
	struct truth_record truth = request_truth(TRUTH_SERVICE, TRUTH_MAPPED, request);
	int error = grant_page(machine, device, request, physical);

	if (error)
		return error;
	truth.value = physical;
	truth_log(truth);
	return 0;
}

/* The page lock keeps evictions of this page out until it is in the IOPT (lookup.h). */
static int resolve_locked(struct machine *machine, const struct page_request *request, bool *major,
			  __u64 *physical, page_resolved on_resolved, void *argument)
{
	struct machine_device *device = &machine->devices[request->device];
	const struct tenant *tenant = &machine->tenants[device->config.tenant];
	__u64 guest_address = request->address - device->iova_offset;
	enum mm_cause cause = service_cause_of(device, request);
	struct truth_record truth;
	int error;

	error = guest_memory_resolve(tenant->memory, guest_address, request->device,
				     request->flags & EVENT_WRITE, major);
	if (error)
		return -EIO;
	truth = request_truth(TRUTH_SERVICE, TRUTH_RESOLVED, request);
	truth.flags |= *major ? EVENT_MAJOR : 0;
	truth.code = (__u8)cause;
	truth_log(truth);
	on_resolved(argument, *major, cause);
	*physical = tenant->physical + guest_address;
	return service_map(machine, device, request, *physical);
}

/* Of another tenant or PASID, outside of memory, or a write to what the guest may only read. */
static bool service_refused(const struct machine *machine, const struct page_request *request)
{
	const struct machine_device *device = &machine->devices[request->device];
	__u64 guest_address = request->address - device->iova_offset;

	return request->pasid != device->pasid || request->address < device->iova_offset ||
	       guest_address >= machine->tenants[device->config.tenant].config.memory ||
	       (read_only(device, guest_address) && device->config.refuse_writes &&
		request->flags & EVENT_WRITE);
}

static int machine_resolve(void *argument, const struct page_request *request, bool *major,
			   __u64 *physical, page_resolved on_resolved, void *on_resolved_argument)
{
	struct machine *machine = argument;
	const struct machine_device *device = &machine->devices[request->device];
	const struct tenant *tenant = &machine->tenants[device->config.tenant];
	__u64 page = (request->address - device->iova_offset) >> PAGE_BITS;
	int error;

	if (service_refused(machine, request))
		return -EFAULT;
	page_lock(tenant->locks, page);
	error = resolve_locked(machine, request, major, physical, on_resolved,
			       on_resolved_argument);
	page_unlock(tenant->locks, page);
	return error;
}

/*
 * What the I/O page table grants is there: it is taken from that first, and the caller keeps out who would. The kernel alone takes no
 * page of the pager's.
 */
static bool granted(const struct machine *machine, const struct page_request *request)
{
	const struct machine_device *device = &machine->devices[request->device];
	struct iommu_translation found;

	return machine->tenants[device->config.tenant].config.backend != MEMORY_SWAP &&
	       !iommu_walk(device->domain, request->address,
			   request->flags & EVENT_WRITE ? IOMMU_READ | IOMMU_WRITE : IOMMU_READ,
			   &found);
}

int machine_grant(struct machine *machine, __u32 index, __u64 guest_address, bool write)
{
	struct machine_device *device = &machine->devices[index];
	const struct tenant *tenant = &machine->tenants[device->config.tenant];
	const struct page_request request = {
		.address = guest_address + device->iova_offset,
		.device = index,
		.pasid = device->pasid,
		.queue = QUEUE_NONE,
		.flags = write ? EVENT_READ | EVENT_WRITE : EVENT_READ,
	};
	struct iommu_translation found;
	bool major;
	int error;

	if (service_refused(machine, &request))
		return failed(-EFAULT, "page 0x%llx is not the device's to %s", guest_address,
			      write ? "write" : "read");
	if (granted(machine, &request))
		return 0;
	page_lock(tenant->locks, guest_address >> PAGE_BITS);
	error = guest_memory_resolve(tenant->memory, guest_address, index, write, &major);
	/* What is mapped already stays so: an entry of 2 MiB is not split for it. */
	if (!error && iommu_walk(device->domain, request.address,
				 write ? IOMMU_READ | IOMMU_WRITE : IOMMU_READ, &found))
		error = grant_page(machine, device, &request, tenant->physical + guest_address);
	page_unlock(tenant->locks, guest_address >> PAGE_BITS);
	return error;
}

static void machine_respond(void *argument, __u32 device, __u32 pasid, __u16 group,
			    enum response_code code)
{
	const struct machine *machine = argument;

	port_respond(machine->devices[device].port, pasid, group, code);
}

const struct service_ops machine_service_ops = {
	.tenant_of = machine_tenant_of,
	.resolve = machine_resolve,
	.respond = machine_respond,
};
