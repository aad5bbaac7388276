/* SPDX-License-Identifier: GPL-2.0 */
/* Sections with count=: what many hosts, cables and clients would be to write. */
#ifndef FAULTLINE_CLUSTER_EXPAND_H
#define FAULTLINE_CLUSTER_EXPAND_H

#include "lib/job/text.h"

/*
 * A copy of the job in which a section [TYPE NAME] with count=N is N of them, NAME0 ..., whose values have the number in place of
 * each %; and what asks for I/Os has its group=. job_wrong() for a count that is none, -ENOMEM.
 */
int cluster_expand(const struct job_text *text, struct job_text **expanded);

#endif
