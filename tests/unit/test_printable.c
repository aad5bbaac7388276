// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/printable.h"

static void ascii_stays_and_the_rest_is_escaped(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"", ""},
		{"vm0/disk ~!\\", "vm0/disk ~!\\"},
		{"a\nb\rc\td", "a\\nb\\rc\\td"},
		{"\x1b[2J\x7f\x01", "\\x1b[2J\\x7f\\x01"},
		{"ger\xc3\xa4t", "ger\\u00e4t"},
		{"\xc2\x9b"
		 "2J",
		 "\\u009b2J"}, /* CSI in one character */
		{"\x9b"
		 "2J",
		 "\\x9b2J"}, /* and in one byte */
		{"x\xe2\x80\xaetxt", "x\\u202etxt"},
		{"\xf0\x9f\x98\x80", "\\U0001f600"},
		{"\xf4\x8f\xbf\xbf", "\\U0010ffff"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *copy = printable_copy(cases[i].text);

		assert_string_equal(copy, cases[i].shown);
		assert_string_equal(printable_of(cases[i].text).text, cases[i].shown);
		free(copy);
	}
}

static void what_is_no_utf8_is_bytes(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"\xff\xfe", "\\xff\\xfe"},
		{"\xc3", "\\xc3"}, /* cut */
		{"\xe2\x80", "\\xe2\\x80"},
		{"\xc0\xaf", "\\xc0\\xaf"}, /* longer than need be */
		{"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},	      /* half of a pair */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond the last */
		{"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
		{"\x80", "\\x80"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(printable_of(cases[i].text).text, cases[i].shown);
}

static void no_escape_is_cut(void **state)
{
	char out[8];

	assert_string_equal(printable("abcd\x1b", out, sizeof(out)), "abcd");
	assert_string_equal(printable("abc\x1b", out, sizeof(out)), "abc\\x1b");
	assert_string_equal(printable("\xe2\x80\xae", out, sizeof(out)), "\\u202e");
	assert_string_equal(printable("\xe2\x80\xae", out, 6), "");
	assert_string_equal(printable("abcdefgh", out, 1), "");
}

/* Whatever the bytes are, the result is ASCII and no more than four times as long. */
static void any_bytes_become_ascii(void **state)
{
	char text[4] = "";

	for (unsigned int n = 1; n < 1u << 24; n += 251) {
		struct printable shown;

		memcpy(text, &n, 3);
		shown = printable_of(text);
		assert_true(strlen(shown.text) <= PRINTABLE_MOST * strlen(text));
		for (const char *c = shown.text; *c; c++)
			assert_in_range(*c, ' ', '~');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascii_stays_and_the_rest_is_escaped),
		cmocka_unit_test(what_is_no_utf8_is_bytes),
		cmocka_unit_test(no_escape_is_cut),
		cmocka_unit_test(any_bytes_become_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
