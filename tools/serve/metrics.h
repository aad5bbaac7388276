/* SPDX-License-Identifier: GPL-2.0 */
/* All of tools/serve/metrics.def as text. */
#ifndef FAULTLINE_SERVE_METRICS_H
#define FAULTLINE_SERVE_METRICS_H

#include "lib/analyze/analysis.h"
#include "tools/serve/exposition.h"
#include "tools/serve/ledger.h"

struct metrics {
	const struct analysis *analysis;
	const struct ledger *ledger;
	__u64 realtime_ns; /* when the numbers were taken, since 1970 */
};

void metrics_write(const struct metrics *metrics, struct exposition *out);

#endif
