// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"

static void context_goes_first(void **state)
{
	assert_int_equal(failed(-EINVAL, "depth=%d: accepted: 1 to %d", 0, 8), -EINVAL);
	assert_int_equal(failed_in(-EINVAL, "job.ini:%d", 7), -EINVAL);
	assert_string_equal(failure_text(), "job.ini:7: depth=0: accepted: 1 to 8");
}

static void own_text_may_be_an_argument(void **state)
{
	failed(-EIO, "disk gone");
	failed(-EIO, "cannot record: %s", failure_text());
	assert_string_equal(failure_text(), "cannot record: disk gone");
}

static void long_text_is_cut_not_overrun(void **state)
{
	char text[9000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	failed(-EIO, "%s", text);
	failed_in(-EIO, "%s", text);
	assert_int_equal(strlen(failure_text()), 4095);
}

static void a_sentence_is_one_line_of_text(void **state)
{
	failed(-EINVAL, "--set: tenants=%s: accepted", "4\n\033[31m\x7f \xc3\xa4");
	failed_in(-EINVAL, "%s", "a\tb");
	assert_string_equal(failure_text(),
			    "a\\tb: --set: tenants=4\\n\\x1b[31m\\x7f \\u00e4: accepted");
}

static void codes_are_typed(void **state)
{
	assert_int_equal(exit_code_of(0), EXIT_OK);
	assert_int_equal(exit_code_of(-EPERM), EXIT_PRIVILEGE);
	assert_int_equal(exit_code_of(-EBADMSG), EXIT_INPUT);
	assert_int_equal(exit_code_of(-ENOSPC), EXIT_FAIL);
	assert_int_equal(failure_report(failed(-EINVAL, "depth=0")), EXIT_USAGE);
	assert_int_equal(failure_report(failed(-ENOSPC, "disk full")), EXIT_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_goes_first),
		cmocka_unit_test(own_text_may_be_an_argument),
		cmocka_unit_test(long_text_is_cut_not_overrun),
		cmocka_unit_test(a_sentence_is_one_line_of_text),
		cmocka_unit_test(codes_are_typed),
	};

	return cmocka_run_group_tests_name("fail", tests, NULL, NULL);
}
