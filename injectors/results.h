/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where an injector's results go: --csv[=PATH], --json[=PATH] and --wide, and the writer behind them.
 *
 * A verb's argp lists RESULTS_OPTIONS and ends its parser with
 *
 *	default:
 *		return results_parse(key, argument, state, &arguments->results);
 */
#ifndef FAULTLINE_RESULTS_H
#define FAULTLINE_RESULTS_H

#include <stdbool.h>

#include "lib/base/usage.h"
#include "lib/output/destination.h"

struct results_options {
	struct destination to;
	bool wide;
	bool growing; /* what is killed after an hour has written what it had */
};

enum { RESULTS_CSV = 0x400, RESULTS_JSON };

/* Rows of a struct argp_option table, in one of its groups. */
#define RESULTS_OPTIONS(group)                                                                       \
	{"csv",                                                                                      \
	 RESULTS_CSV,                                                                                \
	 "PATH",                                                                                     \
	 OPTION_ARG_OPTIONAL,                                                                        \
	 "Write results as CSV: to standard output, a file (PATH.csv) or a directory",               \
	 group},                                                                                     \
		{"json", RESULTS_JSON, "PATH", OPTION_ARG_OPTIONAL, "Write results as JSON", group}, \
	{                                                                                            \
		"wide", 'w', NULL, 0, "Show every column", group                                     \
	}

/* Takes these options; ARGP_ERR_UNKNOWN for any other key. */
error_t results_parse(int key, char *argument, struct argp_state *state,
		      struct results_options *options);

/* For a parser's ARGP_KEY_END: a dry run has no results, so that these options are refused with it. */
void results_refuse_dry_run(const struct results_options *options, struct argp_state *state);

/* A writer for them, the table of this name: -EEXIST and so on with a sentence, before the work. */
int results_open(struct writer **writer, const struct results_options *options, const char *table);

#endif
