// SPDX-License-Identifier: GPL-2.0
/*
 * What the memory management did to bring a page, for a task that resolves a kernel path's I/O page
 * fault and for processes asked for. handle_mm_fault() is hot: for everyone else each program ends
 * after one look at the shared state.
 */
#include "bpf/kernel.h"

#include "bpf/page.h"
#include "bpf/resolving.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FAULT_FLAG_WRITE       0x001 /* include/linux/mm_types.h */
#define FAULT_FLAG_INSTRUCTION 0x100

TASK_STORAGE(mm_tasks, struct mm_task);

/* Whether this task may be of interest at all. */
static __always_inline bool any_interest(const struct capture_state *shared)
{
	return shared && (shared->resolvers || shared->pid);
}

static __always_inline struct resolving *resolving_kernel(void)
{
	struct resolving *resolving = resolving_now();

	return resolving && resolving_in_kernel(resolving->active) ? resolving : NULL;
}

/* The state of a task that is looked at and within handle_mm_fault(), else NULL. */
static __always_inline struct mm_task *within_mm_fault(void)
{
	struct mm_task *task = any_interest(shared_state()) ? task_entry(&mm_tasks, 0) : NULL;

	return task && task->since_ns ? task : NULL;
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(mm_fault, struct vm_area_struct *vma, unsigned long address, unsigned int flags)
{
	struct mm_task *task;

	if (!any_interest(shared_state()))
		return 0;
	if (!resolving_kernel() && !pid_wanted(bpf_get_current_pid_tgid() >> 32))
		return 0;
	if (!probe_hit(PROBE_MM_FAULT))
		return 0;
	task = task_entry_make(&mm_tasks);
	if (!task)
		return 0;
	/* A fault that let the lock go comes back for the same page: that is still the same. */
	if (!task->before_ns || (task->address ^ address) & ~(PAGE_BYTES - 1)) {
		task->before_ns = 0;
		task->met = 0;
		task->major = 0;
	}
	task->address = address;
	task->anonymous = !BPF_CORE_READ(vma, vm_ops);
	task->since_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u8 cause_of(const struct mm_task *task, __u32 result)
{
	const struct capture_state *shared = shared_state();

	if (task->met & (1u << MM_USERFAULTFD))
		return MM_USERFAULTFD;
	if (result & VM_FAULT_ERRORS)
		return MM_ERROR;
	for (__u32 cause = MM_SWAP; cause >= MM_COPY_ON_WRITE; cause--)
		if (task->met & (1u << cause))
			return cause;
	if (!task->anonymous)
		return MM_FILE;
	/* Where do_anonymous_page() cannot be seen, what met nothing else counts as anonymous. */
	return task->met & (1u << MM_ANONYMOUS) || !shared || !shared->sees_anonymous ? MM_ANONYMOUS
										      : MM_PRESENT;
}

static __always_inline void fill_mm_fault(struct event *event, const struct mm_task *task, __u64 ns,
					  __u8 cause)
{
	event->address = task->address;
	event->value = ns;
	event->code = cause;
	event->flags = task->major ? EVENT_MAJOR : 0;
}

static __always_inline void page_resolved(struct probe_counter *counter, const struct mm_task *task,
					  const struct resolving *resolving, __u64 ns, __u8 cause)
{
	struct event *event = event_if_wanted(counter, EVENT_FAULT_RESOLVED);

	if (!event)
		return;
	fill_mm_fault(event, task, ns, cause);
	event_of_resolving(event, resolving);
	event_submit(counter, event);
}

static __always_inline void process_fault(struct probe_counter *counter, const struct mm_task *task,
					  __u32 flags, __u64 ns, __u8 cause)
{
	struct event *event = event_if_wanted(counter, EVENT_MM_FAULT);

	if (!event)
		return;
	fill_mm_fault(event, task, ns, cause);
	if (flags & FAULT_FLAG_WRITE)
		event->flags |= EVENT_WRITE;
	else if (flags & FAULT_FLAG_INSTRUCTION)
		event->flags |= EVENT_EXEC;
	else
		event->flags |= EVENT_READ;
	event_submit(counter, event);
}

static __always_inline void sum_up(struct resolving *resolving, const struct mm_task *task,
				   __u64 ns, __u8 cause)
{
	resolving->mm_faults++;
	resolving->mm_ns += ns;
	resolving->mm_major |= task->major;
	if (resolving->mm_cause < cause)
		resolving->mm_cause = cause;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(mm_faulted, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	     struct pt_regs *regs, __u32 result)
{
	struct mm_task *task = within_mm_fault();
	struct probe_counter *counter;
	struct resolving *resolving;
	__u64 ns;
	__u8 cause;

	if (!task)
		return 0;
	ns = task->before_ns + bpf_ktime_get_ns() - task->since_ns;
	task->since_ns = 0;
	task->major |= !!(result & VM_FAULT_MAJOR);
	task->before_ns = 0;
	if (result & VM_FAULT_RETRY && !(result & VM_FAULT_ERRORS)) {
		task->before_ns = ns;
		return 0;
	}
	counter = probe_again(PROBE_MM_FAULT);
	if (!counter)
		return 0;
	cause = cause_of(task, result);
	resolving = resolving_kernel();
	if (!resolving) {
		process_fault(counter, task, flags, ns, cause);
		return 0;
	}
	sum_up(resolving, task, ns, cause);
	if (resolving->active == RESOLVING_IOPF)
		page_resolved(counter, task, resolving, ns, cause);
	return 0;
}

static __always_inline int met(__u32 probe, enum mm_cause cause)
{
	struct mm_task *task = within_mm_fault();

	if (task && probe_hit(probe))
		task->met |= 1u << cause;
	return 0;
}

#define MET(function, name, probe, cause) \
	SEC("fentry/" #function)          \
	int BPF_PROG(name)                \
	{                                 \
		return met(probe, cause); \
	}

MET(do_anonymous_page, mm_anonymous, PROBE_MM_ANONYMOUS, MM_ANONYMOUS)
MET(do_wp_page, mm_copy, PROBE_MM_COPY, MM_COPY_ON_WRITE)
MET(filemap_fault, mm_file, PROBE_MM_FILE, MM_FILE)
MET(hugetlb_fault, mm_hugetlb, PROBE_MM_HUGETLB, MM_HUGETLB)
MET(do_swap_page, mm_swap, PROBE_MM_SWAP, MM_SWAP)

SEC("fexit/do_huge_pmd_anonymous_page")
int BPF_PROG(mm_huge, void *vmf, __u32 result)
{
	return result & (VM_FAULT_FALLBACK | VM_FAULT_ERRORS) ? 0 : met(PROBE_MM_HUGE, MM_HUGE);
}

SEC("fentry/handle_userfault")
int BPF_PROG(mm_userfault)
{
	struct mm_task *task = within_mm_fault();

	if (!task || !probe_hit(PROBE_MM_USERFAULT))
		return 0;
	task->met |= 1u << MM_USERFAULTFD;
	task->wait_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/handle_userfault")
int BPF_PROG(mm_userfaulted)
{
	struct mm_task *task = within_mm_fault();
	struct probe_counter *counter = probe_again(PROBE_MM_USERFAULT);
	struct event *event;

	if (!task || !task->wait_ns || !counter)
		return 0;
	event = event_if_wanted(counter, EVENT_UFFD_WAIT);
	if (!event)
		return 0;
	event->address = task->address;
	event->value = event->time_ns - task->wait_ns;
	task->wait_ns = 0;
	event_of_resolving(event, resolving_kernel());
	event_submit(counter, event);
	return 0;
}
