// SPDX-License-Identifier: GPL-2.0
/* What a fleet prints: a row a point, and with --csv or --json all that stands behind it. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/fail.h"
#include "tools/fleet/options.h"
#include "tools/fleet/results.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const fleet_tables[] = {"results",	    "fleet_cdf",   "fleet_devices",
				    "fleet_bursts", "fleet_curve", NULL};

static int fleet_write_results(struct writer *writer, const struct sweep *sweep,
			       const struct fleet_point *points)
{
	struct sweep_results results;
	int err = sweep_results_begin(&results, writer, "Results (model)", sweep, &fleet_columns);

	for (size_t point = 0; !err && point < sweep->points; point++)
		err = sweep_results_row(&results, writer, point, points[point].values);
	return err ? err : writer_end(writer);
}

struct device_row {
	const struct fleet_config *config;
	const struct fleet_device *of;
};

#define DEVICES(COLUMN)                                                              \
	COLUMN(machine, none, COUNT, 7, SHOWN, row->of->machine)                     \
	COLUMN(population, none, TEXT, 12, SHOWN,                                    \
	       row->config->populations[row->of->population].name)                   \
	COLUMN(device, none, TEXT, 6, SHOWN, population_model_names[row->of->model]) \
	COLUMN(day, none, COUNT, 3, SHOWN, row->of->day)                             \
	COLUMN(memory, pages, COUNT, 12, WIDE, row->of->memory_pages)                \
	COLUMN(accesses, none, COUNT, 10, WIDE, row->of->accesses)                   \
	COLUMN(footprint, pages, COUNT, 15, SHOWN, row->of->footprint)               \
	COLUMN(first_accesses, none, COUNT, 14, WIDE, row->of->first_accesses)       \
	COLUMN(faults, none, COUNT, 8, SHOWN, row->of->faults)                       \
	COLUMN(unprotected, none, COUNT, 11, SHOWN, row->of->unprotected)            \
	COLUMN(bursts, none, COUNT, 6, SHOWN, row->of->bursts)                       \
	COLUMN(peak, per_s, COUNT, 10, SHOWN, row->of->peak)                         \
	COLUMN(pinned_mean, pages, REAL, 17, SHOWN, row->of->pinned_mean)            \
	COLUMN(pinned_max, pages, COUNT, 16, WIDE, row->of->pinned_max)              \
	COLUMN(first_pinned, none, COUNT, 12, WIDE, row->of->first_pinned)           \
	COLUMN(pins, none, COUNT, 8, WIDE, row->of->pins)                            \
	COLUMN(useless, none, COUNT, 8, WIDE, row->of->useless)
TABLE(fleet_devices, "Devices and days (model)", DEVICES, struct device_row, void)

static int fleet_write_devices(struct writer *writer, const struct sweep *sweep,
			       const struct fleet_point *points)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &fleet_devices_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 m = 0; !err && m < points[point].machine_count; m++) {
			const struct fleet_outcome *o = &points[point].outcomes[m];

			for (size_t i = 0; !err && i < o->device_count; i++)
				err = point_table_put(
					&table, writer, point,
					&(struct device_row){points[point].config, &o->devices[i]});
		}
	return err ? err : writer_end(writer);
}

struct cdf_row {
	__u32 model;
	unsigned int per_mille;
	__u64 faults;
};

#define CDF(COLUMN)                                                              \
	COLUMN(device, none, TEXT, 6, SHOWN, population_model_names[row->model]) \
	COLUMN(quantile, none, REAL, 8, SHOWN, row->per_mille / 1000.0)          \
	COLUMN(faults, none, COUNT, 8, SHOWN, row->faults)
TABLE(fleet_cdf, "Faults of a device and day (model)", CDF, struct cdf_row, void)

/* The quantiles of every percent, and one that only a large fleet has. */
static int write_quantiles(const struct point_table *table, struct writer *writer, size_t point,
			   __u32 model, const __u64 *faults, size_t count)
{
	int err = 0;

	for (unsigned int percent = 1; !err && percent < 100; percent++)
		err = point_table_put(
			table, writer, point,
			&(struct cdf_row){model, 10 * percent,
					  fleet_quantile(faults, count, 10 * percent)});
	for (unsigned int i = 0; !err && i < 2; i++)
		err = point_table_put(
			table, writer, point,
			&(struct cdf_row){model, 999 + i, fleet_quantile(faults, count, 999 + i)});
	return err;
}

static int write_cdf(struct writer *writer, const struct sweep *sweep,
		     const struct fleet_point *points)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &fleet_cdf_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 model = 0; !err && model < POPULATION_MODELS; model++) {
			size_t count;
			__u64 *faults = fleet_faults(&points[point], model, &count);

			if (!faults)
				err = failed(-ENOMEM, "no memory for the quantiles");
			else if (count)
				err = write_quantiles(&table, writer, point, model, faults, count);
			free(faults);
		}
	return err ? err : writer_end(writer);
}

struct burst_row {
	const struct fleet_config *config;
	const struct fleet_burst *of;
};

#define BURSTS(COLUMN)                                                               \
	COLUMN(time, none, DURATION, 16, SHOWN, row->of->from_ns)                    \
	COLUMN(machine, none, COUNT, 7, SHOWN, row->of->machine)                     \
	COLUMN(population, none, TEXT, 12, SHOWN,                                    \
	       row->config->populations[row->of->population].name)                   \
	COLUMN(device, none, TEXT, 6, SHOWN, population_model_names[row->of->model]) \
	COLUMN(length, none, DURATION, 10, SHOWN, row->of->to_ns - row->of->from_ns) \
	COLUMN(faults, none, COUNT, 8, SHOWN, row->of->faults)
TABLE(fleet_bursts, "Bursts of faults (model)", BURSTS, struct burst_row, void)

static int write_bursts(struct writer *writer, const struct sweep *sweep,
			const struct fleet_point *points)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &fleet_bursts_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 m = 0; !err && m < points[point].machine_count; m++) {
			const struct fleet_outcome *o = &points[point].outcomes[m];

			for (size_t i = 0; !err && i < o->burst_count; i++)
				err = point_table_put(
					&table, writer, point,
					&(struct burst_row){points[point].config, &o->bursts[i]});
		}
	return err ? err : writer_end(writer);
}

struct moment_row {
	__u64 time_ns;
	__u32 model;
	const struct fleet_moment *of;
};

#define CURVE(COLUMN)                                                            \
	COLUMN(time, none, DURATION, 16, SHOWN, row->time_ns)                    \
	COLUMN(device, none, TEXT, 6, SHOWN, population_model_names[row->model]) \
	COLUMN(footprint, pages, COUNT, 15, SHOWN, row->of->footprint)           \
	COLUMN(active, pages, COUNT, 12, SHOWN, row->of->active)                 \
	COLUMN(pinned, pages, COUNT, 12, SHOWN, row->of->pinned)                 \
	COLUMN(faults, none, COUNT, 10, SHOWN, row->of->faults)
TABLE(fleet_curve, "Sums of all devices over time (model)", CURVE, struct moment_row, void)

static int write_curve(struct writer *writer, const struct sweep *sweep,
		       const struct fleet_point *points)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &fleet_curve_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (size_t i = 0; !err && i < FLEET_DEVICES * points[point].curve.count; i++)
			err = point_table_put(
				&table, writer, point,
				&(struct moment_row){i / FLEET_DEVICES *
							     points[point].config->moment_ns,
						     (__u32)(i % FLEET_DEVICES),
						     &points[point].curve.moments[i]});
	return err ? err : writer_end(writer);
}

int fleet_write(struct writer *writer, const struct sweep *sweep, const struct fleet_point *points,
		bool whole)
{
	int err = fleet_write_results(writer, sweep, points);

	if (!err && whole)
		err = write_cdf(writer, sweep, points);
	if (!err && whole)
		err = fleet_write_devices(writer, sweep, points);
	if (!err && whole)
		err = write_bursts(writer, sweep, points);
	if (!err && whole)
		err = write_curve(writer, sweep, points);
	return err;
}
