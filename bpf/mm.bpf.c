// SPDX-License-Identifier: GPL-2.0
/*
 * CPU page faults: recorded one by one inside an I/O fault handler and for the processes asked for,
 * counted per second and process for everyone else.
 */
#include "bpf/kernel.h"

#include "bpf/emit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u8 access_flags(__u64 error_code, bool kernel)
{
	__u8 flags = kernel ? EVENT_PRIV : 0;

	if (error_code & PAGE_FAULT_WRITE)
		return flags | EVENT_WRITE;
	if (error_code & PAGE_FAULT_EXEC)
		return flags | EVENT_EXEC;
	return flags | EVENT_READ;
}

static __always_inline int page_fault(__u32 probe, __u64 address, __u64 error_code, bool kernel)
{
	struct probe_counter *counter = probe_hit(probe);
	struct resolving *resolving;
	struct event *event;
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (!counter)
		return 0;
	resolving = bpf_task_storage_get(&resolving_tasks, bpf_get_current_task_btf(), 0, 0);
	if (resolving && !resolving->active)
		resolving = NULL;
	if (!resolving && !kind_single(EVENT_CPU_FAULT) && !bpf_map_lookup_elem(&pids, &pid)) {
		struct aggregate_key key = {
			.window = bpf_ktime_get_ns() / AGGREGATE_WINDOW_NS,
			.device = DEVICE_NONE,
			.pid = pid,
			.kind = EVENT_CPU_FAULT,
			.queue = QUEUE_NONE,
			.flags = access_flags(error_code, kernel),
		};

		aggregate_add(&key, 0, 0);
		return 0;
	}
	event = event_reserve(counter, EVENT_CPU_FAULT);
	if (!event)
		return 0;
	event->address = address;
	event->value = error_code;
	event->flags = access_flags(error_code, kernel);
	if (resolving) {
		event->device = resolving->device;
		event->pasid = resolving->pasid;
		event->group = resolving->group;
		event->instance = resolving->instance;
	}
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	return page_fault(PROBE_PAGE_FAULT_USER, address, error_code, false);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel, unsigned long address, struct pt_regs *regs,
	     unsigned long error_code)
{
	return page_fault(PROBE_PAGE_FAULT_KERNEL, address, error_code, true);
}
