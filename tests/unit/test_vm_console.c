// SPDX-License-Identifier: GPL-2.0
/* What a virtual machine prints: keys of its guest, however they come, and what a strange guest may print besides. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/job/vm_console.h"

static struct vm_console *console_of(const char *text)
{
	struct vm_console *console = vm_console_create("vm", NULL);

	assert_non_null(console);
	vm_console_take(console, VM_STREAM_CONSOLE, text, strlen(text));
	vm_console_take(console, VM_STREAM_CONSOLE, NULL, 0);
	return console;
}

static double value_of(const struct vm_console *console, enum guest_key key)
{
	double value = NAN;

	vm_console_value(console, key, &value);
	return value;
}

static void keys_become_values(void **state)
{
	struct vm_console *console = console_of("Linux version 6.12\r\n"
						"faultline-guest: wrong_bytes 0\r\n"
						"[    1.5] faultline-guest: reads 8191\n"
						"faultline-guest: boot_ms 3500\n");

	assert_true(value_of(console, GUEST_WRONG_BYTES) == 0);
	assert_true(value_of(console, GUEST_READS) == 8191);
	assert_true(value_of(console, GUEST_BOOT) == 3500e6);
	assert_true(isnan(value_of(console, GUEST_WRITES)));
	assert_string_equal(vm_console_told(console), "");
	assert_string_equal(vm_console_last(console), "faultline-guest: boot_ms 3500");
	vm_console_destroy(console);
}

/* A guest that boots again tells again: counts are summed up, of latencies the longest stands; so of several guests. */
static void what_is_told_again_is_added(void **state)
{
	struct vm_console *console = console_of("faultline-guest: errors 2\n"
						"faultline-guest: read_p99_ns 700\n"
						"faultline-guest: errors 3\n"
						"faultline-guest: read_p99_ns 500\n");
	double value = 11;

	assert_true(value_of(console, GUEST_ERRORS) == 5);
	assert_true(value_of(console, GUEST_READ_P99) == 700);
	vm_console_value(console, GUEST_ERRORS, &value);
	assert_true(value == 16);
	value = 900;
	vm_console_value(console, GUEST_READ_P99, &value);
	assert_true(value == 900);
	vm_console_destroy(console);
}

static void pieces_of_a_line_are_one(void **state)
{
	static const char text[] = "faultline-guest: wri";
	struct vm_console *console = vm_console_create("vm", NULL);

	for (size_t i = 0; i < strlen(text); i++)
		vm_console_take(console, VM_STREAM_CONSOLE, text + i, 1);
	/* What QEMU says meanwhile is another stream's. */
	vm_console_take(console, VM_STREAM_ERRORS, "qemu: warning\n", 14);
	vm_console_take(console, VM_STREAM_CONSOLE, "tes 13", 6);
	assert_true(isnan(value_of(console, GUEST_WRITES)));
	vm_console_take(console, VM_STREAM_CONSOLE, NULL, 0);
	assert_true(value_of(console, GUEST_WRITES) == 13);
	assert_string_equal(vm_console_error(console), "qemu: warning");
	vm_console_destroy(console);
}

static void what_is_no_key_is_told(void **state)
{
	static const char *const strange[] = {
		"faultline-guest: iperf3 93 Mbit/s\n",
		"faultline-guest: reads nan\n",
		"faultline-guest: reads -1\n",
		"faultline-guest: reads 0x10\n",
		"faultline-guest: reads\n",
		"faultline-guest: reads 1 2\n",
		"faultline-guest: readsx 1\n",
	};

	for (size_t i = 0; i < COUNT(strange); i++) {
		struct vm_console *console = console_of(strange[i]);

		assert_true(isnan(value_of(console, GUEST_READS)));
		assert_string_equal(vm_console_told(console), strange[i] + 17);
		vm_console_destroy(console);
	}
}

static void a_panic_is_seen(void **state)
{
	struct vm_console *console = console_of("all is well\n");

	assert_false(vm_console_panicked(console));
	vm_console_destroy(console);
	console = console_of("[ 1.2] Kernel panic - not syncing: Fatal exception\n");
	assert_true(vm_console_panicked(console));
	vm_console_destroy(console);
}

static bool sound(const char *text)
{
	struct vm_console *console = console_of(text);
	bool is = vm_console_sound(console);

	vm_console_destroy(console);
	return is;
}

/* Who says nothing, or half of it, is not taken for one that is well. */
static void a_sound_guest_says_so(void **state)
{
	static const char right[] = "faultline-guest: wrong_bytes 0\n",
			  done[] = "faultline-guest: errors 0\n";
	char text[256];

	assert_false(sound("Linux version 6.12\n"));
	assert_false(sound(right));
	assert_false(sound(done));
	snprintf(text, sizeof(text), "%s%s", right, done);
	assert_true(sound(text));
	snprintf(text, sizeof(text), "%s%sfaultline-guest: errors 1\n", right, done);
	assert_false(sound(text));
	snprintf(text, sizeof(text), "%s%sfaultline-guest: wrong_bytes 8\n", right, done);
	assert_false(sound(text));
	snprintf(text, sizeof(text), "%s%sKernel panic - not syncing: Fatal\n", right, done);
	assert_false(sound(text));
}

static void a_beginning_is_seen(void **state)
{
	struct vm_console *console = console_of("faultline-guest: begins 1\n");

	assert_false(vm_console_begun(console));
	vm_console_take(console, VM_STREAM_CONSOLE, "[ 1.2] faultline-guest-begins\r\n", 31);
	assert_true(vm_console_begun(console));
	vm_console_destroy(console);
}

/* Bytes of any value, lines without an end, more to tell than there is room for. */
static void strange_guests_print_what_they_like(void **state)
{
	struct vm_console *console = vm_console_create("vm", NULL);
	static char bytes[65521];
	unsigned int seed = 3;

	for (int round = 0; round < 31; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = (char)(seed >> 16);
		}
		vm_console_take(console, round % 2 ? VM_STREAM_ERRORS : VM_STREAM_CONSOLE, bytes,
				sizeof(bytes));
	}
	for (int i = 0; i < 997; i++)
		vm_console_take(console, VM_STREAM_CONSOLE, "\nfaultline-guest: so much to tell\n",
				34);
	assert_in_range(strlen(vm_console_told(console)), 1900, 2048);
	for (const char *c = vm_console_last(console); *c; c++)
		assert_in_range(*c, ' ', '~');
	vm_console_take(console, VM_STREAM_CONSOLE, "faultline-guest: reads 7\n", 25);
	assert_true(value_of(console, GUEST_READS) == 7);
	vm_console_destroy(console);
}

static void a_log_has_every_line(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *log = open_memstream(&text, &size);
	struct vm_console *console = vm_console_create("vm1", log);

	vm_console_take(console, VM_STREAM_CONSOLE, "one\n\x1b[2Jtwo\nthree", 17);
	vm_console_take(console, VM_STREAM_CONSOLE, NULL, 0);
	fclose(log);
	assert_string_equal(text, "vm1: one\nvm1: \\x1b[2Jtwo\nvm1: three\n");
	free(text);
	vm_console_destroy(console);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_become_values),
		cmocka_unit_test(what_is_told_again_is_added),
		cmocka_unit_test(pieces_of_a_line_are_one),
		cmocka_unit_test(what_is_no_key_is_told),
		cmocka_unit_test(a_panic_is_seen),
		cmocka_unit_test(a_sound_guest_says_so),
		cmocka_unit_test(a_beginning_is_seen),
		cmocka_unit_test(strange_guests_print_what_they_like),
		cmocka_unit_test(a_log_has_every_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
