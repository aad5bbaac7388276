// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/model_runs.h"

#include <stddef.h>

#include "lib/translate/oracle.h"

void calibration_trace(struct tenants_config *trace, __u32 tenants, enum turns_order order,
		       __u32 turn)
{
	tenants_preset(trace, TENANTS_MEDIASTREAM);
	trace->tenant_packets_min = trace->tenant_packets_max = 0;
	trace->packets = CALIBRATION_PACKETS;
	trace->turns.tenants = tenants;
	trace->turns.order = order;
	trace->turns.turn = turn;
}

void partition(struct model_config *config)
{
	config->devtlb.partitions = 8;
	config->level2.partitions = 32;
	config->level3.partitions = 64;
}

bool model_runs(const struct model_config *config, const struct tenants_config *trace,
		const struct model_observer *observer, struct model_stats *stats)
{
	bool foresight = config->devtlb.cache.policy == REPLACE_BELADY;
	struct tenants *tenants = NULL;
	struct oracle *oracle = NULL;
	struct model *model = NULL;
	void *sources[1];
	bool good = !tenants_create(&tenants, trace) && !model_create(&model, config);

	if (good && foresight)
		good = !oracle_create(&oracle, tenants_next, tenants);
	if (good && observer)
		model_observe(model, observer);
	sources[0] = foresight ? (void *)oracle : tenants;
	good = good && !model_run(model, foresight ? oracle_next : tenants_next, sources);
	if (good)
		model_stats(model, stats);
	model_destroy(model);
	oracle_destroy(oracle);
	tenants_destroy(tenants);
	return good;
}

double gbit(const struct model_stats *stats)
{
	return (double)stats->packets * PACKET_BITS * 1000 / (double)stats->time_ps;
}
