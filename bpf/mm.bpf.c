// SPDX-License-Identifier: GPL-2.0
/*
 * CPU page faults: recorded one by one inside an I/O fault handler and for the processes asked for,
 * counted per second and process for everyone else. Memory that the host takes back or moves, which
 * devices then miss: likewise, one by one if it is a device's by a PASID.
 */
#include "bpf/kernel.h"

#include "bpf/page.h"
#include "bpf/resolving.bpf.h"

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
	struct resolving *resolving = resolving_now();
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct event *event;

	if (!counter)
		return 0;
	if (!resolving && !pid_wanted(pid)) {
		struct aggregate_key key = {
			.device = DEVICE_NONE,
			.pid = pid,
			.kind = EVENT_CPU_FAULT,
			.queue = QUEUE_NONE,
			.flags = access_flags(error_code, kernel),
		};

		aggregate_now(&key, 0, 0);
		return 0;
	}
	event = event_reserve(counter, EVENT_CPU_FAULT);
	if (!event)
		return 0;
	event->address = address;
	event->value = error_code;
	event->flags = access_flags(error_code, kernel);
	event_of_resolving(event, resolving);
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

/* Something of a process's memory: counted per second and process unless asked for one by one. */
static __always_inline struct event *process_event(struct probe_counter *counter, __u16 kind,
						   __u32 pid, __u8 code, __u64 bytes,
						   __u64 latency_ns)
{
	struct aggregate_key key = {.pid = pid, .kind = kind, .queue = QUEUE_NONE, .code = code};
	struct event *event = event_or_count(counter, &key, bytes, latency_ns);

	if (event)
		event->pid = pid;
	return event;
}

static __always_inline struct event *task_event(struct probe_counter *counter, __u16 kind,
						__u8 code, __u64 bytes, __u64 latency_ns)
{
	return process_event(counter, kind, bpf_get_current_pid_tgid() >> 32, code, bytes,
			     latency_ns);
}

/* Emitted one by one for memory that a device reaches by a PASID, whoever takes it. */
static __always_inline struct event *memory_event(struct probe_counter *counter, __u16 kind,
						  struct mm_struct *mm, __u8 code, __u64 bytes)
{
	__u64 memory = (__u64)mm;
	struct pasid_key *bound = bpf_map_lookup_elem(&bound_memory, &memory);
	struct task_struct *owner = mm_owner(mm);
	__u32 pid = owner ? BPF_CORE_READ(owner, tgid) : 0;
	struct event *event;

	if (!bound)
		return process_event(counter, kind, pid, code, bytes, 0);
	event = event_if_wanted(counter, kind);
	if (event) {
		event->pid = pid;
		event->code = code;
		event->device = bound->device;
		event->pasid = bound->pasid;
	}
	return event;
}

/* Called only for memory that somebody watches: KVM, VFIO, RDMA, a device's PASID. */
SEC("fentry/__mmu_notifier_invalidate_range_start")
int BPF_PROG(mm_invalidate, struct mmu_notifier_range *range)
{
	struct probe_counter *counter = probe_hit(PROBE_MM_INVALIDATE);
	__u64 start, bytes;
	struct event *event;

	if (!counter)
		return 0;
	start = BPF_CORE_READ(range, start);
	bytes = BPF_CORE_READ(range, end) - start;
	event = memory_event(counter, EVENT_MM_INVALIDATE, BPF_CORE_READ(range, mm),
			     BPF_CORE_READ(range, event), bytes);
	if (!event)
		return 0;
	event->address = start;
	event->length = bytes;
	event_submit(counter, event);
	return 0;
}

TASK_STORAGE(reclaim_since, __u64);

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int mm_reclaim_begin(void *ctx)
{
	__u64 *since = capture_running() ? task_entry_make(&reclaim_since) : NULL;

	if (since)
		*since = bpf_ktime_get_ns();
	return 0;
}

/* Within the resolution of a device's fault it is an event of that fault, else counted. */
SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(mm_reclaim_end, unsigned long pages)
{
	struct probe_counter *counter = probe_hit(PROBE_MM_RECLAIM);
	__u64 *since = task_entry(&reclaim_since, 0);
	struct resolving *resolving = resolving_now();
	struct event *event;
	__u64 ns;

	if (!counter || !since || !*since)
		return 0;
	ns = bpf_ktime_get_ns() - *since;
	*since = 0;
	if (resolving && kind_wanted(EVENT_MM_RECLAIM))
		event = event_reserve(counter, EVENT_MM_RECLAIM);
	else
		event = task_event(counter, EVENT_MM_RECLAIM, 0, pages * PAGE_BYTES, ns);
	if (!event)
		return 0;
	event->value = ns;
	event->length = pages * PAGE_BYTES;
	event_of_resolving(event, resolving);
	event_submit(counter, event);
	return 0;
}

static __always_inline int migrated(unsigned long pages, __u8 reason)
{
	struct probe_counter *counter = probe_hit(PROBE_MM_MIGRATE);
	struct event *event;

	if (!counter)
		return 0;
	event = task_event(counter, EVENT_MM_MIGRATE, reason, pages * PAGE_BYTES, 0);
	if (!event)
		return 0;
	event->value = pages;
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/mm_migrate_pages")
int BPF_PROG(mm_migrate, unsigned long succeeded, unsigned long failed, unsigned long thp_succeeded,
	     unsigned long thp_failed, unsigned long thp_split, unsigned long large_split, int mode,
	     int reason)
{
	return migrated(succeeded, reason);
}

/* Until 6.6 */
SEC("tp_btf/mm_migrate_pages")
int BPF_PROG(mm_migrate_before, unsigned long succeeded, unsigned long failed,
	     unsigned long thp_succeeded, unsigned long thp_failed, unsigned long thp_split,
	     int mode, int reason)
{
	return migrated(succeeded, reason);
}

SEC("tp_btf/mm_collapse_huge_page")
int BPF_PROG(mm_collapse, struct mm_struct *mm, int isolated, int status)
{
	struct probe_counter *counter = probe_hit(PROBE_MM_COLLAPSE);
	struct event *event;

	if (!counter)
		return 0;
	event = memory_event(counter, EVENT_MM_COLLAPSE, mm, status, 0);
	if (event)
		event_submit(counter, event);
	return 0;
}

SEC("tp_btf/kvm_unmap_hva_range")
int BPF_PROG(kvm_unmap, unsigned long start, unsigned long end)
{
	struct probe_counter *counter = probe_hit(PROBE_KVM_UNMAP);
	struct event *event;

	if (!counter)
		return 0;
	event = task_event(counter, EVENT_KVM_UNMAP, 0, end - start, 0);
	if (!event)
		return 0;
	event->address = start;
	event->length = end - start;
	event_submit(counter, event);
	return 0;
}
