// SPDX-License-Identifier: GPL-2.0
/*
 * Taking a page away from the devices that may use it, in the order that makes it safe: the devices
 * are told and have acknowledged, then the IOPT entries go, then the frame (VPRI section 5.1).
 */
#include "injectors/emu/machine_private.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "lib/base/fail.h"

#define EVICT_ROUNDS 1000		  /* a page may be faulted in again meanwhile */
#define SEND_NS	     (20 * NSEC_PER_MSEC) /* for a driver to send what it was asked for before */

/* One device's part in the eviction of one page. */
struct evict_invalidation {
	__u64 address, token;
	__u32 device, pasid;
	__u8 flags;
};

static void log_step(const struct evict_invalidation *i, __u64 now, __u8 who, __u8 what)
{
	truth_log((struct truth_record){
		.time_ns = now,
		.fault = i->token,
		.address = i->address,
		.length = PAGE_BYTES,
		.device = i->device,
		.pasid = i->pasid,
		.queue = QUEUE_NONE,
		.who = who,
		.what = what,
		.flags = i->flags,
	});
}

static void device_told(void *argument)
{
	const struct evict_invalidation *i = argument;
	__u64 now = monotonic_ns();

	INVALIDATE_PROBE(device, i->device, i->pasid, i->address, PAGE_BYTES, i->token, i->flags);
	log_step(i, now, TRUTH_SERVICE, TRUTH_INVALIDATE_DEVICE);
}

static void evict_invalidate(struct lookup *lookup, struct evict_invalidation *i)
{
	__u64 now = monotonic_ns();

	INVALIDATE_PROBE(start, i->device, i->pasid, i->address, PAGE_BYTES, i->token, i->flags);
	log_step(i, now, TRUTH_SERVICE, TRUTH_INVALIDATE_START);
	lookup_invalidate(lookup, i->address, PAGE_BYTES, device_told, i);
	now = monotonic_ns();
	INVALIDATE_PROBE(ack, i->device, i->pasid, i->address, PAGE_BYTES, i->token, i->flags);
	log_step(i, now, TRUTH_DEVICE, TRUTH_INVALIDATE_ACK);
}

static struct evict_invalidation invalidation_of(const struct machine *machine, __u32 index,
						 __u64 guest_address, __u64 token,
						 enum evict_kind kind)
{
	const struct machine_device *device = &machine->devices[index];

	return (struct evict_invalidation){
		.address = guest_address + device->iova_offset,
		.token = token,
		.device = index,
		.pasid = device->pasid,
		.flags = kind == EVICT_MAJOR ? EVENT_MAJOR : 0,
	};
}

/* Tells every device that has the page mapped. A device that has not is not disturbed. */
static void invalidate_all(struct machine *machine, const struct tenant *tenant,
			   __u64 guest_address, __u64 token, enum evict_kind kind)
{
	for (__u32 n = 0; n < tenant->device_count; n++) {
		struct machine_device *device = &machine->devices[tenant->devices[n]];
		struct evict_invalidation i =
			invalidation_of(machine, tenant->devices[n], guest_address, token, kind);
		struct iommu_translation translation = {0};
		int error = iommu_walk(device->domain, i.address, 0, &translation);

		if (!error || (error == -ESTALE && translation.physical))
			evict_invalidate(device->lookup, &i);
	}
}

static bool granted_again(struct machine *machine, const struct tenant *tenant, __u64 guest_address)
{
	struct iommu_translation translation;

	for (__u32 n = 0; n < tenant->device_count; n++) {
		struct machine_device *device = &machine->devices[tenant->devices[n]];

		if (!iommu_walk(device->domain, guest_address + device->iova_offset, 0,
				&translation))
			return true;
	}
	return false;
}

/* With the page locked and withdrawn from all devices. */
static int free_page(struct machine *machine, const struct tenant *tenant, __u32 tenant_index,
		     __u64 guest_address, __u64 token, enum evict_kind kind)
{
	struct truth_record truth = {
		.fault = token,
		.address = guest_address,
		.length = PAGE_BYTES,
		.device = DEVICE_ALL,
		.pasid = PASID_NONE,
		.tenant = tenant_index,
		.queue = QUEUE_NONE,
		.who = TRUTH_RECLAIMER,
		.what = TRUTH_EVICTED,
		.flags = kind == EVICT_MAJOR ? EVENT_MAJOR : 0,
	};
	bool unmapped[tenant->device_count + 1];
	int error;

	for (__u32 n = 0; n < tenant->device_count; n++) {
		struct machine_device *device = &machine->devices[tenant->devices[n]];

		unmapped[n] = iommu_unmap(device->domain, guest_address + device->iova_offset,
					  PAGE_BYTES) > 0;
	}
	error = guest_memory_evict_timed(tenant->memory, guest_address, kind, &truth.time_ns);
	if (error)
		truth.what = TRUTH_EVICT_FAILED;
	truth_log(truth);
	for (__u32 n = 0; n < tenant->device_count && !error; n++) {
		struct evict_invalidation i =
			invalidation_of(machine, tenant->devices[n], guest_address, token, kind);
		__u64 now = monotonic_ns();

		if (!unmapped[n])
			continue;
		INVALIDATE_PROBE(freed, i.device, i.pasid, i.address, PAGE_BYTES, i.token, i.flags);
		log_step(&i, now, TRUTH_SERVICE, TRUTH_INVALIDATE_FREED);
	}
	return error;
}

static int evict_alone(struct machine *machine, __u32 tenant_index, __u64 guest_address,
		       enum evict_kind kind)
{
	const struct tenant *tenant = &machine->tenants[tenant_index];
	__u64 page = guest_address >> PAGE_BITS, token;
	int error;

	for (int round = 0; round < EVICT_ROUNDS; round++) {
		token = atomic_fetch_add(&machine->next_token, 1) + 1;
		/* Without the lock: a DMA that has to drain may itself wait for this page. */
		invalidate_all(machine, tenant, guest_address, token, kind);
		page_lock(tenant->locks, page);
		if (!granted_again(machine, tenant, guest_address)) {
			error = free_page(machine, tenant, tenant_index, guest_address, token,
					  kind);
			page_unlock(tenant->locks, page);
			return error;
		}
		page_unlock(tenant->locks, page);
	}
	return failed(-EBUSY, "page 0x%llx of tenant %s is faulted in as fast as it is evicted",
		      guest_address, tenant->config.name);
}

/*
 * One eviction of a page at a time: another's withdrawal does not say that its DMAs have drained. Who waited for
 * another finds the page gone, which then is the other's.
 */
static int evict_if(struct machine *machine, __u32 tenant_index, __u64 guest_address,
		    enum evict_kind kind, bool (*there)(struct guest_memory *, __u64))
{
	const struct tenant *tenant = &machine->tenants[tenant_index];
	__u64 page = guest_address >> PAGE_BITS;
	int error = EVICT_GONE;

	page_lock(tenant->evictions, page);
	if (pins_skip(tenant->pins, page))
		error = EVICT_PINNED;
	else if (there(tenant->memory, guest_address))
		error = evict_alone(machine, tenant_index, guest_address, kind);
	page_unlock(tenant->evictions, page);
	/* A virtual machine has given it back just then. */
	return error == -ENOENT ? EVICT_GONE : error;
}

static bool has_frame(struct guest_memory *memory, __u64 guest_address)
{
	unsigned char look;

	return !guest_memory_look(memory, guest_address, 1, &look) && look & PAGE_LOOK_HELD;
}

int evict_page(struct machine *machine, __u32 tenant_index, __u64 guest_address,
	       enum evict_kind kind)
{
	/* Whether a virtual machine's own process has it mapped, this one's page table does not tell. */
	bool framed =
		kind == EVICT_MAJOR && machine->tenants[tenant_index].config.backend == MEMORY_VM;

	return evict_if(machine, tenant_index, guest_address, kind,
			framed ? has_frame : guest_memory_present);
}

int evict_held_page(struct machine *machine, __u32 tenant_index, __u64 guest_address)
{
	return evict_if(machine, tenant_index, guest_address, EVICT_MAJOR, has_frame);
}

/* Seeds of jobs are small numbers: a multiplier of Steele and Vigna (2021) sets streams apart. */
struct random choice_begin(struct machine *machine)
{
	return (struct random){machine->config.seed * 0xd1342543de82ef95ull +
			       atomic_fetch_add(&machine->next_choice, 1)};
}

__u64 choose(struct random *random, __u64 below)
{
	return ((random_next(random) >> 32) * below) >> 32;
}

/* Evicts the page if there is anything to evict. Returns pages evicted: 0 or 1. */
static long aim_at(struct machine *machine, __u32 tenant, __u64 guest_address, enum evict_kind kind,
		   struct evict_outcome *outcome)
{
	int result = evict_page(machine, tenant, guest_address, kind);

	outcome->skipped += result == EVICT_PINNED;
	outcome->asked += result != EVICT_PINNED && result != EVICT_GONE;
	return result == 0;
}

/* Pages that the device's driver names. Returns pages evicted. */
static long evict_listed(struct machine *machine, __u32 index, const __u64 *pages, long count,
			 enum evict_kind kind, struct evict_outcome *outcome)
{
	long evicted = 0;

	for (long i = 0; i < count; i++)
		evicted += aim_at(machine, machine->devices[index].config.tenant, pages[i], kind,
				  outcome);
	return evicted;
}

static long machine_evict_next(struct machine *machine, __u32 index,
			       const struct evict_order *order, struct evict_outcome *outcome)
{
	struct machine_device *device = &machine->devices[index];
	const struct device_driver *driver = driver_of(device);
	__u64 *pages = calloc(order->pages, sizeof(*pages));
	long listed = 0, evicted = 0;

	if (!pages)
		return failed(-ENOMEM, "no memory to evict %u pages", order->pages);
	pthread_mutex_lock(&device->next_lock);
	if (device->driver && driver->next_pages)
		listed = driver->next_pages(device->driver, pages, order->pages, SEND_NS);
	if (listed > 0) {
		evicted = evict_listed(machine, index, pages, listed, order->kind, outcome);
		driver->send_next(device->driver);
	}
	pthread_mutex_unlock(&device->next_lock);
	free(pages);
	return listed < 0 ? listed : evicted;
}

/* What is posted at this instant, of however many pages that is. */
static long evict_ring(struct machine *machine, __u32 index, const struct evict_order *order,
		       struct evict_outcome *outcome)
{
	struct machine_device *device = &machine->devices[index];
	const struct device_driver *driver = driver_of(device);
	__u32 room = (__u32)(device->channel->config.bytes >> PAGE_BITS);
	__u64 *pages;
	long listed, evicted;

	if (!device->driver || !driver->ring_pages)
		return 0;
	pages = calloc(room, sizeof(*pages));
	if (!pages)
		return failed(-ENOMEM, "no memory to evict the pages of a ring");
	listed = driver->ring_pages(device->driver, order->sides, pages, room);
	evicted = listed < 0 ? listed
			     : evict_listed(machine, index, pages, listed, order->kind, outcome);
	free(pages);
	return evicted;
}

/* Bytes from the first of the device's data on in which its driver has its buffers. */
static __u64 buffer_bytes(const struct machine *machine, __u32 index)
{
	const struct machine_device *device = &machine->devices[index];

	return device->driver && driver_of(device)->buffer_bytes
		       ? driver_of(device)->buffer_bytes(device->driver)
		       : device->channel->data_bytes;
}

static long evict_random(struct machine *machine, __u32 index, const struct evict_order *order,
			 struct evict_outcome *outcome)
{
	__u32 tenant = machine->devices[index].config.tenant, count = order->pages;
	__u64 start = machine->devices[index].channel->data_address;
	__u64 pages = buffer_bytes(machine, index) >> PAGE_BITS;
	struct random random = order->seed ? (struct random){order->seed} : choice_begin(machine);
	__u64 tries = 64 + 16ull * count; /* most may be out already */
	long evicted = 0;

	if (count > pages)
		count = (__u32)pages;
	while (outcome->asked + outcome->skipped < count && tries--)
		evicted += aim_at(machine, tenant, start + choose(&random, pages) * PAGE_BYTES,
				  order->kind, outcome);
	return evicted;
}

static long evict_idle(struct machine *machine, __u32 index, const struct evict_order *order,
		       struct evict_outcome *outcome)
{
	__u32 tenant = machine->devices[index].config.tenant, count;
	__u64 start = machine->devices[index].channel->data_address >> PAGE_BITS;
	__u64 pages = buffer_bytes(machine, index) >> PAGE_BITS, found[IDLE_PAGES_MOST];
	long evicted = 0, before;

	if (!machine->idle)
		return failed(-EINVAL, "evict: nobody looks at what is idle in this machine");
	do {
		before = evicted;
		count = idle_pages_find(machine->idle, tenant, start, pages,
					order->pages - outcome->asked, found);
		for (__u32 i = 0; i < count; i++)
			evicted += aim_at(machine, tenant, found[i] << PAGE_BITS, order->kind,
					  outcome);
	} while (outcome->asked < order->pages && evicted > before);
	return evicted;
}

static long evict_all(struct machine *machine, __u32 tenant, const struct evict_order *order,
		      struct evict_outcome *outcome)
{
	long evicted = 0;

	for (__u64 address = 0; address < machine->tenants[tenant].config.memory;
	     address += PAGE_BYTES)
		evicted += aim_at(machine, tenant, address, order->kind, outcome);
	return evicted;
}

long machine_evict(struct machine *machine, __u32 device, const struct evict_order *order,
		   struct evict_outcome *outcome)
{
	*outcome = (struct evict_outcome){0};
	if (device >= machine->config.device_count)
		return failed(-EINVAL, "evict: no device %u in this machine of %u", device,
			      machine->config.device_count);
	if (!machine->started)
		return failed(-EINVAL, "evict: the machine does not run");
	switch (order->choice) {
	case EVICT_NEXT:
		return machine_evict_next(machine, device, order, outcome);
	case EVICT_RANDOM:
		return evict_random(machine, device, order, outcome);
	case EVICT_ALL:
		return evict_all(machine, machine->devices[device].config.tenant, order, outcome);
	case EVICT_RING:
		return evict_ring(machine, device, order, outcome);
	case EVICT_IDLE:
		return evict_idle(machine, device, order, outcome);
	}
	return failed(-EINVAL, "evict: unknown choice %d", (int)order->choice);
}
