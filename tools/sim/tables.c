// SPDX-License-Identifier: GPL-2.0
/* What a simulation prints: a row a point, and with --csv or --json all that stands behind it. */
#include <math.h>
#include <stdio.h>

#include "lib/job/sweep_table.h"
#include "tools/sim/sim.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const part_names[SIM_PARTS] = {
	[PART_CONTEXT] = "context", [PART_DEVTLB] = "devtlb", [PART_IOTLB] = "iotlb",
	[PART_LEVEL2] = "level2",   [PART_LEVEL3] = "level3", [PART_PREFETCH] = "prefetch",
};

const char *const sim_tables[] = {"results",	"caches", "tenants", "ptb",
				  "partitions", "sets",	  NULL};

static int write_results(struct writer *writer, const struct sweep *sweep,
			 const struct sim_outcome *outcomes)
{
	struct sweep_results results;
	int err = sweep_results_begin(&results, writer, "Results (model)", sweep, &sim_columns);

	for (size_t point = 0; !err && point < sweep->points; point++)
		err = sweep_results_row(&results, writer, point, outcomes[point].values);
	return err ? err : writer_end(writer);
}

struct cache_row {
	const char *name;
	const struct model_cache_stats *stats;
};

#define CACHES(COLUMN)                                                               \
	COLUMN(cache, none, TEXT, 8, SHOWN, row->name)                               \
	COLUMN(hits, none, COUNT, 10, SHOWN, row->stats->hits)                       \
	COLUMN(misses, none, COUNT, 10, SHOWN, row->stats->misses)                   \
	COLUMN(fills, none, COUNT, 10, SHOWN, row->stats->fills)                     \
	COLUMN(evictions, none, COUNT, 10, SHOWN, row->stats->evictions)             \
	COLUMN(cross_evictions, none, COUNT, 15, SHOWN, row->stats->cross_evictions) \
	COLUMN(halvings, none, COUNT, 9, WIDE, row->stats->halvings)
TABLE(caches, "Caches (model)", CACHES, struct cache_row, void)

static int write_caches(struct writer *writer, const struct sweep *sweep,
			const struct sim_outcome *outcomes)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &caches_table);

	for (size_t point = 0; !err && point < sweep->points; point++) {
		const struct model_stats *s = &outcomes[point].stats;
		const struct cache_row rows[] = {
			{"context", &s->context}, {"devtlb", &s->devtlb},
			{"iotlb", &s->iotlb},	  {"level2", &s->level2},
			{"level3", &s->level3},	  {"prefetch", &s->prefetch}};

		for (size_t i = 0; !err && i < COUNT(rows); i++)
			err = point_table_put(&table, writer, point, &rows[i]);
	}
	return err ? err : writer_end(writer);
}

/* What [trace] analyze found out. */
static __u64 point_table_used(const struct sim_tenant *tenant, __u64 value)
{
	return count_if(tenant->use.accesses, value);
}

static __u64 latency_mean(const struct watch_tenant *t)
{
	return t->translations ? t->latency_sum_ps / t->translations : 0;
}

#define TENANTS(COLUMN)                                                                         \
	COLUMN(tenant, none, COUNT, 6, SHOWN, row->watch.source)                                \
	COLUMN(packets, none, COUNT, 10, SHOWN, row->watch.packets)                             \
	COLUMN(drops, none, COUNT, 8, SHOWN, row->watch.drops)                                  \
	COLUMN(bandwidth, bits_per_s, COUNT, 12, SHOWN, row->bits_per_s)                        \
	COLUMN(translations, none, COUNT, 12, WIDE, row->watch.translations)                    \
	COLUMN(latency_mean, ps, COUNT, 12, SHOWN, latency_mean(&row->watch))                   \
	COLUMN(latency_p50, ps, COUNT, 11, WIDE, row->watch.p50_ps)                             \
	COLUMN(latency_p99, ps, COUNT, 11, WIDE, row->watch.p99_ps)                             \
	COLUMN(latency_p999, ps, COUNT, 12, WIDE, row->watch.p999_ps)                           \
	COLUMN(latency_max, ps, COUNT, 11, WIDE, row->watch.latency_max_ps)                     \
	COLUMN(lost, none, COUNT, 8, SHOWN, row->lost)                                          \
	COLUMN(alone_mean, ps, COUNT, 12, WIDE, row->alone_mean_ps)                             \
	COLUMN(slowdown, none, REAL, 8, WIDE, row->slowdown)                                    \
	COLUMN(run, accesses, REAL, 12, WIDE,                                                   \
	       row->use.accesses ? (double)row->use.run / 1000 : NAN)                           \
	COLUMN(reuse, pages, COUNT, 11, WIDE, point_table_used(row, row->use.reuse_median))     \
	COLUMN(active_99, entries, COUNT, 17, WIDE, point_table_used(row, row->use.active99))   \
	COLUMN(active_999, entries, COUNT, 18, WIDE, point_table_used(row, row->use.active999)) \
	COLUMN(active_all, entries, COUNT, 18, WIDE, point_table_used(row, row->use.active_all))
TABLE(tenants, "Tenants (model)", TENANTS, struct sim_tenant, void)

static int sim_write_tenants(struct writer *writer, const struct sweep *sweep,
			     const struct sim_outcome *outcomes)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &tenants_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 i = 0; !err && i < outcomes[point].tenant_count; i++)
			err = point_table_put(&table, writer, point, &outcomes[point].tenants[i]);
	return err ? err : writer_end(writer);
}

struct ptb_row {
	const struct watch_point *point;
	__u64 length_ps;
};

#define PTB(COLUMN)                                                 \
	COLUMN(start, ps, COUNT, 14, SHOWN, row->point->start_ps)   \
	COLUMN(length, ps, COUNT, 12, SHOWN, row->length_ps)        \
	COLUMN(packets, none, COUNT, 8, SHOWN, row->point->packets) \
	COLUMN(drops, none, COUNT, 8, SHOWN, row->point->drops)     \
	COLUMN(in_flight, milli, COUNT, 9, SHOWN,                   \
	       (__u64)((unsigned __int128)row->point->in_flight_ps * 1000 / row->length_ps))
TABLE(ptb, "PTB over time (model)", PTB, struct ptb_row, void)

static int write_ptb(struct writer *writer, const struct sweep *sweep,
		     const struct sim_outcome *outcomes)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &ptb_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 i = 0; !err && i < outcomes[point].point_count; i++)
			err = point_table_put(&table, writer, point,
					      &(struct ptb_row){&outcomes[point].points[i],
								outcomes[point].point_ps});
	return err ? err : writer_end(writer);
}

struct partition_row {
	const char *cache;
	__u32 partition, used;
};

#define PARTITIONS(COLUMN)                                       \
	COLUMN(cache, none, TEXT, 8, SHOWN, row->cache)          \
	COLUMN(partition, none, COUNT, 9, SHOWN, row->partition) \
	COLUMN(used, entries, COUNT, 8, SHOWN, row->used)
TABLE(partitions, "Entries in use at the end (model)", PARTITIONS, struct partition_row, void)

static int write_partitions(struct writer *writer, const struct sweep *sweep,
			    const struct sim_outcome *outcomes)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &partitions_table);

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (int part = 0; part < SIM_PARTS; part++)
			for (__u32 p = 0; !err && p < outcomes[point].partitions[part]; p++)
				err = point_table_put(&table, writer, point,
						      &(struct partition_row){
							      part_names[part], p,
							      outcomes[point].occupancy[part][p]});
	return err ? err : writer_end(writer);
}

struct set_row {
	const struct sim_outcome *outcome;
	int part;
	__u32 set;
	const struct model_cache_stats *stats;
};

static __u64 partition_of(const struct set_row *row)
{
	const struct sim_outcome *o = row->outcome;

	return row->set / (o->set_count[row->part] / o->partitions[row->part]);
}

#define SETS(COLUMN)                                                                    \
	COLUMN(cache, none, TEXT, 8, SHOWN, part_names[row->part])                      \
	COLUMN(set, none, COUNT, 5, SHOWN, row->set)                                    \
	COLUMN(partition, none, COUNT, 9, SHOWN, partition_of(row))                     \
	COLUMN(accesses, none, COUNT, 10, SHOWN, row->stats->hits + row->stats->misses) \
	COLUMN(hits, none, COUNT, 10, WIDE, row->stats->hits)                           \
	COLUMN(fills, none, COUNT, 10, WIDE, row->stats->fills)                         \
	COLUMN(evictions, none, COUNT, 10, WIDE, row->stats->evictions)                 \
	COLUMN(cross_evictions, none, COUNT, 15, SHOWN, row->stats->cross_evictions)
TABLE(sets, "Sets (model)", SETS, struct set_row, void)

/* Which sets tenants fight over (figure 9): those of caches with at most SIM_SETS of them. */
static int write_sets(struct writer *writer, const struct sweep *sweep,
		      const struct sim_outcome *outcomes)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, sweep, &sets_table);

	for (size_t point = 0; !err && point < sweep->points; point++) {
		const struct sim_outcome *o = &outcomes[point];

		for (int part = 0; part < SIM_PARTS; part++)
			for (__u32 set = 0; !err && set < o->set_count[part]; set++)
				err = point_table_put(
					&table, writer, point,
					&(struct set_row){o, part, set, &o->sets[part][set]});
	}
	return err ? err : writer_end(writer);
}

int sim_write(struct writer *writer, const struct sweep *sweep, const struct sim_outcome *outcomes,
	      bool whole)
{
	int err = write_results(writer, sweep, outcomes);

	if (!err && (whole || sweep->points == 1))
		err = write_caches(writer, sweep, outcomes);
	if (!err && whole)
		err = sim_write_tenants(writer, sweep, outcomes);
	if (!err && whole)
		err = write_ptb(writer, sweep, outcomes);
	if (!err && whole)
		err = write_partitions(writer, sweep, outcomes);
	if (!err && whole)
		err = write_sets(writer, sweep, outcomes);
	return err;
}
