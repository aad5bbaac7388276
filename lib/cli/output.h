/* SPDX-License-Identifier: GPL-2.0 */
/* Where the tables of a verb go, the same options in both programs (docs/output.md). */
#ifndef FAULTLINE_CLI_OUTPUT_H
#define FAULTLINE_CLI_OUTPUT_H

#include <argp.h>

#include "lib/output/destination.h"

struct output_options {
	struct destination to;
	const char *table;
	bool wide;
	bool raw_time;
	bool force;
	bool growing; /* the verb's: what is killed after an hour has written what it had */
};

/* --csv[=PATH], --json[=PATH], --table NAME, --wide, --raw-time, --force, for a struct output_options */
extern const struct argp output_argp;
/* The first two and --wide: of verbs that measure. A measurement cannot be had again, so they replace nothing. */
extern const struct argp results_argp;

/* --csv[=PATH], --json[=PATH] of what goes on printing, for a struct destination */
extern const struct argp batch_argp;

/* "csv" or "json" if that was asked for, else NULL. */
const char *output_format_name(const struct output_options *options);

/*
 * A writer on standard output or into what the options name. `inputs`: files that it may not replace, NULL:
 * none; `tables`: the names of all that may come, so that what does not fit the options is an error before
 * any output. Both end with NULL.
 */
int output_open(struct writer **writer, const struct output_options *options,
		const char *const *inputs, const char *const *tables);

#endif
