// SPDX-License-Identifier: GPL-2.0
#include "tools/top/views.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/device_name.h"
#include "lib/base/fail.h"
#include "tools/top/format.h"

static const struct view view_faults = {.name = "faults", .windowed = true};

const struct view *const views[VIEWS] = {
	[VIEW_FAULTS] = &view_faults, [VIEW_IOMMU] = &view_iommu, [VIEW_DMA] = &view_dma,
	[VIEW_VFIO] = &view_vfio,     [VIEW_RDMA] = &view_rdma,	  [VIEW_NIC] = &view_nic,
	[VIEW_QP] = &view_qp,	      [VIEW_LENT] = &view_lent,	  [VIEW_PINS] = &view_pins,
};

unsigned int view_from(const char *name)
{
	unsigned int i = 0;

	while (i < VIEWS && strcmp(views[i]->name, name) != 0)
		i++;
	return i;
}

unsigned int view_sort_from(const struct view *view, const char *name)
{
	for (unsigned int i = 0; i < VIEW_COLUMNS && view->columns[i].head; i++)
		if (!strcasecmp(view->columns[i].head, name))
			return i;
	for (unsigned int i = 0; i < VIEW_COLUMNS && view->columns[i].head; i++)
		if (!strcmp(view->columns[i].column, name))
			return i;
	return VIEW_COLUMNS;
}

size_t view_column_count(const struct view *view)
{
	size_t count = 0;

	while (count < VIEW_COLUMNS && view->columns[count].head)
		count++;
	return count;
}

void view_table_free(struct view_table *table)
{
	rows_free(&table->rows);
	free(table->ids);
	free(table->rates);
	memset(table, 0, sizeof(*table));
}

static __u64 hash(__u64 sum, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	/* FNV-1a */
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ull;
	return sum;
}

/* Never 0, which means that no row was chosen yet. */
static __u64 view_id_of(const struct rows *rows, size_t row, size_t keys)
{
	const union cell *cells = rows_row(rows, row);
	__u64 sum = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < keys; i++)
		if (rows->columns[i].type == COLUMN_TEXT)
			sum = hash(sum, cells[i].text, strlen(cells[i].text) + 1);
		else
			sum = hash(sum, &cells[i].count, sizeof(cells[i].count));
	return sum ?: 1;
}

static int views_make_room(struct view_table *table)
{
	size_t rows = table->rows.count, cells = rows * table->rows.table.column_count;
	double *rates = table->rates;
	__u64 *ids = table->ids;

	if (rows > table->row_room) {
		ids = reallocarray(ids, rows, sizeof(*ids));
		if (ids) {
			table->ids = ids;
			table->row_room = rows;
		}
	}
	if (cells > table->cell_room) {
		rates = reallocarray(rates, cells, sizeof(*rates));
		if (rates) {
			table->rates = rates;
			table->cell_room = cells;
		}
	}
	return (ids && rates) || !rows ? 0 : failed(-ENOMEM, "no memory for %zu rows", rows);
}

int view_table_copy(struct view_table *to, const struct view_table *from)
{
	size_t rows = from->rows.count, cells = rows * from->rows.table.column_count;
	int error = rows_copy(&to->rows, &from->rows);

	error = error ? error : views_make_room(to);
	if (error)
		return error;
	if (rows) {
		memcpy(to->ids, from->ids, rows * sizeof(*to->ids));
		memcpy(to->rates, from->rates, cells * sizeof(*to->rates));
	}
	memcpy(to->totals, from->totals, sizeof(to->totals));
	to->count = from->count;
	return 0;
}

/* Where the row was before: mostly at the same place. */
static const union cell *row_before(const struct view_table *before, __u64 id, size_t hint)
{
	for (size_t i = 0; i < before->rows.count; i++) {
		size_t at = (hint + i) % before->rows.count;

		if (before->ids[at] == id)
			return rows_row(&before->rows, at);
	}
	return NULL;
}

/* Of those that share a name from now on one had it alone, so that a row may not be as new as it looks. */
static bool may_be_renamed(const union cell *row)
{
	return strchr(row[0].text, '#');
}

static void take_rates(struct view_table *table, const struct view *view, size_t row,
		       const union cell *before, __u64 elapsed_ns)
{
	const union cell *now = rows_row(&table->rows, row);
	double *rates = table->rates + row * table->rows.table.column_count;

	for (size_t i = 0; i < view_column_count(view); i++) {
		size_t c = rows_column(&table->rows, view->columns[i].column);
		__u64 from = before ? before[c].count : 0;

		if (view->columns[i].value != VIEW_RATE)
			continue;
		/* Counts that a row does not have, or that nobody knows, have no rate. */
		rates[c] =
			elapsed_ns && now[c].count != CELL_NONE && (before || !may_be_renamed(now))
				? ((double)now[c].count - (double)from) * 1e9 / (double)elapsed_ns
				: NAN;
	}
}

int view_table_take(struct view_table *table, const struct view *view,
		    const struct analysis *analysis, enum latency_span span,
		    const struct view_table *before, __u64 elapsed_ns)
{
	struct writer *writer;
	int error = rows_writer(&writer, &table->rows);

	if (error)
		return error;
	view->write(analysis, writer, &(struct table_wish){.span = span});
	error = writer_close(writer) ?: views_make_room(table);
	if (error)
		return error;
	for (size_t i = 0; i < table->rows.count; i++) {
		table->ids[i] = view_id_of(&table->rows, i, view->keys);
		take_rates(table, view, i, row_before(before, table->ids[i], i), elapsed_ns);
	}
	view->totals(analysis, table->totals);
	table->count = view->count(analysis);
	return 0;
}

union cell view_cell(const struct view_table *table, size_t row, const struct view_column *column,
		     enum column_type *type)
{
	size_t c = rows_column(&table->rows, column->column);

	if (column->value == VIEW_RATE) {
		*type = COLUMN_REAL;
		return (union cell){.real = table->rates[row * table->rows.table.column_count + c]};
	}
	*type = table->rows.columns[c].type;
	return rows_row(&table->rows, row)[c];
}

const char *view_text(const struct view_table *table, size_t row, const struct view_column *column,
		      const struct wall_clock *clock, char *text, size_t size)
{
	enum column_type type;
	union cell cell = view_cell(table, row, column, &type);
	char number[CLOCK_TEXT] = "-";

	if (type == COLUMN_TEXT) {
		snprintf(text, size, "%s", cell.text);
		return text;
	}
	if (type == COLUMN_REAL)
		short_real(number, cell.real);
	else if (cell.count == CELL_NONE)
		;
	else if (type == COLUMN_BYTES)
		short_bytes(number, cell.count);
	else if (type == COLUMN_DURATION)
		short_duration(number, cell.count);
	else if (type == COLUMN_TIME)
		clock_text(number, clock, cell.count, true);
	else if (type == COLUMN_ADDRESS)
		snprintf(number, sizeof(number), "%llx", cell.count);
	else
		short_count(number, cell.count);
	snprintf(text, size, "%s", number);
	return text;
}

struct view_sorter {
	const struct view *view;
	const struct view_table *table;
	const struct view_order *by;
};

/* Unknown sorts below everything known, whichever way the order goes. */
static int compare_cells(union cell a, union cell b, enum column_type type, bool reverse)
{
	bool real = type == COLUMN_REAL;
	bool no_a = real ? isnan(a.real) : a.count == CELL_NONE;
	bool no_b = real ? isnan(b.real) : b.count == CELL_NONE;
	int order;

	if (type == COLUMN_TEXT)
		order = strverscmp(a.text, b.text);
	else if (no_a || no_b)
		return no_a - no_b;
	else if (real)
		order = (a.real < b.real) - (a.real > b.real);
	else
		order = (a.count < b.count) - (a.count > b.count);
	return reverse ? -order : order;
}

static int views_compare(const void *left, const void *right, void *argument)
{
	const struct view_sorter *sorter = argument;
	__u32 a = *(const __u32 *)left, b = *(const __u32 *)right;
	const struct view_column *column = &sorter->view->columns[sorter->by->sort];
	enum column_type type;
	union cell x = view_cell(sorter->table, a, column, &type);
	union cell y = view_cell(sorter->table, b, column, &type);
	int order = compare_cells(x, y, type, sorter->by->reverse);

	return order ? order : (a > b) - (a < b);
}

static bool views_is_shown(const struct rows *rows, const union cell *cells,
			   const struct collect_filter *filter)
{
	size_t pid = rows_column(rows, "pid");
	bool shown = !filter || (!filter->device_count && !filter->pid_count);

	for (size_t i = 0; !shown && i < filter->device_count; i++)
		shown = device_name_shown_fits(cells[0].text, filter->devices[i]);
	for (size_t i = 0; !shown && pid < rows->table.column_count && i < filter->pid_count; i++)
		shown = cells[pid].count == filter->pids[i];
	return shown;
}

static bool views_passes(const struct rows *rows, const union cell *cells, const char *filter)
{
	if (!filter || !*filter)
		return true;
	for (size_t i = 0; i < rows->table.column_count; i++)
		if (rows->columns[i].type == COLUMN_TEXT && strcasestr(cells[i].text, filter))
			return true;
	return false;
}

size_t view_order(const struct view *view, const struct view_table *table,
		  const struct view_order *by, __u32 *order)
{
	struct view_sorter sorter = {view, table, by};
	size_t count = 0;

	for (size_t i = 0; i < table->rows.count; i++)
		if (views_is_shown(&table->rows, rows_row(&table->rows, i), by->shown) &&
		    views_passes(&table->rows, rows_row(&table->rows, i), by->filter))
			order[count++] = (__u32)i;
	qsort_r(order, count, sizeof(*order), views_compare, &sorter);
	return count;
}
