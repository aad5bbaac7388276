// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/output/table.h"

static const struct column columns[] = {
	{.name = "device", .type = COLUMN_TEXT, .width = 10},
	{.name = "faults", .type = COLUMN_COUNT, .width = 6},
	{.name = "memory", .type = COLUMN_BYTES, .width = 7},
	{.name = "p99", .type = COLUMN_DURATION, .width = 7},
	{.name = "last", .type = COLUMN_TIME, .width = 15},
	{.name = "address", .type = COLUMN_ADDRESS, .width = 14, .wide = true},
	{.name = "blocked", .unit = "percent", .type = COLUMN_REAL, .width = 8},
};

static const struct table faults = {
	.name = "faults", .title = "Faults", .columns = columns, .column_count = 7};
static const struct table others = {.name = "others", .columns = columns, .column_count = 7};

static const struct clock_anchor anchor = {1000, 1795269723000001000};

static void write_rows(struct writer *writer, const struct table *table)
{
	const union cell first[] = {{.text = "tenant0/\"disk,0\""},
				    {.count = 104729},
				    {.count = 1572864},
				    {.count = 4213},
				    {.count = 7},
				    {.count = 0x7f0000001000},
				    {.real = 12.5}};
	const union cell second[] = {{.text = "bad\x1b[\xff"},
				     {.count = CELL_NONE},
				     {.count = CELL_NONE},
				     {.count = CELL_NONE},
				     {.count = CELL_NONE},
				     {.count = CELL_NONE},
				     {.real = NAN}};

	writer_begin(writer, table);
	writer_row(writer, first);
	writer_row(writer, second);
	writer_end(writer);
}

/* What a writer of this configuration says about two rows. */
static char *written(struct writer_config config)
{
	struct writer *writer;
	char *text = NULL;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_non_null(config.file);
	assert_int_equal(writer_open(&writer, &config), 0);
	writer_clock(writer, &anchor);
	writer_fact(writer, "host", "node1");
	write_rows(writer, &faults);
	writer_note(writer, "%s",
		    "No page request was seen between 14:02 and 14:03 UTC; seen were "
		    "CPU page faults and completions.");
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	return text;
}

static void text_is_for_people(void **state)
{
	char *text = written((struct writer_config){.format = OUTPUT_TEXT});

	assert_string_equal(
		text,
		"host: node1\n"
		"Faults\n"
		"DEVICE      FAULTS   MEMORY      P99  LAST             BLOCKED%\n"
		"tenant0/\"~  104729    1.50M   4.21us  14:02:03.000000      12.5\n"
		"bad\\x1b[\\~       -        -        -  -                       -\n"
		"No page request was seen between 14:02 and 14:03 UTC; seen were CPU page faults\n"
		"and completions.\n");
	free(text);
}

static void wide_text_cuts_nothing(void **state)
{
	char *text = written((struct writer_config){.format = OUTPUT_TEXT, .wide = true});

	assert_non_null(strstr(text, "tenant0/\"disk,0\""));
	assert_non_null(strstr(text, "0x7f0000001000"));
	assert_non_null(strstr(text, "2026-11-21T14:02:03.000000007Z"));
	free(text);
}

static void csv_is_plain_and_quoted(void **state)
{
	char *text = written((struct writer_config){.format = OUTPUT_CSV});

	assert_string_equal(text, "device,faults,memory_bytes,p99_ns,last,address,blocked_percent\n"
				  "\"tenant0/\"\"disk,0\"\"\",104729,1572864,4213,"
				  "2026-11-21T14:02:03.000000007Z,0x7f0000001000,12.5\n"
				  "bad\x1b[\xff,,,,,,\n");
	free(text);
}

static void raw_time_names_its_unit(void **state)
{
	char *text = written((struct writer_config){.format = OUTPUT_CSV, .raw_time = true});

	assert_non_null(strstr(text, ",last_ns,"));
	assert_non_null(strstr(text, ",4213,7,0x"));
	free(text);
}

static void json_parses_with_typed_values(void **state)
{
	char *text = written((struct writer_config){.format = OUTPUT_JSON});
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *rows, *row;

	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "host")), "node1");
	rows = json_object_get(json_object_get(root, "tables"), "faults");
	assert_int_equal(json_array_size(rows), 2);
	row = json_array_get(rows, 0);
	assert_int_equal(json_object_size(row), 7);
	assert_string_equal(json_string_value(json_object_get(row, "device")),
			    "tenant0/\"disk,0\"");
	assert_int_equal(json_integer_value(json_object_get(row, "memory_bytes")), 1572864);
	assert_true(json_real_value(json_object_get(row, "blocked_percent")) == 12.5);
	assert_string_equal(json_string_value(json_object_get(row, "address")), "0x7f0000001000");
	row = json_array_get(rows, 1);
	assert_string_equal(json_string_value(json_object_get(row, "device")), "bad\x1b[\\xff");
	assert_true(json_is_null(json_object_get(row, "faults")));
	assert_true(json_is_null(json_object_get(row, "blocked_percent")));
	json_decref(root);
	free(text);
}

static void json_without_tables_is_valid(void **state)
{
	struct writer_config config = {.format = OUTPUT_JSON};
	struct writer *writer;
	char *text = NULL;
	size_t size;
	json_t *root;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	root = json_loads(text, 0, NULL);
	assert_true(json_is_object(json_object_get(root, "tables")));
	json_decref(root);
	free(text);
}

static void one_table_may_be_chosen(void **state)
{
	struct writer_config config = {.format = OUTPUT_CSV, .only = "others"};
	struct writer *writer;
	char *text = NULL;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	write_rows(writer, &others);
	assert_int_equal(writer_close(writer), 0);
	assert_int_equal(fseek(config.file, 0, SEEK_SET), 0);
	config.only = "none";
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	assert_int_equal(writer_close(writer), -ENOENT);
	assert_string_equal(failure_text(), "there is no table 'none' in this output");
	fclose(config.file);
	free(text);
}

static void csv_of_two_tables_needs_a_directory(void **state)
{
	struct writer_config config = {.format = OUTPUT_CSV};
	struct writer *writer;
	char *text = NULL;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	assert_int_equal(writer_begin(writer, &others), -EINVAL);
	assert_int_equal(writer_close(writer), -EINVAL);
	fclose(config.file);
	free(text);
}

static void csv_directory_gets_a_file_a_table(void **state)
{
	char directory[] = "/tmp/faultline-writer-XXXXXX", path[128], line[256];
	struct writer_config config = {.format = OUTPUT_CSV, .path = directory};
	struct writer *writer;
	FILE *file;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	write_rows(writer, &others);
	assert_int_equal(writer_close(writer), 0);
	snprintf(path, sizeof(path), "%s/others.csv", directory);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "device,faults,memory_bytes,p99_ns,last_ns,address,"
				  "blocked_percent\n");
	fclose(file);

	/* Nothing is replaced unasked, nor through a link even if asked. */
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	assert_int_equal(writer_close(writer), -EEXIST);
	config.overwrite = true;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	write_rows(writer, &others);
	assert_int_equal(writer_close(writer), -EEXIST);
	unlink(path);
	snprintf(path, sizeof(path), "%s/faults.csv", directory);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

static size_t lines_of(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t lines = 0;
	int c;

	if (!file)
		return 0;
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static void a_file_takes_one_table_or_a_document(void **state)
{
	char directory[] = "/tmp/faultline-writer-XXXXXX", path[128];
	struct writer_config config = {.format = OUTPUT_CSV, .path = path};
	struct writer *writer;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/one.csv", directory);
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	assert_int_equal(access(path, F_OK), -1); /* until it is whole */
	assert_int_equal(writer_close(writer), 0);
	assert_true(lines_of(path) > 2);
	assert_int_equal(writer_open(&writer, &config), -EEXIST);
	/* What fails leaves the old one, also where it was to be replaced. */
	config.overwrite = true;
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	write_rows(writer, &others);
	assert_int_equal(writer_close(writer), -EINVAL);
	assert_true(lines_of(path) > 2);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(writer_begin(writer, &others), 0);
	writer_abandon(writer);
	assert_true(lines_of(path) > 2);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(writer_begin(writer, &others), 0);
	assert_int_equal(writer_end(writer), 0);
	assert_int_equal(writer_close(writer), 0);
	assert_int_equal(lines_of(path), 1);
	/* One that grows is there from its first row on, and stays. */
	config = (struct writer_config){.format = OUTPUT_CSV, .path = path, .growing = true};
	assert_int_equal(unlink(path), 0);
	assert_int_equal(writer_open(&writer, &config), 0);
	assert_int_equal(writer_begin(writer, &others), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(lines_of(path), 1);
	writer_abandon(writer);
	assert_int_equal(lines_of(path), 1);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/document", directory);
	config = (struct writer_config){.format = OUTPUT_JSON, .path = path};
	assert_int_equal(writer_open(&writer, &config), 0);
	write_rows(writer, &faults);
	write_rows(writer, &others);
	assert_int_equal(writer_close(writer), 0);
	assert_true(lines_of(path) > 2);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void full_disk_is_reported(void **state)
{
	static const enum output_format formats[] = {OUTPUT_TEXT, OUTPUT_CSV, OUTPUT_JSON};

	for (size_t i = 0; i < 3; i++) {
		struct writer_config config = {.format = formats[i]};
		struct writer *writer;

		config.file = fopen("/dev/full", "w");
		assert_non_null(config.file);
		assert_int_equal(writer_open(&writer, &config), 0);
		write_rows(writer, &faults);
		assert_int_equal(writer_close(writer), -ENOSPC);
		assert_non_null(strstr(failure_text(), "No space left on device"));
		fclose(config.file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_for_people),
		cmocka_unit_test(wide_text_cuts_nothing),
		cmocka_unit_test(csv_is_plain_and_quoted),
		cmocka_unit_test(raw_time_names_its_unit),
		cmocka_unit_test(json_parses_with_typed_values),
		cmocka_unit_test(json_without_tables_is_valid),
		cmocka_unit_test(one_table_may_be_chosen),
		cmocka_unit_test(csv_of_two_tables_needs_a_directory),
		cmocka_unit_test(csv_directory_gets_a_file_a_table),
		cmocka_unit_test(a_file_takes_one_table_or_a_document),
		cmocka_unit_test(full_disk_is_reported),
	};

	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
