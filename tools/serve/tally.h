/* SPDX-License-Identifier: GPL-2.0 */
/* What is counted for serve alone, beside the analyzers: faults by kind and answer, counters of RDMA ports. */
#ifndef FAULTLINE_SERVE_TALLY_H
#define FAULTLINE_SERVE_TALLY_H

#include "lib/analyze/analysis.h"
#include "lib/analyze/slots.h"
#include "tools/serve/ledger.h"

#define TALLY_PORTS 64 /* of a device; what others there are counts as the last */

struct tally_device {
	__u64 over[EFFORTS], answers[ANSWERS];
	struct port_counts *ports; /* TALLY_PORTS; NULL: none has told */
};

struct tally {
	struct slots devices; /* struct tally_device */
};

/* Subscribes to the faults of the analysis; destroy after it. */
int tally_create(struct tally *tally, struct analysis *analysis);
struct stream tally_stream(struct tally *tally);
void tally_destroy(struct tally *tally);
/* NULL: nothing was told of it. */
const struct tally_device *tally_device(const struct tally *tally, __u32 device);

#endif
