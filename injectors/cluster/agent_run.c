// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/agent_run.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/cluster/agent_private.h"
#include "lib/base/child.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/signals.h"

static int agent_body(struct cluster *cluster, enum agent_kind kind)
{
	static int (*const bodies[AGENT_KINDS])(struct cluster * cluster) = {
		[AGENT_HOST] = host_run,
		[AGENT_CLIENT] = client_run,
		[AGENT_VM] = guest_run,
		[AGENT_TARGET] = target_run,
		[AGENT_INITIATOR] = initiator_run,
	};

	return bodies[kind](cluster);
}

/* Ends by its parent's word alone: a terminal's signal reaches all processes at once, and would end them in no order. */
static void agent_main(struct cluster *cluster, __u32 agent)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct agent_slot *slot = &cluster->agents->slots[agent];
	sigset_t none;
	int err;

	for (size_t i = 0; i < SIGNALS_END; i++)
		sigaction(signals_end[i], &ignore, NULL);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	cluster->self = agent;
	cluster->host = slot->info.host;
	if (slot->info.kind != AGENT_HOST)
		agent_ready(cluster);
	failed(0, "%s", ""); /* what its parent has failed at before */
	err = agent_body(cluster, slot->info.kind);
	if (err)
		snprintf(slot->text, sizeof(slot->text), "%s",
			 *failure_text() ? failure_text() : strerror(-err));
	_exit(err ? EXIT_FAIL : EXIT_OK);
}

int agent_start(struct cluster *cluster, __u32 agent)
{
	struct agent_slot *slot = &cluster->agents->slots[agent];
	pid_t pid;

	if (slot->pid > 0)
		return failed(-EEXIST, "%s runs already", slot->info.name);
	if (slot->state != AGENT_NEW)
		__atomic_fetch_add(&slot->life, 1, __ATOMIC_ACQ_REL);
	slot->work = 0;
	slot->quiet = CLUSTER_RUNNING;
	agent_state_set(cluster, agent, AGENT_NEW);
	pid = child_start(SIGKILL);
	if (pid < 0)
		return failed(-errno, "cannot start %s: %s", slot->info.name, strerror(errno));
	if (!pid)
		agent_main(cluster, agent);
	slot->pid = pid;
	return 0;
}

static void agent_ended(struct cluster *cluster, __u32 agent, int status)
{
	struct agent_slot *slot = &cluster->agents->slots[agent];
	bool well = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OK;

	slot->pid = 0;
	__atomic_store_n(&slot->work, 0, __ATOMIC_RELEASE);
	agent_state_set(cluster, agent,
			WIFSIGNALED(status) ? AGENT_DEAD
			: well		    ? AGENT_DONE
					    : AGENT_FAILED);
}

__u32 agents_reap(struct cluster *cluster, void (*died)(struct cluster *cluster, __u32 agent))
{
	struct agents *agents = cluster->agents;
	__u32 ended = 0;

	for (__u32 i = 0; i < agents->count; i++) {
		int status;

		if (agents->slots[i].pid <= 0 ||
		    waitpid(agents->slots[i].pid, &status, WNOHANG) != agents->slots[i].pid)
			continue;
		agent_ended(cluster, i, status);
		ended++;
		if (WIFSIGNALED(status) && died)
			died(cluster, i);
	}
	return ended;
}

bool agents_all(const struct cluster *cluster, bool hosts, enum agent_state state)
{
	const struct agents *agents = cluster->agents;

	for (__u32 i = 0; i < agents->count; i++)
		if ((agents->slots[i].info.kind == AGENT_HOST) == hosts &&
		    agent_state(cluster, i) < state)
			return false;
	return true;
}

bool agents_work_left(const struct cluster *cluster)
{
	const struct agents *agents = cluster->agents;

	for (__u32 i = 0; i < agents->count; i++)
		if (agents->slots[i].pid > 0 &&
		    __atomic_load_n(&agents->slots[i].work, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

bool agent_is_quiet(const struct cluster *cluster, __u32 agent, enum cluster_phase phase)
{
	return __atomic_load_n(&cluster->agents->slots[agent].quiet, __ATOMIC_ACQUIRE) >= phase;
}

bool agents_hosts_quiet(const struct cluster *cluster, enum cluster_phase phase)
{
	const struct agents *agents = cluster->agents;

	for (__u32 i = 0; i < agents->count; i++)
		if (agents->slots[i].info.kind == AGENT_HOST && agents->slots[i].pid > 0 &&
		    !agent_is_quiet(cluster, i, phase))
			return false;
	return true;
}

void cluster_begin(struct cluster *cluster)
{
	__atomic_store_n(&cluster->agents->begun_ns, monotonic_ns(), __ATOMIC_RELEASE);
	agents_tell(cluster->agents);
}

void cluster_phase_set(struct cluster *cluster, enum cluster_phase phase)
{
	__atomic_store_n(&cluster->agents->phase, phase, __ATOMIC_RELEASE);
	agents_tell(cluster->agents);
}

void agent_kill(struct cluster *cluster, __u32 agent)
{
	if (cluster->agents->slots[agent].pid > 0)
		kill(cluster->agents->slots[agent].pid, SIGKILL);
}

pid_t agent_pid(const struct cluster *cluster, __u32 agent)
{
	return cluster->agents->slots[agent].pid;
}

void agent_ready(struct cluster *cluster)
{
	agent_state_set(cluster, cluster->self, AGENT_RUNS);
}

const char *agent_text(const struct cluster *cluster, __u32 agent)
{
	return cluster->agents->slots[agent].text;
}

void agent_quiet(struct cluster *cluster, enum cluster_phase phase)
{
	__atomic_store_n(&cluster->agents->slots[cluster->self].quiet, phase, __ATOMIC_RELEASE);
	agents_tell(cluster->agents);
}
