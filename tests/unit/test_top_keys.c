// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/top/keys.h"

#define DEVICES 13
#define PAGE	5

struct fixture {
	struct top_model model;
	struct top_view view;
	struct top_rows rows;
	__u32 order[DEVICES];
	__u64 ids[DEVICES];
};

static void refresh(struct fixture *f)
{
	f->rows.count =
		top_order(&f->model, f->view.sort, f->view.reverse, f->view.filter, f->order);
	for (size_t i = 0; i < f->rows.count; i++)
		f->ids[i] = f->model.devices[f->order[i]].live.handle;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->model.devices = calloc(DEVICES, sizeof(*f->model.devices));
	f->model.device_count = DEVICES;
	for (__u32 i = 0; i < DEVICES; i++) {
		struct top_device *device = &f->model.devices[i];

		device->live.handle = i + 1;
		device->live.rate = (double)(i * 7 % DEVICES);
		device->live.faults = 100 + i;
		snprintf(device->name, sizeof(device->name), "tenant%u/disk0", i);
		snprintf(device->owner, sizeof(device->owner), "vm%u", i);
	}
	top_view_init(&f->view);
	f->rows = (struct top_rows){f->ids, 0, PAGE};
	refresh(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	top_model_free(&f->model);
	free(f);
	return 0;
}

static void press(struct fixture *f, int key)
{
	top_view_key(&f->view, key, &f->rows);
	refresh(f);
}

static void type(struct fixture *f, const char *text)
{
	for (; *text; text++)
		press(f, *text);
}

static void cursor_starts_on_the_first_row_and_follows_it(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(top_view_settle(&f->view, &f->rows), 0);
	f->model.devices[3].live.rate = 1000; /* another device takes the lead */
	refresh(f);
	assert_int_equal(top_view_settle(&f->view, &f->rows), 0);
}

static void cursor_stays_on_its_device_when_rows_move(void **state)
{
	struct fixture *f = *state;
	__u32 chosen;
	int row;

	press(f, KEY_TOP_DOWN);
	press(f, 'j');
	chosen = f->view.selected;
	assert_int_equal(chosen, f->model.devices[f->order[2]].live.handle);
	f->model.devices[chosen - 1].live.rate = 0.001;
	refresh(f);
	row = top_view_settle(&f->view, &f->rows);
	assert_true(row > 2);
	assert_int_equal(f->model.devices[f->order[row]].live.handle, chosen);
	/* and stays on screen */
	assert_true(row >= f->view.first && row < f->view.first + PAGE);
}

static void cursor_never_leaves_the_table(void **state)
{
	struct fixture *f = *state;

	press(f, KEY_TOP_UP);
	assert_int_equal(top_view_settle(&f->view, &f->rows), 0);
	press(f, KEY_TOP_END);
	assert_int_equal(top_view_settle(&f->view, &f->rows), DEVICES - 1);
	assert_int_equal(f->view.first, DEVICES - PAGE);
	press(f, KEY_TOP_PAGE_DOWN);
	assert_int_equal(top_view_settle(&f->view, &f->rows), DEVICES - 1);
	press(f, KEY_TOP_PAGE_UP);
	assert_int_equal(top_view_settle(&f->view, &f->rows), DEVICES - 1 - PAGE);
	press(f, KEY_TOP_HOME);
	assert_int_equal(f->view.first, 0);
}

static void every_key_is_harmless_without_devices(void **state)
{
	struct fixture *f = *state;

	f->model.device_count = 0;
	for (int screen = SCREEN_MAIN; screen <= SCREEN_HELP; screen++)
		for (int key = 0; key <= KEY_TOP_BACKSPACE;
		     key = key == 255 ? KEY_TOP_UP : key + 1) {
			f->view.screen = (enum top_screen)screen;
			press(f, key);
			assert_int_equal(top_view_settle(&f->view, &f->rows), -1);
			assert_int_equal(f->view.first, 0);
		}
}

static void filter_narrows_while_it_is_typed(void **state)
{
	struct fixture *f = *state;

	press(f, '/');
	type(f, "TENANT1");
	assert_true(f->view.typing);
	assert_int_equal(f->rows.count, 4); /* 1, 10, 11, 12 */
	press(f, KEY_TOP_BACKSPACE);
	assert_int_equal(f->rows.count, DEVICES);
	type(f, "1q");
	assert_false(f->view.quit); /* a letter, not a command */
	assert_int_equal(f->rows.count, 0);
	press(f, KEY_TOP_BACKSPACE);
	press(f, KEY_TOP_ENTER);
	assert_false(f->view.typing);
	assert_int_equal(f->rows.count, 4);
	press(f, KEY_TOP_ESCAPE);
	assert_int_equal(f->rows.count, DEVICES);
}

static void filter_matches_owners(void **state)
{
	struct fixture *f = *state;

	press(f, '/');
	type(f, "vm7");
	assert_int_equal(f->rows.count, 1);
	assert_int_equal(f->order[0], 7);
}

static void filter_is_bounded(void **state)
{
	struct fixture *f = *state;

	press(f, '/');
	for (int i = 0; i < 10 * FILTER_TEXT; i++)
		press(f, 'x');
	assert_int_equal(strlen(f->view.filter), FILTER_TEXT - 1);
}

static void enter_opens_and_q_goes_back_before_it_quits(void **state)
{
	struct fixture *f = *state;

	press(f, KEY_TOP_ENTER);
	assert_int_equal(f->view.screen, SCREEN_DETAIL);
	assert_int_equal(f->view.selected, f->model.devices[f->order[0]].live.handle);
	press(f, '?');
	assert_int_equal(f->view.screen, SCREEN_HELP);
	press(f, 'h');
	press(f, 'q');
	assert_int_equal(f->view.screen, SCREEN_DETAIL);
	press(f, 'q');
	assert_int_equal(f->view.screen, SCREEN_MAIN);
	assert_false(f->view.quit);
	press(f, 'q');
	assert_true(f->view.quit);
}

static void capital_q_quits_from_everywhere(void **state)
{
	struct fixture *f = *state;

	press(f, 'h');
	press(f, 'Q');
	assert_true(f->view.quit);
}

static void sort_keys_visit_every_column_and_come_round(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < SORT_COUNT; i++) {
		assert_int_equal(f->view.sort, i);
		press(f, 's');
	}
	assert_int_equal(f->view.sort, 0);
	press(f, 'S');
	assert_int_equal(f->view.sort, SORT_COUNT - 1);
}

static void pause_and_interval(void **state)
{
	struct fixture *f = *state;

	press(f, 'p');
	assert_true(f->view.paused);
	press(f, ' ');
	assert_false(f->view.paused);
	for (int i = 0; i < 50; i++)
		press(f, '+');
	assert_true(f->view.interval_s <= TOP_INTERVAL_MAX);
	for (int i = 0; i < 50; i++)
		press(f, '-');
	assert_true(f->view.interval_s >= TOP_INTERVAL_MIN);
}

static void order_is_by_the_sorted_column(void **state)
{
	struct fixture *f = *state;
	const struct top_device *devices = f->model.devices;

	for (size_t i = 1; i < f->rows.count; i++)
		assert_true(devices[f->order[i - 1]].live.rate >= devices[f->order[i]].live.rate);
	f->view.reverse = true;
	refresh(f);
	for (size_t i = 1; i < f->rows.count; i++)
		assert_true(devices[f->order[i - 1]].live.rate <= devices[f->order[i]].live.rate);
	f->view.reverse = false;
	f->view.sort = SORT_NAME;
	refresh(f);
	for (size_t i = 0; i < f->rows.count; i++) /* disk10 after disk9 */
		assert_int_equal(f->order[i], i);
}

static void unknown_values_sort_last(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < DEVICES; i++)
		f->model.devices[i].live.blocked_percent = i % 2 ? (double)i : NAN;
	f->view.sort = SORT_BLOCKED;
	refresh(f);
	for (size_t i = 0; i < DEVICES; i++)
		assert_int_equal(!!isnan(f->model.devices[f->order[i]].live.blocked_percent),
				 i >= DEVICES / 2);
}

static void sort_names_are_found(void **state)
{
	for (int i = 0; i < SORT_COUNT; i++)
		assert_int_equal(top_sort_from(top_sort_name((enum top_sort)i)), i);
	assert_int_equal(top_sort_from("speed"), SORT_COUNT);
	assert_int_equal(top_sort_from(""), SORT_COUNT);
}

#define with_devices(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_devices(cursor_starts_on_the_first_row_and_follows_it),
		with_devices(cursor_stays_on_its_device_when_rows_move),
		with_devices(cursor_never_leaves_the_table),
		with_devices(every_key_is_harmless_without_devices),
		with_devices(filter_narrows_while_it_is_typed),
		with_devices(filter_matches_owners),
		with_devices(filter_is_bounded),
		with_devices(enter_opens_and_q_goes_back_before_it_quits),
		with_devices(capital_q_quits_from_everywhere),
		with_devices(sort_keys_visit_every_column_and_come_round),
		with_devices(pause_and_interval),
		with_devices(order_is_by_the_sorted_column),
		with_devices(unknown_values_sort_last),
		cmocka_unit_test(sort_names_are_found),
	};

	return cmocka_run_group_tests_name("top keys", tests, NULL, NULL);
}
