/* SPDX-License-Identifier: GPL-2.0 */
/* Inside `faultline doctor`: what this host can and cannot show, a line a path. */
#ifndef FAULTLINE_DOCTOR_PATHS_H
#define FAULTLINE_DOCTOR_PATHS_H

#include "lib/analyze/analysis.h"
#include "lib/output/table.h"
#include "tools/doctor_host.h"

/*
 * Table "paths": the probes that `analysis` was told of, and what the host adds. `checks` are those of
 * this host, none of a recording's. `text`: why and what would change it share a cell.
 */
int doctor_write_paths(const struct analysis *analysis, const struct host_check *checks,
		       size_t count, struct writer *writer, bool text);

#endif
