/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one sentence for somebody on call: the worst of what the analyzers have found so far. What is
 * looked at, and in which order, is a table in worst.c; the findings of `report` say the rest.
 */
#ifndef FAULTLINE_WORST_H
#define FAULTLINE_WORST_H

#include "lib/analyze/analysis.h"
#include "lib/analyze/asked.h"

/* A finding, and what it is a finding of where not everything was asked for. */
#define WORST_TEXT (640 + ASKED_TEXT)

enum worst_severity {
	WORST_NONE, /* nothing was found; the text says so */
	WORST_NOTE, /* it happened; nothing is wrong with it */
	WORST_LOOK, /* a limit is near, something waits or repeats */
	WORST_BAD,  /* something was refused, broken or dropped */
};

struct worst {
	enum worst_severity severity;
	const char *name; /* of what was looked at: "iommu", "vfio", "slo", ... */
	char text[WORST_TEXT];
};

void worst_find(const struct analysis *analysis, struct worst *worst);

#endif
