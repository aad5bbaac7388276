// SPDX-License-Identifier: GPL-2.0
/* What came of stores, and of the limit on the memory that they share. */
#include "injectors/job/result_private.h"

#define STEADY_SHARE 0.8 /* of a window's hits in the last quarter of the run */

void result_fill_limit(struct result *result, const struct memory_limit_stats *limit)
{
	double *v = result->values;

	if (!limit->limit)
		return;
	v[RESULT_LIMITED] = (double)limit->limit;
	v[RESULT_IN_GROUP] = limit->in_group;
	v[RESULT_PRESENT] = (double)limit->present;
	v[RESULT_PRESENT_MOST] = (double)limit->present_most;
	v[RESULT_RECLAIMED] = (double)limit->reclaimed;
	v[RESULT_ROOM_WAITS] = (double)limit->waits;
}

/* What all stores together hit in a window; false: there is no such one, or it is not a whole one. */
static bool window_hits(const struct result_input *input, __u32 window, double *hits)
{
	bool there = false;

	*hits = 0;
	for (__u32 i = 0; i < input->config->kvstore_count; i++) {
		const struct kvstore_result *store = machine_kvstore(input->machine, i);

		if (!store->started ||
		    window >= (store->end_ns - store->begin_ns) / KVSTORE_WINDOW_NS ||
		    window >= store->window_count)
			continue;
		*hits += store->windows[window];
		there = true;
	}
	return there;
}

/* From the earliest shift of any store on. */
static double transition_of(const struct result_input *input)
{
	__u64 shift_ns = 0;
	__u32 windows = 0, quarter, first;
	double sum = 0, hits;

	for (__u32 i = 0; i < input->config->kvstore_count; i++) {
		__u64 at = input->config->kvstores[i].shift_at_ns;

		if (at && (!shift_ns || at < shift_ns))
			shift_ns = at;
	}
	while (window_hits(input, windows, &hits))
		windows++;
	first = (__u32)((shift_ns + KVSTORE_WINDOW_NS - 1) / KVSTORE_WINDOW_NS);
	if (!shift_ns || first >= windows)
		return NAN;
	quarter = windows / 4;
	for (__u32 w = windows - quarter; w < windows; w++)
		sum += window_hits(input, w, &hits) ? hits : 0;
	for (__u32 w = first; w < windows; w++)
		if (window_hits(input, w, &hits) && hits * quarter >= STEADY_SHARE * sum)
			return (double)(w * KVSTORE_WINDOW_NS) - (double)shift_ns;
	return NAN;
}

static double rate_of(__u64 hits, __u64 gets)
{
	return gets ? (double)hits / (double)gets : NAN;
}

void result_fill_kvstores(struct result *result, const struct result_input *input,
			  struct result_wires *wires)
{
	double *v = result->values, seconds = 0, requests = 0, bytes = 0, hits = 0, gets = 0;
	double worst = NAN, fewest = INFINITY, most = 0, errors = 0, damaged = 0, started = 0;
	__u32 count = input->config->kvstore_count;
	struct histogram latency;

	if (!count)
		return;
	histogram_init(&latency);
	for (__u32 i = 0; i < count; i++) {
		const struct kvstore_result *store = machine_kvstore(input->machine, i);
		__u32 item = input->config->kvstores[i].item_bytes - KVSTORE_HEADER;

		started += store->started;
		if (!store->started)
			continue;
		seconds = fmax(seconds, (double)(store->end_ns - store->begin_ns) / 1e9);
		hits += (double)store->hits;
		gets += (double)store->gets;
		requests += (double)(store->gets + store->sets);
		bytes += (double)(store->hits + store->sets) * item;
		errors += (double)store->errors;
		damaged += (double)store->damaged;
		worst = fmin(worst, rate_of(store->hits - store->hits_shifted,
					    store->gets - store->gets_shifted));
		worst = fmin(worst, rate_of(store->hits_shifted, store->gets_shifted));
		fewest = fmin(fewest, (double)store->hits_shifted);
		most = fmax(most, (double)store->hits_shifted);
		histogram_merge(&latency, &store->latency);
	}
	result_add(&v[RESULT_INSTANCES], started);
	result_add(&v[RESULT_INSTANCES_REFUSED], count - started);
	v[RESULT_HITS] = hits;
	v[RESULT_HIT_RATE] = gets > 0 ? hits / gets : NAN;
	v[RESULT_WORST_HIT_RATE] = worst;
	v[RESULT_WORST_SHARE] = most > 0 ? fewest / most : NAN;
	v[RESULT_TRANSITION] = transition_of(input);
	v[RESULT_ERRORS] += errors;
	v[RESULT_MISMATCHES] += damaged;
	result_add(&v[RESULT_REQUESTS], requests);
	result_add(&wires->useful, bytes);
	if (seconds <= 0)
		return;
	v[RESULT_SECONDS] = fmax(v[RESULT_SECONDS], seconds);
	v[RESULT_HITS_PER_S] = hits / seconds;
	result_add(&v[RESULT_REQUESTS_PER_S], requests / seconds);
	result_add(&v[RESULT_GOODPUT], bytes / seconds);
	if (histogram_beyond(&latency, 99) >= RESULT_BEYOND)
		v[RESULT_REQUEST_P99] =
			fmax(v[RESULT_REQUEST_P99], (double)histogram_percentile(&latency, 99));
}
