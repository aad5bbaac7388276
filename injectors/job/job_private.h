/* SPDX-License-Identifier: GPL-2.0 */
/* Checks of one section that have a file of their own. */
#ifndef FAULTLINE_JOB_PRIVATE_H
#define FAULTLINE_JOB_PRIVATE_H

#include "injectors/job/job.h"

/* Whether the program is there and can be run. -EBADMSG with its place and what is accepted. */
int job_check_program(const struct job_program *program);

#endif
