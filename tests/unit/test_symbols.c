// SPDX-License-Identifier: GPL-2.0
/* Addresses get the name of the code that they lie in, and none where that is not known. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/capture/symbols.h"

static const char list[] = "ffffffff81000000 T first\n"
			   "ffffffff81000100 T second\n"
			   "ffffffff81000100 t alias\n"
			   "ffffffff81000200 d data\n"
			   "ffffffff81020000 T last_of_the_kernel\n"
			   "ffffffffc0000000 t ftrace_trampoline\t[__builtin__ftrace]\n"
			   "ffffffffc0010000 t load\t[nvme]\n"
			   "ffffffffc0010080 t unload\t[nvme]\n";

static void named(unsigned long long address, const char *expected)
{
	char path[] = "/tmp/faultline-symbols.XXXXXX", text[128];
	int fd = mkstemp(path);
	struct symbols *symbols = symbols_create(path);

	assert_true(fd >= 0 && symbols);
	assert_int_equal(write(fd, list, sizeof(list) - 1), sizeof(list) - 1);
	symbols_name(symbols, address, text, sizeof(text));
	assert_string_equal(text, expected);
	symbols_destroy(symbols);
	close(fd);
	unlink(path);
}

static void code_has_the_name_before_it(void **state)
{
	named(0xffffffff81000000, "first+0x0");
	named(0xffffffff810000ff, "first+0xff");
	named(0xffffffff81000100, "second+0x0");
	named(0xffffffff81010000, "second+0xff00");
	named(0xffffffffc0010081, "unload+0x1 [nvme]");
}

/* A module that has gone leaves its addresses behind, and no name. */
static void what_is_behind_a_module_is_of_nothing_known(void **state)
{
	named(0xffffffffc0000ffe, "ftrace_trampoline+0xffe [__builtin__ftrace]");
	named(0xffffffffc0006c7b, "0xffffffffc0006c7b");
	named(0xffffffffc0012000, "0xffffffffc0012000");
	named(0xffffffff80000000, "0xffffffff80000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_the_name_before_it),
		cmocka_unit_test(what_is_behind_a_module_is_of_nothing_known),
	};

	return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
