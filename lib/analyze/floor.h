/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether numbers are floors, and why: decided here and nowhere else, for every verb's words, for
 * its JSON and for its exit code (docs/exit-codes.md).
 */
#ifndef FAULTLINE_FLOOR_H
#define FAULTLINE_FLOOR_H

#include "lib/analyze/analysis.h"

enum floor_reason {
	FLOOR_LOST,	 /* events found no room in a ring */
	FLOOR_MISSED,	 /* the kernel skipped runs of a probe */
	FLOOR_ACCESS,	 /* access records were discarded or overwritten */
	FLOOR_MACHINES,	 /* emulated machines ended before they were met */
	FLOOR_TOTALS,	 /* emulated machines reported no total: killed, or not to be met */
	FLOOR_STATE,	 /* groups got no instance, devices no name: maps of the kernel were full */
	FLOOR_COUNTERS,	 /* seconds of counting ran out of counters */
	FLOOR_CUT,	 /* the recording has no end */
	FLOOR_DAMAGED,	 /* parts of the recording are unreadable */
	FLOOR_TABLES,	 /* bounded tables of the analysis were full */
	FLOOR_MEMORY,	 /* the limit of memory was reached: the rest was not read */
	FLOOR_UNWRITTEN, /* the recorder had no room to write */
	FLOOR_WENT_ON,	 /* faults were given up before they were over */
	FLOOR_UNWATCHED, /* a probe that tells each fault was silent, or could not be on */
	FLOOR_UNSEEN,	 /* the IOMMU had unrecoverable faults that nobody could count */
	FLOOR_REASONS,
};

/* One bit a reason (1 << FLOOR_LOST, ...), 0 if every count is exact. */
unsigned int floor_of_loss(const struct loss_info *loss, __u64 incomplete_windows);
/* The same with what the analysis itself had no room for. */
unsigned int floor_of(const struct analysis *analysis);

/* "events were lost, the recording has no end"; "" for 0. */
#define FLOOR_TEXT 512
const char *floor_text(unsigned int reasons, char text[FLOOR_TEXT]);

#endif
