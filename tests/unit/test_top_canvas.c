// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>

#include "tools/top/canvas.h"

static int setup(void **state)
{
	static struct canvas canvas;

	*state = &canvas;
	return canvas_resize(&canvas, 5, 11);
}

static int teardown(void **state)
{
	canvas_free(*state);
	return 0;
}

static void text_is_clipped_on_every_side(void **state)
{
	struct canvas *canvas = *state;
	char row[32];

	for (int r = -2; r < 8; r++)
		for (int c = -20; c < 20; c++)
			canvas_text(canvas, r, c, 100, STYLE_PLAIN, "abcdefghijklmnop");
	canvas_clear(canvas);
	canvas_text(canvas, 0, 8, 100, STYLE_PLAIN, "abcdef");
	canvas_text(canvas, 1, 0, 3, STYLE_PLAIN, "abcdef");
	canvas_right(canvas, 2, 0, 6, STYLE_PLAIN, "42");
	canvas_read_row(canvas, 0, row, sizeof(row));
	assert_string_equal(row, "        ab~");
	canvas_read_row(canvas, 1, row, sizeof(row));
	assert_string_equal(row, "ab~");
	canvas_read_row(canvas, 2, row, sizeof(row));
	assert_string_equal(row, "    42");
}

/* Processes that start one after the other have numbers that differ in their last digit. */
static void what_tells_devices_apart_is_not_cut(void **state)
{
	static const struct {
		int width;
		const char *name, *shown;
	} cells[] = {
		{11, "vm/d#203471", "vm/d#203471"},	 {11, "vm0/disk#2034711", "vm~#2034711"},
		{10, "vm0/disk#2034711", "v~#2034711"},	 {9, "vm0/disk#2034711", "vm0/disk~"},
		{11, "vm0/disk#4711.13", "vm~#4711.13"}, {8, "vm0/disk#x11", "vm0/dis~"},
		{9, "demo[11312]", "d~[11312]"},	 {11, "demo[11312]", "demo[11312]"},
		{8, "demo[11312]", "demo[11~"},		 {9, "demo[x1312]", "demo[x13~"},
	};
	struct canvas *canvas = *state;
	char row[32];

	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		canvas_clear(canvas);
		canvas_text(canvas, 0, 0, cells[i].width, STYLE_PLAIN, cells[i].name);
		canvas_read_row(canvas, 0, row, sizeof(row));
		assert_string_equal(row, cells[i].shown);
	}
}

/* Names come from other processes: an escape sequence must not reach the terminal. */
static void unprintable_bytes_are_escaped(void **state)
{
	struct canvas *canvas = *state;
	char row[32];

	canvas_text(canvas, 0, 0, 11, STYLE_PLAIN, "a\033[m\tb");
	canvas_read_row(canvas, 0, row, sizeof(row));
	assert_string_equal(row, "a\\x1b[m\\tb");
	canvas_text(canvas, 1, 0, 11, STYLE_PLAIN, "a\xff\xe2\x80\xae");
	canvas_read_row(canvas, 1, row, sizeof(row));
	assert_string_equal(row, "a\\xff\\u202e");
}

static int filled(const struct canvas *canvas, int row)
{
	int count = 0;

	for (int c = 0; c < canvas->columns; c++)
		count += canvas->cells[row * canvas->columns + c].glyph != ' ';
	return count;
}

static void bar_is_proportional_and_never_hides_a_little(void **state)
{
	struct canvas *canvas = *state;

	for (int unicode = 0; unicode < 2; unicode++) {
		canvas->unicode = unicode;
		canvas_clear(canvas);
		canvas_bar(canvas, 0, 0, 11, 0.5, STYLE_PLAIN);
		canvas_bar(canvas, 1, 0, 11, 0.0001, STYLE_PLAIN);
		canvas_bar(canvas, 2, 0, 11, 7, STYLE_PLAIN);
		canvas_bar(canvas, 3, 0, 11, 0, STYLE_PLAIN);
		canvas_bar(canvas, 4, 0, 11, NAN, STYLE_PLAIN);
		assert_int_equal(filled(canvas, 0), 6);
		assert_int_equal(filled(canvas, 1), 1);
		assert_int_equal(filled(canvas, 2), 11);
		assert_int_equal(filled(canvas, 3), 0);
		assert_int_equal(filled(canvas, 4), 0);
	}
}

static void sparkline_ends_at_the_right_with_the_newest(void **state)
{
	static const float values[] = {0, 3, 0, 12, 24};
	const struct rectangle area = {1, 2, 3, 4};
	struct canvas *canvas = *state;
	char row[32];

	canvas->unicode = false;
	canvas_clear(canvas);
	canvas_sparkline(canvas, &area, values, 5, 24, STYLE_PLAIN);
	canvas_read_row(canvas, 1, row, sizeof(row));
	assert_string_equal(row, "     @");
	canvas_read_row(canvas, 2, row, sizeof(row));
	assert_string_equal(row, "    =@");
	canvas_read_row(canvas, 3, row, sizeof(row));
	assert_string_equal(row, "  - @@");
	canvas_sparkline(canvas, &area, values, 5, 0, STYLE_PLAIN); /* no peak: no division */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(text_is_clipped_on_every_side, setup, teardown),
		cmocka_unit_test_setup_teardown(what_tells_devices_apart_is_not_cut, setup,
						teardown),
		cmocka_unit_test_setup_teardown(unprintable_bytes_are_escaped, setup, teardown),
		cmocka_unit_test_setup_teardown(bar_is_proportional_and_never_hides_a_little, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sparkline_ends_at_the_right_with_the_newest, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("top canvas", tests, NULL, NULL);
}
