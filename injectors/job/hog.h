/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that take CPU time away from the fault handlers, as other work of a host does. */
#ifndef FAULTLINE_JOB_HOG_H
#define FAULTLINE_JOB_HOG_H

#include "injectors/job/job.h"

struct hog;

/* `threads` on each CPU of the set, at normal priority. Negative errno with a sentence. */
int hog_start(struct hog **hog, const cpu_set_t *cpus, __u32 threads, enum hog_load load);
/* Ends and joins all; NULL is fine. */
void hog_stop(struct hog *hog);

#endif
