// SPDX-License-Identifier: GPL-2.0
/* What each tenant's translations would have taken if nobody else had been there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "tools/sim/origin.h"

#define BATCH 256

struct alone {
	const struct sim_config *config;
	struct origin origins[SIM_DEVICES];
	__u64 *packets; /* of each device's tenants, device by device */
};

static __u64 *packets_of(const struct alone *a, __u32 device, __u32 tenant)
{
	return &a->packets[(size_t)device * MODEL_TENANTS + tenant];
}

/* All packets of a trace get through: what a tenant has in it is what it got through. */
static int count_packets(struct alone *a, const struct store *store, __u32 device)
{
	struct model_packet packets[BATCH];
	struct origin origin = {0};
	int err = origin_open(&origin, a->config, store, device), count = 0;

	while (!err && (count = origin_next(&origin, packets, BATCH)) > 0)
		for (int i = 0; i < count; i++)
			++*packets_of(a, device, packets[i].source);
	origin_close(&origin);
	return err ? err : count;
}

static int open_origins(struct alone *a, const struct store *store)
{
	int err = 0;

	a->packets = calloc((size_t)a->config->model.devices * MODEL_TENANTS, sizeof(__u64));
	if (!a->packets)
		return failed(-ENOMEM, "no memory for tenants alone");
	for (__u32 i = 0; !err && i < a->config->model.devices; i++) {
		err = count_packets(a, store, i);
		if (!err)
			err = origin_open(&a->origins[i], a->config, store, i);
	}
	return err;
}

/* One tenant's own packets through a model that nobody has used. */
static int run_tenant(struct alone *a, struct sim_tenant *tenant)
{
	const struct model_config *config = &a->config->model;
	void *selves[SIM_DEVICES];
	struct model_stats stats;
	struct model *model;
	int err = model_create(&model, config);

	if (err)
		return err;
	for (__u32 i = 0; !err && i < config->devices; i++) {
		selves[i] = &a->origins[i];
		err = origin_only(&a->origins[i], a->config, tenant->watch.source,
				  *packets_of(a, i, tenant->watch.source));
	}
	if (!err)
		err = model_run(model, origin_next, selves);
	model_stats(model, &stats);
	model_destroy(model);
	if (err)
		return err;
	tenant->alone_mean_ps = stats.translations ? stats.latency_sum_ps / stats.translations : 0;
	if (stats.latency_sum_ps)
		tenant->slowdown =
			(double)tenant->watch.latency_sum_ps / (double)stats.latency_sum_ps;
	else
		tenant->slowdown = tenant->watch.latency_sum_ps ? NAN : 1;
	return 0;
}

int sim_alone(struct sim_outcome *o, const struct sim_config *config, const struct store *store)
{
	struct alone alone = {.config = config};
	double sum = 0, most = 0;
	int err = open_origins(&alone, store);

	for (__u32 i = 0; !err && i < o->tenant_count; i++) {
		err = run_tenant(&alone, &o->tenants[i]);
		sum += o->tenants[i].slowdown;
		most = fmax(most, o->tenants[i].slowdown);
	}
	for (__u32 i = 0; i < config->model.devices; i++)
		origin_close(&alone.origins[i]);
	free(alone.packets);
	if (err || !o->tenant_count)
		return err;
	o->values[SIM_SLOWDOWN_MEAN] = sum / o->tenant_count;
	o->values[SIM_SLOWDOWN_MAX] = most;
	return 0;
}
