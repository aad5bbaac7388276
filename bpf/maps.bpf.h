/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps that all BPF objects share. Each object declares them; lib/capture creates them once
 * (from the object of maps.bpf.c) and lets every other object reuse the descriptors.
 */
#ifndef FAULTLINE_MAPS_BPF_H
#define FAULTLINE_MAPS_BPF_H

#include "bpf/event.h"
#include "bpf/state.bpf.h"
#include "bpf/state.h"

struct event_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the real size is chosen by user space */
};

/* One ring a CPU; max_entries is set to the number of possible CPUs before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct event_ring);
} rings SEC(".maps");

MAP(counters, PERCPU_ARRAY, PROBE_COUNT, __u32, struct probe_counter);

HASH_ON_DEMAND(devices, DEVICES_MAX, struct device_key, struct device_state);

/* By device_state.id. What is gone for longest is forgotten first: its events have no device, and are counted. */
MAP(devices_gone, LRU_HASH, DEVICES_GONE_MAX, __u32, struct device_past);

/* By pid. Any user may start processes that have names: the newest are remembered. */
MAP(process_names, LRU_HASH, PROCESS_NAMES_MAX, __u32, struct process_name);

/* Who has slots among the devices; user space takes them back when the process has ended. */
HASH_ON_DEMAND(owners, OWNERS_MAX, struct owner_key, struct owner_share);

HASH_ON_DEMAND(groups, GROUPS_MAX, struct group_key, struct group_state);

/* struct iommu_domain of the kernel -> its device */
HASH_ON_DEMAND(domains, DOMAINS_MAX, __u64, struct domain_state);

HASH_ON_DEMAND(pci_functions, PCI_FUNCTIONS_MAX, __u32, struct pci_function);

/* Inodes of network namespaces -> the NIC in them; user space enters them. */
HASH_ON_DEMAND(networks, NETWORKS_MAX, __u32, struct network_owner);

/* Flows that events name, and what their numbers mean to user space, which removes what is old. */
HASH_ON_DEMAND(flows, FLOWS_MAX, struct flow_key, struct flow_state);

HASH_ON_DEMAND(flow_names, FLOWS_MAX, __u32, struct flow_key);

/* Processes whose CPU faults are wanted one by one. */
MAP(pids, HASH, PIDS_MAX, __u32, __u8);

TASK_STORAGE(resolving_tasks, struct resolving);

TASK_STORAGE(handler_threads, struct handler_thread);

TASK_STORAGE(iopf_tasks, struct iopf_task);

/* Groups that the kernel has built, by the address of their struct iopf_group. */
HASH_ON_DEMAND(iopf_objects, GROUPS_MAX, __u64, struct iopf_object);

/* What was last emitted about each PASID. */
MAP(pasids, LRU_HASH, PASIDS_MAX, struct pasid_key, struct pasid_meaning);

/* Process memories that a device reaches by a PASID: struct mm_struct's address to that. */
MAP(bound_memory, LRU_HASH, PASIDS_MAX, __u64, struct pasid_key);

MAP(aggregates, PERCPU_HASH, AGGREGATES_MAX, struct aggregate_key, struct aggregate_counts);

MAP(aggregate_bins, HASH, AGGREGATE_BINS_MAX, struct aggregate_bin_key, __u64);

const volatile struct capture_filter filter SEC(".rodata.filter");

#endif
