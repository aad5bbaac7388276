// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include "tests/unit/share_rig.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/cluster/agent_run.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/share.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define RIG_PATIENCE_NS (60 * NSEC_PER_SEC)

static void (*share_rig_change)(struct cluster_config *config);

static void share_rig_config_change(struct cluster_config *config)
{
	config->clients = calloc(SHARE_RIG_CLIENTS, sizeof(*config->clients));
	config->managers = calloc(1, sizeof(*config->managers));
	assert_non_null(config->clients);
	assert_non_null(config->managers);
	share_rig_change(config);
}

struct client_config share_rig_config(__u32 host, __u32 device, __u64 ios)
{
	return (struct client_config){.name = "client",
				      .host = host,
				      .device = device,
				      .queue_hint = HINT_CPU_READS,
				      .queue_peer = CLUSTER_NONE,
				      .adapters = {CLUSTER_NONE, CLUSTER_NONE},
				      .io_timeout_ns = 500 * NSEC_PER_MSEC,
				      .io = {.ios = ios,
					     .depth = 3,
					     .block = HOST_PAGE,
					     .write_percent = 50,
					     .verify = true}};
}

static void share_rig_pause(void)
{
	struct timespec pause = timespec_of_ns(NSEC_PER_MSEC);

	nanosleep(&pause, NULL);
}

static void share_rig_await_phase(const struct cluster *cluster, enum cluster_phase phase)
{
	while (cluster_phase(cluster) < phase)
		share_rig_pause();
}

static void *share_rig_life(void *of)
{
	struct cluster *cluster = of;

	if (managers_start(cluster))
		_exit(1);
	share_rig_await_phase(cluster, CLUSTER_HOSTS_END);
	managers_stop(cluster);
	agent_quiet(cluster, CLUSTER_HOSTS_END);
	return NULL;
}

static void share_rig_devices(struct cluster *cluster, bool up)
{
	for (__u32 d = 0; d < cluster->config->device_count; d++) {
		if (cluster->config->devices[d].host != cluster->host)
			continue;
		if (up)
			lend_register(cluster, function_of(cluster, d, 0));
		else
			lend_unregister(cluster, function_of(cluster, d, 0));
	}
}

static int share_rig_host(struct cluster *cluster)
{
	pthread_t life;

	if (nvmes_start(cluster))
		return 1;
	share_rig_devices(cluster, true);
	if (pthread_create(&life, NULL, share_rig_life, cluster))
		return 1;
	while (cluster_phase(cluster) < CLUSTER_CLOSING) {
		messages_serve(cluster, 10 * NSEC_PER_MSEC);
		lend_look(cluster);
		share_look(cluster);
	}
	pthread_join(life, NULL);
	share_end(cluster);
	share_rig_devices(cluster, false);
	nvmes_stop(cluster);
	return 0;
}

void share_rig_start(struct share_rig *rig, __u32 agent)
{
	struct cluster *cluster = rig->cluster;
	pid_t parent = getpid(), pid = fork();
	int err;

	assert_true(pid >= 0);
	if (pid) {
		rig->pids[agent] = pid;
		agent_state_set(cluster, agent, AGENT_RUNS);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	cluster->self = agent;
	cluster->host = agent_info(cluster, agent)->host;
	if (agent < cluster->config->host_count)
		_exit(share_rig_host(cluster));
	err = client_run(cluster);
	if (err)
		fprintf(stderr, "client %u: %s\n", agent, failure_text());
	_exit(-err);
}

int share_rig_await(struct share_rig *rig, __u32 agent)
{
	int status;

	if (!rig->pids[agent])
		return 0;
	assert_int_equal(waitpid(rig->pids[agent], &status, 0), rig->pids[agent]);
	rig->pids[agent] = 0;
	agent_state_set(rig->cluster, agent,
			!WIFEXITED(status)    ? AGENT_DEAD
			: WEXITSTATUS(status) ? AGENT_FAILED
					      : AGENT_DONE);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void share_rig_kill(struct share_rig *rig, __u32 agent)
{
	assert_int_equal(kill(rig->pids[agent], SIGKILL), 0);
	assert_int_equal(share_rig_await(rig, agent), -1);
}

void share_rig_await_ios(struct share_rig *rig, __u32 client, __u64 ios)
{
	const struct io_counts *counts =
		io_counts_of(rig->cluster, &rig->fixture.config.clients[client].io);
	__u64 begin = monotonic_ns();

	while (__atomic_load_n(&counts->ios, __ATOMIC_RELAXED) < ios) {
		if (monotonic_ns() - begin > RIG_PATIENCE_NS)
			fail_msg("client %u has done %llu of %llu", client, counts->ios, ios);
		share_rig_pause();
	}
}

void share_rig_open(struct share_rig *rig, const char *text,
		    void (*change)(struct cluster_config *config))
{
	memset(rig, 0, sizeof(*rig));
	share_rig_change = change;
	fixture_open(&rig->fixture, text, share_rig_config_change);
	rig->cluster = rig->fixture.cluster;
	rig->cluster->self = rig->cluster->host = CLUSTER_NONE;
	rig->device = fixture_device(&rig->fixture, "disk");
	for (__u32 host = 0; host < rig->fixture.config.host_count; host++)
		share_rig_start(rig, host);
	cluster_begin(rig->cluster);
}

static void share_rig_nothing_left(struct share_rig *rig)
{
	struct cluster *cluster = rig->cluster;
	const struct fabric *fabric = rig->fixture.config.fabric;

	for (__u32 n = 0; n < fabric->node_count; n++) {
		struct ntb_stats stats;

		if (fabric->nodes[n].kind != FABRIC_ADAPTER)
			continue;
		ntb_stats(cluster, n, &stats);
		assert_int_equal(stats.windows_used, 0);
	}
	for (__u32 host = 0; host < rig->fixture.config.host_count; host++) {
		struct host_iommu_stats stats;

		host_iommu_stats(cluster, host, &stats);
		assert_int_equal(stats.mapped_bytes, 0);
	}
	assert_int_equal(segments_left(cluster, CLUSTER_NONE), 0);
	assert_int_equal(share_pairs(cluster, rig->device), 0);
}

void share_rig_close(struct share_rig *rig)
{
	struct cluster *cluster = rig->cluster;
	__u32 hosts = rig->fixture.config.host_count;

	cluster_phase_set(cluster, CLUSTER_USERS_END);
	for (__u32 agent = hosts; agent < agent_count(cluster); agent++)
		share_rig_await(rig, agent);
	cluster_phase_set(cluster, CLUSTER_HOSTS_END);
	for (__u32 host = 0; host < hosts; host++)
		while (!agent_is_quiet(cluster, host, CLUSTER_HOSTS_END))
			share_rig_pause();
	cluster_phase_set(cluster, CLUSTER_CLOSING);
	for (__u32 host = 0; host < hosts; host++)
		share_rig_await(rig, host);
	share_rig_nothing_left(rig);
	free(rig->fixture.config.clients);
	free(rig->fixture.config.managers);
	fixture_close(&rig->fixture);
}
