/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel side of the device dictionary: who is this, have we met, does the filter want it. */
#ifndef FAULTLINE_DEVICE_BPF_H
#define FAULTLINE_DEVICE_BPF_H

#include "bpf/emit.bpf.h"

#define NS_PER_TICK 10000000ull /* USER_HZ is 100 on every architecture we know */

static __always_inline __u64 owner_start_ticks(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, group_leader, start_boottime) / NS_PER_TICK;
}

static __always_inline void device_announce(struct probe_counter *counter,
					    const struct device_key *key, __u32 id)
{
	struct event *event = event_if_wanted(counter, EVENT_DEVICE_NEW);

	if (!event)
		return;
	event->device = id;
	event->pid = key->owner;
	event->value = key->source;
	event_submit(counter, event);
}

/* The account of a process's slots, made at its first device; NULL if there are too many of them. */
static __always_inline struct owner_share *owner_of(const struct device_key *key)
{
	struct owner_key owner = {.pid = key->owner, .start = key->owner_start};
	struct owner_share *known = bpf_map_lookup_elem(&owners, &owner);
	struct owner_share none = {};

	if (known)
		return known;
	bpf_map_update_elem(&owners, &owner, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&owners, &owner);
}

/*
 * Takes a slot for one more device of this key's owner, before anything else is given out for it. One that
 * invents devices takes its own share and leaves the others theirs; the kernel's own devices have no owner.
 * CPUs that look at once may each take the last slot: one too many for each CPU, which the map has no room
 * for, at worst.
 */
static __always_inline bool slot_take(const struct device_key *key)
{
	struct capture_state *shared = shared_state();
	struct owner_share *owner = NULL;

	if (!shared || shared->slots >= DEVICES_MAX)
		return false;
	if (key->owner) {
		owner = owner_of(key);
		if (!owner || owner->devices >= OWNER_DEVICES_MAX)
			return false;
		__sync_fetch_and_add(&owner->devices, 1);
		__sync_fetch_and_add(&owner->entered, 1);
	}
	__sync_fetch_and_add(&shared->slots, 1);
	return true;
}

/* Also if there was no more than the slot, or another CPU had entered the device meanwhile. */
static __always_inline void slot_return(const struct device_key *key)
{
	struct owner_key owner_key = {.pid = key->owner, .start = key->owner_start};
	struct capture_state *shared = shared_state();
	struct owner_share *owner = NULL;

	if (key->owner)
		owner = bpf_map_lookup_elem(&owners, &owner_key);
	if (owner)
		__sync_fetch_and_add(&owner->devices, -1);
	if (shared)
		__sync_fetch_and_add(&shared->slots, -1);
}

/*
 * Enters a device that has a slot, under a number of its own; `fresh` holds its names. NULL: it has none
 * any more, as another CPU was first, or there was no memory.
 */
static __always_inline struct device_state *device_insert(const struct device_key *key,
							  struct device_state *fresh)
{
	struct capture_state *shared = shared_state();

	if (shared)
		fresh->id = __sync_fetch_and_add(&shared->devices, 1) + 1;
	if (shared && !bpf_map_update_elem(&devices, key, fresh, BPF_NOEXIST))
		return bpf_map_lookup_elem(&devices, key);
	slot_return(key);
	return NULL;
}

/* Enters a device at first sight; `fresh` holds its names. NULL if there is no room. */
static __always_inline struct device_state *
device_try(struct probe_counter *counter, const struct device_key *key, struct device_state *fresh)
{
	struct device_state *device;

	if (!slot_take(key))
		return NULL;
	device = device_insert(key, fresh);
	if (!device)
		return bpf_map_lookup_elem(&devices, key);
	device_announce(counter, key, fresh->id);
	return device;
}

/* The device is no more: its slot is the next one's, its name is kept for who has not asked for it yet. */
static __always_inline void device_leave(const struct device_key *key)
{
	struct device_state *device = bpf_map_lookup_elem(&devices, key);
	struct capture_state *shared = shared_state();
	struct device_past past = {.key = *key};
	__u32 id;

	if (!device || !shared)
		return;
	past.state = *device;
	id = past.state.id;
	if (bpf_map_update_elem(&devices_gone, &id, &past, BPF_ANY))
		state_failed();
	if (bpf_map_delete_elem(&devices, key))
		return;
	slot_return(key);
	__sync_fetch_and_add(&shared->gone, 1);
}

/* Likewise; that there was none is counted. */
static __always_inline struct device_state *device_enter(struct probe_counter *counter,
							 const struct device_key *key,
							 struct device_state *fresh)
{
	struct device_state *device = device_try(counter, key, fresh);

	if (!device)
		state_failed();
	return device;
}

/* From now on this domain's mappings are this device's. */
static __always_inline void domain_learn(__u64 domain, __u32 device)
{
	struct domain_state *known = bpf_map_lookup_elem(&domains, &domain);
	struct capture_state *shared = shared_state();
	struct domain_state fresh = {.device = device};

	if (!known && !bpf_map_update_elem(&domains, &domain, &fresh, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&domains, &domain);
		/* Only what has room gets a number. Until then it has 0, which means that it is not known. */
		if (known && shared)
			known->number = __sync_fetch_and_add(&shared->domains, 1) + 1;
		return;
	}
	/* Another CPU may have been first. */
	if (!known)
		known = bpf_map_lookup_elem(&domains, &domain);
	if (known)
		known->device = device;
	else
		state_failed();
}

/* A device attached to this domain, DEVICE_NONE if none is known. */
static __always_inline __u32 domain_device(__u64 domain)
{
	struct domain_state *known = bpf_map_lookup_elem(&domains, &domain);

	return known ? known->device : DEVICE_NONE;
}

/* Segment, bus, device and function, by which the IOMMU knows the device. */
static __always_inline __u32 pci_rid(struct device *kernel_device)
{
	struct pci_dev *pci = (void *)kernel_device - bpf_core_field_offset(struct pci_dev, dev);
	struct pci_sysdata *system = BPF_CORE_READ(pci, bus, sysdata);
	__u32 segment = 0;

	if (bpf_core_type_exists(struct pci_sysdata))
		segment = BPF_CORE_READ(system, domain);
	return segment << 16 | BPF_CORE_READ(pci, bus, number) << 8 |
	       (BPF_CORE_READ(pci, devfn) & 0xff);
}

/* At first sight: its place on the bus, by which faults name it, and its IOMMU domain. */
static __attribute__((noinline)) int device_place(__u32 id, struct device *kernel_device)
{
	struct pci_function function = {.device = id};
	struct iommu_group *group = NULL;
	__u32 rid = pci_rid(kernel_device);

	if (bpf_core_field_exists(kernel_device->iommu_group))
		group = BPF_CORE_READ(kernel_device, iommu_group);
	if (group && bpf_core_field_exists(group->domain) && BPF_CORE_READ(group, domain))
		domain_learn((__u64)BPF_CORE_READ(group, domain), id);
	function.group = (__u64)group;
	if (bpf_map_update_elem(&pci_functions, &rid, &function, BPF_ANY))
		state_failed();
	return 0;
}

/* The device behind the kernel's struct device; NULL if the event has none. */
static __always_inline struct device_state *device_by_address(struct probe_counter *counter,
							      struct device *kernel_device)
{
	struct device_key key = {
		.kind = DEVICE_BY_ADDRESS,
		.source = (__u64)kernel_device,
	};
	struct device_state fresh = {}, *device;

	if (!kernel_device)
		return NULL;
	device = bpf_map_lookup_elem(&devices, &key);
	if (device)
		return device;
	bpf_probe_read_kernel_str(fresh.name, sizeof(fresh.name),
				  BPF_CORE_READ(kernel_device, kobj.name));
	bpf_probe_read_kernel_str(fresh.driver, sizeof(fresh.driver),
				  BPF_CORE_READ(kernel_device, driver, name));
	bpf_probe_read_kernel_str(fresh.bus, sizeof(fresh.bus),
				  BPF_CORE_READ(kernel_device, bus, name));
	device = device_enter(counter, &key, &fresh);
	if (device && fresh.bus[0] == 'p' && fresh.bus[1] == 'c' && fresh.bus[2] == 'i' &&
	    !fresh.bus[3])
		device_place(device->id, kernel_device);
	return device;
}

/* The number of a PCI function that only a fault has named so far; user space knows its name. */
static __always_inline __u32 device_by_rid(struct probe_counter *counter, __u32 rid)
{
	struct device_key key = {.kind = DEVICE_PCI, .source = rid};
	struct device_state fresh = {}, *device = bpf_map_lookup_elem(&devices, &key);

	if (!device)
		device = device_enter(counter, &key, &fresh);
	return device ? device->id : DEVICE_NONE;
}

/* Whether the device filter leaves this device's events out. */
static __always_inline bool device_dropped(const struct device_state *device)
{
	return device && device->verdict == DEVICE_DROP;
}

/* The device behind the kernel's struct device; NULL: it has none, or its events are left out. */
static __always_inline struct device_state *device_kept(struct probe_counter *counter,
							struct device *kernel_device)
{
	struct device_state *device = device_by_address(counter, kernel_device);

	return device_dropped(device) ? NULL : device;
}

/* The number of a device whose events are wanted; false: leave this one out. */
static __always_inline bool device_wanted(struct probe_counter *counter,
					  struct device *kernel_device, __u32 *number)
{
	struct device_state *device = device_by_address(counter, kernel_device);

	*number = device ? device->id : DEVICE_NONE;
	return !device_dropped(device);
}

#endif
