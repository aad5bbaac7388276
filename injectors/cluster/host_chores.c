// SPDX-License-Identifier: GPL-2.0
/* What is injected into a host's devices: they are taken back, or write where they have no business to. */
#include <stddef.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/futex.h"
#include "injectors/cluster/host.h"
#include "injectors/cluster/inject.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/memory.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"

#define CHORES_NS     (5 * NSEC_PER_MSEC)
#define ROGUE_BYTES   64
#define ROGUE_PATTERN 0xbad0dad0bad0dad0ull

/*
 * One write of each function that is lent, to a random place of its host's bus: RAM, or adapters' BARs. One that is not is in no
 * domain of its own, and nothing would hold it back.
 */
static void chore_rogue(struct cluster *cluster, __u32 device, struct random *random)
{
	const struct cluster_device_config *config = &cluster->config->devices[device];
	__u64 memory = cluster->config->hosts[cluster->host].memory;
	__u64 data[ROGUE_BYTES / 8];

	for (size_t i = 0; i < ROGUE_BYTES / 8; i++)
		data[i] = ROGUE_PATTERN;
	for (__u32 f = 0; f < config->functions; f++) {
		__u32 function = function_of(cluster, device, f);
		struct initiator from = function_initiator(cluster, function);
		__u64 address = random_below(random, memory / ROGUE_BYTES) * ROGUE_BYTES;

		if (lend_state(cluster, function) != LEND_MAPPED)
			continue;
		access_write(cluster, &from, PURPOSE_DATA, address, data, sizeof(data), NULL);
	}
}

static void chore_revoke(struct cluster *cluster, __u32 device,
			 const struct cluster_injection *injection)
{
	for (__u32 f = 0; f < cluster->config->devices[device].functions; f++)
		if (!lend_revoke(cluster, function_of(cluster, device, f),
				 cluster->config->dead_ns / 4))
			cluster_inject_done(cluster, injection);
}

/* `revoked`: injections that this host has carried out; they do so once. */
static void chores_do(struct cluster *cluster, bool *revoked, struct random *random)
{
	const struct cluster_config *config = cluster->config;

	for (__u32 d = 0; d < config->device_count; d++) {
		const struct cluster_injection *injection;
		bool revoke;

		if (config->devices[d].host != cluster->host)
			continue;
		if (cluster_inject(cluster, CLUSTER_ROGUE_DMA, d, NULL))
			chore_rogue(cluster, d, random);
		revoke = cluster_inject(cluster, CLUSTER_REVOKE, d, &injection);
		if (revoke && !revoked[d])
			chore_revoke(cluster, d, injection);
		revoked[d] = revoke;
	}
}

void *host_chores(void *argument)
{
	struct cluster *cluster = argument;
	struct random random = {cluster->config->seed + cluster->host};
	bool revoked[128] = {false};

	while (!cluster_stopping(cluster)) {
		__u32 events = agent_events(cluster);

		if (cluster_inject_any(cluster)) {
			chores_do(cluster, revoked, &random);
			agent_wait(cluster, events, CHORES_NS);
		} else {
			agent_wait(cluster, events, 100 * CHORES_NS);
		}
	}
	return NULL;
}
