/* SPDX-License-Identifier: GPL-2.0 */
/* The [expect] section: NAME = EXPRESSION (expression.h), true or the run has failed. */
#ifndef FAULTLINE_JOB_EXPECT_H
#define FAULTLINE_JOB_EXPECT_H

#include <stdio.h>

#include "lib/job/expression.h"
#include "lib/job/text.h"

/* Before the run: -EBADMSG with the place of what can never be evaluated. */
int expect_check(const struct job_text *text, const struct expression_scope *scope);
/* After it: a verdict and what was measured for each; EXIT_OK or EXIT_EXPECT. */
int expect_judge(const struct job_text *text, const struct expression_scope *scope, FILE *file);

#endif
