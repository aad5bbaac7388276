/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of a table in memory instead of in a file: what the live view sorts, filters and draws are
 * the very cells that `report` prints.
 */
#ifndef FAULTLINE_ROWS_H
#define FAULTLINE_ROWS_H

#include "lib/output/table.h"

/* All zero is empty. What it points to is its own, valid until the next writer or rows_free(). */
struct rows {
	struct table table; /* the last that began; column_count 0: none did */
	size_t count;
	union cell *cells; /* count times table.column_count */
	size_t cell_room;
	struct column *columns;
	char *text; /* of the text cells */
	size_t text_used, text_room;
};

/* A writer whose last table replaces what `rows` holds; notes and facts are dropped. -ENOMEM. */
int rows_writer(struct writer **writer, struct rows *rows);
int rows_copy(struct rows *to, const struct rows *from);
void rows_free(struct rows *rows);

/* The index of the column of this name, column_count if there is none. */
size_t rows_column(const struct rows *rows, const char *name);
const union cell *rows_row(const struct rows *rows, size_t index);

#endif
