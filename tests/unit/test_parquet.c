// SPDX-License-Identifier: GPL-2.0
/* What a Parquet file holds is what the CSV of the same rows holds: an independent reader compares them. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "lib/output/parquet_column.h"
#include "tests/unit/scratch.h"

#define READER	"/usr/bin/python3 tests/reference/parquet_read.py"
#define COLUMNS 8

static const struct column columns[COLUMNS] = {
	{.name = "device", .type = COLUMN_TEXT},
	{.name = "faults", .type = COLUMN_COUNT},
	{.name = "memory", .type = COLUMN_BYTES},
	{.name = "p99", .type = COLUMN_DURATION},
	{.name = "last", .type = COLUMN_TIME},
	{.name = "address", .type = COLUMN_ADDRESS},
	{.name = "blocked", .unit = "percent", .type = COLUMN_REAL},
	{.name = "note", .type = COLUMN_TEXT},
};
static const struct table rows_table = {
	.name = "rows", .title = "Rows", .columns = columns, .column_count = COLUMNS};

#define WALL_NS 1795269723000001000ull

typedef void make_row(size_t number, union cell row[COLUMNS]);

static char *scratch_path(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", scratch, name);
	return path;
}

static struct writer *open_writer(struct writer_config config, bool clock)
{
	const struct clock_anchor anchor = {1000, WALL_NS};
	struct writer *writer;

	assert_int_equal(writer_open(&writer, &config), 0);
	if (clock)
		writer_clock(writer, &anchor);
	return writer;
}

static int write_rows(struct writer *writer, size_t count, make_row *make)
{
	writer_begin(writer, &rows_table);
	for (size_t i = 0; i < count; i++) {
		union cell row[COLUMNS];

		make(i, row);
		writer_row(writer, row);
	}
	writer_end(writer);
	return writer_close(writer);
}

/* The output of the reader, to be freed. */
static char *reader(const char *arguments, int *status)
{
	char command[1024], *text = NULL;
	size_t size = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), READER " %s 2>&1", arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_true(getdelim(&text, &size, EOF, pipe) > 0);
	*status = pclose(pipe);
	return text;
}

/* The same rows as CSV and as Parquet; "1 tables, ..." is what the reader has to say. */
static void compare(size_t count, make_row *make, struct writer_config config, bool clock,
		    const char *said)
{
	char parquet[256], csv[256], arguments[600], *text;
	int status;

	config.overwrite = true;
	config.format = OUTPUT_CSV;
	config.path = scratch_path(csv, "csv");
	assert_int_equal(write_rows(open_writer(config, clock), count, make), 0);
	config.format = OUTPUT_PARQUET;
	config.path = scratch_path(parquet, "parquet");
	assert_int_equal(write_rows(open_writer(config, clock), count, make), 0);
	snprintf(arguments, sizeof(arguments), "%s/rows.parquet %s/rows.csv", parquet, csv);
	text = reader(arguments, &status);
	assert_string_equal(text, said);
	assert_int_equal(status, 0);
	free(text);
}

static const char *const hostile[] = {
	"tenant0/\"disk,0\"",
	"it's",
	"two\nlines\r",
	"\xff\xfe is none",
	"",
	NULL,
	"-",
	"zzz: of more than sixty-four bytes, so that no bound is in the footer",
	"\xc3\xa9t\xc3\xa9",
	"=1+1",
};

static void make_hostile(size_t i, union cell row[COLUMNS])
{
	static const __u64 numbers[] = {0, 1, CELL_NONE, CELL_NONE - 1, 1ull << 63, 127, 128};
	static const double reals[] = {NAN,    0.0,	 -0.0,	    1.0 / 3,
				       -1e300, INFINITY, -INFINITY, 5e-324};

	row[0].text = hostile[i % COUNT(hostile)];
	for (size_t c = 1; c < 6; c++)
		row[c].count = numbers[(i + c) % COUNT(numbers)];
	row[4].count = i % 3 ? i * SECOND : CELL_NONE;
	row[6].real = reals[i % COUNT(reals)];
	row[7].text = i % 2 ? "\xc3\xa9" : NULL;
}

static void hostile_cells_survive(void **state)
{
	compare(503, make_hostile, (struct writer_config){0}, true,
		"1 tables, 1 row groups, 503 rows, 4024 cells\n");
}

static void raw_times_are_numbers(void **state)
{
	compare(7, make_hostile, (struct writer_config){.raw_time = true}, true,
		"1 tables, 1 row groups, 7 rows, 56 cells\n");
	compare(7, make_hostile, (struct writer_config){0}, false,
		"1 tables, 1 row groups, 7 rows, 56 cells\n");
}

static void an_empty_table_has_its_columns(void **state)
{
	compare(0, make_hostile, (struct writer_config){0}, true,
		"1 tables, 0 row groups, 0 rows, 0 cells\n");
}

static void make_null(size_t i, union cell row[COLUMNS])
{
	for (size_t c = 0; c < COLUMNS; c++)
		row[c].count = CELL_NONE;
	row[0].text = row[7].text = NULL;
	row[6].real = NAN;
}

static void a_table_of_nothing_but_nulls(void **state)
{
	compare(1009, make_null, (struct writer_config){0}, true,
		"1 tables, 1 row groups, 1009 rows, 8072 cells\n");
}

/* Dictionaries of every width, with runs; texts of which one begins as another does; bounds of zero. */
static void make_classes(size_t i, union cell row[COLUMNS])
{
	static const char letters[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const size_t classes[] = {0, 3, 4, 5, 8, 9, 181};
	static char text[COUNT(letters)];

	for (size_t c = 1; c < 6; c++)
		row[c].count = i % classes[c];
	row[5].count = i / 16 % classes[6];
	row[6].real = (double)(i % 17);
	row[0].text = letters + i % COUNT(letters);
	memset(text, 'z', sizeof(text));
	text[i / 11 % sizeof(text)] = '\0';
	row[7].text = text;
}

static void small_and_great_dictionaries(void **state)
{
	compare(16 * 211, make_classes, (struct writer_config){0}, true,
		"1 tables, 1 row groups, 3376 rows, 27008 cells\n");
}

/* Rows of every entropy: from one value to one a row. */
static void make_many(size_t i, union cell row[COLUMNS])
{
	static char text[40];
	static struct random random;
	__u64 draw;

	if (!i)
		random = (struct random){7};
	draw = random_next(&random);
	snprintf(text, sizeof(text), "vm%llu/disk", (unsigned long long)(draw % 1009));
	row[0].text = text;
	row[1].count = draw % 7 ? 11 : draw % 11;
	row[2].count = draw;
	row[3].count = i < 5003 ? i : draw % 3 ? i / 97 : CELL_NONE;
	row[4].count = i * 1000003;
	row[5].count = draw % 65537;
	row[6].real = draw % 13 ? (double)(draw % 100003) / 7 : NAN;
	row[7].text = i / 5 % 2 ? "x" : "yy";
}

static void several_row_groups(void **state)
{
	compare(PARQUET_GROUP_ROWS + 1009, make_many, (struct writer_config){0}, true,
		"1 tables, 2 row groups, 66545 rows, 532360 cells\n");
}

static void make_long(size_t i, union cell row[COLUMNS])
{
	static char text[2001];

	make_null(i, row);
	memset(text, 'a' + (int)(i % 26), sizeof(text) - 1);
	snprintf(text, 8, "%07zu", i);
	text[7] = '-';
	row[7].text = text;
	row[6].real = -1.0 * (double)(i % 3);
}

static void long_texts_end_a_row_group(void **state)
{
	compare(10007, make_long, (struct writer_config){0}, true,
		"1 tables, 2 row groups, 10007 rows, 80056 cells\n");
}

static void make_few(size_t i, union cell row[COLUMNS])
{
	static const char *const texts[] = {"", NULL, "\xff"};

	make_null(i, row);
	row[0].text = texts[i];
	row[1].count = i;
	/* Beyond the year 2262 on the wall clock. */
	row[4].count = i ? i * 1000 : 1ull << 63;
	row[6].real = i == 1 ? NAN : 0.1;
	row[7].text = i == 2 ? "caf\xc3\xa9" : "";
}

/* What a CSV cannot tell: null and empty text; which texts are UTF-8; facts. */
static void nulls_are_none_of_the_empty(void **state)
{
	struct writer_config config = {.format = OUTPUT_PARQUET, .overwrite = true};
	char parquet[256], arguments[300], *text;
	struct writer *writer;
	int status;

	config.path = scratch_path(parquet, "few");
	writer = open_writer(config, true);
	writer_fact(writer, "host", "bad\xff");
	assert_int_equal(write_rows(writer, 3, make_few), 0);
	snprintf(arguments, sizeof(arguments), "%s/rows.parquet", parquet);
	text = reader(arguments, &status);
	assert_string_equal(text, "1 groups, 3 rows\n"
				  "host: bad\\xff\n"
				  "device (bytes): b'', None, b'\\xff'\n"
				  "faults (number): 0, 1, 2\n"
				  "memory_bytes (number): None, None, None\n"
				  "p99_ns (number): None, None, None\n"
				  "last (time): None, 1795269723000001000, 1795269723000002000\n"
				  "address (number): None, None, None\n"
				  "blocked_percent (real): 0.1, None, 0.1\n"
				  "note (text): b'', b'', b'caf\\xc3\\xa9'\n");
	free(text);
	snprintf(arguments, sizeof(arguments), "%s/facts.parquet", parquet);
	text = reader(arguments, &status);
	assert_non_null(strstr(text, "fact (text): b'host'\nvalue (bytes): b'bad\\xff'\n"));
	free(text);
}

static void make_huge(size_t i, union cell row[COLUMNS])
{
	static char *text;

	text = text ?: malloc(PARQUET_GROUP_BYTES + 2);
	make_null(i, row);
	assert_non_null(text);
	memset(text, 'x', PARQUET_GROUP_BYTES + 1);
	text[PARQUET_GROUP_BYTES + 1] = '\0';
	row[7].text = text;
}

static void no_page_is_larger_than_its_size_can_say(void **state)
{
	struct writer_config config = {.format = OUTPUT_PARQUET};
	char directory[256];

	config.path = scratch_path(directory, "huge");
	assert_int_equal(write_rows(open_writer(config, true), 1, make_huge), -ENOMEM);
}

static bool is_there(const char *directory, const char *name)
{
	char path[512];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return !lstat(path, &status);
}

static void files_are_where_they_belong(void **state)
{
	const char *const names[] = {"rows", NULL};
	struct writer_config config = {.format = OUTPUT_PARQUET, .place = "host=a/date=b/c"};
	char directory[256], link[512];
	struct writer *writer;

	config.path = scratch_path(directory, "placed");
	assert_int_equal(write_rows(open_writer(config, true), 3, make_few), 0);
	assert_true(is_there(directory, "rows/host=a/date=b/c.parquet"));
	/* Once more, or unfinished: the file stays. */
	writer = open_writer(config, true);
	assert_int_equal(writer_announce(writer, names), -EEXIST);
	writer_abandon(writer);
	assert_int_equal(write_rows(open_writer(config, true), 3, make_few), -EEXIST);
	config.overwrite = true;
	assert_int_equal(write_rows(open_writer(config, true), 3, make_few), 0);
	config.place = "host=a/date=b/d";
	writer = open_writer(config, true);
	writer_begin(writer, &rows_table);
	writer_abandon(writer);
	assert_false(is_there(directory, "rows/host=a/date=b/d.parquet"));
	/* Never through a link. */
	snprintf(link, sizeof(link), "%s/rows/host=e", directory);
	assert_int_equal(symlink("/tmp", link), 0);
	config.place = "host=e/date=b/c";
	assert_int_equal(write_rows(open_writer(config, true), 3, make_few), -ENOTDIR);
	assert_non_null(strstr(failure_text(), "host=e"));
}

static void inputs_are_not_replaced(void **state)
{
	char directory[256], input[512];
	const char *inputs[] = {input, NULL};
	struct writer_config config = {
		.format = OUTPUT_PARQUET, .inputs = inputs, .overwrite = true};
	FILE *file;

	config.path = scratch_path(directory, "inputs");
	assert_int_equal(mkdir(directory, 0700), 0);
	snprintf(input, sizeof(input), "%s/rows.parquet", directory);
	file = fopen(input, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(write_rows(open_writer(config, true), 3, make_few), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_cells_survive),
		cmocka_unit_test(raw_times_are_numbers),
		cmocka_unit_test(an_empty_table_has_its_columns),
		cmocka_unit_test(a_table_of_nothing_but_nulls),
		cmocka_unit_test(small_and_great_dictionaries),
		cmocka_unit_test(several_row_groups),
		cmocka_unit_test(long_texts_end_a_row_group),
		cmocka_unit_test(nulls_are_none_of_the_empty),
		cmocka_unit_test(no_page_is_larger_than_its_size_can_say),
		cmocka_unit_test(files_are_where_they_belong),
		cmocka_unit_test(inputs_are_not_replaced),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
