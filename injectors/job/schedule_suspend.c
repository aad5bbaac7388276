// SPDX-License-Identifier: GPL-2.0
/* action=suspend: a virtual machine's CPUs stand still, as for a snapshot or a migration, and go on. */
#include "injectors/job/schedule_private.h"

static int suspend_begin(struct schedule_vm *of)
{
	return vm_monitor_execute(of->monitor, "stop", NULL, NULL);
}

static int suspend_end(struct schedule_vm *of)
{
	int err = vm_monitor_execute(of->monitor, "cont", NULL, NULL);

	if (!err)
		schedule_vm_count(of, &of->worker->schedule->totals.suspensions, 1);
	return err;
}

void schedule_suspend(struct worker *worker, __u64 begin_ns, __u64 end_ns)
{
	static const struct vm_action action = {
		.begin = suspend_begin, .hold = schedule_vm_hold, .end = suspend_end};

	schedule_vm_run(worker, begin_ns, end_ns, &action);
}
