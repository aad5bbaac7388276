// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/mount.h"
#include "lib/base/signals.h"

#define NETNS_SENTENCE 4096

struct netns_work {
	int netns;
	int (*body)(void *argument);
	void *argument;
	int err;
	char sentence[NETNS_SENTENCE]; /* a failure's is its thread's, which ends */
};

static int netns_enter(int netns)
{
	if (netns == NETNS_NEW)
		return unshare(CLONE_NEWNET) ? failed(-errno,
						      "making a network namespace: %s; it needs "
						      "root (CAP_SYS_ADMIN)",
						      strerror(errno))
					     : 0;
	return setns(netns, CLONE_NEWNET)
		       ? failed(-errno, "entering a network namespace: %s", strerror(errno))
		       : 0;
}

static void *netns_thread(void *argument)
{
	struct netns_work *work = argument;

	work->err = netns_enter(work->netns) ?: work->body(work->argument);
	if (work->err < 0)
		snprintf(work->sentence, sizeof(work->sentence), "%s", failure_text());
	return NULL;
}

int netns_run(int netns, int (*body)(void *argument), void *argument)
{
	struct netns_work work = {.netns = netns, .body = body, .argument = argument};
	pthread_t thread;
	int error = signals_start_thread(&thread, NULL, netns_thread, &work);

	if (error)
		return failed(-error, "a thread for a network namespace: %s", strerror(error));
	pthread_join(thread, NULL);
	return work.err < 0 ? failed(work.err, "%s", work.sentence) : work.err;
}

int netns_open_own(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0 && !mount_has_proc())
		return failed(-EPERM, "/proc is not mounted: %s", mount_remedy());
	return fd < 0 ? failed(-errno, "/proc/thread-self/ns/net: %s", strerror(errno)) : fd;
}

__u64 netns_inode(int netns)
{
	struct stat status;

	return fstat(netns, &status) ? 0 : status.st_ino;
}
