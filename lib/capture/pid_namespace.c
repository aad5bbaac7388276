// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/pid_namespace.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/pids.h"
#include "bpf/pids.skel.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define INITIAL_INODE 0xeffffffcu /* PROC_PID_INIT_INO of the kernel: part of its interface */
#define ASK_AGAIN_NS  (20 * NSEC_PER_MSEC)

/* The namespace of a process never changes: one table for all of it, filled when first asked for. */
static struct {
	struct pids_bpf *skeleton;
	struct pid_pair *pairs;
	size_t count, room;
	__u64 asked_ns;
	int error; /* of asking */
} table;

bool pid_namespace_is_initial(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) || status.st_ino == INITIAL_INODE;
}

static int pid_namespace_load(void)
{
	if (table.skeleton)
		return 0;
	table.skeleton = pids_bpf__open_and_load();
	if (!table.skeleton)
		return failed(-errno,
			      "this is a pid namespace of its own, and the kernel does not "
			      "report its numbers for processes: %s; run it outside",
			      strerror(errno));
	if (!pids_bpf__attach(table.skeleton))
		return 0;
	pids_bpf__destroy(table.skeleton);
	table.skeleton = NULL;
	return failed(-ENOTSUP,
		      "this is a pid namespace of its own, and the kernel does not list its "
		      "processes (no BPF iterator); run it outside");
}

static int pid_pairs_add(const struct pid_pair *pairs, size_t count)
{
	if (!array_grow(&table.pairs, &table.room, table.count + count, sizeof(*pairs),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %zu processes", table.count + count);
	memcpy(table.pairs + table.count, pairs, count * sizeof(*pairs));
	table.count += count;
	return 0;
}

static int ask(void)
{
	struct pid_pair pairs[256];
	ssize_t bytes = 0;
	int err = pid_namespace_load(), fd;

	if (err)
		return err;
	fd = bpf_iter_create(bpf_link__fd(table.skeleton->links.pids));
	if (fd < 0)
		return failed(fd, "the list of processes: %s", strerror(-fd));
	table.count = 0;
	while (!err && (bytes = read(fd, pairs, sizeof(pairs))) > 0)
		err = pid_pairs_add(pairs, (size_t)bytes / sizeof(pairs[0]));
	if (!err && bytes < 0)
		err = failed(-errno, "the list of processes: %s", strerror(errno));
	close(fd);
	return err;
}

static const struct pid_pair *pid_pairs_find(__u32 kernel, __u32 local)
{
	for (size_t i = 0; i < table.count; i++)
		if ((kernel && table.pairs[i].kernel == kernel) ||
		    (local && table.pairs[i].local == local))
			return &table.pairs[i];
	return NULL;
}

/* Numbers are used again: who asks for one that is there gets the newest, if that is cheap. */
static const struct pid_pair *look_up(__u32 kernel, __u32 local)
{
	__u64 now = monotonic_ns();

	if (!table.asked_ns || now - table.asked_ns > ASK_AGAIN_NS) {
		table.error = ask();
		table.asked_ns = now;
	}
	return pid_pairs_find(kernel, local);
}

__u32 pid_to_kernel(__u32 local)
{
	const struct pid_pair *pair;

	if (pid_namespace_is_initial())
		return local;
	/* A process that began just now is not in an old list. */
	table.asked_ns = 0;
	pair = look_up(0, local);
	if (!pair && !table.error)
		failed(-ESRCH, "pid %u: there is no such process", local);
	return pair ? pair->kernel : 0;
}

__u32 pid_to_local(__u32 kernel)
{
	const struct pid_pair *pair;

	if (pid_namespace_is_initial())
		return kernel;
	pair = look_up(kernel, 0);
	return pair ? pair->local : 0;
}
