// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#define STAP_SDT_ARG_CONSTRAINT nr /* as injectors/emu/probes.h has it */
#include <sys/sdt.h>
#include <sys/user.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/usdt.h"

static struct usdt_argument arguments[USDT_ARGUMENTS];

static void registers_and_constants_are_understood(void **state)
{
	assert_int_equal(usdt_parse_arguments("8@%rax  8@$-5 8@%r8 8@$0x10 8@%r15 ", arguments), 0);
	assert_int_equal(arguments[0].place, USDT_REGISTER);
	assert_int_equal(arguments[0].reg, offsetof(struct user_regs_struct, rax));
	assert_int_equal(arguments[1].place, USDT_CONSTANT);
	assert_true(arguments[1].value == (__u64)-5);
	assert_int_equal(arguments[2].place, USDT_REGISTER);
	assert_int_equal(arguments[2].reg, offsetof(struct user_regs_struct, r8));
	assert_int_equal(arguments[3].place, USDT_CONSTANT);
	assert_int_equal(arguments[3].value, 16);
	assert_int_equal(arguments[4].reg, offsetof(struct user_regs_struct, r15));
	assert_int_equal(arguments[5].place, USDT_CONSTANT);
	assert_true(arguments[5].value == 0);
}

static void what_is_beyond_the_last_is_not_read(void **state)
{
	assert_int_equal(usdt_parse_arguments("8@$1 8@$2 8@$3 8@$4 8@$5 8@$6 8@$7 8@%r9 8@(%rax)",
					      arguments),
			 0);
	assert_int_equal(arguments[0].value, 1);
	assert_int_equal(arguments[6].value, 7);
	assert_int_equal(arguments[7].reg, offsetof(struct user_regs_struct, r9));
}

static void no_arguments_are_fine(void **state)
{
	assert_int_equal(usdt_parse_arguments("", arguments), 0);
	assert_int_equal(arguments[0].place, USDT_CONSTANT);
	assert_true(arguments[0].value == 0);
}

static void other_forms_are_refused_by_name(void **state)
{
	static const char *const bad[] = {
		"8",
		"8@",
		"8@%",
		"8@$",
		"@%rax",
		"3@%rax",
		"-8@%rax",
		"4@%eax",
		"8@%eax",
		"8@%ra",
		"8@%raxx",
		"8@%xmm0",
		"8@%rip",
		"8@symbol",
		"8@$symbol",
		"8@$5x",
		"8@-16(%rbp)",
		"8@foo(%rip)",
		"8@(%rax)",
		"8@24(%rbx,%r11,8)",
		"8@%rax,8@%rbx",
		"8@(%rax)4@%rbx",
	};
	char two[64], sentence[96];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(two, sizeof(two), "8@%%rdi %s 8@$1", bad[i]);
		snprintf(sentence, sizeof(sentence),
			 "USDT argument '%s' is not a 64-bit register or constant", bad[i]);
		assert_int_equal(usdt_parse_arguments(bad[i], arguments), -EINVAL);
		assert_string_equal(failure_text(), sentence);
		assert_int_equal(usdt_parse_arguments(two, arguments), -EINVAL);
		assert_string_equal(failure_text(), sentence);
	}
}

static void notes_of_this_very_test_are_found(void **state)
{
	struct usdt_binary binary;
	volatile __u64 value = 7;
	int fd = open("/proc/self/exe", O_RDONLY);

	STAP_PROBE2(faultline_test, usdt_test, value, 11ULL);
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

	assert_int_equal(usdt_read(fd, "/etc/passwd", "faultline", &binary), -ENOEXEC);
	close(fd);
	assert_int_equal(usdt_read(-1, "nothing", "faultline", &binary), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_and_constants_are_understood),
		cmocka_unit_test(what_is_beyond_the_last_is_not_read),
		cmocka_unit_test(no_arguments_are_fine),
		cmocka_unit_test(other_forms_are_refused_by_name),
		cmocka_unit_test(notes_of_this_very_test_are_found),
		cmocka_unit_test(what_is_no_program_is_refused),
	};

	return cmocka_run_group_tests_name("usdt", tests, NULL, NULL);
}
