// SPDX-License-Identifier: GPL-2.0
/* What the fault service asks of the machine: whose device, make a page present, answer the device. */
#include "injectors/emu/machine_private.h"

#include <errno.h>

#include "injectors/emu/request_truth.h"

static __u32 machine_tenant_of(void *argument, __u32 device)
{
	const struct machine *machine = argument;

	return machine->devices[device].config.tenant;
}

/* The page lock keeps evictions of this page out until it is in the IOPT (lookup.h). */
static int resolve_locked(struct machine_device *device, struct tenant *tenant, __u32 index,
			  const struct page_request *request, bool *major, __u64 *physical,
			  void (*on_resolved)(void *argument, bool major), void *argument)
{
	__u64 guest_address = request->address - device->iova_offset;
	struct truth_record truth;
	int error;

	error = guest_memory_resolve(tenant->memory, guest_address, index,
				     request->flags & EVENT_WRITE, major);
	if (error)
		return -EIO;
	truth = request_truth(TRUTH_SERVICE, TRUTH_RESOLVED, request);
	truth.flags |= *major ? EVENT_MAJOR : 0;
	truth_log(truth);
	on_resolved(argument, *major);
	*physical = tenant->physical + guest_address;
	error = iommu_map(device->domain, request->address, *physical, PAGE_BYTES,
			  IOMMU_READ | IOMMU_WRITE, false);
	if (error)
		return error;
	truth = request_truth(TRUTH_SERVICE, TRUTH_MAPPED, request);
	truth.value = *physical;
	truth_log(truth);
	return 0;
}

static int machine_resolve(void *argument, const struct page_request *request, bool *major,
			   __u64 *physical, void (*on_resolved)(void *argument, bool major),
			   void *on_resolved_argument)
{
	struct machine *machine = argument;
	struct machine_device *device = &machine->devices[request->device];
	struct tenant *tenant = &machine->tenants[device->config.tenant];
	__u64 guest_address = request->address - device->iova_offset;
	int error;

	if (request->pasid != device->pasid || request->address < device->iova_offset ||
	    guest_address >= tenant->config.memory)
		return -EFAULT;
	page_lock(tenant->locks, guest_address >> PAGE_BITS);
	error = resolve_locked(device, tenant, request->device, request, major, physical,
			       on_resolved, on_resolved_argument);
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
