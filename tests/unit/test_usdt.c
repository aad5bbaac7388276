// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/user.h>
#include <unistd.h>

#include "lib/capture/usdt.h"

static struct usdt_argument arguments[USDT_ARGUMENTS];

static void the_forms_of_x86_notes_are_understood(void **state)
{
	(void)state;
	assert_int_equal(
		usdt_parse_arguments("8@%rax -4@$-5 4@-16(%rbp) 1@(%r12) 2@%r9w", arguments), 0);
	assert_int_equal(arguments[0].place, USDT_REGISTER);
	assert_int_equal(arguments[0].reg, offsetof(struct user_regs_struct, rax));
	assert_int_equal(arguments[0].shift, 0);
	assert_int_equal(arguments[1].place, USDT_CONSTANT);
	assert_true(arguments[1].value == -5 && arguments[1].is_signed);
	assert_int_equal(arguments[2].place, USDT_MEMORY);
	assert_true(arguments[2].value == -16);
	assert_int_equal(arguments[2].reg, offsetof(struct user_regs_struct, rbp));
	assert_int_equal(arguments[2].shift, 32);
	assert_int_equal(arguments[3].reg, offsetof(struct user_regs_struct, r12));
	assert_int_equal(arguments[4].reg, offsetof(struct user_regs_struct, r9));
	assert_int_equal(arguments[4].shift, 48);
}

static void an_indexed_place_is_understood(void **state)
{
	(void)state;
	assert_int_equal(usdt_parse_arguments("8@%rcx 8@24(%rbx,%r11,8) 8@(%rax,%rdx)", arguments),
			 0);
	assert_int_equal(arguments[0].indexed, 0);
	assert_int_equal(arguments[1].reg, offsetof(struct user_regs_struct, rbx));
	assert_int_equal(arguments[1].index, offsetof(struct user_regs_struct, r11));
	assert_int_equal(arguments[1].indexed, 4);
	assert_true(arguments[1].value == 24);
	assert_int_equal(arguments[2].index, offsetof(struct user_regs_struct, rdx));
	assert_int_equal(arguments[2].indexed, 1);
}

static void no_arguments_are_fine(void **state)
{
	(void)state;
	assert_int_equal(usdt_parse_arguments("", arguments), 0);
	assert_int_equal(arguments[0].place, USDT_CONSTANT);
	assert_true(arguments[0].value == 0);
}

static void other_forms_are_refused_by_name(void **state)
{
	static const char *const bad[] = {
		"8",
		"8@",
		"@%rax",
		"3@%rax",
		"8@%xmm0",
		"8@foo(%rip",
		"8@symbol",
		"8@(%rax,%rbx,3)",
		"8@(,%rbx,8)",
		"8@%rax,8@%rbx",
		"8@(%rax",
		"8@(%rax,",
		"8@(%rax,%rbx,",
		"8@4(%rax,%rbx,16)",
		"8@(%rax)4@%rbx",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(usdt_parse_arguments(bad[i], arguments), -EINVAL);
}

static void notes_of_this_very_test_are_found(void **state)
{
	struct usdt_binary binary;
	volatile long value = 7;
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)state;
	STAP_PROBE2(faultline_test, usdt_test, value, 11L);
	assert_int_equal(usdt_read(fd, "self", "faultline_test", &binary), 0);
	assert_int_equal(binary.count, 1);
	assert_true(usdt_has(&binary, "usdt_test"));
	assert_false(usdt_has(&binary, "usdt"));
	assert_true(binary.notes[0].offset > 0);
	assert_int_equal(usdt_parse_arguments(binary.notes[0].arguments, arguments), 0);
	assert_int_equal(arguments[1].place, USDT_CONSTANT);
	assert_true(arguments[1].value == 11);
	usdt_free(&binary);
	assert_int_equal(usdt_read(fd, "self", "nobody", &binary), 0);
	assert_int_equal(binary.count, 0);
	close(fd);
}

static void what_is_no_program_is_refused(void **state)
{
	struct usdt_binary binary;
	int fd = open("/etc/passwd", O_RDONLY);

	(void)state;
	assert_int_equal(usdt_read(fd, "/etc/passwd", "faultline", &binary), -ENOEXEC);
	close(fd);
	assert_int_equal(usdt_read(-1, "nothing", "faultline", &binary), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_forms_of_x86_notes_are_understood),
		cmocka_unit_test(an_indexed_place_is_understood),
		cmocka_unit_test(no_arguments_are_fine),
		cmocka_unit_test(other_forms_are_refused_by_name),
		cmocka_unit_test(notes_of_this_very_test_are_found),
		cmocka_unit_test(what_is_no_program_is_refused),
	};

	return cmocka_run_group_tests_name("usdt", tests, NULL, NULL);
}
