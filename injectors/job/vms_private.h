/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Virtual machines of a plan from the inside.
 *
 *	vms.c		started, waited for, ended
 *	vms_monitor.c	what injections have QEMU do to them
 *	vms_plug.c	memory that is plugged in
 *	vms_outcome.c	what they have come to
 */
#ifndef FAULTLINE_JOB_VMS_PRIVATE_H
#define FAULTLINE_JOB_VMS_PRIVATE_H

#include <limits.h>
#include <pthread.h>

#include "injectors/job/vms.h"

struct vm {
	const struct tenant_config *tenant;
	__u32 index; /* of the tenant */
	bool foreign;
	struct qemu_command *command;
	char path[PATH_MAX]; /* of the program */
	struct vm_console *console;
	struct vm_process *process;
	struct vm_monitor *monitor; /* NULL: nothing needs one */
	__u64 begin_ns, end_ns;	    /* 0: not yet */
	bool by_itself;		    /* it has ended so */
	struct vms *all;
	/* Of memory that is plugged in (vms_plug.c). */
	pthread_t plugger;
	bool plugging;
	__u64 plugged; /* pages */
	/* What an injection could not do to it (vms_fail()), under the lock of all. */
	int error;
	char sentence[512];
};

struct vms {
	const struct plan *plan;
	const struct machine_config *config;
	struct machine *machine;
	FILE *log;
	char library[PATH_MAX];
	const char **sockets; /* of devices, by index */
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopped; /* no memory is plugged in any more */
	__u32 count;
	struct vm list[];
};

/* vms_monitor.c */

struct qemu_command_config;

/* What injections and memory that is plugged in need is asked of its QEMU: a monitor, a balloon. */
void vm_monitor_want(const struct vms *vms, const struct vm *vm,
		     struct qemu_command_config *command);
/* Our end is the monitor's, QEMU's end *theirs, to be closed once it has it. Negative errno with a sentence. */
int vm_monitor_open(struct vm *vm, int *theirs);
/* What an injection has failed in, with its sentence; 0. */
int vm_injected(struct vms *vms, const struct vm *vm);

/* vms_plug.c */

/* Once it runs. Negative errno with a sentence; what goes wrong later is what vms_look() returns. */
int vm_plug_begin(struct vm *vm);
/* Once its QEMU has ended, or has not begun. */
void vm_plug_end(struct vm *vm);

#endif
