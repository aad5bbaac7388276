/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes that are attached and silent: on, never hit, although faults completed that must have passed
 * them, or a neighbour was hit that is never hit without them. A kernel that calls another function
 * than it used to leaves the old one in place: a probe on it attaches, and counts nothing. What such a
 * probe would have told is unknown, as without it (lib/analyze/unknown.h).
 *
 * What must have passed is declared in the probe's row (lib/capture/probes.h). Counters are judged
 * when capture tells them, against what had completed until then, so that live and offline agree.
 */
#ifndef FAULTLINE_SILENT_H
#define FAULTLINE_SILENT_H

#include "lib/analyze/session.h"

/* Fewer say nothing: they may have come while probes were being attached. */
#define SILENT_FAULTS 3
#define SILENT_HITS   16

struct faults;
struct silent;

/*
 * How much passed this probe's neighbours, 0: it is not silent. `faults` (may be NULL) gets whether
 * that counts faults; if not, it counts hits of the row's neighbour.
 */
__u64 silent_passed(const struct silent *silent, const struct probe_info *probe, bool *faults);
size_t silent_count(const struct silent *silent);
/* "function X was never hit while 472 faults passed ...": a sentence, for findings and tables. */
#define SILENT_TEXT 512
const char *silent_sentence(const struct silent *silent, const struct probe_info *probe,
			    char text[SILENT_TEXT]);
/* A sentence for each that is silent; none if there is none. */
void silent_write_findings(const struct analysis *analysis, struct writer *writer);
/* Table "probes": the session's, with those that are silent marked and explained. */
analyzer_write silent_write_probes;

#endif
