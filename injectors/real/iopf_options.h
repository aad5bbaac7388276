/* SPDX-License-Identifier: GPL-2.0 */
/* The options of faultline-inject iopf. */
#ifndef FAULTLINE_REAL_IOPF_OPTIONS_H
#define FAULTLINE_REAL_IOPF_OPTIONS_H

#include "injectors/real/iopf.h"

extern const struct cli_option iopf_option_list[];

void iopf_defaults(struct iopf_options *options);
int iopf_parse_what(const char *text, struct iopf_options *options);
/* What options together make no sense, and what those left out mean for this `what`. */
int iopf_check_options(struct iopf_options *options);

#endif
