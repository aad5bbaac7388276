// SPDX-License-Identifier: GPL-2.0
/* Memory that is plugged into a virtual machine of ours as it runs (plug =): a thread each, which waits for its time. */
#include <errno.h>
#include <jansson.h>

#include "bpf/page.h"
#include "injectors/emu/thread.h"
#include "injectors/job/vm_monitor.h"
#include "injectors/job/vms_private.h"
#include "lib/base/fail.h"

#define BACKEND "faultline-plugged"

/* A DIMM, for which the arguments have left a slot; its memory is known to the preloaded library as the first is. */
static int plug_in(const struct vm *vm)
{
	json_int_t bytes = (json_int_t)vm->tenant->vm.plug_bytes;
	int err = vm_monitor_execute(vm->monitor, "object-add",
				     json_pack("{s:s, s:s, s:I, s:b}", "qom-type",
					       "memory-backend-memfd", "id", BACKEND, "size", bytes,
					       "share", 1),
				     NULL);

	if (err)
		return err;
	return vm_monitor_execute(vm->monitor, "device_add",
				  json_pack("{s:s, s:s, s:s}", "driver", "pc-dimm", "id",
					    BACKEND "-dimm", "memdev", BACKEND),
				  NULL);
}

static bool plug_wait(struct vms *vms, __u64 time_ns)
{
	bool go_on;

	pthread_mutex_lock(&vms->lock);
	while (!vms->stopped && monotonic_ns() < time_ns)
		monotonic_cond_wait_until(&vms->stop, &vms->lock, time_ns);
	go_on = !vms->stopped;
	pthread_mutex_unlock(&vms->lock);
	return go_on;
}

static void *plug_main(void *argument)
{
	struct vm *vm = argument;
	int err;

	if (!plug_wait(vm->all, vm->begin_ns + vm->tenant->vm.plug_at_ns))
		return NULL;
	err = plug_in(vm);
	/* Of a QEMU that has gone whoever waits for it tells how it ended. */
	if (err && err != -EPIPE)
		vms_fail(vm->all, vm->index, failed_in(err, "plug"));
	vm->plugged = err ? 0 : vm->tenant->vm.plug_bytes >> PAGE_BITS;
	return NULL;
}

int vm_plug_begin(struct vm *vm)
{
	int err;

	if (!vm->tenant->vm.plug_bytes)
		return 0;
	err = thread_start(&vm->plugger, NULL, plug_main, vm, "plug");
	vm->plugging = !err;
	return err;
}

void vm_plug_end(struct vm *vm)
{
	pthread_mutex_lock(&vm->all->lock);
	vm->all->stopped = true;
	pthread_cond_broadcast(&vm->all->stop);
	pthread_mutex_unlock(&vm->all->lock);
	if (vm->plugging)
		pthread_join(vm->plugger, NULL);
	vm->plugging = false;
}
