/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How an observer finds this machine: "PID.machine" in the run directory (lib/capture/access_log.h).
 *
 * The directory is RUN_DIRECTORY, or $FAULTLINE_RUN_DIR if that is an absolute path; in either case
 * it must belong to root with mode 0700. It is created if it is not there.
 */
#ifndef FAULTLINE_REGISTRY_H
#define FAULTLINE_REGISTRY_H

#include <linux/types.h>
#include <sys/types.h>

struct registry_device {
	char name[136]; /* "tenant/device" */
	char tenant[64];
	const char *model; /* "block" */
	__u16 queues;
	__u32 pasid;
	__u64 memory; /* bytes of its tenant */
};

struct registry;

/*
 * Reaps what dead machines left, binds the socket and answers clients from a thread of its own.
 * `ring` is the access log's memfd and stays the caller's. Devices are copied; their place in the
 * array is their index. -EPERM: the directory is not ours alone; -EEXIST: this process has one.
 */
int registry_open(struct registry **registry, const struct registry_device *devices, __u32 count,
		  int ring);
/* Unlinks the socket and ends every connection. */
void registry_close(struct registry *registry);

/* Removes the sockets nobody listens on. Returns their number, or a negative errno. */
int registry_remove_stale(void);

#endif
