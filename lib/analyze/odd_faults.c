// SPDX-License-Identifier: GPL-2.0
/* Faults that did not complete, which want to be looked at one by one: the first of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/fault_table.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

#define ODD_FAULTS_KEPT 20

struct odd_faults {
	struct fault kept[ODD_FAULTS_KEPT];
	size_t count;
	__u64 total;
};

static void odd_faults_on_finished(void *self, const struct fault *fault)
{
	struct odd_faults *odd = self;

	if (fault->state == FAULT_COMPLETE)
		return;
	if (odd->count < ODD_FAULTS_KEPT)
		odd->kept[odd->count++] = *fault;
	odd->total++;
}

static int create_odd_faults(struct analysis *a, const struct analysis_config *config)
{
	if (config->without_findings)
		return 0;
	a->odd_faults = memory_calloc(1, sizeof(*a->odd_faults));
	if (!a->odd_faults)
		return failed(-ENOMEM, "no memory for the faults that did not complete");
	return faults_subscribe(a->faults,
				(struct fault_sink){NULL, odd_faults_on_finished, a->odd_faults});
}

static void odd_faults_destroy(struct odd_faults *odd)
{
	memory_free(odd);
}

/* Which they are is not known where what tells was not watched. */
static bool odd_faults_has_rows(const struct analysis *a)
{
	return a->odd_faults->count && !(unknown_of_all(a->session) & UNKNOWN_STATES);
}

/* They have no total; how far they came is what one asks. */
static void write_odd_faults(const struct analysis *a, struct writer *writer,
			     const struct table_wish *wish)
{
	const struct odd_faults *odd = a->odd_faults;
	struct table table = *fault_table_columns;
	struct column *columns = malloc(table.column_count * sizeof(*columns));

	(void)wish;
	if (!columns) {
		writer_fail(writer,
			    failed(-ENOMEM, "no memory for the faults that did not complete"));
		return;
	}
	memcpy(columns, table.columns, table.column_count * sizeof(*columns));
	for (size_t i = 0; i < table.column_count; i++)
		if (!strcmp(columns[i].name, "total") || !strcmp(columns[i].name, "reached"))
			columns[i].wide = !columns[i].wide;
	table.name = "odd_faults";
	table.title = "Faults that did not complete";
	table.columns = columns;
	writer_begin_with(writer, &table, a->session);
	for (size_t i = 0; i < odd->count; i++)
		fault_table_row(writer, a->session, &odd->kept[i]);
	writer_end(writer);
	free(columns);
	if (odd->total > odd->count)
		writer_note(writer, "... and %llu more.", odd->total - odd->count);
}

static const struct analyzer_table tables[] = {{NULL, write_odd_faults, odd_faults_has_rows}, {0}};

DEFINE_ANALYZER_OF_FAULTS(odd_faults, .tables = tables, .chapter = REPORT_LIMITS)
