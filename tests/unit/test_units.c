// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/units.h"

static void durations_are_exact(void **state)
{
	static const struct {
		const char *text;
		__u64 ns;
	} cases[] = {
		{"0", 0},
		{"0s", 0},
		{"7ns", 7},
		{"0.1us", 100},
		{"5us", 5000},
		{"100ms", 100000000},
		{"1.5s", 1500000000},
		{"1.000000001s", 1000000001},
		{"10m", 600000000000},
		{"10min", 600000000000},
		{"2h", 7200000000000},
		{"1d", 86400000000000},
		{"18446744073709551615ns", UINT64_MAX},
	};
	__u64 ns;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(units_parse_duration(cases[i].text, &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}

static void wrong_durations_are_refused(void **state)
{
	static const char *const texts[] = {"",	    "5",    "ms",   "-5ms",  " 5ms",
					    "5 ms", "5msx", "1e3s", "5.ms",  ".5ms",
					    "0x5s", "5MS",  "five", "1.5.5s"};
	__u64 ns;

	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(units_parse_duration(texts[i], &ns), -EINVAL);
		assert_non_null(strstr(failure_text(), "accepted: "));
	}
	assert_int_equal(units_parse_duration("600000000000h", &ns), -ERANGE);
	assert_int_equal(units_parse_duration("99999999999999999999s", &ns), -EINVAL);
}

static void a_range_is_held_and_named(void **state)
{
	__u64 value = 7;

	assert_int_equal(units_parse_duration_within("0", 1, UNITS_DURATION_MOST, &value), -ERANGE);
	assert_string_equal(failure_text(),
			    "'0' is out of range; accepted: a duration from 1ns to 36500d");
	assert_int_equal(units_parse_duration_within("36501d", 1, UNITS_DURATION_MOST, &value),
			 -ERANGE);
	assert_int_equal(units_parse_duration_within("61m", 0, 3600000000000, &value), -ERANGE);
	assert_string_equal(failure_text(),
			    "'61m' is out of range; accepted: a duration from 0ns to 1h");
	assert_int_equal(units_parse_size_within("0", 4096, 1 << 30, &value), -ERANGE);
	assert_string_equal(failure_text(), "'0' is out of range; accepted: a size from 4K to 1G");
	assert_int_equal(value, 7);
	assert_int_equal(units_parse_duration_within("36500d", 1, UNITS_DURATION_MOST, &value), 0);
	assert_int_equal(value, UNITS_DURATION_MOST);
	assert_int_equal(units_parse_size_within("1G", 4096, 1 << 30, &value), 0);
	assert_int_equal(value, 1 << 30);
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		__u64 bytes;
	} cases[] = {
		{"0", 0},	   {"1", 1},	       {"4096", 4096},	     {"4K", 4096},
		{"4k", 4096},	   {"4KB", 4096},      {"4KiB", 4096},	     {"512B", 512},
		{"1.5M", 1572864}, {"1G", 1073741824}, {"15E", 15ull << 60},
	};
	__u64 bytes;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(units_parse_size(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void wrong_sizes_are_refused(void **state)
{
	static const char *const texts[] = {"", "K", "1.5", "-1", "1 K", "1X", "4iB", "4KK", "4Ki"};
	__u64 bytes;

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(units_parse_size(texts[i], &bytes), -EINVAL);
	assert_int_equal(units_parse_size("16E", &bytes), -ERANGE);
}

static void counts_keep_to_their_range(void **state)
{
	__u64 count;

	assert_int_equal(units_parse_count("13", 1, 13, &count), 0);
	assert_int_equal(count, 13);
	assert_int_equal(units_parse_count("0xff", 0, UINT64_MAX, &count), 0);
	assert_int_equal(count, 255);
	assert_int_equal(units_parse_count("1e6", 0, UINT64_MAX, &count), 0);
	assert_int_equal(count, 1000000);
	assert_int_equal(units_parse_count("2.5e3", 0, UINT64_MAX, &count), 0);
	assert_int_equal(count, 2500);
	assert_int_equal(units_parse_count("18446744073709551615", 0, UINT64_MAX, &count), 0);
	assert_int_equal(count, UINT64_MAX);
	assert_int_not_equal(units_parse_count("0.5", 0, 13, &count), 0);
	assert_int_not_equal(units_parse_count("1e300", 0, UINT64_MAX, &count), 0);
	assert_int_not_equal(units_parse_count("0x", 0, 13, &count), 0);
	assert_int_not_equal(units_parse_count("0x1p3", 0, 13, &count), 0);
	assert_int_not_equal(units_parse_count("14", 1, 13, &count), 0);
	assert_string_equal(failure_text(),
			    "'14' is out of range; accepted: a number from 1 to 13");
	assert_int_not_equal(units_parse_count("0", 1, 13, &count), 0);
	assert_int_not_equal(units_parse_count("-1", 0, UINT64_MAX, &count), 0);
	assert_int_not_equal(units_parse_count("", 0, 13, &count), 0);
	assert_int_not_equal(units_parse_count("7x", 0, 13, &count), 0);
	assert_int_not_equal(units_parse_count(" 7", 0, 13, &count), 0);
	assert_int_not_equal(units_parse_count("18446744073709551616", 0, UINT64_MAX, &count), 0);
}

static void rates_shares_and_percentages_differ_in_their_units(void **state)
{
	static const char *const bad[] = {"",	 "-1",	  "+1", " 1", "1 ", "inf",
					  "nan", "0x1p3", "x",	"%",  "/s"};
	double value;

	assert_int_equal(units_parse_rate("600/m", &value), 0);
	assert_true(value == 10);
	assert_int_equal(units_parse_rate("7", &value), 0);
	assert_true(value == 7);
	assert_int_equal(units_parse_share("25%", &value), 0);
	assert_true(value == 0.25);
	assert_int_equal(units_parse_share("0.25", &value), 0);
	assert_true(value == 0.25);
	assert_int_equal(units_parse_percent("99.9%", &value), 0);
	assert_true(value == 99.9);
	assert_int_equal(units_parse_percent("99.9", &value), 0);
	assert_true(value == 99.9);
	assert_int_equal(units_parse_real("1.5", &value), 0);
	assert_true(value == 1.5);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(units_parse_rate(bad[i], &value), -EINVAL);
		assert_int_equal(units_parse_share(bad[i], &value), -EINVAL);
		assert_int_equal(units_parse_percent(bad[i], &value), -EINVAL);
		assert_int_equal(units_parse_real(bad[i], &value), -EINVAL);
		assert_non_null(strstr(failure_text(), "accepted: "));
	}
	assert_int_equal(units_parse_rate("5%", &value), -EINVAL);
	assert_int_equal(units_parse_share("5/s", &value), -EINVAL);
	assert_int_equal(units_parse_real("5%", &value), -EINVAL);
}

static void times_have_a_base(void **state)
{
	static const struct {
		const char *text;
		enum units_time_base base;
		__u64 ns;
	} cases[] = {
		{"2026-11-21T14:02:03Z", UNITS_TIME_REALTIME, 1795269723000000000},
		{"2026-11-21 14:02:03.25", UNITS_TIME_REALTIME, 1795269723250000000},
		{"2026-11-21T16:02:03+02:00", UNITS_TIME_REALTIME, 1795269723000000000},
		{"2026-11-21T11:32:03-02:30", UNITS_TIME_REALTIME, 1795269723000000000},
		{"2026-11-21", UNITS_TIME_REALTIME, 1795219200000000000},
		{"@1795269723.5", UNITS_TIME_REALTIME, 1795269723500000000},
		{"14:02", UNITS_TIME_OF_DAY, 50520000000000},
		{"14:02:03.000000007", UNITS_TIME_OF_DAY, 50523000000007},
		{"00:00:00Z", UNITS_TIME_OF_DAY, 0},
		{"+90s", UNITS_TIME_AFTER_START, 90000000000},
		{"-10m", UNITS_TIME_BEFORE_END, 600000000000},
	};
	struct units_time time;

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(units_parse_time(cases[i].text, &time), 0);
		assert_int_equal(time.base, cases[i].base);
		assert_int_equal(time.ns, cases[i].ns);
	}
}

static void wrong_times_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"now",
		"24:00",
		"14:60",
		"14",
		"+10",
		"-",
		"@",
		"@12x",
		"2026-13-01",
		"14:02x",
		"2026-02-31",
		"1960-01-01",
		"2026-11-21T14:02:03+1",
		"2026-11-21T",
	};
	struct units_time time;

	for (size_t i = 0; i < COUNT(texts); i++)
		if (!units_parse_time(texts[i], &time))
			fail_msg("'%s' was accepted", texts[i]);
}

static void durations_print_three_digits(void **state)
{
	static const struct {
		__u64 ns;
		const char *text;
	} cases[] = {
		{0, "0"},
		{812, "812ns"},
		{1000, "1.00us"},
		{4213, "4.21us"},
		{99949, "99.9us"},
		{99950, "100us"},
		{999499, "999us"},
		{999500, "1.00ms"},
		{1234567, "1.23ms"},
		{999499999, "999ms"},
		{1500000000, "1.50s"},
		{125000000000, "2m05s"},
		{11220000000000, "3h07m"},
		{UINT64_MAX, "213503d23h"},
	};
	char text[UNITS_TEXT];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(units_format_duration(cases[i].ns, text), cases[i].text);
}

static void sizes_and_counts_print_short(void **state)
{
	char text[UNITS_TEXT];

	assert_string_equal(units_format_size(0, text), "0");
	assert_string_equal(units_format_size(1023, text), "1023");
	assert_string_equal(units_format_size(4096, text), "4K");
	assert_string_equal(units_format_size(1572864, text), "1.50M");
	assert_string_equal(units_format_size(UINT64_MAX, text), "16.0E");
	assert_string_equal(units_format_count(12345, 5, text), "12345");
	assert_string_equal(units_format_count(123456, 5, text), "123k");
	assert_string_equal(units_format_count(999999, 5, text), "1.00M");
	assert_string_equal(units_format_count(UINT64_MAX, 5, text), "18.4E");
	assert_string_equal(units_format_count(UINT64_MAX, 20, text), "18446744073709551615");
	assert_string_equal(units_format_time(1795269723000000007, text),
			    "2026-11-21T14:02:03.000000007Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_exact),
		cmocka_unit_test(wrong_durations_are_refused),
		cmocka_unit_test(a_range_is_held_and_named),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(wrong_sizes_are_refused),
		cmocka_unit_test(counts_keep_to_their_range),
		cmocka_unit_test(rates_shares_and_percentages_differ_in_their_units),
		cmocka_unit_test(times_have_a_base),
		cmocka_unit_test(wrong_times_are_refused),
		cmocka_unit_test(durations_print_three_digits),
		cmocka_unit_test(sizes_and_counts_print_short),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
