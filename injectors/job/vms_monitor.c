// SPDX-License-Identifier: GPL-2.0
/* Monitors of virtual machines that are ours, where an injection needs one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "injectors/job/qemu_command.h"
#include "injectors/job/vm_monitor.h"
#include "injectors/job/vms_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* A busy QEMU is slow: its own start is part of it, and so is that it waits for what its devices have in flight. */
#define ANSWER_NS (120 * NSEC_PER_SEC)

void vm_monitor_want(const struct vms *vms, const struct vm *vm,
		     struct qemu_command_config *command)
{
	command->monitor = vm->tenant->vm.plug_bytes;
	for (__u32 i = 0; i < vms->plan->injection_count; i++) {
		const struct plan_injection *planned = &vms->plan->injections[i];

		for (__u32 t = 0; t < planned->tenant_count; t++) {
			if (planned->tenants[t] != vm->index)
				continue;
			command->monitor = true;
			command->balloon |= planned->job->kind == INJECTION_BALLOON;
		}
	}
}

int vm_monitor_open(struct vm *vm, int *theirs)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return failed(-errno, "virtual machine %s: its monitor: %s", vm->tenant->name,
			      strerror(errno));
	*theirs = ends[1];
	return vm_monitor_create(&vm->monitor, ends[0], vm->tenant->name, ANSWER_NS);
}

static struct vm *vm_of(struct vms *vms, __u32 tenant)
{
	struct vm *vm = vms->list;

	while (vm->index != tenant)
		vm++;
	return vm;
}

struct vm_monitor *vms_monitor(struct vms *vms, __u32 tenant)
{
	return vm_of(vms, tenant)->monitor;
}

void vms_fail(struct vms *vms, __u32 tenant, int error)
{
	struct vm *vm = vm_of(vms, tenant);

	pthread_mutex_lock(&vms->lock);
	if (!vm->error) {
		vm->error = error;
		snprintf(vm->sentence, sizeof(vm->sentence), "%s", failure_text());
	}
	pthread_mutex_unlock(&vms->lock);
}

int vm_injected(struct vms *vms, const struct vm *vm)
{
	int error;

	pthread_mutex_lock(&vms->lock);
	error = vm->error ? failed(-EIO, "%s", vm->sentence) : 0;
	pthread_mutex_unlock(&vms->lock);
	return error;
}
