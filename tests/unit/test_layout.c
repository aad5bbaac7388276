// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <string.h>

#include "tools/top/layout.h"

#define ROWS_MAX    120
#define COLUMNS_MAX 300

static const struct layout_wish wishes[] = {
	{.name_width = 0},
	{.name_width = 17, .owner_width = 23, .faults = 7},
	{.name_width = 63, .owner_width = 79, .faults = 64},
};
#define WISHES (sizeof(wishes) / sizeof(wishes[0]))

typedef void (*layout_function)(struct layout *, int, int, const struct layout_wish *);

/* Calls `check` for every size from 1x1 to 120x300 and every wish. */
static void over_all_sizes(layout_function make,
			   void (*check)(const struct layout *, int rows, int columns))
{
	for (int rows = 1; rows <= ROWS_MAX; rows++)
		for (int columns = 1; columns <= COLUMNS_MAX; columns++)
			for (size_t i = 0; i < WISHES; i++) {
				struct layout layout;

				make(&layout, rows, columns, &wishes[i]);
				check(&layout, rows, columns);
			}
}

static void inside(const struct rectangle *r, int rows, int columns)
{
	if (!r->rows)
		return;
	assert_true(r->rows > 0 && r->columns > 0);
	assert_true(r->row >= 0 && r->column >= 0);
	assert_true(r->row + r->rows <= rows);
	assert_true(r->column + r->columns <= columns);
}

static int overlap(const struct rectangle *a, const struct rectangle *b)
{
	return a->rows && b->rows && a->row < b->row + b->rows && b->row < a->row + a->rows &&
	       a->column < b->column + b->columns && b->column < a->column + a->columns;
}

static void apart(const struct rectangle *const *all, size_t count, int rows, int columns)
{
	for (size_t i = 0; i < count; i++) {
		inside(all[i], rows, columns);
		for (size_t k = i + 1; k < count; k++)
			assert_false(overlap(all[i], all[k]));
	}
}

static void check_main(const struct layout *l, int rows, int columns)
{
	const struct rectangle *const all[] = {&l->header, &l->table_head, &l->table, &l->footer};
	int at = -1;

	if (l->too_small)
		return;
	apart(all, 4, rows, columns);
	inside(&l->body, rows, columns);
	assert_true(l->header.rows && l->footer.rows && l->table_head.rows && l->table.rows);
	assert_true(l->column_count >= 3);
	for (int i = 0; i < l->column_count; i++) {
		const struct column_place *place = &l->columns[i];

		assert_true(place->column > at);
		assert_true(place->width >= layout_least_width((enum top_column)place->id));
		at = place->column + place->width; /* one blank cell follows */
	}
	assert_true(at <= columns);
}

static void check_detail(const struct layout *l, int rows, int columns)
{
	const struct rectangle *const all[] = {&l->header,  &l->about,	&l->stages,
					       &l->history, &l->faults, &l->footer};

	if (l->too_small)
		return;
	apart(all, 6, rows, columns);
	assert_true(l->header.rows && l->footer.rows && l->stages.rows);
}

static void main_screen_never_overlaps(void **state)
{
	over_all_sizes(layout_main, check_main);
}

static void detail_screen_never_overlaps(void **state)
{
	over_all_sizes(layout_detail, check_detail);
}

static int shows(const struct layout *layout, int id)
{
	for (int i = 0; i < layout->column_count; i++)
		if (layout->columns[i].id == id)
			return 1;
	return 0;
}

/* If a column is shown, so is every one that is more important; wider never shows less. */
static void important_columns_come_first(void **state)
{
	for (size_t i = 0; i < WISHES; i++) {
		int before = 0;

		for (int columns = LAYOUT_MIN_COLUMNS; columns <= COLUMNS_MAX; columns++) {
			struct layout layout;

			layout_main(&layout, 24, columns, &wishes[i]);
			for (int rank = 0; rank < layout.column_count; rank++)
				assert_true(shows(&layout, layout_importance(rank)));
			assert_true(layout.column_count >= before);
			before = layout.column_count;
		}
		assert_int_equal(before, TOP_COLUMNS);
	}
}

static void every_column_has_a_rank_of_its_own(void **state)
{
	for (int rank = 0; rank < TOP_COLUMNS; rank++) {
		assert_int_not_equal(layout_importance(rank), TOP_COLUMNS);
		for (int other = 0; other < rank; other++)
			assert_int_not_equal(layout_importance(rank), layout_importance(other));
	}
	assert_int_equal(layout_importance(0), TOP_DEVICE);
	assert_int_equal(layout_importance(TOP_COLUMNS), TOP_COLUMNS);
}

/* What an 80x24 terminal must show for the tool to be fully usable there. */
static void classic_terminal_shows_all_that_the_issue_names(void **state)
{
	static const enum top_column needed[] = {TOP_DEVICE,  TOP_OWNER,     TOP_RATE, TOP_TOTAL,
						 TOP_P50,     TOP_P99,	     TOP_MAX,  TOP_STAGE,
						 TOP_BLOCKED, TOP_FOOTPRINT, TOP_SLO};
	struct layout layout;

	layout_main(&layout, 24, 80, &wishes[2]);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		assert_true(shows(&layout, needed[i]));
	assert_true(layout.table.rows >= 17);
	/* A stage's name is shown with its mark. */
	assert_true(layout_least_width(TOP_STAGE) >= (int)strlen("dispatch+"));

	layout_detail(&layout, 24, 80, &wishes[2]);
	assert_int_equal(layout.stages.rows, 9);
	assert_true(layout.about.rows && layout.history.rows);
	assert_true(layout.faults.rows >= 3);
}

static void smallest_size_is_exact(void **state)
{
	struct layout layout;

	for (int rows = 1; rows <= ROWS_MAX; rows++)
		for (int columns = 1; columns <= COLUMNS_MAX; columns++) {
			int small = rows < LAYOUT_MIN_ROWS || columns < LAYOUT_MIN_COLUMNS;

			layout_main(&layout, rows, columns, &wishes[1]);
			assert_int_equal(layout.too_small, small);
			layout_detail(&layout, rows, columns, &wishes[1]);
			assert_int_equal(layout.too_small, small);
		}
}

static void spare_width_goes_to_long_names(void **state)
{
	struct layout narrow, wide;

	layout_main(&narrow, 24, 80, &wishes[2]);
	layout_main(&wide, 24, 250, &wishes[2]);
	assert_in_range(narrow.columns[0].width, layout_least_width(TOP_DEVICE), 20);
	assert_int_equal(wide.columns[0].width, wishes[2].name_width);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(main_screen_never_overlaps),
		cmocka_unit_test(detail_screen_never_overlaps),
		cmocka_unit_test(important_columns_come_first),
		cmocka_unit_test(every_column_has_a_rank_of_its_own),
		cmocka_unit_test(classic_terminal_shows_all_that_the_issue_names),
		cmocka_unit_test(smallest_size_is_exact),
		cmocka_unit_test(spare_width_goes_to_long_names),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
