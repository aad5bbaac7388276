/* SPDX-License-Identifier: GPL-2.0 */
/* Job files of the tests: written from a string, read, removed. */
#ifndef FAULTLINE_TEST_JOB_FILES_H
#define FAULTLINE_TEST_JOB_FILES_H

#include "lib/job/text.h"

/* The name errors will show for files of read_job(). */
#define JOB_PATH "build/test-job.ini"

/* Writes `content` to JOB_PATH, reads it with job_text_read(), removes it. */
int read_job(struct job_text **text, const char *content);

#endif
