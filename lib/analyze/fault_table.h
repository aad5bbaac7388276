/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table "faults": a row per fault, the same for report, timeline and whoever else prints one. Every fault has
 * one, so it is written while the stream passes, that none need be kept.
 */
#ifndef FAULTLINE_FAULT_TABLE_H
#define FAULTLINE_FAULT_TABLE_H

#include "lib/analyze/analysis.h"
#include "lib/analyze/session.h"

extern const struct table *const fault_table_columns; /* begins with its session as context */

/* Before the stream: each fault goes to this writer as it ends. */
int fault_table_follow(const struct analysis *analysis, struct writer *writer);
/* A row; the first begins the table. analysis_write() ends it. */
void fault_table_add(const struct analysis *analysis, struct writer *writer,
		     const struct fault *fault);
/* A row of a table with these columns. */
void fault_table_row(struct writer *writer, const struct session *session,
		     const struct fault *fault);
/* "R", "RW", "X", "-" */
const char *fault_access_name(const struct fault *fault);

#endif
