/* SPDX-License-Identifier: GPL-2.0 */
/* What a run of a job gives: the columns of its result table and the names in its [expect]. */
#ifndef FAULTLINE_JOB_COLUMN_H
#define FAULTLINE_JOB_COLUMN_H

#include <string.h>

#include "lib/output/table.h"

struct job_column {
	const char *name, *alias; /* alias: short form in expectations, or NULL */
	const char *unit;
	enum column_type type;
	unsigned int width;
	bool wide;
	const char *meaning;
};

struct job_columns {
	const struct job_column *columns;
	size_t count;
	const char *heading; /* of their help */
	const char *unknown; /* why a value may be missing, and what to do about it */
	const char *help;    /* command that lists them */
};

/* The column of that name or alias, -1 if there is none. */
static inline int job_column_find(const struct job_columns *columns, const char *name)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct job_column *column = &columns->columns[i];

		if (!strcmp(column->name, name) || (column->alias && !strcmp(column->alias, name)))
			return (int)i;
	}
	return -1;
}

#endif
