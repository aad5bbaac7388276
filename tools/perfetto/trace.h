/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording as a Perfetto trace: a track per device and queue, with a slice per fault and its stages inside
 * (docs/export.md). What lasts is written when it is over, so memory is bounded by what is open at once.
 *
 * What is told of faults, stalls, waits, invalidations and objectives comes from the analyzers whose tables a report
 * has, never from events again.
 */
#ifndef FAULTLINE_PERFETTO_TRACE_H
#define FAULTLINE_PERFETTO_TRACE_H

#include "lib/analyze/analysis.h"
#include "lib/trace/trace.h"
#include "tools/perfetto/packets.h"

struct perfetto;

/* Before the analysis is fed. The file stays the caller's, and is called `path` in sentences. */
int perfetto_create(struct perfetto **perfetto, struct analysis *analysis, const char *host,
		    const struct trace_summary *summary, FILE *file, const char *path);
/* It is to be fed after the analysis. An error is of the file. */
struct stream perfetto_stream(struct perfetto *perfetto);
/* All is read: the rest. A negative errno if not. */
int perfetto_finish(struct perfetto *perfetto);
void perfetto_destroy(struct perfetto *perfetto);

#endif
