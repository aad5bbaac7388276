/* SPDX-License-Identifier: GPL-2.0 */
/* The manager of a shared controller, within its host's process: share_manager.c has its life, share_admin.c its admin queue. */
#ifndef FAULTLINE_CLUSTER_SHARE_MANAGER_H
#define FAULTLINE_CLUSTER_SHARE_MANAGER_H

#include <pthread.h>

#include "injectors/cluster/share_private.h"

#define MANAGER_ENTRIES 32u /* of its admin queues */

struct manager {
	struct cluster *cluster;
	__u32 device, function;
	pthread_t thread;
	int stop;
	pthread_mutex_t
		lock; /* all below: the control thread relays, the manager's own thread resets */
	bool open, borrowed;
	bool lost;   /* a command had no completion: only a reset makes an admin queue again */
	bool detour; /* nor is its way open, but another: only a new borrow takes it */
	struct lend_borrow borrow;
	struct bus bus;
	struct nvme_command *commands;
	volatile struct nvme_completion *completions;
	void *page; /* what Identify and fates are written to */
	__u64 commands_address, completions_address, page_address;
	__u32 tail, head, phase;
	__u16 id;
};

/* Under its lock: 0 and the completion; -EIO: the controller has refused it; -ETIMEDOUT, -ENODEV: it has not answered. */
int manager_command(struct manager *manager, struct nvme_command *command,
		    struct nvme_completion *completion);
/* Registers and admin queue as after power on, then Identify; all pairs are gone. Under its lock. */
int manager_reset_controller(struct manager *manager);
void manager_disable(struct manager *manager);

/* share_bus.c: its bus where the controller is its own host's. */
void manager_bus_local(struct manager *manager);

/* A manager of this process, NULL: none for this device. */
struct manager *manager_of(const struct cluster *cluster, __u32 device);
/* What a dead client has left in the controller; false: not all of it could be deleted. */
bool manager_delete_pairs(struct cluster *cluster, __u32 device, __u32 agent);
/* share.c: it has one that lives. */
bool share_managed(const struct cluster *cluster, __u32 device);

#endif
