// SPDX-License-Identifier: GPL-2.0
/* What a row of a table of options makes of its value. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>

#include "lib/base/fail.h"
#include "lib/cli/cli.h"

enum colour { RED = 3, GREEN };

struct fields {
	bool flag;
	const char *text, *list[2];
	size_t count;
	__u8 small;
	int signed_number;
	__u64 size, time;
	enum colour colour;
	__u32 squared;
};

static int check_text(const char *text, void *field)
{
	assert_null(field);
	return *text ? 0 : failed(-EINVAL, "invalid text ''");
}

static int parse_square(const char *text, void *field)
{
	*(__u32 *)field = (__u32)(strlen(text) * strlen(text));
	return 0;
}

#define FIELD(member) CLI_FIELD(struct fields, member)

static const char *const colours[] = {"red", "green", NULL};
static const struct cli_option options[] = {
	{.help = "What it is:", .group = 1},
	{"flag", 'f', NULL, "", CLI_FLAG, FIELD(flag)},
	{"text", 0, "TEXT", "", CLI_TEXT, FIELD(text), .parse = check_text},
	{"list", 0, "TEXT", "", CLI_LIST, FIELD(list), .most = 2,
	 .count = offsetof(struct fields, count)},
	{"small", 0, "N", "", CLI_COUNT, FIELD(small), 1, 200},
	{"signed", 0, "N", "", CLI_COUNT, FIELD(signed_number), 0, 7},
	{"size", 0, "SIZE", "", CLI_SIZE, FIELD(size), 4096},
	{"time", 0, "TIME", "", CLI_TIME, FIELD(time), 1},
	{"colour", 0, "NAME", "", CLI_CHOICE, FIELD(colour), RED, .names = colours},
	{"square", 0, "TEXT", "", CLI_OWN, FIELD(squared), .parse = parse_square},
	{0},
};

static void each_type_is_stored(void **state)
{
	struct fields f = {.signed_number = -1};

	assert_int_equal(cli_set(options, "flag", NULL, &f), 0);
	assert_int_equal(cli_set(options, "text", "abc", &f), 0);
	assert_int_equal(cli_set(options, "list", "one", &f), 0);
	assert_int_equal(cli_set(options, "list", "two", &f), 0);
	assert_int_equal(cli_set(options, "small", "200", &f), 0);
	assert_int_equal(cli_set(options, "signed", "7", &f), 0);
	assert_int_equal(cli_set(options, "size", "3M", &f), 0);
	assert_int_equal(cli_set(options, "time", "5us", &f), 0);
	assert_int_equal(cli_set(options, "colour", "green", &f), 0);
	assert_int_equal(cli_set(options, "square", "abc", &f), 0);
	assert_true(f.flag);
	assert_string_equal(f.text, "abc");
	assert_int_equal(f.count, 2);
	assert_string_equal(f.list[1], "two");
	assert_int_equal(f.small, 200);
	assert_int_equal(f.signed_number, 7);
	assert_int_equal(f.size, 3 << 20);
	assert_int_equal(f.time, 5000);
	assert_int_equal(f.colour, GREEN);
	assert_int_equal(f.squared, 9);
}

static void refuses(struct fields *f, const char *name, const char *text, const char *sentence)
{
	struct fields before = *f;

	assert_int_equal(cli_set(options, name, text, f), -EINVAL);
	assert_string_equal(failure_text(), sentence);
	assert_memory_equal(f, &before, sizeof(before));
}

static void what_is_wrong_names_the_option_and_leaves_all_as_it_was(void **state)
{
	struct fields f = {.count = 2};

	refuses(&f, "text", "", "--text: invalid text ''");
	refuses(&f, "list", "three", "--list: accepted: at most 2 times");
	refuses(&f, "small", "201",
		"--small: '201' is out of range; accepted: a number from 1 to 200");
	refuses(&f, "small", "x", "--small: invalid number 'x'; accepted: 1 to 200");
	refuses(&f, "time", "5 parsecs",
		"--time: invalid duration '5 parsecs'; accepted: a number with ns, us, ms, s, m, h or "
		"d, such as 100ms");
	refuses(&f, "colour", "blue", "--colour: invalid value 'blue'; accepted: red, green");
	assert_int_equal(cli_set(options, "colours", "red", &f), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_stored),
		cmocka_unit_test(what_is_wrong_names_the_option_and_leaves_all_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
