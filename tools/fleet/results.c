// SPDX-License-Identifier: GPL-2.0
/* From what became of each machine to the numbers of a point. */
#include "tools/fleet/results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/fail.h"

/* A place among the devices and days of a model, in the order of machines and of days; all 0 is before the first. */
struct device_row_place {
	const struct fleet_device *device;
	__u32 machine;
	size_t row;
};

/* Goes on to the next; false behind the last. */
static bool next_device(const struct fleet_point *point, __u32 model, struct device_row_place *at)
{
	for (; at->machine < point->machine_count; at->machine++, at->row = 0) {
		const struct fleet_outcome *o = &point->outcomes[at->machine];

		while (at->row < o->device_count) {
			at->device = &o->devices[at->row++];
			if (at->device->model == model)
				return true;
		}
	}
	return false;
}

static int compare_counts(const void *left, const void *right)
{
	__u64 a = *(const __u64 *)left, b = *(const __u64 *)right;

	return (a > b) - (a < b);
}

static int compare_reals(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static size_t count_devices(const struct fleet_point *point, __u32 model)
{
	struct device_row_place at = {0};
	size_t count = 0;

	while (next_device(point, model, &at))
		count++;
	return count;
}

__u64 *fleet_faults(const struct fleet_point *point, __u32 model, size_t *count)
{
	__u64 *faults = malloc((count_devices(point, model) + 1) * sizeof(faults[0]));
	struct device_row_place at = {0};

	*count = 0;
	if (!faults)
		return NULL;
	while (next_device(point, model, &at))
		faults[(*count)++] = at.device->faults;
	qsort(faults, *count, sizeof(faults[0]), compare_counts);
	return faults;
}

static size_t fleet_rank(size_t count, unsigned int per_mille)
{
	size_t rank = (count * per_mille + 999) / 1000;

	return rank ? rank - 1 : 0;
}

__u64 fleet_quantile(const __u64 *ascending, size_t count, unsigned int per_mille)
{
	return ascending[fleet_rank(count, per_mille)];
}

static int fleet_judge_faults(struct fleet_point *point, __u32 model, double *v)
{
	size_t count;
	__u64 *faults = fleet_faults(point, model, &count);

	if (!faults)
		return failed(-ENOMEM, "no memory for the faults of %u machines",
			      point->machine_count);
	if (count) {
		v[FLEET_P50] = (double)fleet_quantile(faults, count, 500);
		v[FLEET_P99] = (double)fleet_quantile(faults, count, 990);
		v[FLEET_MOST] = (double)faults[count - 1];
	}
	free(faults);
	return 0;
}

static int judge_footprints(struct fleet_point *point, __u32 model, double *v)
{
	struct device_row_place at = {0};
	size_t count = 0;
	double *shares = malloc((count_devices(point, model) + 1) * sizeof(shares[0])), sum = 0;

	if (!shares)
		return failed(-ENOMEM, "no memory for %u machines", point->machine_count);
	while (next_device(point, model, &at)) {
		shares[count] = (double)at.device->footprint / (double)at.device->memory_pages;
		sum += shares[count++];
	}
	qsort(shares, count, sizeof(shares[0]), compare_reals);
	if (count) {
		v[FLEET_FOOTPRINT] = sum / (double)count;
		v[FLEET_FOOTPRINT_P95] = shares[fleet_rank(count, 950)];
		v[FLEET_FOOTPRINT_P98] = shares[fleet_rank(count, 980)];
	}
	free(shares);
	return 0;
}

/* What is summed over a model's devices and days. */
struct device_sums {
	double first_accesses, first_pinned, pins, useless;
	double count, faults, unprotected, bursts, peak, pinned, pinned_most, pinned_end, shrinks,
		samples;
	double footprint, footprint_half, pages_few, pages_twice; /* on the last day */
	double faults_few, faults_some, faults_all;
};

static struct device_sums sum_devices(const struct fleet_point *point, __u32 model)
{
	struct device_row_place at = {0};
	struct device_sums s = {0};

	while (next_device(point, model, &at)) {
		const struct fleet_device *device = at.device;
		double memory = (double)device->memory_pages;

		s.count++;
		s.first_accesses += (double)device->first_accesses;
		s.first_pinned += (double)device->first_pinned;
		s.pins += (double)device->pins;
		s.useless += (double)device->useless;
		s.faults += (double)device->faults;
		s.unprotected += (double)device->unprotected;
		s.bursts += (double)device->bursts;
		s.peak = fmax(s.peak, (double)device->peak);
		s.pinned += device->pinned_mean / memory;
		s.pinned_most += (double)device->pinned_max / memory;
		s.pinned_end += (double)device->pinned_end / memory;
		s.shrinks += (double)device->shrinks;
		s.samples += (double)device->samples;
		s.pages_few += (double)device->pages_few;
		s.pages_twice += (double)device->pages_twice;
		s.faults_few += (double)device->faults_few;
		s.faults_some += (double)device->faults_some;
		s.faults_all += (double)device->faults_all;
		if ((device->day + 1) * FLEET_DAY_NS < point->config->length_ns)
			continue;
		s.footprint += (double)device->footprint;
		s.footprint_half += (double)device->footprint_half;
	}
	return s;
}

static int judge_model(struct fleet_point *point, __u32 model)
{
	const struct device_sums s = sum_devices(point, model);
	double *v = &point->values[(size_t)model * FLEET_MODEL_COLUMNS];
	int err = fleet_judge_faults(point, model, v);

	v[FLEET_COUNT] = s.count;
	v[FLEET_FAULTS] = s.faults;
	v[FLEET_BURSTS] = s.bursts;
	if (s.count > 0) {
		v[FLEET_MEAN] = s.faults / s.count;
		v[FLEET_PEAK] = s.peak;
		v[FLEET_PINNED] = s.pinned / s.count;
		v[FLEET_PINNED_MOST] = s.pinned_most / s.count;
		v[FLEET_PINNED_END] = s.pinned_end / s.count;
	}
	if (s.unprotected > 0)
		v[FLEET_AVOIDED] = 1 - s.faults / s.unprotected;
	if (s.pinned > 0)
		v[FLEET_RPR] = v[FLEET_AVOIDED] / v[FLEET_PINNED];
	if (s.first_accesses > 0)
		v[FLEET_FIRST_PINNED] = s.first_pinned / s.first_accesses;
	if (s.pins > 0)
		v[FLEET_USELESS] = s.useless / s.pins;
	if (s.samples > 0)
		v[FLEET_SHRINKS] = s.shrinks / s.samples;
	if (s.footprint > 0) {
		v[FLEET_GROWING] = 1 - s.footprint_half / s.footprint;
		v[FLEET_PAGES_FEW] = s.pages_few / s.footprint;
		v[FLEET_PAGES_TWICE] = s.pages_twice / s.footprint;
	}
	if (s.faults_all > 0) {
		v[FLEET_FAULTS_FEW] = s.faults_few / s.faults_all;
		v[FLEET_FAULTS_SOME] = s.faults_some / s.faults_all;
	}
	return err ? err : judge_footprints(point, model, v);
}

static void judge_machines(struct fleet_point *point)
{
	double days = 0, bursting = 0, pinned = 0, accesses = 0;

	for (__u32 i = 0; i < point->machine_count; i++) {
		const struct fleet_outcome *o = &point->outcomes[i];
		bool burst = false;

		for (size_t j = 0; j < o->device_count; j++) {
			const struct fleet_device *device = &o->devices[j];

			burst |= device->bursts > 0;
			pinned += device->pinned_mean / (double)device->memory_pages;
			accesses += (double)device->accesses;
			if (j + 1 < o->device_count && o->devices[j + 1].day == device->day)
				continue;
			days++;
			bursting += burst;
			burst = false;
		}
	}
	point->values[FLEET_MACHINES] = point->machine_count;
	point->values[FLEET_BURSTING] = bursting / days;
	point->values[FLEET_MACHINE_PINNED] = pinned / days;
	point->values[FLEET_ACCESSES] = accesses;
}

int fleet_judge(struct fleet_point *point)
{
	int err = 0;

	for (size_t i = 0; i < FLEET_COLUMNS; i++)
		point->values[i] = NAN;
	for (__u32 model = 0; !err && model < POPULATION_MODELS; model++)
		err = judge_model(point, model);
	judge_machines(point);
	return err;
}
