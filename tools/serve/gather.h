/* SPDX-License-Identifier: GPL-2.0 */
/* From the analyzers to the rows that are served. */
#ifndef FAULTLINE_SERVE_GATHER_H
#define FAULTLINE_SERVE_GATHER_H

#include "tools/serve/tally.h"

/* What is of the server, not of what it observes. */
struct gather_self {
	__u64 scrapes, textfile_failures;
};

/*
 * Counts all into the ledger. What is open is open until the newest time that was told: what is later is not known
 * yet, and would have to be taken back. Allocates for names that are new only.
 */
void gather_counts(struct ledger *ledger, const struct analysis *analysis,
		   const struct tally *tally, const struct gather_self *self);

#endif
