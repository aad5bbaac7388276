/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: the name of a flight recorder, which all its other files' names begin with. */
#ifndef FAULTLINE_TRACE_RING_NAME_H
#define FAULTLINE_TRACE_RING_NAME_H

#include "lib/trace/store.h"

/* -ENAMETOOLONG with a sentence if a name that is made of it one day would be too long. */
int trace_ring_name_check(const char *path);

/*
 * Writes the file of that name again where somebody has removed it: without it nobody finds the segments. What
 * else has its name by now stays.
 */
int trace_ring_name_restore(struct trace_store *store);

#endif
