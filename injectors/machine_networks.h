/* SPDX-License-Identifier: GPL-2.0 */
/* The networks of a machine that another process is: whose they are, and a way in. */
#ifndef FAULTLINE_MACHINE_NETWORKS_H
#define FAULTLINE_MACHINE_NETWORKS_H

#include <linux/types.h>
#include <net/if.h>
#include <stddef.h>
#include <sys/types.h>

#include "injectors/net/network.h"

#define MACHINE_SIDES_MOST 128

/* One side of one network. */
struct machine_side {
	char name[IFNAMSIZ]; /* of the TAP: the device's (network_name()) */
	enum network_side side;
	__u64 inode; /* of the namespace */
};

struct machine_sides {
	size_t count;
	struct machine_side sides[MACHINE_SIDES_MOST];
};

/* 0 if that process is a machine that root runs, else -ESRCH or another error with a sentence. */
int machine_is_running(pid_t pid);

/* All sides of the machine's networks, by the namespaces that it has open. 0 or a negative errno with a sentence. */
int machine_list_sides(pid_t pid, struct machine_sides *sides);

/*
 * The one that "guest", "wire", "DEVICE:guest" or "TENANT/DEVICE:wire" means. NULL with a sentence that lists what is
 * accepted: there is none, or there are several.
 */
const struct machine_side *machine_choose_side(pid_t pid, const struct machine_sides *sides,
					       const char *text);

/* A descriptor (O_CLOEXEC) of the namespace of that number, which the process has open, or a negative errno. */
int machine_open_netns(pid_t pid, __u64 inode);

#endif
