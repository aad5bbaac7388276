// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/fault_samples.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/histogram.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

_Static_assert(COMPARE_VALUES == HISTOGRAM_BUCKETS, "values to compare are buckets");

static int make_sample_room(struct fault_samples *samples)
{
	size_t room = samples->room ? 2 * samples->room : 256;
	struct fault_sample *all;

	if (samples->count < samples->room)
		return 0;
	if (samples->room == FAULT_SAMPLES_MAX) {
		for (size_t i = 0; i < samples->count / 2; i++)
			samples->all[i] = samples->all[2 * i];
		samples->count /= 2;
		samples->each *= 2;
		return 0;
	}
	all = memory_realloc(samples->all, room * sizeof(*all));
	if (!all)
		return failed(-ENOMEM, "no memory for %zu faults", room);
	samples->all = all;
	samples->room = room;
	return 0;
}

int fault_samples_add(struct fault_samples *samples, const struct fault *fault)
{
	bool complete = fault->state == FAULT_COMPLETE;
	__u64 number = samples->seen++;
	struct fault_sample *sample;
	struct stage_times times;
	int err;

	samples->each = samples->each ?: 1;
	samples->incomplete += !complete;
	if (number % samples->each)
		return 0;
	err = make_sample_room(samples);
	if (err || number % samples->each)
		return err;
	sample = &samples->all[samples->count++];
	sample->known_ns = fault_known_ns(fault);
	memset(sample->times, 0xff, sizeof(sample->times));
	if (!complete)
		return 0;
	stage_times(fault, &times);
	for (unsigned int s = 0; s < STAGES; s++)
		if (times.measured & 1u << s)
			sample->times[s] = (__u16)histogram_bucket(times.ns[s]);
	sample->times[STAGES] = (__u16)histogram_bucket(fault_total_ns(fault));
	return 0;
}

void fault_samples_free(struct fault_samples *samples)
{
	memory_free(samples->all);
	*samples = (struct fault_samples){0};
}

static unsigned int block_at(__u64 ns, __u64 from_ns, __u64 to_ns)
{
	double part = ns > from_ns && to_ns > from_ns
			      ? (double)(ns - from_ns) / (double)(to_ns - from_ns)
			      : 0;

	return part < 1 ? (unsigned int)(part * COMPARE_BLOCKS) : COMPARE_BLOCKS - 1;
}

void fault_samples_values(const struct fault_samples *samples, unsigned int stage, __u64 from_ns,
			  __u64 to_ns, __u16 *values, __u8 *blocks, struct compare_sample *sample)
{
	size_t count = 0;

	for (size_t i = 0; i < samples->count; i++) {
		const struct fault_sample *kept = &samples->all[i];

		if (kept->times[stage] == FAULT_UNTIMED)
			continue;
		values[count] = kept->times[stage];
		blocks[count++] = (__u8)block_at(kept->known_ns, from_ns, to_ns);
	}
	*sample = (struct compare_sample){values, blocks, count};
}

void fault_samples_counts(const struct fault_samples *samples, bool incomplete, __u64 from_ns,
			  __u64 to_ns, struct compare_counts *counts)
{
	*counts = (struct compare_counts){
		.seconds = to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NSEC_PER_SEC : 0};
	for (size_t i = 0; i < samples->count; i++)
		if (!incomplete || samples->all[i].times[STAGES] == FAULT_UNTIMED)
			counts->blocks[block_at(samples->all[i].known_ns, from_ns, to_ns)] +=
				(double)samples->each;
}
