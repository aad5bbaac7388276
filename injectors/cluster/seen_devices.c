// SPDX-License-Identifier: GPL-2.0
/* What the devices of a host's machine are, and their numbers. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/seen_private.h"
#include "lib/base/fail.h"

static bool may_borrow(const struct cluster_config *config, __u32 host, __u32 device)
{
	for (__u32 i = 0; i < config->borrow_count; i++)
		if (config->borrows[i].host == host && config->borrows[i].device == device)
			return true;
	for (__u32 i = 0; i < config->vm_count; i++)
		if (config->vms[i].host == host && config->vms[i].device == device)
			return true;
	for (__u32 i = 0; i < config->manager_count; i++)
		if (config->managers[i].host == host && config->managers[i].device == device)
			return true;
	for (__u32 i = 0; i < config->target_count; i++)
		if (config->targets[i].host == host && config->targets[i].device == device)
			return true;
	return false;
}

/* Walks over a host's devices in the order of their numbers: own, shadows, adapters, agents. */
enum seen_what { SEEN_OWNED, SEEN_SHADOW, SEEN_ADAPTER, SEEN_AGENT, SEEN_END };
struct seen_walk {
	const struct cluster *cluster;
	__u32 host;
	enum seen_what what;
	__u32 at;    /* number of the device, adapter or agent in its own order */
	__u32 index; /* in the machine */
};

static __u32 walk_count(const struct seen_walk *w)
{
	if (w->what == SEEN_ADAPTER)
		return w->cluster->config->fabric->node_count;
	return w->what == SEEN_AGENT ? agent_count(w->cluster) : w->cluster->config->device_count;
}

static bool walk_has(const struct seen_walk *w)
{
	const struct cluster_config *config = w->cluster->config;

	switch (w->what) {
	case SEEN_OWNED:
		return config->devices[w->at].host == w->host;
	case SEEN_SHADOW:
		return config->devices[w->at].host != w->host && may_borrow(config, w->host, w->at);
	case SEEN_ADAPTER:
		return config->fabric->nodes[w->at].kind == FABRIC_ADAPTER &&
		       config->fabric->nodes[w->at].host == w->host;
	default:
		return agent_info(w->cluster, w->at)->kind != AGENT_HOST &&
		       agent_info(w->cluster, w->at)->host == w->host;
	}
}

/* To the next device; begins with at == SEEN_NONE and index == SEEN_NONE. */
static bool walk_next(struct seen_walk *w)
{
	for (w->at++; w->what < SEEN_END; w->what++, w->at = 0)
		for (; w->at < walk_count(w); w->at++)
			if (walk_has(w)) {
				w->index++;
				return true;
			}
	return false;
}

static struct seen_walk walk_of(const struct cluster *cluster, __u32 host)
{
	return (struct seen_walk){
		.cluster = cluster, .host = host, .at = SEEN_NONE, .index = SEEN_NONE};
}

struct seen_gauges *seen_gauges(const struct cluster *cluster, __u32 host, __u32 index)
{
	const struct sights *s = cluster->sights;

	if (host >= cluster->config->host_count || index >= s->gauges_of_host)
		return NULL;
	return &s->gauges[(size_t)host * s->gauges_of_host + index];
}

int sights_number(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	struct sights *s = cluster->sights;
	size_t devices = (size_t)config->host_count * config->device_count;
	size_t all = devices + config->fabric->node_count + agent_count(cluster);

	s->index_of_device = shared_alloc(cluster, sizeof(*s->index_of_device) * (all + 1));
	if (!s->index_of_device)
		return -ENOMEM;
	s->index_of_adapter = s->index_of_device + devices;
	s->index_of_agent = s->index_of_adapter + config->fabric->node_count;
	for (size_t i = 0; i < all; i++)
		s->index_of_device[i] = SEEN_NONE;
	for (__u32 host = 0; host < config->host_count; host++) {
		struct seen_walk w = walk_of(cluster, host);

		while (walk_next(&w)) {
			if (w.what <= SEEN_SHADOW)
				s->index_of_device[host * config->device_count + w.at] = w.index;
			else if (w.what == SEEN_ADAPTER)
				s->index_of_adapter[w.at] = w.index;
			else
				s->index_of_agent[w.at] = w.index;
		}
	}
	for (__u32 i = 0; i < config->borrow_count; i++) {
		const struct borrow_config *b = &config->borrows[i];
		struct seen_gauges *g =
			seen_gauges(cluster, b->host, seen_device(cluster, b->host, b->device));

		if (g)
			g->window = b->window;
	}
	return 0;
}

__u32 seen_device(const struct cluster *cluster, __u32 host, __u32 device)
{
	const struct cluster_config *config = cluster->config;

	if (host >= config->host_count || device >= config->device_count)
		return SEEN_NONE;
	return cluster->sights->index_of_device[host * config->device_count + device];
}

__u32 seen_adapter(const struct cluster *cluster, __u32 adapter)
{
	return adapter < cluster->config->fabric->node_count
		       ? cluster->sights->index_of_adapter[adapter]
		       : SEEN_NONE;
}

__u32 seen_agent(const struct cluster *cluster, __u32 agent)
{
	return agent < agent_count(cluster) ? cluster->sights->index_of_agent[agent] : SEEN_NONE;
}

__u32 seen_self(const struct cluster *cluster, __u32 device)
{
	if (cluster->self < agent_count(cluster) &&
	    agent_info(cluster, cluster->self)->kind != AGENT_HOST)
		return seen_agent(cluster, cluster->self);
	return seen_device(cluster, cluster->host, device);
}

/* Of an agent: the device that it is for, as its section says. */
static __u32 device_of_agent(const struct cluster_config *config, const struct agent_info *agent)
{
	switch (agent->kind) {
	case AGENT_CLIENT:
		return agent->config < config->client_count ? config->clients[agent->config].device
							    : SEEN_NONE;
	case AGENT_VM:
		return agent->config < config->vm_count ? config->vms[agent->config].device
							: SEEN_NONE;
	default:
		return agent->config < config->target_count ? config->targets[agent->config].device
							    : SEEN_NONE;
	}
}

static void seen_describe_device(const struct seen_walk *w, struct registry_device *device)
{
	static const char *const models[] = {[MODEL_NVME] = "nvme", [MODEL_ACCEL] = "accel"};
	const struct cluster_config *config = w->cluster->config;
	const struct cluster_device_config *of = &config->devices[w->at];
	bool lent = w->what == SEEN_SHADOW;

	snprintf(device->name, sizeof(device->name), "%.20s/%.20s%s%.20s",
		 config->hosts[w->host].name, of->name, lent ? "@" : "",
		 lent ? config->hosts[of->host].name : "");
	snprintf(device->model, sizeof(device->model), "%s%s", models[of->model],
		 lent ? "/lent" : "");
	device->queues = of->queue_pairs;
}

static void describe_agent(const struct seen_walk *w, struct registry_device *device)
{
	static const char *const kinds[AGENT_KINDS] = {[AGENT_CLIENT] = "client",
						       [AGENT_VM] = "guest",
						       [AGENT_TARGET] = "target",
						       [AGENT_INITIATOR] = "initiator"};
	const struct cluster_config *config = w->cluster->config;
	const struct agent_info *agent = agent_info(w->cluster, w->at);
	__u32 of = device_of_agent(config, agent);

	snprintf(device->name, sizeof(device->name), "%.30s/%.30s", config->hosts[w->host].name,
		 agent->name);
	snprintf(device->model, sizeof(device->model), "%s/%.50s", kinds[agent->kind],
		 of < config->device_count ? config->devices[of].name : "");
	device->queues = 2;
}

static void describe_walked(const struct seen_walk *w, struct registry_device *device)
{
	const struct cluster_config *config = w->cluster->config;
	const struct host_config *host = &config->hosts[w->host];

	*device = (struct registry_device){.memory = host->memory, .pasid = PASID_NONE};
	snprintf(device->tenant, sizeof(device->tenant), "%.60s", host->name);
	if (w->what <= SEEN_SHADOW) {
		seen_describe_device(w, device);
	} else if (w->what == SEEN_AGENT) {
		describe_agent(w, device);
	} else {
		snprintf(device->name, sizeof(device->name), "%.30s/%.30s", host->name,
			 config->fabric->nodes[w->at].name);
		snprintf(device->model, sizeof(device->model), "ntb");
	}
}

int seen_registry(const struct cluster *cluster, __u32 host, struct registry_device **devices,
		  __u32 *count)
{
	struct seen_walk w = walk_of(cluster, host);

	*devices = calloc(cluster->sights->gauges_of_host, sizeof(**devices));
	if (!*devices)
		return failed(-ENOMEM, "no memory for the devices of host %s",
			      cluster->config->hosts[host].name);
	while (walk_next(&w))
		describe_walked(&w, &(*devices)[w.index]);
	*count = w.index + 1;
	return 0;
}
