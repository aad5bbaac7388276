// SPDX-License-Identifier: GPL-2.0
#include "lib/job/sweep_table.h"

#include <math.h>
#include <string.h>

#define TEXT_ROOM  28 /* beside four columns of results on 80 columns */
#define TEXT_LEAST 5

static const char baseline[] = "baseline";

static size_t sweep_wider(size_t width, const char *text)
{
	size_t length = strlen(text);

	return length > width ? length : width;
}

/* The widest columns give way until all have room. */
static void sweep_fit(struct column *columns, size_t count)
{
	for (;;) {
		struct column *widest = columns;
		size_t sum = 0;

		for (size_t i = 0; i < count; i++) {
			sum += columns[i].width + 2;
			if (columns[i].width > widest->width)
				widest = &columns[i];
		}
		if (!count || sum <= TEXT_ROOM || widest->width <= TEXT_LEAST)
			return;
		widest->width--;
	}
}

size_t sweep_columns(struct column *columns, const struct sweep *sweep)
{
	size_t count = 0;

	columns[count++] = (struct column){
		.name = "point", .type = COLUMN_COUNT, .width = 5, .wide = !sweep->dimension_count};
	for (size_t d = 0; d < sweep->dimension_count; d++) {
		const struct sweep_dimension *dimension = &sweep->dimensions[d];
		size_t width = strlen(dimension->name);

		if (sweep->baseline && !d)
			width = sweep_wider(width, baseline);
		for (size_t v = 0; v < dimension->value_count; v++)
			width = sweep_wider(width, dimension->values[v]);
		columns[count++] = (struct column){.name = dimension->name,
						   .type = COLUMN_TEXT,
						   .width = (unsigned int)width,
						   .whole = (unsigned int)width};
	}
	sweep_fit(columns + 1, count - 1);
	return count;
}

size_t sweep_cells(union cell *cells, const struct sweep *sweep, size_t point)
{
	size_t count = 0;

	cells[count++].count = point + 1;
	for (size_t d = 0; d < sweep->dimension_count; d++)
		cells[count++].text =
			sweep_is_baseline(sweep, point)
				? (d ? NULL : baseline)
				: sweep->dimensions[d].values[sweep_index(sweep, point, d)];
	return count;
}

const char *sweep_own_name(const char *name, const struct sweep *sweep, char room[SWEEP_OWN_NAME])
{
	if (sweep_find(sweep, name) < 0)
		return name;
	snprintf(room, SWEEP_OWN_NAME, "seen_%s", name);
	return room;
}

int sweep_results_begin(struct sweep_results *results, struct writer *writer, const char *title,
			const struct sweep *sweep, const struct job_columns *own)
{
	size_t first = sweep_columns(results->columns, sweep);

	results->sweep = sweep;
	results->own = own;
	results->table = (struct table){"results", title, results->columns, first + own->count};
	for (size_t i = 0; i < own->count; i++)
		results->columns[first + i] = (struct column){
			.name = sweep_own_name(own->columns[i].name, sweep, results->names[i]),
			.unit = own->columns[i].unit,
			.type = own->columns[i].type,
			.width = own->columns[i].width,
			.wide = own->columns[i].wide,
		};
	return writer_begin(writer, &results->table);
}

int sweep_results_row(const struct sweep_results *results, struct writer *writer, size_t point,
		      const double *values)
{
	union cell cells[SWEEP_CELLS];
	size_t count = sweep_cells(cells, results->sweep, point);

	for (size_t i = 0; i < results->own->count; i++, count++) {
		if (results->own->columns[i].type == COLUMN_REAL)
			cells[count].real = values[i];
		else
			cells[count].count =
				isnan(values[i]) ? CELL_NONE : (__u64)llround(values[i]);
	}
	return writer_row(writer, cells);
}

int point_table_begin(struct point_table *t, struct writer *writer, const struct sweep *sweep,
		      const struct table *own)
{
	size_t count = sweep_columns(t->columns, sweep);

	t->sweep = sweep;
	t->own = own;
	t->table = (struct table){own->name, own->title, t->columns, count + own->column_count};
	for (size_t i = 0; i < own->column_count; i++) {
		t->columns[count + i] = own->columns[i];
		t->columns[count + i].name =
			sweep_own_name(own->columns[i].name, sweep, t->names[i]);
		t->columns[count + i].get = NULL;
	}
	return writer_begin(writer, &t->table);
}

int point_table_put(const struct point_table *t, struct writer *writer, size_t point,
		    const void *row)
{
	union cell cells[SWEEP_CELLS];
	size_t count = sweep_cells(cells, t->sweep, point);

	for (size_t i = 0; i < t->own->column_count; i++)
		cells[count + i] = t->own->columns[i].get(row, NULL, NULL);
	return writer_row(writer, cells);
}
