/* SPDX-License-Identifier: GPL-2.0 */
/* How the options of faultline-inject iopf are read; apart from argp, for the tests. */
#ifndef FAULTLINE_REAL_IOPF_OPTIONS_H
#define FAULTLINE_REAL_IOPF_OPTIONS_H

#include "injectors/real/iopf.h"

extern const struct argp_option iopf_argp_options[];

void iopf_defaults(struct iopf_options *options);
/* -ENOENT: no option of ours; -EINVAL and so on with a sentence. */
int iopf_parse_option(int key, const char *text, struct iopf_options *options);
int iopf_parse_what(const char *text, struct iopf_options *options);
/* What options together make no sense, and what those left out mean for this `what`. */
int iopf_check_options(struct iopf_options *options);

#endif
