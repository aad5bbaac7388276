// SPDX-License-Identifier: GPL-2.0
/* What everybody knows of the processes of a cluster. Who starts and reaps them: agent_run.c. */
#include "injectors/cluster/agent.h"

#include <errno.h>
#include <stdio.h>

#include "injectors/cluster/agent_private.h"
#include "injectors/cluster/futex.h"
#include "injectors/cluster/inject.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static void agents_add(struct agents *agents, const struct agent_info *info, const char *name)
{
	struct agent_slot *slot = &agents->slots[agents->count++];

	slot->info = *info;
	snprintf(slot->info.name, sizeof(slot->info.name), "%s", name);
}

static void agents_fill(struct agents *agents, const struct cluster_config *config)
{
	for (__u32 i = 0; i < config->host_count; i++)
		agents_add(agents, &(struct agent_info){AGENT_HOST, i, i, 0, ""},
			   config->hosts[i].name);
	for (__u32 i = 0; i < config->target_count; i++)
		agents_add(agents,
			   &(struct agent_info){AGENT_TARGET, config->targets[i].host, i, 0, ""},
			   config->targets[i].name);
	for (__u32 i = 0; i < config->vm_count; i++)
		agents_add(agents, &(struct agent_info){AGENT_VM, config->vms[i].host, i, 0, ""},
			   config->vms[i].name);
	for (__u32 i = 0; i < config->client_count; i++)
		agents_add(agents,
			   &(struct agent_info){AGENT_CLIENT, config->clients[i].host, i, 0, ""},
			   config->clients[i].name);
	for (__u32 i = 0; i < config->target_count; i++)
		agents_add(agents,
			   &(struct agent_info){AGENT_INITIATOR, config->targets[i].initiator_host,
						i, 0, ""},
			   config->targets[i].name);
}

int agents_create(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	__u32 count = config->host_count + config->vm_count + config->client_count +
		      2 * config->target_count;

	if (count > CLUSTER_AGENTS_MAX)
		return failed(-E2BIG,
			      "%u processes of hosts, guests, clients and targets; accepted: up to "
			      "%u",
			      count, CLUSTER_AGENTS_MAX);
	cluster->agents = shared_alloc(cluster, sizeof(*cluster->agents));
	if (!cluster->agents)
		return -ENOMEM;
	agents_fill(cluster->agents, config);
	return 0;
}

void agents_tell(struct agents *agents)
{
	shared_counter_add(&agents->events);
}

__u32 agent_count(const struct cluster *cluster)
{
	return cluster->agents->count;
}

const struct agent_info *agent_info(const struct cluster *cluster, __u32 agent)
{
	return agent < cluster->agents->count ? &cluster->agents->slots[agent].info : NULL;
}

enum agent_state agent_state(const struct cluster *cluster, __u32 agent)
{
	if (agent >= cluster->agents->count)
		return AGENT_DEAD;
	return __atomic_load_n(&cluster->agents->slots[agent].state, __ATOMIC_ACQUIRE);
}

void agent_state_set(struct cluster *cluster, __u32 agent, enum agent_state state)
{
	__atomic_store_n(&cluster->agents->slots[agent].state, state, __ATOMIC_RELEASE);
	agents_tell(cluster->agents);
}

__u32 agent_life(const struct cluster *cluster, __u32 agent)
{
	if (agent >= cluster->agents->count)
		return 0;
	return __atomic_load_n(&cluster->agents->slots[agent].life, __ATOMIC_ACQUIRE);
}

__u32 agent_events(const struct cluster *cluster)
{
	return shared_counter(&cluster->agents->events);
}

int agent_wait(const struct cluster *cluster, __u32 seen, __u64 timeout_ns)
{
	return shared_counter_wait(&cluster->agents->events, seen, timeout_ns);
}

enum cluster_phase cluster_phase(const struct cluster *cluster)
{
	return __atomic_load_n(&cluster->agents->phase, __ATOMIC_ACQUIRE);
}

bool cluster_stopping(const struct cluster *cluster)
{
	return cluster_phase(cluster) != CLUSTER_RUNNING;
}

__u64 cluster_run_ns(const struct cluster *cluster)
{
	__u64 begun = __atomic_load_n(&cluster->agents->begun_ns, __ATOMIC_ACQUIRE);

	return begun ? monotonic_ns() - begun : 0;
}

void agent_work(struct cluster *cluster, int more)
{
	if (cluster->self >= cluster->agents->count)
		return;
	__atomic_fetch_add(&cluster->agents->slots[cluster->self].work, more, __ATOMIC_ACQ_REL);
	agents_tell(cluster->agents);
}

const char *cluster_step_name(enum cluster_step step)
{
	static const char *const names[] = {
#define CLUSTER_STEP(name, text) text,
#include "bpf/cluster_steps.def"
#undef CLUSTER_STEP
	};

	return step < CLUSTER_STEPS ? names[step] : "unknown";
}

void cluster_step(struct cluster *cluster, const struct step *step)
{
	truth_cluster(cluster, &(struct cluster_truth){.what = "step",
						       .agent = cluster->self,
						       .device = step->device,
						       .borrow = step->borrow,
						       .queue = CLUSTER_NONE,
						       .address = step->address,
						       .length = step->other_host,
						       .value = step->took_ns,
						       .code = step->error,
						       .number = step->step});
	seen_step(cluster, step);
	cluster_inject_step(cluster, step->step);
}
