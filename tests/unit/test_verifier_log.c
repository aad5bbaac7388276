// SPDX-License-Identifier: GPL-2.0
/* Of all that libbpf and the verifier say of a refused program, the sentence that tells why. */
#include "tests/unit/test.h"

#include <string.h>

#include <bpf/libbpf.h>

#include "lib/capture/verifier_log.h"

/* Says it as libbpf does. */
static void say(const char *format, ...)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	va_list arguments;

	assert_non_null(print);
	va_start(arguments, format);
	print(LIBBPF_WARN, format, arguments);
	va_end(arguments);
	libbpf_set_print(print);
}

static void refuse(const char *log)
{
	verifier_log_begin();
	say("libbpf: prog '%s': BPF program load failed: %s\n", "maps", "Permission denied");
	say("libbpf: prog '%s': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n", "maps",
	    log);
	say("libbpf: failed to load object '%s'\n", "iommu");
}

#define INSTRUCTIONS                                   \
	"0: R1=ctx() R10=fp0\n0: (b7) r1 = 5 ; R1=5\n" \
	"1: (79) r0 = *(u64 *)(r1 +0)\n"               \
	"R1 invalid mem access 'scalar'\n"
#define COUNTS "processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0\n"

static void the_last_word_of_the_verifier_counts(void **state)
{
	refuse(INSTRUCTIONS COUNTS);
	assert_string_equal(verifier_log_text(), "R1 invalid mem access 'scalar'");
	assert_string_equal(verifier_log_program(), "maps");
}

/* As Linux 7.3.4 does. */
static void a_verdict_may_be_explained_afterwards(void **state)
{
	refuse(INSTRUCTIONS
	       "\nVerification failed: Register Type Safety: Invalid dereference\n\n"
	       "Reason:\n  R1 is an integer scalar here, not a pointer to memory.\n\n"
	       "At:\n  insn 1\n       | ^-- error: invalid dereference of R1 (an integer scalar)\n"
	       "Suggestion:\n  Preserve a pointer-valued register where needed\n\n" COUNTS);
	assert_string_equal(verifier_log_text(), "R1 invalid mem access 'scalar'");
	assert_string_equal(verifier_log_program(), "maps");
}

/* The words of Linux 6.12 and of 6.1; another helper is another matter. */
static void a_lockdown_is_named(void **state)
{
	refuse("0: (85) call bpf_probe_read#4\n"
	       "program of this type cannot use helper bpf_probe_read#4\n" COUNTS);
	assert_string_equal(verifier_log_text(), VERIFIER_LOCKED_DOWN);
	refuse("0: (85) call bpf_probe_read_kernel#113\nunknown func bpf_probe_read_kernel#113\n" COUNTS);
	assert_string_equal(verifier_log_text(), VERIFIER_LOCKED_DOWN);
	refuse("unknown func bpf_timer_init#169\n" COUNTS);
	assert_string_equal(verifier_log_text(), "unknown func bpf_timer_init#169");
}

static void without_a_log_libbpf_speaks_itself(void **state)
{
	verifier_log_begin();
	say("libbpf: failed to find valid kernel BTF\n");
	assert_string_equal(verifier_log_text(), "failed to find valid kernel BTF");
	assert_string_equal(verifier_log_program(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_word_of_the_verifier_counts),
		cmocka_unit_test(a_verdict_may_be_explained_afterwards),
		cmocka_unit_test(a_lockdown_is_named),
		cmocka_unit_test(without_a_log_libbpf_speaks_itself),
	};

	return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
