/* SPDX-License-Identifier: GPL-2.0 */
/* The table "faults": a row per fault, the same for report, timeline and whoever else prints one. */
#ifndef FAULTLINE_FAULT_TABLE_H
#define FAULTLINE_FAULT_TABLE_H

#include "lib/analyze/session.h"

extern const struct table *const fault_table; /* begins with its session as context */

int fault_table_row(struct writer *writer, const struct session *session,
		    const struct fault *fault);
/* "R", "RW", "X", "-" */
const char *fault_access_name(const struct fault *fault);

#endif
