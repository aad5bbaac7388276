// SPDX-License-Identifier: GPL-2.0
/* What a simulation prints: a row a point, and with --csv or --json all that stands behind it. */
#include <math.h>
#include <stdio.h>

#include "lib/job/sweep_table.h"
#include "tools/sim/sim.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CELLS	     (SWEEP_COLUMNS + SIM_COLUMNS)
#define NAME	     48

static const char *const part_names[SIM_PARTS] = {
	[PART_CONTEXT] = "context", [PART_DEVTLB] = "devtlb", [PART_IOTLB] = "iotlb",
	[PART_LEVEL2] = "level2",   [PART_LEVEL3] = "level3", [PART_PREFETCH] = "prefetch",
};

const char *const sim_tables[] = {"results",	"caches", "tenants", "ptb",
				  "partitions", "sets",	  NULL};

/* A sweep over tenants names them already: what came of them are the seen ones. */
static const char *own_name(const char *name, const struct sweep *sweep, char room[NAME])
{
	if (sweep_find(sweep, name) < 0)
		return name;
	snprintf(room, NAME, "seen_%s", name);
	return room;
}

static int write_results(struct writer *writer, const struct sweep *sweep,
			 const struct sim_outcome *outcomes)
{
	struct column list[CELLS];
	const struct job_column *own = sim_columns.columns;
	char names[SIM_COLUMNS][NAME];
	size_t first = sweep_columns(list, sweep);
	struct table table = {"results", "Results (model)", list, first + SIM_COLUMNS};
	int err;

	for (size_t i = 0; i < SIM_COLUMNS; i++)
		list[first + i] = (struct column){
			.name = own_name(own[i].name, sweep, names[i]),
			.unit = own[i].unit,
			.type = own[i].type,
			.width = own[i].width,
			.wide = own[i].wide,
		};
	err = writer_begin(writer, &table);
	for (size_t point = 0; !err && point < sweep->points; point++) {
		union cell cells[CELLS];
		size_t count = sweep_cells(cells, sweep, point);

		for (size_t i = 0; i < SIM_COLUMNS; i++, count++) {
			double value = outcomes[point].values[i];

			if (own[i].type == COLUMN_REAL)
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
	char names[CELLS][NAME];
	struct table table;
};

static int begin(struct point_table *t, struct writer *writer, const struct sweep *sweep,
		 const char *name, const char *title, const struct column *own, size_t own_count)
{
	size_t count = sweep_columns(t->columns, sweep);

	t->table = (struct table){name, title, t->columns, count + own_count};
	for (size_t i = 0; i < own_count; i++) {
		t->columns[count + i] = own[i];
		t->columns[count + i].name = own_name(own[i].name, sweep, t->names[i]);
	}
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

/* What [trace] analyze found out. */
static void put_use(union cell *cells, const struct tenant_use *use)
{
	cells[0].real = use->accesses ? (double)use->run / 1000 : NAN;
	cells[1].count = use->accesses ? use->reuse_median : CELL_NONE;
	cells[2].count = use->accesses ? use->active99 : CELL_NONE;
	cells[3].count = use->accesses ? use->active999 : CELL_NONE;
	cells[4].count = use->accesses ? use->active_all : CELL_NONE;
}

static int write_tenants(struct writer *writer, const struct sweep *sweep,
			 const struct sim_outcome *outcomes)
{
	static const struct column own[] = {
		{"tenant", NULL, COLUMN_COUNT, 6, false},
		{"packets", NULL, COLUMN_COUNT, 10, false},
		{"drops", NULL, COLUMN_COUNT, 8, false},
		{"bandwidth", "bits_per_s", COLUMN_COUNT, 12, false},
		{"translations", NULL, COLUMN_COUNT, 12, true},
		{"latency_mean", "ps", COLUMN_COUNT, 12, false},
		{"latency_p50", "ps", COLUMN_COUNT, 11, true},
		{"latency_p99", "ps", COLUMN_COUNT, 11, true},
		{"latency_p999", "ps", COLUMN_COUNT, 12, true},
		{"latency_max", "ps", COLUMN_COUNT, 11, true},
		{"lost", NULL, COLUMN_COUNT, 8, false},
		{"alone_mean", "ps", COLUMN_COUNT, 12, true},
		{"slowdown", NULL, COLUMN_REAL, 8, true},
		{"run", "accesses", COLUMN_REAL, 12, true},
		{"reuse", "pages", COLUMN_COUNT, 11, true},
		{"active_99", "entries", COLUMN_COUNT, 17, true},
		{"active_999", "entries", COLUMN_COUNT, 18, true},
		{"active_all", "entries", COLUMN_COUNT, 18, true},
	};
	struct point_table table;
	int err = begin(&table, writer, sweep, "tenants", "Tenants (model)", own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (__u32 i = 0; !err && i < outcomes[point].tenant_count; i++) {
			const struct sim_tenant *tenant = &outcomes[point].tenants[i];
			const struct watch_tenant *t = &tenant->watch;
			union cell cells[CELLS];
			size_t count = sweep_cells(cells, sweep, point);

			cells[count++].count = t->source;
			cells[count++].count = t->packets;
			cells[count++].count = t->drops;
			cells[count++].count = tenant->bits_per_s;
			cells[count++].count = t->translations;
			cells[count++].count =
				t->translations ? t->latency_sum_ps / t->translations : 0;
			cells[count++].count = t->p50_ps;
			cells[count++].count = t->p99_ps;
			cells[count++].count = t->p999_ps;
			cells[count++].count = t->latency_max_ps;
			cells[count++].count = tenant->lost;
			cells[count++].count = tenant->alone_mean_ps;
			cells[count++].real = tenant->slowdown;
			put_use(&cells[count], &tenant->use);
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
			cells[count++].count = (__u64)((unsigned __int128)p->in_flight_ps * 1000 /
						       outcomes[point].point_ps);
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
	struct point_table table;
	int err = begin(&table, writer, sweep, "partitions", "Entries in use at the end (model)",
			own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (int part = 0; part < SIM_PARTS; part++)
			for (__u32 p = 0; !err && p < outcomes[point].partitions[part]; p++) {
				union cell cells[CELLS];
				size_t count = sweep_cells(cells, sweep, point);

				cells[count++].text = part_names[part];
				cells[count++].count = p;
				cells[count++].count = outcomes[point].occupancy[part][p];
				err = writer_row(writer, cells);
			}
	return err ? err : writer_end(writer);
}

/* Which sets tenants fight over (figure 9): those of caches with at most SIM_SETS of them. */
static int write_sets(struct writer *writer, const struct sweep *sweep,
		      const struct sim_outcome *outcomes)
{
	static const struct column own[] = {
		{"cache", NULL, COLUMN_TEXT, 8, false},
		{"set", NULL, COLUMN_COUNT, 5, false},
		{"partition", NULL, COLUMN_COUNT, 9, false},
		{"accesses", NULL, COLUMN_COUNT, 10, false},
		{"hits", NULL, COLUMN_COUNT, 10, true},
		{"fills", NULL, COLUMN_COUNT, 10, true},
		{"evictions", NULL, COLUMN_COUNT, 10, true},
		{"cross_evictions", NULL, COLUMN_COUNT, 15, false},
	};
	struct point_table table;
	int err = begin(&table, writer, sweep, "sets", "Sets (model)", own, COUNT(own));

	for (size_t point = 0; !err && point < sweep->points; point++)
		for (int part = 0; part < SIM_PARTS; part++)
			for (__u32 set = 0; !err && set < outcomes[point].set_count[part]; set++) {
				const struct sim_outcome *o = &outcomes[point];
				const struct model_cache_stats *s = &o->sets[part][set];
				union cell cells[CELLS];
				size_t count = sweep_cells(cells, sweep, point);

				cells[count++].text = part_names[part];
				cells[count++].count = set;
				cells[count++].count =
					set / (o->set_count[part] / o->partitions[part]);
				cells[count++].count = s->hits + s->misses;
				cells[count++].count = s->hits;
				cells[count++].count = s->fills;
				cells[count++].count = s->evictions;
				cells[count++].count = s->cross_evictions;
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
	if (!err && whole)
		err = write_sets(writer, sweep, outcomes);
	return err;
}
