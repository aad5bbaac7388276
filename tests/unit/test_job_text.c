// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/job/quantity.h"
#include "lib/base/fail.h"
#include "tests/unit/job_files.h"

static void assert_sentence(int error, int expected, const char *sentence)
{
	assert_int_equal(error, expected);
	assert_non_null(strstr(failure_text(), sentence));
}

static void sections_and_entries_keep_their_lines(void **state)
{
	struct job_text *text;

	assert_int_equal(read_job(&text, "; comment\n\n[machine]\n  seed = 7 ; inline\n"
					 "[tenant vm]\n[sweep]\nrate = a.b: 1, 2\n"),
			 0);
	assert_int_equal(text->section_count, 3);
	assert_string_equal(text->sections[0].entries[0].value, "7");
	assert_string_equal(text->sections[0].entries[0].where, JOB_PATH ":4");
	/* An empty section is there, with its name. */
	assert_string_equal(text->sections[1].type, "tenant");
	assert_string_equal(text->sections[1].name, "vm");
	assert_int_equal(text->sections[1].entry_count, 0);
	assert_string_equal(text->sections[2].entries[0].value, "a.b: 1, 2");
	job_text_free(text);
}

static void what_is_no_ini_is_refused_with_its_line(void **state)
{
	struct job_text *text;
	char line[JOB_LINE_MAX + 100];

	assert_sentence(read_job(&text, "[machine]\nnonsense\n"), -EBADMSG, JOB_PATH ":2:");
	assert_sentence(read_job(&text, "seed = 1\n"), -EBADMSG, "after a [SECTION]");
	assert_sentence(read_job(&text, "[machine\n"), -EBADMSG, JOB_PATH ":1:");
	assert_sentence(read_job(&text, "[]\n"), -EBADMSG, "[TYPE NAME]");
	assert_sentence(read_job(&text, "[machine] x\n"), -EBADMSG, "[machine] x: accepted");
	assert_sentence(read_job(&text, ""), -EBADMSG, "is empty");
	memset(line, 'x', sizeof(line));
	memcpy(line, "[machine]\nname=", 15);
	line[sizeof(line) - 1] = '\0';
	assert_sentence(read_job(&text, line), -EBADMSG, JOB_PATH ":2: a longer line; accepted");
	assert_sentence(job_text_read(&text, "build/no-such-job.ini", "a job file"), -ENOENT,
			"No such file");
	assert_sentence(job_text_read(&text, ".", "a job file"), -EBADMSG, "is a directory");
	/* What is no job is called what it is. */
	assert_sentence(job_text_read(&text, ".", "an SLO file"), -EBADMSG,
			"is a directory; accepted: an SLO file");
	assert_sentence(job_text_read(&text, "build/no-such-job.ini", "an SLO file"), -ENOENT,
			"cannot open the SLO file: No such file");
}

static void a_mark_of_utf8_and_a_comment_may_stand_at_a_heading(void **state)
{
	struct job_text *text;

	assert_int_equal(read_job(&text, "\xef\xbb\xbf[machine] ; the host\r\nseed = 1\r\n"), 0);
	assert_string_equal(text->sections[0].type, "machine");
	assert_string_equal(text->sections[0].entries[0].value, "1");
	job_text_free(text);
}

static void a_byte_of_0_is_named(void **state)
{
	static const char bytes[] = "[machine]\n\0seed = 1\n";
	struct job_text *text;
	FILE *file = fopen(JOB_PATH, "we");
	char given[32];
	int zero;

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, sizeof(bytes) - 1, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	assert_sentence(job_text_read(&text, JOB_PATH, "a job file"), -EBADMSG,
			JOB_PATH ":2: a NUL byte");
	assert_int_equal(remove(JOB_PATH), 0);
	/* And one who never ends is not read to his end, should we be given him. */
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_true(zero >= 0);
	snprintf(given, sizeof(given), "/dev/fd/%d", zero);
	assert_sentence(job_text_read(&text, given, "a job file"), -EBADMSG, ":1: a NUL byte");
	assert_sentence(job_text_read(&text, "/dev/zero", "a job file"), -EBADMSG,
			"is a device or socket");
	close(zero);
}

static void sentences_show_the_beginning_of_what_is_long(void **state)
{
	char text[200];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(strlen(job_shown(text).text), 79);
	assert_string_equal(job_shown(text).text + 76, "...");
	memcpy(text + 75, "\xc3\xa4", 2); /* does not fit before the dots */
	assert_string_equal(job_shown(text).text + 75, "...");
	assert_string_equal(job_shown("short").text, "short");
}

static void set_replaces_adds_and_names_what_is_ambiguous(void **state)
{
	struct job_text *text;

	assert_int_equal(read_job(&text, "[tenant a]\n[inject a]\nrate = 1\n[device d]\n"), 0);
	assert_int_equal(job_text_set(text, "inject a.rate", "5", "--set"), 0);
	assert_string_equal(text->sections[1].entries[0].value, "5");
	assert_string_equal(text->sections[1].entries[0].where, "--set");
	assert_int_equal(job_text_set(text, "d.queues", "3", "--set"), 0);
	assert_int_equal(text->sections[2].entry_count, 1);
	assert_sentence(job_text_set(text, "a.rate", "5", "--set"), -EINVAL, "names both");
	assert_sentence(job_text_set(text, "e.rate", "5", "--set"), -EINVAL, "no section [e]");
	assert_sentence(job_text_set(text, "rate", "5", "--set"), -EINVAL, "SECTION.KEY=VALUE");
	/* What a file got wrong is no wrong option. */
	assert_sentence(job_text_set(text, "e.rate", "5", "a.ini:3"), -EBADMSG,
			"accepted: tenant a");
	assert_int_equal(job_text_assign(text, " d.queues = 4 "), 0);
	assert_string_equal(text->sections[2].entries[0].value, "4");
	/* What has no name is made if need be. */
	assert_int_equal(job_text_set(text, "machine.seed", "5", "--seed"), 0);
	assert_non_null(job_text_section(text, "machine", NULL));
	job_text_free(text);
}

static void short_replaces_values_of_a_copy_only(void **state)
{
	struct job_text *text, *copy;

	assert_int_equal(
		read_job(&text, "[workload w]\nduration = 60s\n[short]\nw.duration = 1s\n"), 0);
	copy = job_text_copy(text);
	assert_int_equal(job_text_shorten(copy), 0);
	assert_string_equal(copy->sections[0].entries[0].value, "1s");
	assert_string_equal(copy->sections[0].entries[0].where, JOB_PATH ":4");
	assert_string_equal(text->sections[0].entries[0].value, "60s");
	job_text_free(copy);
	job_text_free(text);
	assert_int_equal(read_job(&text, "[workload w]\n"), 0);
	assert_sentence(job_text_shorten(text), -EBADMSG, "no [short] section");
	job_text_free(text);
	assert_int_equal(read_job(&text, "[short]\nshort.x = 1\nshort.x = 2\n"), 0);
	assert_sentence(job_text_shorten(text), -EBADMSG, JOB_PATH ":3: short.x is already set");
	job_text_free(text);
	/* A section that is made, and an entry of [short] itself, move what is being read. */
	assert_int_equal(read_job(&text, "[short]\nmachine.seed = 1\nshort.a = 1\nshort.b = 2\n"),
			 0);
	assert_int_equal(job_text_shorten(text), 0);
	assert_string_equal(job_text_section(text, "machine", NULL)->entries[0].value, "1");
	job_text_free(text);
}

static void quantities_have_units_and_nothing_else(void **state)
{
	char text[32];
	double value;

	assert_int_equal(quantity_parse("4K", QUANTITY_BYTES, &value), 0);
	assert_true(value == 4096);
	assert_int_equal(quantity_parse("5ms", QUANTITY_TIME, &value), 0);
	assert_true(value == 5e6);
	assert_int_equal(quantity_parse("600/m", QUANTITY_RATE, &value), 0);
	assert_true(value == 10);
	assert_int_equal(quantity_parse("99%", QUANTITY_REAL, &value), 0);
	assert_true(value == 0.99);
	assert_int_equal(quantity_parse_any("5us", &value), 0);
	assert_true(value == 5e3);
	for (const char **bad = (const char *[]){"", "-1", "inf", "nan", "0x10", "5 ", "5ms", "1.5",
						 "+3", NULL};
	     *bad; bad++)
		assert_int_not_equal(quantity_parse(*bad, QUANTITY_COUNT, &value), 0);
	assert_int_equal(quantity_parse("1e6", QUANTITY_COUNT, &value), 0);
	assert_true(value == 1e6);
	assert_int_not_equal(quantity_parse("5", QUANTITY_TIME, &value), 0);
	assert_int_not_equal(quantity_parse("5K", QUANTITY_TIME, &value), 0);
	assert_string_equal(quantity_text(2097152, QUANTITY_BYTES, text, sizeof(text)), "2M");
	assert_string_equal(quantity_text(1e8, QUANTITY_TIME, text, sizeof(text)), "100ms");
	assert_string_equal(quantity_text(0, QUANTITY_TIME, text, sizeof(text)), "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_and_entries_keep_their_lines),
		cmocka_unit_test(what_is_no_ini_is_refused_with_its_line),
		cmocka_unit_test(a_mark_of_utf8_and_a_comment_may_stand_at_a_heading),
		cmocka_unit_test(a_byte_of_0_is_named),
		cmocka_unit_test(sentences_show_the_beginning_of_what_is_long),
		cmocka_unit_test(set_replaces_adds_and_names_what_is_ambiguous),
		cmocka_unit_test(short_replaces_values_of_a_copy_only),
		cmocka_unit_test(quantities_have_units_and_nothing_else),
	};

	return cmocka_run_group_tests_name("job_text", tests, NULL, NULL);
}
