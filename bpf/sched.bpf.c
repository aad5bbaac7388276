// SPDX-License-Identifier: GPL-2.0
/*
 * Wakeups and dispatches of fault handler threads: what part of the time between interrupt and
 * handler was spent waiting for a CPU. Other threads cost one look into their (absent) storage.
 */
#include "bpf/kernel.h"

#include "bpf/emit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void about_task(struct event *event, struct task_struct *task)
{
	event->pid = task->tgid;
	event->tid = task->pid;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	struct handler_thread *handler = bpf_task_storage_get(&handler_threads, task, 0, 0);
	struct probe_counter *counter;
	struct event *event;

	if (!handler)
		return 0;
	handler->woken_ns = bpf_ktime_get_ns();
	counter = probe_hit(PROBE_SCHED_WAKEUP);
	event = counter ? event_if_wanted(counter, EVENT_SCHED_WAKEUP) : NULL;
	if (!event)
		return 0;
	about_task(event, task);
	event_submit(counter, event);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *previous, struct task_struct *next)
{
	struct handler_thread *handler = bpf_task_storage_get(&handler_threads, next, 0, 0);
	struct probe_counter *counter;
	struct event *event;
	__u64 woken_ns;

	if (!handler || !handler->woken_ns)
		return 0;
	woken_ns = handler->woken_ns;
	handler->woken_ns = 0;
	counter = probe_hit(PROBE_SCHED_SWITCH);
	event = counter ? event_if_wanted(counter, EVENT_SCHED_RUN) : NULL;
	if (!event)
		return 0;
	event->value = event->time_ns - woken_ns;
	about_task(event, next);
	event_submit(counter, event);
	return 0;
}
