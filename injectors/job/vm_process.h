/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QEMU of ours: forked early and held, so that its number is known before it runs, in a process group of its own, ended with us. As who
 * runs us, with no descriptor of ours; what it prints is read by a thread.
 */
#ifndef FAULTLINE_JOB_VM_PROCESS_H
#define FAULTLINE_JOB_VM_PROCESS_H

#include <linux/types.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct vm_console;
struct vm_process;

#define VM_PROCESS_MONITOR 5 /* a descriptor */

struct vm_process_config {
	const char *name;	    /* for sentences; outlives the process */
	const char *path;	    /* of the program */
	char *const *argv;	    /* ends with NULL; outlives vm_process_go(), as ... */
	const char *library;	    /* preloaded, and ... */
	const char *socket;	    /* for it: where the memory is handed over */
	cpu_set_t cpus;		    /* empty: all */
	struct vm_console *console; /* gets what it prints; outlives the process */
	int monitor; /* QEMU's end of its monitor, which it has as VM_PROCESS_MONITOR; 0: none */
};

/* By a thread that lives at least as long as it. Negative errno with a sentence. */
int vm_process_hold(struct vm_process **process, const struct vm_process_config *config);
pid_t vm_process_pid(const struct vm_process *process);
/* Lets it go, and waits until it is the program. -EIO with a sentence: it could not be run. */
int vm_process_go(struct vm_process *process);
/* 0 once it has ended, *status (or NULL) as of waitpid(), and all that it printed has been read; -ETIMEDOUT. */
int vm_process_wait(struct vm_process *process, __u64 timeout_ns, int *status);
/* SIGTERM, and SIGKILL for what is left of it after `grace_ns`; waits. Twice is once. */
void vm_process_stop(struct vm_process *process, __u64 grace_ns);
/* vm_process_stop() asked, or the machine: not its own end. */
bool vm_process_was_stopped(const struct vm_process *process);
/* Whether the guest's kernel has panicked so far; while it runs, too. */
bool vm_process_panicked(struct vm_process *process);
/* Likewise whether its load has begun. */
bool vm_process_begun(struct vm_process *process);
/* NULL: nothing. */
void vm_process_free(struct vm_process *process);

#endif
