// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/histogram.h"
#include "lib/base/fail.h"

#define UNIT_PS	   64
#define COUNT_BITS 32
#define POINTS_MAX 1024
#define POINT_MIN  1000

struct tenant_counts {
	__u64 packets, drops, translations;
	__u64 latency_sum_ps, latency_max_ps;
	__u32 latencies[HISTOGRAM_BUCKETS];
	__u32 *carries; /* how often each of these was full; NULL: none was */
};

struct watch {
	struct model_observer observer;
	struct tenant_counts *tenants[MODEL_TENANTS]; /* by source, made when first seen */
	__u16 seen[MODEL_TENANTS]; /* sources in the order of their numbers, once finished */
	__u32 count;
	struct tenant_counts all; /* together, once finished */
	struct watch_point points[POINTS_MAX];
	__u32 point_count;
	__u64 point_ps;
	__u64 since_ps;		     /* in_flight since then */
	struct watch_point *present; /* the stretch that holds since_ps */
	__u64 present_end_ps;
	__u64 in_flight;
	bool failed;
};

static struct tenant_counts *watch_tenant_of(struct watch *w, __u16 source)
{
	if (!w->tenants[source]) {
		w->tenants[source] = calloc(1, sizeof(struct tenant_counts));
		w->failed |= !w->tenants[source];
	}
	return w->tenants[source];
}

/* Counts of 32 bits are full after minutes; those of 64 would take twice the memory for all. */
static void tenant_carry(struct watch *w, struct tenant_counts *tenant, __u32 bucket, __u32 count)
{
	if (!tenant->carries)
		tenant->carries = calloc(HISTOGRAM_BUCKETS, sizeof(tenant->carries[0]));
	if (tenant->carries)
		tenant->carries[bucket] += count;
	w->failed |= !tenant->carries;
}

static __u64 tenant_latencies(const struct tenant_counts *tenant, __u32 bucket)
{
	__u64 carries = tenant->carries ? tenant->carries[bucket] : 0;

	return carries << COUNT_BITS | tenant->latencies[bucket];
}

/* Two stretches become one: a run of unknown length stays within the points there are. */
static void watch_fold(struct watch *w)
{
	for (__u32 i = 0; i < POINTS_MAX / 2; i++) {
		struct watch_point *a = &w->points[2ul * i], *b = a + 1;

		w->points[i] = (struct watch_point){
			.start_ps = a->start_ps,
			.packets = a->packets + b->packets,
			.drops = a->drops + b->drops,
			.in_flight_ps = a->in_flight_ps + b->in_flight_ps,
		};
	}
	memset(&w->points[POINTS_MAX / 2], 0, sizeof(w->points) / 2);
	w->point_count = (w->point_count + 1) / 2;
	w->point_ps *= 2;
}

static struct watch_point *watch_point_at(struct watch *w, __u64 time_ps)
{
	while (time_ps / w->point_ps >= POINTS_MAX)
		watch_fold(w);
	for (__u32 next = w->point_count; next <= time_ps / w->point_ps; next++)
		w->points[next].start_ps = next * w->point_ps;
	if (w->point_count <= time_ps / w->point_ps)
		w->point_count = (__u32)(time_ps / w->point_ps) + 1;
	return &w->points[time_ps / w->point_ps];
}

/* Adds what was in flight up to now to each stretch that it covers. */
static void pass_stretches(struct watch *w, __u64 now_ps)
{
	while (now_ps >= w->present_end_ps) {
		w->present->in_flight_ps += w->in_flight * (w->present_end_ps - w->since_ps);
		w->since_ps = w->present_end_ps;
		w->present = watch_point_at(w, w->since_ps);
		w->present_end_ps = w->present->start_ps + w->point_ps;
	}
}

static inline void pass_time(struct watch *w, __u64 now_ps)
{
	if (now_ps >= w->present_end_ps)
		pass_stretches(w, now_ps);
	w->present->in_flight_ps += w->in_flight * (now_ps - w->since_ps);
	w->since_ps = now_ps;
}

static void on_entered(void *self, __u64 now_ps, const struct model_packet *packet, __u64 drops)
{
	struct watch *w = self;
	struct tenant_counts *tenant = watch_tenant_of(w, packet->source);

	pass_time(w, now_ps);
	w->in_flight += packet->count;
	w->present->packets++;
	w->present->drops += drops;
	if (!tenant)
		return;
	tenant->packets++;
	tenant->drops += drops;
}

static void on_completed(void *self, __u64 now_ps, __u16 source, __u64 latency_ps)
{
	struct watch *w = self;
	struct tenant_counts *tenant = w->tenants[source];
	__u32 bucket = histogram_bucket(latency_ps / UNIT_PS);

	pass_time(w, now_ps);
	w->in_flight--;
	if (!tenant)
		return;
	tenant->translations++;
	tenant->latency_sum_ps += latency_ps;
	if (tenant->latency_max_ps < latency_ps)
		tenant->latency_max_ps = latency_ps;
	if (!++tenant->latencies[bucket])
		tenant_carry(w, tenant, bucket, 1);
}

int watch_create(struct watch **watch, __u64 point_ps)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return failed(-ENOMEM, "no memory for the tenants of a model");
	w->point_ps = point_ps < POINT_MIN ? POINT_MIN : point_ps;
	w->present = watch_point_at(w, 0);
	w->present_end_ps = w->point_ps;
	w->observer = (struct model_observer){on_entered, on_completed, w};
	*watch = w;
	return 0;
}

const struct model_observer *watch_observer(const struct watch *w)
{
	return &w->observer;
}

static void add_up(struct watch *w, struct tenant_counts *all, const struct tenant_counts *tenant)
{
	all->translations += tenant->translations;
	if (all->latency_max_ps < tenant->latency_max_ps)
		all->latency_max_ps = tenant->latency_max_ps;
	for (__u32 bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		__u64 sum = (__u64)all->latencies[bucket] + tenant_latencies(tenant, bucket);

		all->latencies[bucket] = (__u32)sum;
		if (sum >> COUNT_BITS)
			tenant_carry(w, all, bucket, (__u32)(sum >> COUNT_BITS));
	}
}

int watch_finish(struct watch *w, __u64 time_ps)
{
	pass_time(w, time_ps);
	w->count = 0;
	free(w->all.carries);
	memset(&w->all, 0, sizeof(w->all));
	for (__u32 source = 0; source < MODEL_TENANTS; source++)
		if (w->tenants[source]) {
			w->seen[w->count++] = (__u16)source;
			add_up(w, &w->all, w->tenants[source]);
		}
	return w->failed ? failed(-ENOMEM, "no memory for %u tenants", w->count) : 0;
}

/* Middle of the bucket in which so many per mille of the samples have come, at most the maximum. */
static __u64 tenant_quantile(const struct tenant_counts *tenant, __u32 per_mille)
{
	__u64 rank = (tenant->translations * per_mille + 999) / 1000, count = 0;
	__u32 bucket = 0, shift;
	__u64 value;

	while (bucket < HISTOGRAM_BUCKETS - 1 && (count += tenant_latencies(tenant, bucket)) < rank)
		bucket++;
	if (bucket < 1u << HISTOGRAM_SUB_BITS) {
		value = bucket;
	} else {
		shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
		value = ((1ull << HISTOGRAM_SUB_BITS) + bucket % (1u << HISTOGRAM_SUB_BITS))
				<< shift |
			(shift ? 1ull << (shift - 1) : 0);
	}
	value = value * UNIT_PS + UNIT_PS / 2;
	return value < tenant->latency_max_ps ? value : tenant->latency_max_ps;
}

__u64 watch_quantile(const struct watch *w, __u32 per_mille)
{
	return w->all.translations ? tenant_quantile(&w->all, per_mille) : 0;
}

bool watch_tenant(const struct watch *w, __u32 index, struct watch_tenant *result)
{
	const struct tenant_counts *tenant;

	if (index >= w->count)
		return false;
	tenant = w->tenants[w->seen[index]];
	*result = (struct watch_tenant){
		.source = w->seen[index],
		.packets = tenant->packets,
		.drops = tenant->drops,
		.translations = tenant->translations,
		.latency_sum_ps = tenant->latency_sum_ps,
		.latency_max_ps = tenant->latency_max_ps,
		.p50_ps = tenant_quantile(tenant, 500),
		.p99_ps = tenant_quantile(tenant, 990),
		.p999_ps = tenant_quantile(tenant, 999),
	};
	return true;
}

__u32 watch_tenants(const struct watch *w)
{
	return w->count;
}

const struct watch_point *watch_points(const struct watch *w, __u32 *count, __u64 *point_ps)
{
	*count = w->point_count;
	*point_ps = w->point_ps;
	return w->points;
}

void watch_destroy(struct watch *w)
{
	if (!w)
		return;
	for (__u32 source = 0; source < MODEL_TENANTS; source++) {
		if (w->tenants[source])
			free(w->tenants[source]->carries);
		free(w->tenants[source]);
	}
	free(w->all.carries);
	free(w);
}
