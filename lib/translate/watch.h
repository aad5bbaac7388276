/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a model's run did to each tenant, and how full its PTB was over time: an observer of the
 * model. Latencies are kept in the histogram of bpf/histogram.h, in units of 64 ps.
 */
#ifndef FAULTLINE_TRANSLATE_WATCH_H
#define FAULTLINE_TRANSLATE_WATCH_H

#include "lib/translate/model.h"

struct watch_tenant {
	__u16 source;
	__u64 packets, drops, translations;
	__u64 latency_sum_ps, latency_max_ps;
	__u64 p50_ps, p99_ps, p999_ps;
};

/* One stretch of virtual time. */
struct watch_point {
	__u64 start_ps;
	__u64 packets, drops;
	__u64 in_flight_ps; /* translations in flight, summed over the stretch */
};

struct watch;

/* point_ps: length of a stretch, doubled whenever there are more than 1024 of them; at least 1000. */
int watch_create(struct watch **watch, __u64 point_ps);
const struct model_observer *watch_observer(const struct watch *watch);
/* After the run: closes the last stretch. -ENOMEM: some tenants could not be watched. */
int watch_finish(struct watch *watch, __u64 time_ps);
/* Latency of all tenants' translations below which so many per mille of them lie. */
__u64 watch_quantile(const struct watch *watch, __u32 per_mille);

/* Tenants in the order of their source numbers; false beyond the last. */
bool watch_tenant(const struct watch *watch, __u32 index, struct watch_tenant *tenant);
__u32 watch_tenants(const struct watch *watch);
const struct watch_point *watch_points(const struct watch *watch, __u32 *count, __u64 *point_ps);
void watch_destroy(struct watch *watch);

#endif
