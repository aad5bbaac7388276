/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All analyzers behind one stream: what every verb that explains something is built on.
 *
 * The live view, `report` and the other offline verbs create one analysis, feed its stream and read
 * the parts. As there is one code and it depends on nothing but the stream's calls (never on how
 * events were cut into batches, never on this process's clock), a live number and the number from
 * its recording are equal.
 *
 * Not thread-safe: the stream and the accessors belong to one thread, or to one lock.
 */
#ifndef FAULTLINE_ANALYSIS_H
#define FAULTLINE_ANALYSIS_H

#include "lib/analyze/analyzer.h"
#include "lib/analyze/period.h"

struct slo_set;
struct explain_wish;

struct analysis_config {
	/* Windows kept of each curve (rates, footprint over time); 0: all, for offline use. */
	size_t history_windows;
	/* Finished faults kept per device, newest last; 0: 64. */
	size_t last_faults;
	/* Requests reconstructed at once; beyond it the oldest is given up. 0: 262144 */
	size_t open_faults;
	/* VPRI's simulated fault: re-access of a 2 MiB page after more than this. 0: 300 s */
	__u64 simulated_fault_ns;
	/* What devices touch within each such time is told too, whole seconds; 0: it is not. */
	__u64 footprint_window_ns;
	/* More than this many faults within a second are a burst. 0: 5 (VPRI section 2.2) */
	unsigned int burst_faults;
	/* Objectives to judge (lib/analyze/slo.h), NULL: none. Borrowed until destroy. */
	const struct slo_set *slos;
	/* Who wants faults explained (lib/analyze/explain.h), NULL: nobody. Borrowed until destroy. */
	const struct explain_wish *explain;
	/* What to tell of: --since, --until. The whole stream is to be fed all the same. */
	struct period period;
	/* Per-page tables of the footprint are left out; they are what takes memory. */
	bool without_footprint;
	/* What only sentences tell of single faults is left out: no text of a report is written. */
	bool without_findings;
	/* The newest latencies are kept: live_look() will be called. */
	bool windowed;
};

#define ANALYZER(name) \
	struct name;   \
	ANALYZER_OF_OTHERS(name)
#define ANALYZER_OF_OTHERS(name) extern const struct analyzer name##_analyzer;
#include "lib/analyze/analyzers.def"

extern const struct analyzer *const analyzers[]; /* all, NULL at the end */

/* The parts; each has its own header, tables and accessors. Owned by the analysis. */
struct analysis {
#define ANALYZER(name) struct name *name;
#include "lib/analyze/analyzers.def"
};

/* -ENOMEM, -EINVAL. `config` may be NULL for all defaults. */
int analysis_create(struct analysis **analysis, const struct analysis_config *config);
struct stream analysis_stream(struct analysis *analysis);
void analysis_destroy(struct analysis *analysis);

#define ANALYSIS_TABLES 64
/* Adds the names of an analyzer's tables, or (NULL) of all that a report has, to those; NULL at the end. */
void analysis_tables(const struct analyzer *analyzer, const char *names[ANALYSIS_TABLES]);
/* Writes the same. As of those below, the first error of the writer's or of who wrote. */
int analysis_write(const struct analysis *analysis, const struct analyzer *analyzer,
		   struct writer *writer, const struct table_wish *wish);
/* The same of several hosts, each of which the writer knows by its place (writer_host()). */
int analysis_write_hosts(const struct analysis *const *hosts, size_t count,
			 const struct analyzer *analyzer, struct writer *writer,
			 const struct table_wish *wish);
/* The text of a report: sentences, then tables that have rows. */
int analysis_write_text(const struct analysis *analysis, struct writer *writer);
/* Its sentences alone. */
int analysis_write_findings(const struct analysis *analysis, struct writer *writer);

#endif
