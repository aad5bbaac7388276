// SPDX-License-Identifier: GPL-2.0
/*
 * A host's own process: its machine's devices and their engines, what it lends, borrows and manages, and answers to others.
 *
 * The control thread answers messages and looks after the dead; it must never wait for another host. What does so (borrowing,
 * returning) are other threads: one that begins and ends it all, and those that it starts.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/agent_run.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/guest.h"
#include "injectors/cluster/host.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/nvme.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/share.h"
#include "injectors/cluster/target.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define HOST_SERVE_NS (20 * NSEC_PER_MSEC)
#define HOST_LOOK_NS  (50 * NSEC_PER_MSEC)
#define HOST_START_NS (30 * NSEC_PER_SEC)

struct host_dead { /* an agent of this host that was killed: when to clean up after it */
	__u32 life;
	__u64 at_ns; /* 0: nothing to do */
};
struct host_process {
	struct cluster *cluster;
	pthread_t life, chores;
	struct host_dead dead[CLUSTER_AGENTS_MAX];
	__u64 look_ns;
	__u32 events, link_events;
};

static int host_devices(struct cluster *cluster,
			int (*each)(struct cluster *cluster, __u32 function))
{
	const struct cluster_config *config = cluster->config;
	int err = 0;

	for (__u32 d = 0; d < config->device_count; d++)
		for (__u32 f = 0; config->devices[d].host == cluster->host && !err &&
				  f < config->devices[d].functions;
		     f++)
			err = each(cluster, function_of(cluster, d, f));
	return err;
}

static int host_unregister(struct cluster *cluster, __u32 function)
{
	lend_unregister(cluster, function);
	return 0;
}

static void host_await(struct cluster *cluster, bool (*there)(const struct cluster *cluster))
{
	while (!there(cluster)) {
		__u32 events = agent_events(cluster);

		if (!there(cluster))
			agent_wait(cluster, events, HOST_START_NS);
	}
}

static bool host_begun(const struct cluster *cluster)
{
	return cluster_run_ns(cluster) || cluster_stopping(cluster);
}

static bool host_users_end(const struct cluster *cluster)
{
	return cluster_phase(cluster) >= CLUSTER_USERS_END;
}

static bool host_hosts_end(const struct cluster *cluster)
{
	return cluster_phase(cluster) >= CLUSTER_HOSTS_END;
}

/* Begins what this host has to do with others, and ends it in the order of the phases. */
static void *host_life(void *argument)
{
	struct cluster *cluster = ((struct host_process *)argument)->cluster;
	bool borrows, managers;

	host_await(cluster, host_begun);
	managers = !managers_start(cluster);
	borrows = !borrows_start(cluster);
	agent_work(cluster, -1);
	host_await(cluster, host_users_end);
	if (borrows)
		borrows_stop(cluster);
	agent_quiet(cluster, CLUSTER_USERS_END);
	host_await(cluster, host_hosts_end);
	if (managers)
		managers_stop(cluster);
	agent_quiet(cluster, CLUSTER_HOSTS_END);
	return NULL;
}

/* What a dead process of this host had: when whoever it had to do with has had the time to notice. */
static void host_bury(struct host_process *host)
{
	struct cluster *cluster = host->cluster;

	for (__u32 i = 0; i < agent_count(cluster); i++) {
		struct host_dead *dead = &host->dead[i];

		if (agent_info(cluster, i)->host != cluster->host || i == cluster->self ||
		    agent_state(cluster, i) != AGENT_DEAD || dead->life > agent_life(cluster, i))
			continue;
		if (!dead->at_ns) {
			dead->at_ns = monotonic_ns() + cluster->config->dead_ns;
		} else if (monotonic_ns() >= dead->at_ns) {
			agent_bury(cluster, i);
			*dead = (struct host_dead){.life = agent_life(cluster, i) + 1};
		}
	}
}

void agent_bury(struct cluster *cluster, __u32 agent)
{
	target_forget(cluster, agent);
	segments_release(cluster, agent);
	ntb_release(cluster, agent);
	host_iommu_release(cluster, agent);
	host_memory_release(cluster, agent);
}

static void host_look(struct host_process *host)
{
	struct cluster *cluster = host->cluster;
	__u32 events = agent_events(cluster), link_events = ntb_link_events(cluster);

	if (events == host->events && link_events == host->link_events &&
	    monotonic_ns() - host->look_ns < HOST_LOOK_NS)
		return;
	host->events = events;
	host->link_events = link_events;
	host->look_ns = monotonic_ns();
	lend_look(cluster);
	share_look(cluster);
	host_bury(host);
}

static void host_bind(const struct host_config *config)
{
	if (CPU_COUNT(&config->cpus))
		sched_setaffinity(0, sizeof(config->cpus), &config->cpus);
}

static int host_threads(struct host_process *host)
{
	int err = pthread_create(&host->life, NULL, host_life, host);

	if (!err)
		err = pthread_create(&host->chores, NULL, host_chores, host->cluster);
	return err ? failed(-err, "cannot start a thread of host %s: %s",
			    host->cluster->config->hosts[host->cluster->host].name, strerror(err))
		   : 0;
}

static int host_serve(struct host_process *host)
{
	struct cluster *cluster = host->cluster;
	int err = host_threads(host);

	if (err)
		return err;
	agent_work(cluster, 1);
	agent_ready(cluster);
	while (cluster_phase(cluster) < CLUSTER_CLOSING) {
		messages_serve(cluster, HOST_SERVE_NS);
		host_look(host);
	}
	pthread_join(host->life, NULL);
	pthread_join(host->chores, NULL);
	share_end(cluster);
	return 0;
}

int host_run(struct cluster *cluster)
{
	struct host_process *host = calloc(1, sizeof(*host));
	int err;

	if (!host)
		return failed(-ENOMEM, "no memory for a host");
	host->cluster = cluster;
	host_bind(&cluster->config->hosts[cluster->host]);
	messages_forget(cluster);
	err = seen_open(cluster);
	if (err)
		return err;
	err = nvmes_start(cluster)
		      ?: guests_start(cluster)
		      ?: host_devices(cluster, lend_register)
		      ?: host_serve(host);
	host_devices(cluster, host_unregister);
	guests_stop(cluster);
	nvmes_stop(cluster);
	seen_close(cluster);
	free(host);
	return err;
}
