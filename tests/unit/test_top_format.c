// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#include "tools/top/format.h"

static void durations_read_well(void **state)
{
	static const struct {
		__u64 ns;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1ns"},
		{999, "999ns"},
		{1000, "1.0us"},
		{9949, "9.9us"},
		{9951, "10us"},
		{999499, "999us"},
		{999500, "1.0ms"},
		{123456789, "123ms"},
		{59ull * 1000000000, "59s"},
		{1000ull * 1000000000, "17m"},
		{7200ull * 1000000000, "2.0h"},
		{100 * 86400ull * 1000000000, "100d"},
	};
	char text[SHORT_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(short_duration(text, cases[i].ns), cases[i].text);
}

/* Columns are five cells wide: any value of any magnitude must fit. */
static void nothing_is_wider_than_five_cells(void **state)
{
	char text[SHORT_TEXT];

	for (int bit = 0; bit < 63; bit++)
		for (int step = -1; step <= 1; step++)
			for (__u64 part = 4; part < 8; part++) {
				__u64 value = (1ull << bit) / 4 * part + (__u64)step;

				assert_true(strlen(short_count(text, value)) <= 5);
				assert_true(strlen(short_bytes(text, value)) <= 5);
				assert_true(strlen(short_real(text, (double)value)) <= 5);
				assert_true(strlen(short_duration(text, value)) <= 5);
			}
	for (__u64 value = 99; value < 10000000000000ull; value = value * 10 + 9) {
		assert_true(strlen(short_count(text, value)) <= 5);
		assert_true(strlen(short_duration(text, value)) <= 5);
	}
}

static void counts_stay_exact_below_a_hundred_thousand(void **state)
{
	char text[SHORT_TEXT];

	assert_string_equal(short_count(text, 99991), "99991");
	assert_string_equal(short_count(text, 100003), "100k");
	assert_string_equal(short_count(text, 1234567), "1.2M");
	assert_string_equal(short_count(text, UINT64_MAX), "18E");
	assert_string_equal(short_bytes(text, 4096), "4K");
	assert_string_equal(short_bytes(text, 4097), "4.0K");
	assert_string_equal(short_bytes(text, 1536), "1.5K");
	assert_string_equal(short_bytes(text, 1ull << 30), "1G");
	assert_string_equal(short_real(text, 0), "0");
	assert_string_equal(short_real(text, 12.34), "12.3");
	assert_string_equal(short_real(text, 1234.5), "1235");
	assert_string_equal(short_real(text, NAN), "-");
}

static void time_is_utc(void **state)
{
	struct clock_anchor first = {.monotonic_ns = 5000000000,
				     .realtime_ns = 1795225143123456789};
	const struct wall_clock anchor = {&first, 1, 1}, unknown = {0};
	char text[CLOCK_TEXT];

	assert_string_equal(clock_text(text, &anchor, 5000000000, false), "2026-11-21 01:39:03");
	assert_string_equal(clock_text(text, &anchor, 5000000000, true), "01:39:03.123");
	/* Before the anchor, too. */
	assert_string_equal(clock_text(text, &anchor, 3000000000, true), "01:39:01.123");
	assert_string_equal(clock_text(text, &unknown, 1500000000, true), "1.500");
	assert_string_equal(short_span(text, 3723ull * 1000000000), "01:02:03");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_read_well),
		cmocka_unit_test(nothing_is_wider_than_five_cells),
		cmocka_unit_test(counts_stay_exact_below_a_hundred_thousand),
		cmocka_unit_test(time_is_utc),
	};

	return cmocka_run_group_tests_name("top format", tests, NULL, NULL);
}
