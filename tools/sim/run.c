// SPDX-License-Identifier: GPL-2.0
/* One point of a simulation: a trace through a model, and the row of numbers it gives. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tools/sim/origin.h"

#define POINT_PS 1000000 /* stretches of the PTB's curve: 1 us, doubled as needed */

struct run {
	const struct sim_config *config;
	struct model *model;
	struct watch *watch;
	struct origin origins[SIM_DEVICES];
};

static double sim_ratio(__u64 part, __u64 whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* The bandwidth that so many packets in so much virtual time are. */
static __u64 bits_per_s(const struct sim_config *c, __u64 packets, __u64 time_ps)
{
	if (!time_ps)
		return 0;
	return (__u64)((unsigned __int128)packets * c->model.packet_bits * PSEC_PER_SEC / time_ps);
}

static void fill_traffic(struct sim_outcome *o, const struct sim_config *c)
{
	const struct model_stats *s = &o->stats;
	double *v = o->values;

	v[SIM_TENANTS] = o->tenant_count;
	v[SIM_PACKETS] = (double)s->packets;
	v[SIM_TRANSLATIONS] = (double)s->translations;
	v[SIM_DROPS] = (double)s->drops;
	v[SIM_TIME] = (double)s->time_ps;
	v[SIM_OFFERED] = (double)bits_per_s(c, s->packets + s->drops, s->time_ps);
	v[SIM_BANDWIDTH] = (double)bits_per_s(c, s->packets, s->time_ps);
	v[SIM_GBIT] = v[SIM_BANDWIDTH] / 1e9;
	v[SIM_PTB_MEAN] = sim_ratio(s->in_flight_ps, s->time_ps);
	v[SIM_PTB_MAX] = s->in_flight_max;
	v[SIM_FAULTS] = (double)s->faults;
	v[SIM_INVALIDATIONS] = (double)s->invalidations;
}

static void fill_caches(struct sim_outcome *o)
{
	const struct model_stats *s = &o->stats;
	double *v = o->values;

	v[SIM_DEVTLB_HIT] = sim_ratio(s->devtlb.hits, s->devtlb.hits + s->devtlb.misses);
	v[SIM_BUFFER_HIT] = sim_ratio(s->prefetch.hits, s->translations);
	v[SIM_CONFLICTS] = (double)s->devtlb.evictions;
	v[SIM_CROSS] = (double)s->devtlb.cross_evictions;
	v[SIM_WALKS] = (double)(s->walks + s->prefetch_walks);
	v[SIM_WALK_READS] = (double)s->walk_reads;
	v[SIM_READS_PER_WALK] = sim_ratio(s->walk_reads, s->walks + s->prefetch_walks);
	v[SIM_PREFETCHES] = (double)s->prefetches;
	v[SIM_PREFETCH_USEFUL] = (double)s->prefetch_useful;
	v[SIM_PREFETCH_LATE] = (double)s->prefetch_late;
	v[SIM_PREFETCH_UNUSED] = (double)s->prefetch_unused;
	v[SIM_PREFETCH_DUPLICATES] = (double)s->prefetch_duplicates;
}

static void fill_fairness(struct sim_outcome *o)
{
	unsigned __int128 total = o->stats.packets, squares = 0;
	__u64 least = UINT64_MAX;

	for (__u32 i = 0; i < o->tenant_count; i++) {
		__u64 packets = o->tenants[i].watch.packets;

		if (packets < least)
			least = packets;
		squares += (unsigned __int128)packets * packets;
	}
	o->values[SIM_FAIRNESS] =
		sim_ratio(o->tenant_count ? least * o->tenant_count : 0, o->stats.packets);
	o->values[SIM_JAIN] =
		squares ? (double)(total * total) / (double)(squares * o->tenant_count) : 0;
}

static void sim_fill_latency(struct sim_outcome *o, const struct watch *watch)
{
	__u64 mean = 0;
	double *v = o->values;

	if (o->stats.translations)
		mean = o->stats.latency_sum_ps / o->stats.translations;
	v[SIM_LATENCY_MEAN] = (double)mean;
	v[SIM_LATENCY_P50] = (double)watch_quantile(watch, 500);
	v[SIM_LATENCY_P99] = (double)watch_quantile(watch, 990);
	v[SIM_LATENCY_P999] = (double)watch_quantile(watch, 999);
	v[SIM_LATENCY_MAX] = (double)o->stats.latency_max_ps;
}

static int keep_tenants(struct sim_outcome *o, const struct run *run)
{
	const struct watch *watch = run->watch;
	const struct watch_point *points;

	o->tenant_count = watch_tenants(watch);
	points = watch_points(watch, &o->point_count, &o->point_ps);
	o->tenants = calloc(o->tenant_count + 1, sizeof(o->tenants[0]));
	o->points = calloc(o->point_count + 1, sizeof(o->points[0]));
	if (!o->tenants || !o->points)
		return failed(-ENOMEM, "no memory for %u tenants", o->tenant_count);
	for (__u32 i = 0; i < o->tenant_count; i++) {
		struct sim_tenant *tenant = &o->tenants[i];

		tenant->alone_mean_ps = CELL_NONE;
		tenant->slowdown = NAN;
		watch_tenant(watch, i, &tenant->watch);
		tenant->bits_per_s =
			bits_per_s(run->config, tenant->watch.packets, o->stats.time_ps);
		tenant->lost = model_lost(run->model, tenant->watch.source);
	}
	for (__u32 i = 0; i < o->point_count; i++)
		o->points[i] = points[i];
	return 0;
}

static int keep_occupancy(struct sim_outcome *o, const struct model *model)
{
	for (int part = 0; part < SIM_PARTS; part++) {
		__u32 count = model_occupancy(model, part, NULL, 0);

		o->partitions[part] = count < SIM_PARTITIONS ? count : SIM_PARTITIONS;
		o->occupancy[part] = calloc(count + 1, sizeof(__u32));
		if (!o->occupancy[part])
			return failed(-ENOMEM, "no memory for %u partitions", count);
		model_occupancy(model, part, o->occupancy[part], o->partitions[part]);
	}
	return 0;
}

static int keep_sets(struct sim_outcome *o, const struct model *model)
{
	for (int part = 0; part < SIM_PARTS; part++) {
		__u32 count;
		const struct model_cache_stats *sets = model_sets(model, part, &count);

		if (!sets || count > SIM_SETS)
			continue;
		o->sets[part] = malloc(count * sizeof(sets[0]));
		if (!o->sets[part])
			return failed(-ENOMEM, "no memory for %u sets", count);
		memcpy(o->sets[part], sets, count * sizeof(sets[0]));
		o->set_count[part] = count;
	}
	return 0;
}

static int sim_play(struct run *run, struct sim_outcome *outcome)
{
	void *selves[SIM_DEVICES];
	int err = 0;

	for (__u32 i = 0; i < run->config->model.devices; i++)
		selves[i] = &run->origins[i];
	model_observe(run->model, watch_observer(run->watch));
	err = model_run(run->model, origin_next, selves);
	/* Recorded pages that page tables cannot hold: beyond 48 bits, or at one address of two sizes. */
	if (err == -EINVAL || err == -EEXIST)
		return failed(-EBADMSG, "walk.tables=yes: %s", failure_text());
	if (err)
		return err;
	model_stats(run->model, &outcome->stats);
	err = watch_finish(run->watch, outcome->stats.time_ps);
	if (!err)
		err = keep_tenants(outcome, run);
	if (!err)
		err = keep_occupancy(outcome, run->model);
	if (!err)
		err = keep_sets(outcome, run->model);
	if (err)
		return err;
	fill_traffic(outcome, run->config);
	fill_caches(outcome);
	outcome->values[SIM_SLOWDOWN_MEAN] = outcome->values[SIM_SLOWDOWN_MAX] = NAN;
	fill_fairness(outcome);
	sim_fill_latency(outcome, run->watch);
	return 0;
}

int sim_run(struct sim_outcome *outcome, const struct sim_config *config, const struct store *store)
{
	struct run run = {.config = config};
	int err = model_create(&run.model, &config->model);

	*outcome = (struct sim_outcome){0};
	for (__u32 i = 0; !err && i < config->model.devices; i++)
		err = origin_open(&run.origins[i], config, store, i);
	for (__u32 i = 0; !err && i < config->model.devices; i++)
		err = origin_look_ahead(&run.origins[i], config);
	if (!err)
		err = watch_create(&run.watch, POINT_PS);
	if (!err)
		err = sim_play(&run, outcome);
	if (!err && config->analyze)
		err = sim_analyze(outcome, config, store);
	if (!err && config->alone)
		err = sim_alone(outcome, config, store);
	for (__u32 i = 0; i < SIM_DEVICES; i++)
		origin_close(&run.origins[i]);
	watch_destroy(run.watch);
	model_destroy(run.model);
	return err;
}

void sim_outcome_free(struct sim_outcome *outcome)
{
	free(outcome->tenants);
	free(outcome->points);
	for (int part = 0; part < SIM_PARTS; part++) {
		free(outcome->occupancy[part]);
		free(outcome->sets[part]);
	}
	*outcome = (struct sim_outcome){0};
}
