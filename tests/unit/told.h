/* SPDX-License-Identifier: GPL-2.0 */
/* What rigs of analyses share: events that are told in batches, and the rows of what comes of them. */
#ifndef FAULTLINE_TESTS_TOLD_H
#define FAULTLINE_TESTS_TOLD_H

#include "tests/unit/test.h"

#include "lib/analyze/analysis.h"
#include "lib/output/rows.h"

/* In batches of `chunk` events, 0: of all. */
void told_in_batches(struct stream to, const struct event *events, size_t count, size_t chunk);
/* A table's rows; how many. */
size_t told_rows(struct rows *rows, struct analysis *analysis, analyzer_write *write);
union cell told_cell(const struct rows *rows, size_t row, const char *column);

#endif
