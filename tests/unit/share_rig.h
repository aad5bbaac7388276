/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cluster whose hosts and clients are processes, forked from a test, so that any of them can be killed: hosts serve messages, run
 * their engines and managers; clients run client_run().
 */
#ifndef FAULTLINE_TEST_SHARE_RIG_H
#define FAULTLINE_TEST_SHARE_RIG_H

#include <sys/types.h>

#include "tests/unit/cluster_fixture.h"

#define SHARE_RIG_CLIENTS 16

struct share_rig {
	struct cluster_fixture fixture;
	struct cluster *cluster; /* the fixture's, as who has begun all */
	pid_t pids[CLUSTER_AGENTS_MAX];
	__u32 device;
};

/* `change` makes config.clients (room for SHARE_RIG_CLIENTS) and config.managers (for one); devices are the fixture's. */
void share_rig_open(struct share_rig *rig, const char *text,
		    void (*change)(struct cluster_config *config));
/* Ends clients first; what is left over fails the test. */
void share_rig_close(struct share_rig *rig);

void share_rig_start(struct share_rig *rig, __u32 agent);
/* Kills it, and tells the others. */
void share_rig_kill(struct share_rig *rig, __u32 agent);
/* Until it has ended: its error, 0 if none. */
int share_rig_await(struct share_rig *rig, __u32 agent);
/* Until client `client` has done so many I/Os; the test fails after a minute. */
void share_rig_await_ios(struct share_rig *rig, __u32 client, __u64 ios);
static inline __u32 share_rig_client(const struct share_rig *rig, __u32 client)
{
	return rig->fixture.config.host_count + client;
}

/* A client with usual values. */
struct client_config share_rig_config(__u32 host, __u32 device, __u64 ios);

#endif
