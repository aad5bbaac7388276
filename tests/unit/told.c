// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/told.h"

void told_in_batches(struct stream to, const struct event *events, size_t count, size_t chunk)
{
	for (size_t i = 0, n; i < count; i += n) {
		n = chunk && count - i > chunk ? chunk : count - i;
		assert_int_equal(stream_events(to, events + i, n), 0);
	}
}

size_t told_rows(struct rows *rows, struct analysis *analysis, analyzer_write *write)
{
	static const struct table_wish everything;
	struct writer *writer;

	assert_int_equal(rows_writer(&writer, rows), 0);
	write(analysis, writer, &everything);
	assert_int_equal(writer_close(writer), 0);
	return rows->count;
}

union cell told_cell(const struct rows *rows, size_t row, const char *column)
{
	size_t c = rows_column(rows, column);

	assert_true(row < rows->count);
	if (c == rows->table.column_count)
		fail_msg("no column %s", column);
	return rows_row(rows, row)[c];
}
