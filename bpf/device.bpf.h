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
	struct event *event;

	if (!kind_wanted(EVENT_DEVICE_NEW))
		return;
	event = event_reserve(counter, EVENT_DEVICE_NEW);
	if (!event)
		return;
	event->device = id;
	event->pid = key->owner;
	event->value = key->source;
	event_submit(counter, event);
}

/* Enters a device at first sight; `fresh` holds its names. NULL and counted if there is no room. */
static __always_inline struct device_state *device_enter(struct probe_counter *counter,
							 const struct device_key *key,
							 struct device_state *fresh)
{
	struct capture_state *shared = shared_state();
	struct device_state *device;

	if (!shared)
		return NULL;
	fresh->id = __sync_fetch_and_add(&shared->devices, 1) + 1;
	/* Another CPU may have been first: then its entry counts and our number stays unused. */
	if (!bpf_map_update_elem(&devices, key, fresh, BPF_NOEXIST))
		device_announce(counter, key, fresh->id);
	device = bpf_map_lookup_elem(&devices, key);
	if (!device)
		state_failed();
	return device;
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
	return device_enter(counter, &key, &fresh);
}

/* Whether the device filter leaves this device's events out. */
static __always_inline bool device_dropped(const struct device_state *device)
{
	return device && device->verdict == DEVICE_DROP;
}

#endif
