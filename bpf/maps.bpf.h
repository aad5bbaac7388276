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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROBE_COUNT);
	__type(key, __u32);
	__type(value, struct probe_counter);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DEVICES_MAX);
	__type(key, struct device_key);
	__type(value, struct device_state);
} devices SEC(".maps");

/* By device_state.id. What is gone for longest is forgotten first: its events have no device, and are counted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, DEVICES_GONE_MAX);
	__type(key, __u32);
	__type(value, struct device_past);
} devices_gone SEC(".maps");

/* By pid. Any user may start processes that have names: the newest are remembered. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PROCESS_NAMES_MAX);
	__type(key, __u32);
	__type(value, struct process_name);
} process_names SEC(".maps");

/* Who has slots among the devices; user space takes them back when the process has ended. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OWNERS_MAX);
	__type(key, struct owner_key);
	__type(value, struct owner_share);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, GROUPS_MAX);
	__type(key, struct group_key);
	__type(value, struct group_state);
} groups SEC(".maps");

/* struct iommu_domain of the kernel -> its device */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DOMAINS_MAX);
	__type(key, __u64);
	__type(value, struct domain_state);
} domains SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PCI_FUNCTIONS_MAX);
	__type(key, __u32);
	__type(value, struct pci_function);
} pci_functions SEC(".maps");

/* Processes whose CPU faults are wanted one by one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PIDS_MAX);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct resolving);
} resolving_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct handler_thread);
} handler_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct iopf_task);
} iopf_tasks SEC(".maps");

/* Groups that the kernel has built, by the address of their struct iopf_group. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, GROUPS_MAX);
	__type(key, __u64);
	__type(value, struct iopf_object);
} iopf_objects SEC(".maps");

/* What was last told of each PASID. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PASIDS_MAX);
	__type(key, struct pasid_key);
	__type(value, struct pasid_meaning);
} pasids SEC(".maps");

/* Process memories that a device reaches by a PASID: struct mm_struct's address to that. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PASIDS_MAX);
	__type(key, __u64);
	__type(value, struct pasid_key);
} bound_memory SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, AGGREGATES_MAX);
	__type(key, struct aggregate_key);
	__type(value, struct aggregate_counts);
} aggregates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGGREGATE_BINS_MAX);
	__type(key, struct aggregate_bin_key);
	__type(value, __u64);
} aggregate_bins SEC(".maps");

const volatile struct capture_filter filter SEC(".rodata.filter");

#endif
