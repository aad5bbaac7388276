// SPDX-License-Identifier: GPL-2.0
/* docs/analysis.md lists the columns of every table that an analyzer has, and no others. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/slo.h"
#include "tests/unit/scratch.h"

#define HEADING "| table | columns |\n|---|---|\n"

static char *text_of(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t size = 0;
	char *text = NULL;

	assert_non_null(file);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	fclose(file);
	return text;
}

/* Files with nothing but their headings; times are known, so they have no unit. */
static void write_headings(void)
{
	static const struct slo_set objectives = {.count = 0};
	static const struct table_wish everything;
	const struct analysis_config config = {.slos = &objectives};
	const struct writer_config csv = {.format = OUTPUT_CSV, .path = scratch};
	struct analysis *a;
	struct writer *w;

	assert_int_equal(analysis_create(&a, &config), 0);
	assert_int_equal(writer_open(&w, &csv), 0);
	writer_clock(w, &(struct clock_anchor){1, 1});
	assert_int_equal(analysis_write(a, NULL, w, &everything), 0);
	assert_int_equal(analysis_write(a, &slo_analyzer, w, &everything), 0);
	assert_int_equal(writer_close(w), 0);
	analysis_destroy(a);
}

/* "| `TABLE` | `COLUMN`, `COLUMN` |" */
static void as_documented(const char *table, char line[4096])
{
	char path[512], *text, *next;
	size_t used;

	snprintf(path, sizeof(path), "%s/%s.csv", scratch, table);
	text = text_of(path);
	*strchrnul(text, '\n') = '\0';
	used = (size_t)snprintf(line, 4096, "| `%s` |", table);
	next = text;
	for (char *column; (column = strsep(&next, ","));)
		used += (size_t)snprintf(line + used, 4096 - used, " `%s`%s", column,
					 next ? "," : " |\n");
	free(text);
}

static void columns_are_documented(void **state)
{
	const char *tables[ANALYSIS_TABLES] = {0};
	char *document = text_of("docs/analysis.md"), *at = strstr(document, HEADING);
	char line[4096];

	analysis_tables(NULL, tables);
	analysis_tables(&slo_analyzer, tables);
	write_headings();
	assert_non_null(at);
	at += strlen(HEADING);
	for (size_t i = 0; tables[i]; i++, at += strlen(line)) {
		as_documented(tables[i], line);
		if (strncmp(at, line, strlen(line)) != 0)
			fail_msg("docs/analysis.md should have here: %s", line);
	}
	assert_int_not_equal(*at, '|');
	free(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_documented),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
