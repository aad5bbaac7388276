// SPDX-License-Identifier: GPL-2.0
/*
 * Page requests in the IOMMU itself: the interrupt of VT-d's page request queue, the thread that
 * drains it, the response in the invalidation queue until the IOMMU has consumed it; AMD's log of
 * peripheral page requests and its completion command. No emulation raises these: they are known to
 * attach, and their fields are those of the specifications.
 */
#include "bpf/kernel.h"

#include "bpf/iopf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define IRQ_ONESHOT	    0x2000 /* IRQF_ONESHOT of include/linux/interrupt.h */
#define QI_PAGE_RESPONSE    9	   /* VT-d specification, invalidation descriptors: type */
#define QI_TYPE(low)	    ((low)&0xf)
#define QI_PASID(low)	    ((__u32)((low) >> 32) & ((1u << PASID_BITS) - 1))
#define QI_PASID_VALID(low) ((low) >> 4 & 1)
#define QI_GROUP(high)	    ((__u32)((high) >> 3) & 0x1ff)

/* When the queue of each interrupt number last interrupted. */
MAP(interrupts, LRU_HASH, 1024, __u32, __u64);

/* "dmar0-prq", "dmar12-prq" */
static __always_inline bool is_page_request_queue(const struct irqaction *action)
{
	char name[16] = {};
	long length;

	if (!(action->flags & IRQ_ONESHOT))
		return false;
	length = bpf_probe_read_kernel_str(name, sizeof(name), action->name) - 1;
	if (length < 5 || length > 15 || name[0] != 'd' || name[1] != 'm' || name[2] != 'a')
		return false;
	return name[(length - 3) & 15] == 'p' && name[(length - 2) & 15] == 'r' &&
	       name[(length - 1) & 15] == 'q';
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(prq_interrupt, int irq, struct irqaction *action)
{
	__u64 now;
	__u32 number = irq;

	if (!is_page_request_queue(action) || !probe_hit(PROBE_PRQ_INTERRUPT))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&interrupts, &number, &now, BPF_ANY);
	return 0;
}

static __always_inline void queue_drained_since(__u64 since_ns)
{
	struct iopf_task *task = task_entry_make(&iopf_tasks);

	if (task)
		task->interrupt_ns = since_ns;
	handler_register();
}

static __always_inline int queue_drained(void)
{
	struct iopf_task *task = task_entry(&iopf_tasks, 0);

	if (task)
		task->interrupt_ns = 0;
	return 0;
}

SEC("fentry/prq_event_thread")
int BPF_PROG(prq_thread, int irq)
{
	__u32 number = irq;
	__u64 *since;

	if (!probe_hit(PROBE_PRQ_THREAD))
		return 0;
	since = bpf_map_lookup_elem(&interrupts, &number);
	queue_drained_since(since ? *since : bpf_ktime_get_ns());
	return 0;
}

SEC("fexit/prq_event_thread")
int BPF_PROG(prq_thread_returns)
{
	return queue_drained();
}

/* The driver has passed one request on; only its count is of use: the report came before. */
SEC("tp_btf/prq_report")
int BPF_PROG(prq_report)
{
	probe_hit(PROBE_PRQ_REPORT);
	return 0;
}

SEC("tp_btf/qi_submit")
int BPF_PROG(prq_submit, void *iommu, __u64 low, __u64 high)
{
	struct iopf_task *task;

	if (QI_TYPE(low) != QI_PAGE_RESPONSE || !probe_hit(PROBE_PRQ_SUBMIT))
		return 0;
	task = task_that(IOPF_ANSWERS | IOPF_REPORTS);
	if (task && task->key.group == QI_GROUP(high) &&
	    (!QI_PASID_VALID(low) || task->key.pasid == QI_PASID(low)))
		task->submitted_ns = bpf_ktime_get_ns();
	return 0;
}

/* The group has its response in the IOMMU, which took so long to consume it. */
static __always_inline int delivered(__u32 probe)
{
	struct iopf_task *task = task_that(IOPF_ANSWERS | IOPF_REPORTS);
	struct probe_counter *counter;
	struct record record;

	if (!task || !task->submitted_ns)
		return 0;
	counter = probe_hit(probe);
	if (!counter)
		return 0;
	record = group_record(counter, EVENT_FAULT_DELIVERED);
	if (record.held) {
		event_of_fault(record.event, &task->key, task->instance);
		record.event->value = record.event->time_ns - task->submitted_ns;
		event_submit(counter, record.event);
	}
	task->submitted_ns = 0;
	return 0;
}

SEC("fexit/qi_submit_sync")
int BPF_PROG(prq_delivered)
{
	return delivered(PROBE_PRQ_DELIVERED);
}

SEC("fentry/amd_iommu_poll_ppr_log")
int BPF_PROG(ppr_thread)
{
	if (probe_hit(PROBE_PPR_THREAD))
		queue_drained_since(bpf_ktime_get_ns());
	return 0;
}

SEC("fexit/amd_iommu_poll_ppr_log")
int BPF_PROG(ppr_thread_returns)
{
	return queue_drained();
}

SEC("fentry/amd_iommu_complete_ppr")
int BPF_PROG(ppr_submit)
{
	struct iopf_task *task = task_that(IOPF_ANSWERS | IOPF_REPORTS);

	if (task)
		task->submitted_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/amd_iommu_complete_ppr")
int BPF_PROG(ppr_delivered)
{
	return delivered(PROBE_PPR_DELIVERED);
}
