// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/vms_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/vm/arguments.h"
#include "injectors/emu/vm/handover.h"
#include "injectors/job/guardian.h"
#include "injectors/job/preload_library.h"
#include "injectors/job/qemu_command.h"
#include "injectors/job/vm_monitor.h"
#include "injectors/job/vm_process.h"
#include "injectors/vm/handover.h"
#include "lib/base/clock.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"

#define LOOK_NS	  (20 * NSEC_PER_MSEC)
#define GRACE_NS  (2 * NSEC_PER_SEC)	/* for QEMU to end by SIGTERM */
#define ENDING_NS (500 * NSEC_PER_MSEC) /* until one that says that it ends is told once more */

static int open_vm(struct vms *vms, struct vm *vm)
{
	struct program_words words;
	char *argv[PROGRAM_WORDS + 1];
	const char *program;
	unsigned int first;
	struct stat status;
	int err;

	vm->console = vm_console_create(vm->tenant->name, vms->log);
	if (!vm->console)
		return failed(-ENOMEM, "no memory for the console of %s", vm->tenant->name);
	vm->foreign = !*vm->tenant->vm.arguments;
	if (vm->foreign)
		return 0;
	err = qemu_words_split(vm->tenant, &words, argv, &program, &first);
	if (!err && !command_search(program, vm->path, &status))
		err = failed(-ENOENT, "%s: no such program", program);
	return err;
}

/* Like a truth log it replaces nothing. */
static int open_console_log(struct vms *vms, const char *path)
{
	if (!path)
		return 0;
	vms->log = fopen(path, "wxe");
	if (!vms->log)
		return failed(-errno, "%s: %s", path, strerror(errno));
	setvbuf(vms->log, NULL, _IOLBF, 0); /* somebody may follow it */
	return 0;
}

int vms_open(struct vms **vms, const struct plan *plan, const char *log)
{
	const struct machine_config *machine = &plan->machine;
	struct vms *opened;
	__u32 count = 0;
	int err;

	*vms = NULL;
	for (__u32 t = 0; t < machine->tenant_count; t++)
		count += machine->tenants[t].backend == MEMORY_VM;
	if (!count)
		return 0;
	opened = calloc(1, sizeof(*opened) + count * sizeof(opened->list[0]));
	if (!opened)
		return failed(-ENOMEM, "no memory for %u virtual machines", count);
	for (__u32 t = 0; t < machine->tenant_count; t++)
		if (machine->tenants[t].backend == MEMORY_VM)
			opened->list[opened->count++] = (struct vm){
				.tenant = &machine->tenants[t], .index = t, .all = opened};
	pthread_mutex_init(&opened->lock, NULL);
	monotonic_cond_init(&opened->stop);
	opened->plan = plan;
	opened->config = machine;
	opened->sockets = calloc(machine->device_count, sizeof(*opened->sockets));
	err = opened->sockets ? open_console_log(opened, log)
			      : failed(-ENOMEM, "no memory for sockets");
	if (!err)
		err = preload_library_find(VM_LIBRARY_NAME, "virtual machines", opened->library);
	for (__u32 i = 0; !err && i < count; i++)
		err = open_vm(opened, &opened->list[i]);
	if (err)
		vms_close(opened);
	else
		*vms = opened;
	return err;
}

static void say_kvm(const struct vm *vm)
{
	fprintf(stderr,
		"virtual machine %s: runs under KVM, with which nothing of this has been tried (docs/vm.md)\n",
		printable_of(vm->tenant->name).text);
}

/* Whether some of their devices go and come back. */
static bool vms_reconnect(const struct vms *vms)
{
	for (__u32 i = 0; i < vms->plan->injection_count; i++)
		if (vms->plan->injections[i].job->kind == INJECTION_DEVICE_RESTART)
			return true;
	return false;
}

/* Forked, held and known. */
static int meet_own(struct vms *vms, struct vm *vm)
{
	struct qemu_command_config wanted = {.machine = vms->config,
					     .tenant = vm->index,
					     .sockets = vms->sockets,
					     .console = true,
					     .reconnect = vms_reconnect(vms)};
	struct vm_process_config process = {
		.name = vm->tenant->name,
		.path = vm->path,
		.library = vms->library,
		.socket = machine_vm_socket(vms->machine, vm->index),
		.cpus = vm->tenant->cpus,
		.console = vm->console,
	};
	struct vm_arguments said;
	int err;

	vm_monitor_want(vms, vm, &wanted);
	err = qemu_command_build(&vm->command, &wanted);
	if (!err)
		err = vm_arguments_check((const char *const *)vm->command->argv + 1,
					 vm->command->count - 1, &said);
	if (err)
		return err;
	process.argv = vm->command->argv;
	if (wanted.monitor)
		err = vm_monitor_open(vm, &process.monitor);
	if (!err)
		err = vm_process_hold(&vm->process, &process);
	if (process.monitor)
		close(process.monitor);
	if (err)
		return err;
	machine_vm_process(vms->machine, vm->index, said.name, vm_process_pid(vm->process));
	if (said.kvm)
		say_kvm(vm);
	return 0;
}

static int meet_foreign(struct vms *vms, struct vm *vm, __u64 timeout_ns,
			const volatile sig_atomic_t *stop)
{
	const char *socket = machine_vm_socket(vms->machine, vm->index);
	__u64 begin_ns = monotonic_ns();
	struct vm_status status;
	char text[UNITS_TEXT];

	machine_vm_status(vms->machine, vm->index, &status);
	if (status.state == VM_AWAITED)
		fprintf(stderr,
			"tenant %s: waits for a virtual machine at %s; `faultline-inject vm "
			"--print-arguments` prints the line that starts one\n",
			printable_of(vm->tenant->name).text, printable_of(socket).text);
	while (status.state == VM_AWAITED) {
		if (*stop)
			return -EINTR;
		if (monotonic_ns() - begin_ns >= timeout_ns)
			return failed(
				-ETIMEDOUT,
				"tenant %s: no virtual machine came to %s in %s; accepted: one that "
				"is started with the line of `faultline-inject vm "
				"--print-arguments`, or a longer machine.timeout",
				vm->tenant->name, socket, units_format_duration(timeout_ns, text));
		sleep_until(monotonic_ns() + LOOK_NS);
		machine_vm_status(vms->machine, vm->index, &status);
	}
	if (status.state != VM_RUNS)
		return failed(-ECONNREFUSED, "%s", status.sentence);
	vm->begin_ns = monotonic_ns();
	machine_vm_process(vms->machine, vm->index, status.name, status.pid);
	if (status.kvm)
		say_kvm(vm);
	return 0;
}

int vms_meet(struct vms *vms, struct machine *machine, __u64 timeout_ns,
	     const volatile sig_atomic_t *stop)
{
	int err = 0;

	if (!vms)
		return 0;
	vms->machine = machine;
	for (__u32 d = 0; d < vms->config->device_count; d++)
		vms->sockets[d] = machine_device_socket(machine, d);
	for (__u32 i = 0; !err && i < vms->count; i++)
		if (!vms->list[i].foreign)
			err = meet_own(vms, &vms->list[i]);
	for (__u32 i = 0; !err && i < vms->count; i++)
		if (vms->list[i].foreign)
			err = meet_foreign(vms, &vms->list[i], timeout_ns, stop);
	return err;
}

int vms_begin(struct vms *vms)
{
	int err = 0;

	for (__u32 i = 0; vms && !err && i < vms->count; i++) {
		if (vms->list[i].foreign)
			continue;
		vms->list[i].begin_ns = monotonic_ns();
		err = vm_process_go(vms->list[i].process) ?: vm_plug_begin(&vms->list[i]);
	}
	return err;
}

static int vm_failed(const struct vms *vms, const struct vm *vm, int status)
{
	const char *error = vm_console_error(vm->console), *last = vm_console_last(vm->console);
	struct vm_status seen;
	char how[64];

	machine_vm_status(vms->machine, vm->index, &seen);
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "RT");
	else
		snprintf(how, sizeof(how), "with status %d", WEXITSTATUS(status));
	return failed(-EIO, "tenant %s: QEMU %s (process %d) ended %s%s%.300s%s%.200s",
		      vm->tenant->name, *seen.name ? seen.name : vm->tenant->name,
		      (int)vm_process_pid(vm->process), how, *error ? ": " : "", error,
		      *last ? "; its guest's last line: " : "", last);
}

static void vm_end(struct vm *vm, bool by_itself)
{
	vm->end_ns = monotonic_ns();
	vm->by_itself = by_itself;
}

/*
 * A QEMU 7.2 that ends while a command of its monitor is under way may wait for ever in monitor_cleanup(), for an event that no loop of its
 * looks for any more. A signal has it look; its exit status is that of its guest's end all the same.
 */
static void look_at_end(struct vm *vm)
{
	__u64 ends_ns = vm->monitor ? vm_monitor_ends_ns(vm->monitor) : 0;

	if (ends_ns && monotonic_ns() > ends_ns + ENDING_NS)
		kill(vm_process_pid(vm->process), SIGTERM);
}

/* 0: it has ended; -ETIMEDOUT: it runs; else it has failed. */
static int look_at_own(const struct vms *vms, struct vm *vm)
{
	struct vm_status seen;
	int status;

	if (vm_process_wait(vm->process, 0, &status)) {
		look_at_end(vm);
		return -ETIMEDOUT;
	}
	vm_end(vm, true);
	if (status)
		return vm_failed(vms, vm, status);
	machine_vm_status(vms->machine, vm->index, &seen);
	if (seen.state != VM_AWAITED)
		return 0;
	return failed(
		-EIO,
		"the QEMU of tenant %s ended before it had asked for its guest's memory%s%.300s",
		vm->tenant->name, *vm_console_error(vm->console) ? ": " : "",
		vm_console_error(vm->console));
}

static int look_at_foreign(const struct vms *vms, struct vm *vm)
{
	struct vm_status seen;

	machine_vm_status(vms->machine, vm->index, &seen);
	if (seen.state == VM_RUNS)
		return -ETIMEDOUT;
	/* Why it has, a stranger's process does not tell: powered off, or killed. */
	fprintf(stderr, "%s\n", seen.sentence);
	vm_end(vm, true);
	return 0;
}

static int vm_look(struct vms *vms, struct vm *vm)
{
	__u64 duration_ns = vm->tenant->vm.duration_ns;
	int err = vm->foreign ? look_at_foreign(vms, vm) : look_at_own(vms, vm);

	if (err == -ETIMEDOUT)
		err = vm_injected(vms, vm) ?: err;
	if (err != -ETIMEDOUT || !duration_ns || monotonic_ns() - vm->begin_ns < duration_ns)
		return err;
	/* Somebody else's goes on, until the machine ends. */
	if (!vm->foreign)
		vm_process_stop(vm->process, GRACE_NS);
	vm_end(vm, false);
	return 0;
}

int vms_look(struct vms *vms)
{
	int running = 0;

	for (__u32 i = 0; vms && i < vms->count; i++) {
		int err = vms->list[i].end_ns ? 0 : vm_look(vms, &vms->list[i]);

		if (err && err != -ETIMEDOUT)
			return err;
		running |= err;
	}
	return running;
}

int vms_too_long(const struct vms *vms, __u64 timeout_ns)
{
	char text[UNITS_TEXT];
	const struct vm *vm = vms->list;

	while (vm->end_ns)
		vm++;
	return failed(
		-ETIMEDOUT,
		"the guest of tenant %s has not powered off after %s; accepted: one that does, a "
		"tenant's duration=, or a longer machine.timeout",
		vm->tenant->name, units_format_duration(timeout_ns, text));
}

/* Somebody else's has no console of ours: whether its guest has begun nobody knows. */
bool vms_begun(struct vms *vms)
{
	for (__u32 i = 0; vms && i < vms->count; i++)
		if (vms->list[i].foreign || !vm_process_begun(vms->list[i].process))
			return false;
	return vms;
}

void vms_stop(struct vms *vms)
{
	for (__u32 i = 0; vms && i < vms->count; i++) {
		if (vms->list[i].process)
			vm_process_stop(vms->list[i].process, guardian_gone() ? 0 : GRACE_NS);
		vm_plug_end(&vms->list[i]);
		if (vms->list[i].begin_ns && !vms->list[i].end_ns)
			vm_end(&vms->list[i], false);
	}
}

void vms_close(struct vms *vms)
{
	if (!vms)
		return;
	for (__u32 i = 0; i < vms->count; i++) {
		vm_process_free(vms->list[i].process);
		vm_monitor_destroy(vms->list[i].monitor);
		vm_console_destroy(vms->list[i].console);
		qemu_command_free(vms->list[i].command);
	}
	if (vms->log)
		fclose(vms->log);
	pthread_cond_destroy(&vms->stop);
	pthread_mutex_destroy(&vms->lock);
	free(vms->sockets);
	free(vms);
}
