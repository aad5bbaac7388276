// SPDX-License-Identifier: GPL-2.0
/* What a simulation prints: a row a point, and with --csv or --json all that stands behind it. */
#include <math.h>
#include <stdio.h>

#include "lib/job/sweep_table.h"
#include "tools/sim/sim.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CELLS	     (SWEEP_COLUMNS + SIM_COLUMNS)

static const struct job_column columns[SIM_COLUMNS] = {
	[SIM_TENANTS] = {"tenants", NULL, NULL, COLUMN_COUNT, 7, true, "that had a packet"},
	[SIM_PACKETS] = {"packets", NULL, NULL, COLUMN_COUNT, 9, true, "that got through"},
	[SIM_TRANSLATIONS] = {"translations", NULL, NULL, COLUMN_COUNT, 12, true, NULL},
	[SIM_DROPS] = {"drops", NULL, NULL, COLUMN_COUNT, 9, false,
		       "arrivals that found the PTB full; the packet came again at the next slot"},
	[SIM_TIME] = {"time", NULL, "ps", COLUMN_COUNT, 14, true,
		      "virtual, of the last completion"},
	[SIM_OFFERED] = {"offered", NULL, "bits_per_s", COLUMN_COUNT, 12, true,
			 "with the arrivals that were dropped"},
	[SIM_BANDWIDTH] = {"bandwidth", NULL, "bits_per_s", COLUMN_COUNT, 12, true,
			   "of packets that got through"},
	[SIM_GBIT] = {"gbit_per_s", NULL, NULL, COLUMN_REAL, 10, false, "the same in Gb/s"},
	[SIM_DEVTLB_HIT] = {"devtlb_hit", NULL, NULL, COLUMN_REAL, 10, false,
			    "share of the DevTLB's lookups, 0 to 1"},
	[SIM_BUFFER_HIT] = {"buffer_hit", NULL, NULL, COLUMN_REAL, 10, false,
			    "share of translations that the prefetch buffer gave"},
	[SIM_LATENCY_MEAN] = {"latency_mean", NULL, "ps", COLUMN_COUNT, 12, true,
			      "of a translation"},
	[SIM_LATENCY_P50] = {"latency_p50", "p50", "ps", COLUMN_COUNT, 11, true, NULL},
	[SIM_LATENCY_P99] = {"latency_p99", "p99", "ps", COLUMN_COUNT, 11, true, NULL},
	[SIM_LATENCY_P999] = {"latency_p999", "p999", "ps", COLUMN_COUNT, 12, true, NULL},
	[SIM_LATENCY_MAX] = {"latency_max", NULL, "ps", COLUMN_COUNT, 11, true, NULL},
	[SIM_WALKS] = {"walks", NULL, NULL, COLUMN_COUNT, 9, true,
		       "of page tables, prefetches too"},
	[SIM_WALK_READS] = {"walk_reads", NULL, NULL, COLUMN_COUNT, 10, true,
			    "of page-table entries"},
	[SIM_READS_PER_WALK] = {"reads_per_walk", NULL, NULL, COLUMN_REAL, 14, true, NULL},
	[SIM_PTB_MEAN] = {"ptb_mean", NULL, NULL, COLUMN_REAL, 8, true,
			  "translations in flight, over time"},
	[SIM_PTB_MAX] = {"ptb_max", NULL, NULL, COLUMN_COUNT, 7, true, NULL},
	[SIM_PREFETCHES] = {"prefetches", NULL, NULL, COLUMN_COUNT, 10, true,
			    "translations asked for ahead"},
	[SIM_PREFETCH_USEFUL] = {"prefetch_useful", NULL, NULL, COLUMN_COUNT, 15, true,
				 "entries of the buffer that were hit"},
	[SIM_PREFETCH_LATE] = {"prefetch_late", NULL, NULL, COLUMN_COUNT, 13, true,
			       "answers for a page that the DevTLB had by then"},
	[SIM_PREFETCH_UNUSED] = {"prefetch_unused", NULL, NULL, COLUMN_COUNT, 15, true,
				 "entries of the buffer that made way before any hit"},
	[SIM_PREFETCH_DUPLICATES] = {"prefetch_duplicates", NULL, NULL, COLUMN_COUNT, 19, true,
				     "answers for a page that the buffer had already"},
	[SIM_CONFLICTS] = {"evictions", NULL, NULL, COLUMN_COUNT, 9, true, "of the DevTLB"},
	[SIM_CROSS] = {"cross_evictions", NULL, NULL, COLUMN_COUNT, 15, true,
		       "of these, of another tenant's entry"},
	[SIM_FAIRNESS] = {"fairness", NULL, NULL, COLUMN_REAL, 8, true,
			  "packets of the worst-off tenant as a share of the mean"},
	[SIM_FAULTS] = {"faults", NULL, NULL, COLUMN_COUNT, 9, true, "page requests"},
	[SIM_INVALIDATIONS] = {"invalidations", NULL, NULL, COLUMN_COUNT, 13, true, NULL},
};

const struct job_columns sim_columns = {
	.columns = columns,
	.count = SIM_COLUMNS,
	.heading = "columns of the table and names in [expect]; latencies in ps.",
	.unknown = "the point failed",
	.help = "`faultline sim --keys`",
};

static int write_results(struct writer *writer, const struct sweep *sweep,
			 const struct sim_outcome *outcomes)
{
	struct column list[CELLS];
	size_t first = sweep_columns(list, sweep);
	struct table table = {"results", "Results (model)", list, first + SIM_COLUMNS};
	int err;

	/* A sweep over tenants names them already. */
	for (size_t i = 0; i < SIM_COLUMNS; i++) {
		bool named = sweep_find(sweep, columns[i].name) >= 0;

		list[first + i] =
			(struct column){named ? "seen" : columns[i].name, columns[i].unit,
					columns[i].type, columns[i].width, columns[i].wide};
	}
	err = writer_begin(writer, &table);
	for (size_t point = 0; !err && point < sweep->points; point++) {
		union cell cells[CELLS];
		size_t count = sweep_cells(cells, sweep, point);

		for (size_t i = 0; i < SIM_COLUMNS; i++, count++) {
			double value = outcomes[point].values[i];

			if (columns[i].type == COLUMN_REAL)
				cells[count].real = value;
			else
				cells[count].count = isnan(value) ? CELL_NONE : (__u64)value;
		}
		err = writer_row(writer, cells);
	}
	return err ? err : writer_end(writer);
}

/* A table whose rows name their point first; it must live until writer_end(). */
struct point_table {
	struct column columns[CELLS];
	struct table table;
};

static int begin(struct point_table *t, struct writer *writer, const struct sweep *sweep,
		 const char *name, const char *title, const struct column *own, size_t own_count)
{
	size_t count = sweep_columns(t->columns, sweep);

	t->table = (struct table){name, title, t->columns, count + own_count};
	for (size_t i = 0; i < own_count; i++)
		t->columns[count + i] = own[i];
	return writer_begin(writer, &t->table);
}

static int write_caches(struct writer *writer, const struct sweep *sweep,
			const struct sim_outcome *outcomes)
{
	static const struct column own[] = {
		{"cache", NULL, COLUMN_TEXT, 8, false},
		{"hits", NULL, COLUMN_COUNT, 10, false},
		{"misses", NULL, COLUMN_COUNT, 10, false},
		{"fills", NULL, COLUMN_COUNT, 10, false},
		{"evictions", NULL, COLUMN_COUNT, 10, false},
		{"cross_evictions", NULL, COLUMN_COUNT, 15, false},
		{"halvings", NULL, COLUMN_COUNT, 9, true},
	};
	struct point_table table;
	int err = begin(&table, writer, sweep, "caches", "Caches (model)", own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++) {
		const struct model_stats *s = &outcomes[point].stats;
		const struct {
			const char *name;
			const struct model_cache_stats *stats;
		} caches[] = {{"context", &s->context}, {"devtlb", &s->devtlb},
			      {"iotlb", &s->iotlb},	{"level2", &s->level2},
			      {"level3", &s->level3},	{"prefetch", &s->prefetch}};

		for (size_t i = 0; !err && i < COUNT(caches); i++) {
			const struct model_cache_stats *c = caches[i].stats;
			union cell cells[CELLS];
			size_t count = sweep_cells(cells, sweep, point);

			cells[count++].text = caches[i].name;
			cells[count++].count = c->hits;
			cells[count++].count = c->misses;
			cells[count++].count = c->fills;
			cells[count++].count = c->evictions;
			cells[count++].count = c->cross_evictions;
			cells[count++].count = c->halvings;
			err = writer_row(writer, cells);
		}
	}
	return err ? err : writer_end(writer);
}

static int write_tenants(struct writer *writer, const struct sweep *sweep,
			 const struct sim_outcome *outcomes)
{
	static const struct column own[] = {
		{"tenant", NULL, COLUMN_COUNT, 6, false},
		{"packets", NULL, COLUMN_COUNT, 10, false},
		{"drops", NULL, COLUMN_COUNT, 10, false},
		{"translations", NULL, COLUMN_COUNT, 12, false},
		{"latency_mean", "ps", COLUMN_COUNT, 12, false},
		{"latency_p50", "ps", COLUMN_COUNT, 11, false},
		{"latency_p99", "ps", COLUMN_COUNT, 11, false},
		{"latency_p999", "ps", COLUMN_COUNT, 12, false},
		{"latency_max", "ps", COLUMN_COUNT, 11, false},
	};
	struct point_table table;
	int err = begin(&table, writer, sweep, "tenants", "Tenants (model)", own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 i = 0; !err && i < outcomes[point].tenant_count; i++) {
			const struct watch_tenant *t = &outcomes[point].tenants[i];
			union cell cells[CELLS];
			size_t count = sweep_cells(cells, sweep, point);

			cells[count++].count = t->source;
			cells[count++].count = t->packets;
			cells[count++].count = t->drops;
			cells[count++].count = t->translations;
			cells[count++].count =
				t->translations ? t->latency_sum_ps / t->translations : 0;
			cells[count++].count = t->p50_ps;
			cells[count++].count = t->p99_ps;
			cells[count++].count = t->p999_ps;
			cells[count++].count = t->latency_max_ps;
			err = writer_row(writer, cells);
		}
	return err ? err : writer_end(writer);
}

static int write_ptb(struct writer *writer, const struct sweep *sweep,
		     const struct sim_outcome *outcomes)
{
	static const struct column own[] = {
		{"start", "ps", COLUMN_COUNT, 14, false},
		{"length", "ps", COLUMN_COUNT, 12, false},
		{"packets", NULL, COLUMN_COUNT, 8, false},
		{"drops", NULL, COLUMN_COUNT, 8, false},
		{"in_flight", "milli", COLUMN_COUNT, 9, false},
	};
	struct point_table table;
	int err = begin(&table, writer, sweep, "ptb", "PTB over time (model)", own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 i = 0; !err && i < outcomes[point].point_count; i++) {
			const struct watch_point *p = &outcomes[point].points[i];
			union cell cells[CELLS];
			size_t count = sweep_cells(cells, sweep, point);

			cells[count++].count = p->start_ps;
			cells[count++].count = outcomes[point].point_ps;
			cells[count++].count = p->packets;
			cells[count++].count = p->drops;
			cells[count++].count = p->in_flight_ps * 1000 / outcomes[point].point_ps;
			err = writer_row(writer, cells);
		}
	return err ? err : writer_end(writer);
}

static int write_partitions(struct writer *writer, const struct sweep *sweep,
			    const struct sim_outcome *outcomes)
{
	static const struct column own[] = {
		{"cache", NULL, COLUMN_TEXT, 8, false},
		{"partition", NULL, COLUMN_COUNT, 9, false},
		{"used", "entries", COLUMN_COUNT, 8, false},
	};
	static const char *const names[SIM_PARTS] = {
		[PART_CONTEXT] = "context", [PART_DEVTLB] = "devtlb", [PART_IOTLB] = "iotlb",
		[PART_LEVEL2] = "level2",   [PART_LEVEL3] = "level3", [PART_PREFETCH] = "prefetch",
	};
	struct point_table table;
	int err = begin(&table, writer, sweep, "partitions", "Entries in use at the end (model)",
			own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (int part = 0; part < SIM_PARTS; part++)
			for (__u32 p = 0; !err && p < outcomes[point].partitions[part]; p++) {
				union cell cells[CELLS];
				size_t count = sweep_cells(cells, sweep, point);

				cells[count++].text = names[part];
				cells[count++].count = p;
				cells[count++].count = outcomes[point].occupancy[part][p];
				err = writer_row(writer, cells);
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
		err = write_tenants(writer, sweep, outcomes);
	if (!err && whole)
		err = write_ptb(writer, sweep, outcomes);
	if (!err && whole)
		err = write_partitions(writer, sweep, outcomes);
	return err;
}
