/* SPDX-License-Identifier: GPL-2.0 */
/* What findings.c keeps while the stream passes and findings_tables.c prints. */
#ifndef FAULTLINE_FINDINGS_DATA_H
#define FAULTLINE_FINDINGS_DATA_H

#include "lib/analyze/findings.h"

struct findings {
	const struct analysis *analysis;
	struct fault longest; /* complete */
	__u64 longest_ns;
	struct fault odd[FINDINGS_KEPT];
	size_t odd_count;
	__u64 odd_total;
	__u64 held, held_ns; /* back by their devices */
};

#endif
