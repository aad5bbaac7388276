/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest that runs in a process of its own: a function of ours, or a program of Debian's with the verbs library preloaded. It has
 * no descriptor of the machine's but the sockets by which its devices say hello (hyv_layout.h), and ends with the machine. Its
 * end, however it comes, is the machine's to see and nobody else's.
 */
#ifndef FAULTLINE_GUEST_PROCESS_H
#define FAULTLINE_GUEST_PROCESS_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

#define GUEST_SOCKETS_MAX 8

struct guest_process;

struct guest_process_config {
	const char *name;   /* for sentences and the process's name */
	const int *sockets; /* the guest's ends; closed here in any case */
	__u32 socket_count;
	/* Runs in the process; its result is the exit status. NULL: `program` does. */
	int (*run)(void *argument, const int *sockets, __u32 count);
	void *argument;
	const char *program; /* words as of a shell without expansion; found in $PATH */
	const char *library; /* preloaded into it */
	int network;	     /* network namespace that a program runs in, -1: the machine's own */
};

/*
 * By a thread that lives at least as long as it: it is ended with that. Not as root: as the caller of sudo, else nobody, who may
 * lock any memory, as quotas are what limits that. 0, or a negative errno with a sentence: it could not be run.
 */
int guest_process_start(struct guest_process **process, const struct guest_process_config *config);
pid_t guest_process_pid(const struct guest_process *process);
/* 0 once it has ended, *status as of waitpid(); -ETIMEDOUT. timeout 0 asks only. */
int guest_process_wait(struct guest_process *process, __u64 timeout_ns, int *status);
/* SIGKILL, and waits. May be called twice. */
void guest_process_stop(struct guest_process *process);
/* Of a guest's process that has ended, by its number and its pidfd: *status as of waitpid(), whoever has waited for it. -ETIMEDOUT: it
 * has not ended by then; -ECHILD: nobody knows. Any thread. */
int guest_process_status(pid_t pid, int pidfd, __u64 timeout_ns, int *status);
/* What a program has printed, of both streams, NUL terminated; freed by guest_process_free(). */
const char *guest_process_output(const struct guest_process *process, size_t *size);
void guest_process_free(struct guest_process *process);

#endif
