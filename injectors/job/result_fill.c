// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/job/result_private.h"
#include "lib/base/fail.h"

#define FAILING_NAMED 3 /* devices; there may be thousands */

static double result_percentile(const struct histogram *h, double percent)
{
	if (histogram_beyond(h, percent) < RESULT_BEYOND)
		return NAN;
	return (double)histogram_percentile(h, percent);
}

void result_fill_latency(struct result *result, const struct histogram *h)
{
	double *v = result->values;

	if (!h->count)
		return;
	v[RESULT_LATENCY_MEAN] = histogram_mean(h);
	v[RESULT_LATENCY_MAX] = (double)h->max;
	v[RESULT_LATENCY_MIN] = (double)h->min;
	v[RESULT_LATENCY_P50] = result_percentile(h, 50);
	v[RESULT_LATENCY_P90] = result_percentile(h, 90);
	v[RESULT_LATENCY_P99] = result_percentile(h, 99);
	v[RESULT_LATENCY_P999] = result_percentile(h, 99.9);
	v[RESULT_LATENCY_P9999] = result_percentile(h, 99.99);
}

static void fill_round_trip(struct result *result, const struct histogram *h,
			    const struct round_trip_parts *parts)
{
	double *v = result->values;

	v[RESULT_ROUND_TRIPS] = (double)h->count;
	if (!h->count)
		return;
	v[RESULT_ROUND_TRIP_MEAN] = histogram_mean(h);
	v[RESULT_HOST_MEAN] = (double)parts->host_ns / (double)h->count;
	v[RESULT_DEVICE_MEAN] = v[RESULT_ROUND_TRIP_MEAN] - v[RESULT_HOST_MEAN];
	v[RESULT_HOST_LEAST] = (double)parts->host_least_ns;
	v[RESULT_DEVICE_LEAST] = (double)parts->device_least_ns;
	v[RESULT_ROUND_TRIP_MAX] = (double)h->max;
	v[RESULT_ROUND_TRIP_P50] = result_percentile(h, 50);
	v[RESULT_ROUND_TRIP_P90] = result_percentile(h, 90);
	v[RESULT_ROUND_TRIP_P99] = result_percentile(h, 99);
}

static void fill_emq(struct result *result, const struct emq_stats *emq)
{
	double *v = result->values;

	v[RESULT_EMQ_COMMANDS] = (double)(emq->invalidations + emq->maps);
	v[RESULT_EMQ_DEPTH_MAX] = emq->depth_max;
	v[RESULT_EMQ_FULL_WAITS] = (double)emq->full_waits;
	if (!emq->round_trip.count)
		return;
	v[RESULT_EMQ_P50] = result_percentile(&emq->round_trip, 50);
	v[RESULT_EMQ_P99] = result_percentile(&emq->round_trip, 99);
	v[RESULT_EMQ_MAX] = (double)emq->round_trip.max;
}

static void fill_protector(struct result *result, const struct machine_totals *totals)
{
	const struct protector_stats *protector = &totals->protector;
	double *v = result->values, percent = 100 / (double)totals->memory_bytes;

	v[RESULT_PINNED_MEAN] = protector->pinned_mean * percent;
	v[RESULT_PINNED_MAX] = (double)protector->pinned_most * percent;
	v[RESULT_PINS] = (double)protector->pins;
	v[RESULT_UNPINS] = (double)protector->unpins;
	v[RESULT_PIN_REFUSED] = (double)protector->refused;
	v[RESULT_ACCESSES] = (double)totals->accesses.produced;
	v[RESULT_ACCESSES_LOST] = (double)totals->accesses.discarded;
}

static void name_failing(const struct result_input *input)
{
	char *text = input->notes->failing;
	size_t used = 0, size = sizeof(input->notes->failing);
	__u32 count = 0;

	for (__u32 i = 0; i < input->config->workload_count; i++) {
		const struct device_config *device =
			&input->config->devices[input->config->workloads[i].device];

		if (!machine_workload(input->machine, i)->errors || count++ >= FAILING_NAMED)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s/%s", count > 1 ? ", " : "",
					 input->config->tenants[device->tenant].name, device->name);
	}
	if (count > FAILING_NAMED)
		snprintf(text + used, size - used, " and %u other%s", count - FAILING_NAMED,
			 count - FAILING_NAMED == 1 ? "" : "s");
}

static void fill_workloads(struct result *result, const struct result_input *input)
{
	double *v = result->values, seconds = 0, queue_ns = 0, blocked_ns = 0, slowest = INFINITY;
	struct histogram latency;
	__u64 ios = 0, unsent = 0, bytes = 0, errors = 0, mismatches = 0;

	histogram_init(&latency);
	for (__u32 i = 0; i < input->config->workload_count; i++) {
		const struct workload_result *w = machine_workload(input->machine, i);
		__u32 device = input->config->workloads[i].device;
		double length = (double)(w->end_ns - w->start_ns);

		histogram_merge(&latency, &w->latency);
		ios += w->ios;
		unsent += w->unsent;
		bytes += w->bytes;
		errors += w->errors;
		mismatches += w->mismatches;
		seconds = fmax(seconds, length / 1e9);
		queue_ns += length * input->config->devices[device].queues;
		blocked_ns += (double)w->blocked_ns;
		/* A run of less than one window has no slowest one. */
		if (length >= 1e8)
			slowest = fmin(slowest, (double)w->window_min_ios * 10);
	}
	v[RESULT_ERRORS] = (double)errors;
	v[RESULT_MISMATCHES] = (double)mismatches;
	if (!input->config->workload_count)
		return;
	v[RESULT_SECONDS] = seconds;
	v[RESULT_IOS] = (double)ios;
	v[RESULT_UNSENT] = (double)unsent;
	v[RESULT_MIN_IOPS] = isinf(slowest) ? NAN : slowest;
	if (seconds > 0) {
		v[RESULT_IOPS] = (double)ios / seconds;
		v[RESULT_BYTES_PER_S] = (double)bytes / seconds;
		v[RESULT_BLOCKED] = blocked_ns / queue_ns;
	}
	result_fill_latency(result, &latency);
	name_failing(input);
}

int result_fill(struct result *result, const struct result_input *input)
{
	struct machine_totals *totals = malloc(sizeof(*totals));
	struct result_wires wires = {NAN, NAN, false};
	double *v = result->values;

	result_clear(result);
	if (!totals)
		return failed(-ENOMEM, "no memory for the run's totals");
	fill_workloads(result, input);
	result_fill_frames(result, input, &wires);
	result_fill_ranks(result, input, &wires);
	result_fill_verbs(result, input);
	result_fill_programs(result, input, &wires);
	result_fill_kvstores(result, input, &wires);
	if (!wires.unknown && wires.sent > 0)
		v[RESULT_WIRE_EFFICIENCY] = wires.useful / wires.sent;
	machine_totals(input->machine, totals);
	fill_round_trip(result, &totals->round_trip, &totals->parts);
	result_fill_limit(result, &totals->limit);
	result_fill_vms(result, input, totals);
	fill_protector(result, totals);
	v[RESULT_FAULTS] = (double)totals->faults;
	v[RESULT_GROUPS] = (double)totals->groups;
	v[RESULT_MAJOR] = (double)(totals->memory.page_in_file + totals->memory.page_in_swap);
	v[RESULT_OVERFLOWS] = (double)totals->service.overflows;
	v[RESULT_OVERFLOW_EPOCHS] = (double)totals->service.overflow_epochs;
	v[RESULT_DISCARDS] = (double)totals->service.discarded;
	v[RESULT_AUTO_ANSWERED] = (double)totals->automatic;
	v[RESULT_DISABLES] = (double)totals->disabled;
	v[RESULT_REFUSED] = (double)totals->refused;
	v[RESULT_HELD_BACK] = (double)totals->held_back;
	v[RESULT_READ_ONLY] = (double)totals->lookup.read_only_faults;
	v[RESULT_UPGRADES] = (double)totals->upgrades;
	v[RESULT_INVALID] = (double)totals->service.responses[RESPONSE_INVALID];
	v[RESULT_HUGE] = (double)totals->huge;
	v[RESULT_SPLITS] = (double)totals->splits;
	fill_emq(result, &totals->emq);
	v[RESULT_OFF_TENANT] = (double)totals->service.off_tenant;
	v[RESULT_AT_MSI] = (double)totals->service.at_msi;
	v[RESULT_OFF_MSI] = (double)totals->service.off_msi;
	v[RESULT_BEHIND_OTHERS] = (double)totals->service.behind_others;
	if (totals->best_round_trip_ns > 0)
		v[RESULT_ROUND_TRIP_BEST] = totals->best_round_trip_ns;
	v[RESULT_LOOKUPS] = (double)totals->lookup.lookups;
	v[RESULT_LOOKUP_P50] = result_percentile(&totals->lookup_time, 50);
	v[RESULT_DEVTLB_HITS] = (double)totals->lookup.devtlb_hits;
	v[RESULT_DEVTLB_MISSES] = (double)totals->lookup.devtlb_misses;
	v[RESULT_IOTLB_HITS] = (double)totals->lookup.iotlb_hits;
	v[RESULT_IOTLB_MISSES] = (double)totals->lookup.iotlb_misses;
	v[RESULT_VIOLATIONS] = (double)totals->violations;
	v[RESULT_EVICT_ASKED] = (double)input->injected.evict_asked;
	v[RESULT_EVICTED] = (double)input->injected.evicted;
	v[RESULT_EVICT_MISSED] = (double)input->injected.evict_missed;
	v[RESULT_EVICT_PINNED] = (double)totals->pinned_skipped;
	v[RESULT_PINNED] = (double)totals->pinned_most;
	v[RESULT_FIRED] = (double)input->injected.fired;
	v[RESULT_CPU] = (double)input->cpu_ns;
	v[RESULT_PID] = getpid();
	free(totals);
	return 0;
}
