// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/inject.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "injectors/cluster/agent_private.h"
#include "lib/base/random.h"

/* Written by who has begun all processes, but for the counts. */
struct injection_now {
	bool active;
	bool done; /* written by who carries it out */
	__u32 asked; /* how often its probability was asked: each answer is drawn from the seed and this */
};
struct injections {
	__u32 count;
	__u32 active; /* of them: nothing is looked at while there is none */
	struct injection_now now[];
};

int injections_create(struct cluster *cluster)
{
	__u32 count = cluster->config->injection_count;

	cluster->injections = shared_alloc(cluster, sizeof(struct injections) +
							    count * sizeof(struct injection_now));
	if (!cluster->injections)
		return -ENOMEM;
	cluster->injections->count = count;
	return 0;
}

void cluster_inject_set(struct cluster *cluster, __u32 injection, bool active)
{
	struct injections *injections = cluster->injections;
	bool was =
		__atomic_exchange_n(&injections->now[injection].active, active, __ATOMIC_ACQ_REL);

	if (was != active)
		__atomic_fetch_add(&injections->active, active ? 1 : -1, __ATOMIC_ACQ_REL);
	agents_tell(cluster->agents);
}

bool cluster_inject_any(const struct cluster *cluster)
{
	return __atomic_load_n(&cluster->injections->active, __ATOMIC_ACQUIRE);
}

bool cluster_inject_active(const struct cluster *cluster, __u32 injection)
{
	return __atomic_load_n(&cluster->injections->now[injection].active, __ATOMIC_ACQUIRE);
}

void cluster_inject_done(struct cluster *cluster, const struct cluster_injection *injection)
{
	__atomic_store_n(&cluster->injections->now[injection - cluster->config->injections].done,
			 true, __ATOMIC_RELEASE);
}

bool cluster_inject_was_done(const struct cluster *cluster, __u32 injection)
{
	return __atomic_load_n(&cluster->injections->now[injection].done, __ATOMIC_ACQUIRE);
}

static __u32 injection_target(const struct cluster_injection *injection)
{
	if (injection->agent != CLUSTER_NONE)
		return injection->agent;
	if (injection->device != CLUSTER_NONE)
		return injection->device;
	return injection->adapter != CLUSTER_NONE ? injection->adapter : injection->host;
}

static bool injection_draws(struct injection_now *now, const struct cluster_injection *injection)
{
	struct random random;

	if (injection->probability >= 100)
		return true;
	random.state = injection->seed +
		       __atomic_fetch_add(&now->asked, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ull;
	return random_below(&random, 100) < injection->probability;
}

bool cluster_inject(struct cluster *cluster, enum cluster_inject_kind kind, __u32 target,
		    const struct cluster_injection **found)
{
	struct injections *injections = cluster->injections;

	if (!__atomic_load_n(&injections->active, __ATOMIC_ACQUIRE))
		return false;
	for (__u32 i = 0; i < injections->count; i++) {
		const struct cluster_injection *injection = &cluster->config->injections[i];
		__u32 aim = injection_target(injection);

		if (injection->kind != kind || !cluster_inject_active(cluster, i))
			continue;
		if (aim != CLUSTER_NONE && target != CLUSTER_NONE && aim != target)
			continue;
		if (!injection_draws(&injections->now[i], injection))
			continue;
		if (found)
			*found = injection;
		return true;
	}
	return false;
}

void cluster_inject_step(struct cluster *cluster, enum cluster_step step)
{
	const struct cluster_config *config = cluster->config;

	for (__u32 i = 0; i < config->injection_count; i++) {
		const struct cluster_injection *injection = &config->injections[i];

		if (injection->kind != CLUSTER_HOST_KILL || injection->step != step)
			continue;
		if (injection->agent != CLUSTER_NONE ? injection->agent != cluster->self
						     : injection->host != cluster->self)
			continue;
		/* Once: who is begun anew lives. */
		if (cluster->self != CLUSTER_NONE && !agent_life(cluster, cluster->self)) {
			cluster_inject_done(cluster, injection);
			kill(getpid(), SIGKILL);
			pause();
		}
	}
}
