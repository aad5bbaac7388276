// SPDX-License-Identifier: GPL-2.0
/* Injections that QEMU carries out: each virtual machine has a thread, which tells it by its monitor what to do and what to undo. */
#include <errno.h>

#include "injectors/emu/thread.h"
#include "injectors/job/schedule_private.h"
#include "injectors/job/vms.h"
#include "lib/base/fail.h"

void schedule_vm_count(const struct schedule_vm *of, __u64 *total, __u64 more)
{
	pthread_mutex_lock(&of->worker->schedule->lock);
	*total += more;
	pthread_mutex_unlock(&of->worker->schedule->lock);
}

/* Undone also if the schedule was stopped: QEMU may go on. */
static int act_once(struct schedule_vm *of, const struct vm_action *action, __u64 end_ns)
{
	int err = action->begin(of);

	if (!err)
		err = action->hold(of, end_ns);
	return err ?: action->end(of);
}

static int act_again(struct schedule_vm *of, const struct vm_action *action, __u64 begin_ns,
		     __u64 end_ns)
{
	__u64 period_ns = of->worker->injection->job->period_ns;
	__u64 next_ns = begin_ns;
	int err = 0;

	while (!err && next_ns < end_ns && schedule_wait(of->worker->schedule, next_ns)) {
		__u64 half_ns = next_ns + period_ns / 2;

		err = act_once(of, action, half_ns < end_ns ? half_ns : end_ns);
		/* What took longer than its half has the next ones wait, and is not made up for. */
		next_ns += period_ns;
		if (next_ns < monotonic_ns())
			next_ns = monotonic_ns() + period_ns / 2;
	}
	return err;
}

void schedule_vm_run(struct worker *worker, __u64 begin_ns, __u64 end_ns,
		     const struct vm_action *action)
{
	const struct plan_injection *planned = worker->injection;
	__u32 tenant = planned->tenants[worker->first];
	struct schedule_vm of = {
		.worker = worker,
		.config = &worker->schedule->plan->machine.tenants[tenant],
		.monitor = vms_monitor(worker->schedule->vms, tenant),
	};
	int err = planned->job->period_ns ? act_again(&of, action, begin_ns, end_ns)
					  : act_once(&of, action, end_ns);

	/* Of a QEMU that has gone whoever waits for it tells how it ended. */
	if (err == -EPIPE)
		err = 0;
	if (!err && action->told)
		action->told(&of);
	if (!err)
		return;
	schedule_fail(worker->schedule, planned, err);
	vms_fail(worker->schedule->vms, tenant, err);
}

int schedule_vm_hold(struct schedule_vm *of, __u64 end_ns)
{
	schedule_wait(of->worker->schedule, end_ns);
	return 0;
}
