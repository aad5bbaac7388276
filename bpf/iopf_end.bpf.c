// SPDX-License-Identifier: GPL-2.0
/*
 * How page requests end in the kernel's own core: answered, freed without an answer, thrown away
 * with their device or because the hardware's queue overflowed.
 */
#include "bpf/kernel.h"

#include "bpf/iopf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u8 response_code(__u32 status)
{
	switch (status) {
	case 0: /* IOMMU_PAGE_RESP_SUCCESS, _INVALID, _FAILURE of include/linux/iommu.h */
		return RESPONSE_SUCCESS;
	case 1:
		return RESPONSE_INVALID;
	default:
		return RESPONSE_FAILURE;
	}
}

/* What is being looked for: the oldest group of a number that the kernel has objects for. */
struct oldest {
	struct group_key wanted, found;
	__u64 first_ns;
	__u32 instance;
};

static __always_inline bool same_number(const struct group_key *a, const struct group_key *b)
{
	return a->device == b->device && a->pasid == b->pasid && a->group == b->group;
}

static long is_older(void *map, const struct group_key *key, const struct group_state *group,
		     struct oldest *oldest)
{
	if (!same_number(key, &oldest->wanted) ||
	    (oldest->instance && group->first_ns >= oldest->first_ns))
		return 0;
	oldest->found = *key;
	oldest->first_ns = group->first_ns;
	oldest->instance = group->instance;
	return 0;
}

/*
 * The group of a response without an object: the one that this task resolves or reports, else by
 * its number, the oldest first, as the core itself looks for it. 0 if it was never seen.
 */
static __always_inline __u32 group_by_number(struct group_key *key)
{
	struct resolving *resolving = resolving_now();
	struct iopf_task *task = task_that(IOPF_REPORTS);
	struct oldest oldest = {.wanted = *key};
	struct group_state *group;

	if (resolving && resolving->active == RESOLVING_IOPF && same_number(&resolving->key, key)) {
		key->use = resolving->instance;
		return resolving->instance;
	}
	if (task && same_number(&task->key, key)) {
		*key = task->key;
		return task->instance;
	}
	group = bpf_map_lookup_elem(&groups, key);
	if (group)
		return group->instance;
	bpf_for_each_map_elem(&groups, is_older, &oldest, 0);
	if (oldest.instance)
		*key = oldest.found;
	return oldest.instance;
}

static __always_inline void task_answers(const struct group_key *key, __u32 instance)
{
	struct iopf_task *task = task_entry_make(&iopf_tasks);

	if (!task)
		return;
	/* Within a report that is being aborted these are the same. */
	task->key = *key;
	task->instance = instance;
	task->submitted_ns = 0;
	task->state |= IOPF_ANSWERS;
}

static __always_inline int response_returns(void)
{
	struct iopf_task *task = task_that(IOPF_ANSWERS);

	if (task)
		task->state &= ~IOPF_ANSWERS;
	return 0;
}

static __always_inline void response(struct probe_counter *counter, struct record record,
				     const struct group_key *key, __u32 instance, __u32 status)
{
	task_answers(key, instance);
	group_answered(counter, record, key, instance, response_code(status));
}

/*
 * To the group of this PASID and number, of which no object is known. One whose beginning nobody saw
 * gets an instance of its own: it is cut, not wrong.
 */
static __always_inline void response_by_number(struct probe_counter *counter, struct record record,
					       struct device *dev, struct group_key *key,
					       __u32 status)
{
	struct device_state *device = device_kept(counter, dev);
	__u32 instance;

	if (!device) {
		record_drop(record);
		return;
	}
	key->device = device->id;
	instance = group_by_number(key);
	response(counter, record, key, instance ? instance : instance_new(), status);
}

SEC("fentry/iopf_group_response")
int BPF_PROG(iopf_response, struct iopf_group *group, __u32 status)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_RESPONSE);
	struct list_head *pending = &group->pending_node;
	__u64 address = (__u64)group;
	struct iommu_fault_page_request prm;
	struct iopf_object *object;
	struct group_key key = {};
	struct record record;
	__u32 instance;

	if (!counter)
		return 0;
	object = bpf_map_lookup_elem(&iopf_objects, &address);
	/*
	 * Off the list of pending groups it has its answer: the core will not send another. Since 7.3
	 * it may also be in the hands of user space; that of a group seen before is its first answer.
	 */
	if (!object && BPF_CORE_READ(group, pending_node.next) == pending)
		return 0;
	record = group_record(counter, EVENT_FAULT_RESPONSE);
	if (object) {
		key = object->key;
		instance = object->instance;
		bpf_map_delete_elem(&iopf_objects, &address);
		response(counter, record, &key, instance, status);
		return 0;
	}
	describe_request(&group->last_fault.fault, &prm);
	key.pasid = prm.pasid;
	key.group = prm.grpid;
	response_by_number(counter, record, BPF_CORE_READ(group, fault_param, dev), &key, status);
	return 0;
}

SEC("fexit/iopf_group_response")
int BPF_PROG(iopf_responded)
{
	return response_returns();
}

SEC("fentry/iommu_page_response")
int BPF_PROG(iopf_response_6_1, struct device *dev, struct iommu_page_response *msg)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_RESPONSE);
	struct group_key key = {};

	if (!counter)
		return 0;
	key.pasid = BPF_CORE_READ(msg, pasid);
	key.group = BPF_CORE_READ(msg, grpid);
	response_by_number(counter, group_record(counter, EVENT_FAULT_RESPONSE), dev, &key,
			   BPF_CORE_READ(msg, code));
	return 0;
}

SEC("fexit/iommu_page_response")
int BPF_PROG(iopf_responded_6_1)
{
	return response_returns();
}

/*
 * A group that goes without having been answered: by its consumer, or because its device leaves,
 * which the core answers with INVALID before it frees the group.
 */
SEC("fentry/iopf_free_group")
int BPF_PROG(iopf_free, struct iopf_group *group)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_FREE);
	__u64 address = (__u64)group;
	struct iopf_object *object = bpf_map_lookup_elem(&iopf_objects, &address);
	struct group_state *state;
	struct group_key key;
	__u32 instance;

	if (!counter || !object)
		return 0;
	key = object->key;
	instance = object->instance;
	bpf_map_delete_elem(&iopf_objects, &address);
	state = bpf_map_lookup_elem(&groups, &key);
	if (!state)
		return 0;
	if (task_that(IOPF_REMOVES)) {
		group_answered(counter, group_record(counter, EVENT_FAULT_RESPONSE), &key, instance,
			       RESPONSE_INVALID);
		return 0;
	}
	group_unfinished(counter, &key, state, bpf_ktime_get_ns());
	bpf_map_delete_elem(&groups, &key);
	return 0;
}

/* Groups that still wait for their last request, of one device or of all on one fault queue. */
struct partial {
	struct probe_counter *counter;
	__u64 now;
	__u64 fault_queue; /* 0: any */
	__u32 device;	   /* DEVICE_NONE: any */
	__u32 dropped;
};

static long drop_partial(void *map, const struct group_key *key, const struct group_state *group,
			 struct partial *partial)
{
	struct group_key copy = *key;

	if (copy.use || (partial->device && copy.device != partial->device))
		return 0;
	if (partial->fault_queue &&
	    (group->fault_queue != partial->fault_queue || group->stages & GROUP_LAST))
		return 0;
	group_over(partial->counter, &copy, group, partial->now,
		   partial->fault_queue ? EVENT_FAULT_DISCARD : group->latest);
	bpf_map_delete_elem(&groups, &copy);
	partial->dropped++;
	return 0;
}

SEC("fentry/iopf_queue_remove_device")
int BPF_PROG(iopf_remove, struct iopf_queue *queue, struct device *dev)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_REMOVE);
	struct iopf_task *task = task_entry_make(&iopf_tasks);
	struct partial partial = {.counter = counter, .now = bpf_ktime_get_ns()};
	struct device_state *device;

	if (task)
		task->state |= IOPF_REMOVES;
	if (!counter)
		return 0;
	device = device_kept(counter, dev);
	if (!device)
		return 0;
	partial.device = device->id;
	bpf_for_each_map_elem(&groups, drop_partial, &partial, 0);
	return 0;
}

SEC("fexit/iopf_queue_remove_device")
int BPF_PROG(iopf_removed)
{
	struct iopf_task *task = task_that(IOPF_REMOVES);

	if (task)
		task->state &= ~IOPF_REMOVES;
	return 0;
}

SEC("fentry/iopf_queue_discard_partial")
int BPF_PROG(iopf_discard, struct iopf_queue *queue)
{
	struct probe_counter *counter = probe_hit(PROBE_IOPF_DISCARD);
	struct partial partial = {
		.counter = counter,
		.now = bpf_ktime_get_ns(),
		.fault_queue = (__u64)queue,
	};
	struct event *event;

	if (!counter)
		return 0;
	bpf_for_each_map_elem(&groups, drop_partial, &partial, 0);
	event = event_if_wanted(counter, EVENT_FAULT_DISCARD);
	if (!event)
		return 0;
	event->value = partial.dropped;
	event_submit(counter, event);
	return 0;
}
