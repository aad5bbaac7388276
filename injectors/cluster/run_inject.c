// SPDX-License-Identifier: GPL-2.0
/* Injections by the clock. */
#include <stdint.h>

#include "injectors/cluster/inject.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/run_private.h"
#include "injectors/cluster/seen.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static void inject_links(struct cluster *cluster, const struct cluster_injection *injection,
			 bool up)
{
	const struct fabric *fabric = cluster->config->fabric;

	for (__u32 l = 0; l < fabric->link_count; l++)
		if (injection->adapter == CLUSTER_NONE ||
		    fabric->links[l].ends[0] == injection->adapter ||
		    fabric->links[l].ends[1] == injection->adapter)
			ntb_link_set(cluster, l, up, up && injection->wipe);
}

/* Several may say so of one adapter. */
static void inject_tables(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;

	for (__u32 n = 0; n < config->fabric->node_count; n++) {
		bool windows = false, requesters = false;

		if (config->fabric->nodes[n].kind != FABRIC_ADAPTER)
			continue;
		for (__u32 i = 0; i < config->injection_count; i++) {
			const struct cluster_injection *injection = &config->injections[i];

			if (!cluster_inject_active(cluster, i) ||
			    (injection->adapter != CLUSTER_NONE && injection->adapter != n))
				continue;
			windows |= injection->kind == CLUSTER_WINDOW_FULL;
			requesters |= injection->kind == CLUSTER_REQUESTERS_FULL;
		}
		ntb_pretend_full(cluster, n, windows, requesters);
	}
}

static void inject_kill(struct cluster_runner *runner, __u32 agent, __u32 index)
{
	if (agent_pid(runner->cluster, agent) <= 0)
		return;
	runner->processes[agent].killer = index + 1;
	agent_kill(runner->cluster, agent);
}

static void inject_kill_host(struct cluster_runner *runner, __u32 host, __u32 index)
{
	for (__u32 i = 0; i < agent_count(runner->cluster); i++)
		if (agent_info(runner->cluster, i)->host == host)
			inject_kill(runner, i, index);
}

static void inject_tell(struct cluster *cluster, __u32 index, bool begins)
{
	const struct cluster_injection *injection = &cluster->config->injections[index];

	truth_cluster(cluster,
		      &(struct cluster_truth){.what = begins ? "inject_start" : "inject_stop",
					      .agent = injection->agent,
					      .device = injection->device,
					      .borrow = CLUSTER_NONE,
					      .queue = CLUSTER_NONE,
					      .code = (__s32)injection->kind,
					      .number = index});
	seen_inject(cluster, injection, index, begins);
}

static void inject_set(struct cluster_runner *runner, __u32 index, bool begins)
{
	struct cluster *cluster = runner->cluster;
	const struct cluster_injection *injection = &cluster->config->injections[index];

	inject_tell(cluster, index, begins);
	cluster_inject_set(cluster, index, begins);
	runner->outcome.injected += begins && injection->kind != CLUSTER_REVOKE;
	switch (injection->kind) {
	case CLUSTER_LINK_DOWN:
	case CLUSTER_LINK_FLAP:
		inject_links(cluster, injection, !begins);
		break;
	case CLUSTER_WINDOW_FULL:
	case CLUSTER_REQUESTERS_FULL:
		inject_tables(cluster);
		break;
	case CLUSTER_HOST_KILL:
		if (begins && injection->agent != CLUSTER_NONE)
			inject_kill(runner, injection->agent, index);
		else if (begins)
			inject_kill_host(runner, injection->host, index);
		break;
	default: /* who does it asks cluster_inject() */
		break;
	}
}

void run_injections(struct cluster_runner *runner)
{
	const struct cluster_config *config = runner->cluster->config;
	__u64 now = cluster_run_ns(runner->cluster);

	for (__u32 i = 0; i < config->injection_count; i++) {
		const struct cluster_injection *injection = &config->injections[i];
		struct run_injection *state = &runner->injections[i];

		/* One that waits for a step is the process's own doing; nobody is killed before the run begins. */
		if (state->state == INJECTION_WAITS && injection->step == CLUSTER_NONE &&
		    (now || injection->kind != CLUSTER_HOST_KILL) && now >= injection->at_ns) {
			state->state = INJECTION_ACTS;
			state->fired = injection->kind != CLUSTER_REVOKE;
			state->end_ns = injection->for_ns ? now + injection->for_ns : UINT64_MAX;
			inject_set(runner, i, true);
		} else if (state->state == INJECTION_ACTS && now >= state->end_ns) {
			state->state = INJECTION_OVER;
			inject_set(runner, i, false);
		}
	}
}

void run_injections_end(struct cluster_runner *runner)
{
	struct cluster *cluster = runner->cluster;

	/* Those that still wait for a step may have it as all ends. */
	for (__u32 i = 0; i < cluster->config->injection_count; i++) {
		struct run_injection *state = &runner->injections[i];

		if (state->state == INJECTION_ACTS) {
			state->state = INJECTION_OVER;
			inject_set(runner, i, false);
		}
		/* Only where there was something to take back. */
		if (cluster->config->injections[i].kind == CLUSTER_REVOKE &&
		    cluster_inject_was_done(cluster, i)) {
			state->fired = true;
			runner->outcome.injected++;
		}
	}
}

/* The one whose step it has come to. */
static __u32 injection_of_step(const struct cluster_runner *runner, __u32 agent)
{
	const struct cluster *cluster = runner->cluster;

	for (__u32 i = 0; i < cluster->config->injection_count; i++) {
		const struct cluster_injection *injection = &cluster->config->injections[i];

		if (injection->kind == CLUSTER_HOST_KILL && injection->step != CLUSTER_NONE &&
		    (injection->agent == CLUSTER_NONE ? injection->host : injection->agent) ==
			    agent &&
		    runner->injections[i].state == INJECTION_WAITS &&
		    cluster_inject_was_done(cluster, i))
			return i;
	}
	return CLUSTER_NONE;
}

void run_injection_killed(struct cluster_runner *runner, __u32 agent)
{
	struct cluster *cluster = runner->cluster;
	struct cluster_process *process = &runner->processes[agent];
	const struct cluster_injection *injection;
	__u32 index = process->killer ? process->killer - 1 : injection_of_step(runner, agent);

	process->killer = 0;
	/* Nobody outlives his host, whoever has killed that: CLUSTER_NONE + 1 is 0. */
	if (agent_info(cluster, agent)->kind == AGENT_HOST)
		inject_kill_host(runner, agent, index);
	if (index == CLUSTER_NONE)
		return;
	injection = &cluster->config->injections[index];
	if (runner->injections[index].state == INJECTION_WAITS) {
		runner->injections[index].state = INJECTION_OVER;
		runner->injections[index].fired = true;
		runner->outcome.injected++;
		inject_tell(cluster, index, true);
	}
	if (injection->restart && !cluster_stopping(cluster))
		process->restart_ns = monotonic_ns() + injection->for_ns;
}
