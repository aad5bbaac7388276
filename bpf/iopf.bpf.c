// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a page request in the kernel's own core: reported by the IOMMU's driver, handed to a
 * consumer, handled by a worker, answered.
 *
 * Devices reuse group numbers, and several groups of one number can be in flight: once the core
 * has built a group, its struct iopf_group identifies the one that is meant, on whatever thread.
 */
#include "bpf/kernel.h"
#include "bpf/page.h"

#include "bpf/iopf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EINVAL 22

static __always_inline __u8 request_flags(const struct iommu_fault_page_request *prm)
{
	__u8 flags = 0;

	if (prm->perm & IOPF_READ)
		flags |= EVENT_READ;
	if (prm->perm & IOPF_WRITE)
		flags |= EVENT_WRITE;
	if (prm->perm & IOPF_EXEC)
		flags |= EVENT_EXEC;
	if (prm->perm & IOPF_PRIV)
		flags |= EVENT_PRIV;
	if (prm->flags & IOPF_LAST_PAGE)
		flags |= EVENT_LAST;
	return flags;
}

static __always_inline __u64 fault_queue_of(struct device *dev)
{
	struct dev_iommu *iommu = BPF_CORE_READ(dev, iommu);
	struct dev_iommu___6_1 *before = (void *)iommu;

	if (bpf_core_field_exists(struct iommu_fault_param, queue))
		return (__u64)BPF_CORE_READ(iommu, fault_param, queue);
	if (bpf_core_field_exists(before->iopf_param))
		return (__u64)BPF_CORE_READ(before, iopf_param, queue);
	return 0;
}

/* The group's entry under its number: the one begun by earlier requests, else a new one. */
static __always_inline struct group_state *group_reported(struct probe_counter *counter,
							  const struct group_key *key,
							  struct device *dev, __u64 address)
{
	struct group_state *group = bpf_map_lookup_elem(&groups, key);
	struct group_state fresh = {.queue = QUEUE_NONE};

	if (group && !(group->stages & GROUP_LAST))
		return group;
	fresh.first_ns = bpf_ktime_get_ns();
	if (group) {
		group_unfinished(counter, key, group, fresh.first_ns);
		bpf_map_delete_elem(&groups, key);
	}
	fresh.address = address;
	fresh.fault_queue = fault_queue_of(dev);
	return group_open(key, &fresh);
}

/* Remembers in the task what it reports, for what the core does before it returns. */
static __always_inline void task_reports(const struct group_key *key, __u32 instance,
					 struct device *dev, __u64 address)
{
	struct capture_state *shared = shared_state();
	struct iopf_task *task = task_entry_make(&iopf_tasks);

	if (!task || !shared)
		return;
	task->key = *key;
	task->instance = instance;
	task->device = (__u64)dev;
	task->address = address;
	task->state |= IOPF_REPORTS;
	shared->iopf = 1;
	__sync_fetch_and_add(&shared->reporting, 1);
}

SEC("fentry/iommu_report_device_fault")
int BPF_PROG(iopf_report, struct device *dev, struct iommu_fault *fault)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_REPORT);
	struct iommu_fault_page_request prm;
	struct group_key key = {};
	struct device_state *device;
	struct group_state *group;
	struct iopf_task *task;
	struct record record;
	struct event *event;

	if (!counter)
		return 0;
	record = record_take(counter, EVENT_FAULT_ISR);
	device = device_kept(counter, dev);
	if (!device) {
		record_drop(record);
		return 0;
	}
	describe_request(fault, &prm);
	key.device = device->id;
	key.pasid = prm.pasid;
	key.group = prm.grpid;
	group = group_reported(counter, &key, dev, prm.addr);
	if (!group) {
		record_drop(record);
		return 0;
	}
	/* Not atomic: a device's requests are reported one after the other, by its IOMMU's own thread. */
	group->latest = EVENT_FAULT_ISR;
	group->stages |= GROUP_STAGE(EVENT_FAULT_ISR);
	if (prm.flags & IOPF_LAST_PAGE)
		group->stages |= GROUP_LAST;
	task_reports(&key, group->instance, dev, prm.addr);
	if (!record.held)
		return 0;
	event = record.event;
	event_of_fault(event, &key, group->instance);
	event->address = prm.addr;
	event->length = PAGE_BYTES;
	event->flags = request_flags(&prm);
	task = task_entry(&iopf_tasks, 0);
	if (task && task->interrupt_ns && task->interrupt_ns < event->time_ns)
		event->value = event->time_ns - task->interrupt_ns;
	event_submit(counter, event);
	return 0;
}

/*
 * A report that failed was answered with INVALID: by the core inside, on 6.1 by the driver. A request
 * that is not its group's last and found no memory is not answered at all.
 */
SEC("fexit/iommu_report_device_fault")
int BPF_PROG(iopf_reported, struct device *dev, void *fault, int error)
{
	struct probe_counter *counter = probe_again(PROBE_IOPF_REPORT);
	struct capture_state *shared = shared_state();
	struct iopf_task *task = task_that(IOPF_REPORTS);
	struct group_state *group;
	struct group_key key;

	if (!task || !shared)
		return 0;
	task->state &= ~IOPF_REPORTS;
	__sync_fetch_and_sub(&shared->reporting, 1);
	if (!counter || error >= 0)
		return 0;
	key = task->key;
	group = bpf_map_lookup_elem(&groups, &key);
	if (group && (error == -EINVAL || group->stages & GROUP_LAST))
		group_answered(counter, group_record(counter, EVENT_FAULT_RESPONSE), &key,
			       task->instance, RESPONSE_INVALID);
	return 0;
}

static __always_inline __u8 consumer_of(struct iopf_group *group, struct mm_struct **mm)
{
	struct iommu_domain *domain;

	if (!bpf_core_field_exists(group->attach_handle))
		return CONSUMER_SVA; /* the core of 6.1 has no other */
	domain = BPF_CORE_READ(group, attach_handle, domain);
	if (!(BPF_CORE_READ(domain, type) & IOMMU_DOMAIN_TYPE_SVA))
		return CONSUMER_OTHER;
	*mm = BPF_CORE_READ(domain, mm);
	return CONSUMER_SVA;
}

/* From now on the kernel's object names the group: its number is free for the next. */
static __always_inline bool group_moves(struct iopf_task *task, __u64 object)
{
	struct iopf_object entry = {.key = task->key, .instance = task->instance};
	struct group_state *group = bpf_map_lookup_elem(&groups, &task->key);
	struct group_key before = task->key;
	struct group_state moved;

	if (!group)
		return false;
	group->latest = EVENT_FAULT_QUEUED;
	moved = *group;
	entry.key.use = task->instance;
	if (bpf_map_update_elem(&groups, &entry.key, &moved, BPF_NOEXIST) ||
	    bpf_map_update_elem(&iopf_objects, &object, &entry, BPF_ANY)) {
		bpf_map_delete_elem(&groups, &entry.key);
		state_failed();
		return false;
	}
	bpf_map_delete_elem(&groups, &before);
	task->key = entry.key;
	return true;
}

static __always_inline void group_queued(struct probe_counter *counter, struct iopf_task *task,
					 struct iopf_group *group, __u8 consumer)
{
	struct record record = group_record(counter, EVENT_FAULT_QUEUED);
	struct mm_struct *mm = NULL;
	__u8 known = consumer_of(group, &mm);

	group_moves(task, (__u64)group);
	if (record.held) {
		event_of_fault(record.event, &task->key, task->instance);
		record.event->address = task->address;
		record.event->code = consumer ? consumer : known;
		event_submit(counter, record.event);
	}
	pasid_means(counter, task->key.device, task->key.pasid, mm);
}

/* Whether this is the group that the task is reporting, whatever the consumer. */
static __always_inline bool is_reported(const struct iopf_task *task, struct iopf_group *group)
{
	struct iopf_group___6_1 *before = (void *)group;
	struct device *dev = NULL;

	if (bpf_core_field_exists(group->fault_param))
		dev = BPF_CORE_READ(group, fault_param, dev);
	else if (bpf_core_field_exists(before->dev))
		dev = BPF_CORE_READ(before, dev);
	return (__u64)dev == task->device &&
	       BPF_CORE_READ(group, last_fault.fault.prm.grpid) == task->key.group &&
	       BPF_CORE_READ(group, last_fault.fault.prm.addr) == task->address;
}

static __always_inline struct iopf_group *group_of_work(struct work_struct *work)
{
	if (!bpf_core_type_exists(struct iopf_group))
		return NULL;
	return (void *)work - bpf_core_field_offset(struct iopf_group, work);
}

/* Any work that is queued while its task reports and that belongs to the very group. */
SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(iopf_queued, int cpu, void *pool, struct work_struct *work)
{
	struct capture_state *shared = shared_state();
	struct iopf_group *group;
	struct probe_counter *counter;
	struct iopf_task *task;

	if (!shared || !shared->reporting)
		return 0;
	task = task_that(IOPF_REPORTS);
	group = group_of_work(work);
	if (!task || !group || !is_reported(task, group))
		return 0;
	counter = probe_hit(PROBE_IOPF_QUEUED);
	if (counter)
		group_queued(counter, task, group, CONSUMER_UNKNOWN);
	return 0;
}

SEC("fentry/iommufd_fault_iopf_handler")
int BPF_PROG(iopf_queued_iommufd, struct iopf_group *group)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_QUEUED_IOMMUFD);
	struct iopf_task *task = task_that(IOPF_REPORTS);

	if (counter && task)
		group_queued(counter, task, group, CONSUMER_IOMMUFD);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(iopf_handler, struct work_struct *work)
{
	struct capture_state *shared = shared_state();
	struct probe_counter *counter;
	struct iopf_object *object;
	struct group_state *group;
	struct record record;
	__u64 address;

	if (!shared || !shared->iopf)
		return 0;
	address = (__u64)group_of_work(work);
	object = bpf_map_lookup_elem(&iopf_objects, &address);
	if (!object)
		return 0;
	counter = probe_hit(PROBE_IOPF_HANDLER);
	if (!counter)
		return 0;
	record = group_record(counter, EVENT_FAULT_HANDLER);
	group = bpf_map_lookup_elem(&groups, &object->key);
	if (group)
		group->latest = EVENT_FAULT_HANDLER;
	resolving_begin(RESOLVING_IOPF, &object->key, object->instance);
	if (record.held) {
		event_of_fault(record.event, &object->key, object->instance);
		event_submit(counter, record.event);
	}
	return 0;
}

/* The core of 6.1 frees a group when its work is done and has no function for that to probe. */
static __always_inline void group_freed_with_work(struct work_struct *work)
{
	struct resolving *resolving = resolving_now();
	__u64 address = (__u64)group_of_work(work);
	struct iopf_object *object;

	if (bpf_core_field_exists(struct iopf_group, fault_param) || !resolving)
		return;
	/* Its memory may already be the next group's. */
	object = bpf_map_lookup_elem(&iopf_objects, &address);
	if (object && object->instance == resolving->instance)
		bpf_map_delete_elem(&iopf_objects, &address);
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(iopf_handled, struct work_struct *work)
{
	struct capture_state *shared = shared_state();

	if (!shared || !shared->iopf)
		return 0;
	group_freed_with_work(work);
	resolving_end(RESOLVING_IOPF);
	return 0;
}
