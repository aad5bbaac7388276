/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small process that starts programs on behalf of a machine: a fork of the machine itself would share its
 * guest memory with it, whose pages then could neither be evicted nor written as before.
 *
 *	machine - host - first process of a PID namespace (injectors/net/program_init.h) - program
 *
 * All of it ends with the machine, also if that is killed: each of these processes watches it by a descriptor.
 */
#ifndef FAULTLINE_NET_PROGRAM_HOST_H
#define FAULTLINE_NET_PROGRAM_HOST_H

#include <sys/types.h>

#include "injectors/net/program_init.h"

struct program_host {
	int channel;
	pid_t pid;
	char group
		[256]; /* directory of the cgroup that programs of the guest's side begin in; "": none */
};

/* Before there is memory that must not be shared. Returns 0 or a negative errno with a sentence. */
int program_host_open(struct program_host *host);
/* Programs that still run stay the machine's. */
void program_host_close(struct program_host *host);

/*
 * Starts the first process of a new PID namespace with that task; descriptors of the task stay the caller's, `machine` is
 * not read. Returns its pidfd (O_CLOEXEC) or a negative errno with a sentence. From any thread, one at a time.
 */
int program_host_start(struct program_host *host, const struct program_task *task);

#endif
