/* SPDX-License-Identifier: GPL-2.0 */
/* What the objects that watch the kernel's I/O page fault core have in common. */
#ifndef FAULTLINE_IOPF_BPF_H
#define FAULTLINE_IOPF_BPF_H

#include "bpf/group.bpf.h"
#include "bpf/resolving.bpf.h"

/* The task's state if it is doing one of these things in the core. */
static __always_inline struct iopf_task *task_that(__u32 does)
{
	struct iopf_task *task = task_entry(&iopf_tasks, 0);

	return task && task->state & does ? task : NULL;
}

static __always_inline void describe_request(const struct iommu_fault *fault,
					     struct iommu_fault_page_request *prm)
{
	prm->flags = BPF_CORE_READ(fault, prm.flags);
	prm->pasid = prm->flags & IOPF_PASID_VALID ? BPF_CORE_READ(fault, prm.pasid) : PASID_NONE;
	prm->grpid = BPF_CORE_READ(fault, prm.grpid);
	prm->perm = BPF_CORE_READ(fault, prm.perm);
	prm->addr = BPF_CORE_READ(fault, prm.addr);
}

static __always_inline struct record group_record(struct probe_counter *counter, __u16 kind)
{
	struct record record = record_take(counter, kind);

	if (record.held)
		record.event->flags = EVENT_GROUP;
	return record;
}

/* The fault is over: its group leaves the account. */
static __always_inline void group_answered(struct probe_counter *counter, struct record record,
					   const struct group_key *key, __u32 instance, __u8 code)
{
	bpf_map_delete_elem(&groups, key);
	if (!record.held)
		return;
	event_of_fault(record.event, key, instance);
	record.event->code = code;
	record.event->flags |= EVENT_LAST;
	event_submit(counter, record.event);
}

/*
 * Emits once which process a PASID of a device means. The event's address and length are the
 * process's name, so that it is known when the process is gone.
 */
static __always_inline void pasid_means(struct probe_counter *counter, __u32 device, __u32 pasid,
					struct mm_struct *mm)
{
	struct pasid_key key = {.device = device, .pasid = pasid};
	struct pasid_meaning now = {.memory = (__u64)mm}, *before;
	struct task_struct *owner, *leader;
	struct event *event;

	if (!mm)
		return;
	owner = mm_owner(mm);
	if (owner)
		now.pid = BPF_CORE_READ(owner, tgid);
	before = bpf_map_lookup_elem(&pasids, &key);
	if (before && before->memory == now.memory && (before->pid == now.pid || !owner))
		return;
	bpf_map_update_elem(&pasids, &key, &now, BPF_ANY);
	bpf_map_update_elem(&bound_memory, &now.memory, &key, BPF_ANY);
	event = owner ? event_if_wanted(counter, EVENT_PASID_ATTACH) : NULL;
	if (!event)
		return;
	leader = BPF_CORE_READ(owner, group_leader);
	event->device = device;
	event->pasid = pasid;
	event->pid = now.pid;
	event->tid = now.pid;
	bpf_probe_read_kernel(&event->address, sizeof(leader->comm), &leader->comm);
	event_submit(counter, event);
}

#endif
