/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How an observer finds this machine: the socket "PID.machine" in the run directory
 * (lib/base/run_directory.h; what is said on it: lib/capture/access_log.h).
 */
#ifndef FAULTLINE_REGISTRY_H
#define FAULTLINE_REGISTRY_H

#include <linux/types.h>
#include <sys/types.h>

struct registry_device {
	char name[136]; /* "tenant/device" */
	char tenant[64];
	char model[64]; /* "block", "nic/drop" */
	__u16 queues;
	__u32 pasid;
	__u64 memory;	 /* bytes of its tenant */
	__u64 mapped_at; /* our address of what the device knows as 0; 0: below any address */
	/* Of a NIC: inodes of the network namespaces of its guest and of its wire; 0: none. */
	__u64 network_guest, network_wire;
};

struct registry;

/*
 * Reaps what dead machines left, binds the socket and answers clients from a thread of its own. Returns
 * once every observer has looked at us, or after 2 s without that: then it is told since when we work.
 * `ring` is the access log's memfd and stays the caller's. Devices are copied; their place in the
 * array is their index. -EPERM: the directory is not ours alone; -EEXIST: this process has one.
 */
int registry_open(struct registry **registry, const struct registry_device *devices, __u32 count,
		  int ring);
/*
 * Unlinks the socket, serves who has connected by then, ends every connection, and tells observers
 * that the machine produced so many I/Os. An observer that watches but has not come yet gets 2 s.
 */
void registry_close(struct registry *registry, __u64 produced);

/* Removes the sockets nobody listens on and what dead observers left. Returns their number, or a
 * negative errno. */
int registry_remove_stale(void);

#endif
