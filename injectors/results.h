/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where an injector's results go: --csv [FILE], --json [FILE] and --wide, and the writer behind them.
 *
 * A verb's argp lists RESULTS_OPTIONS and ends its parser with
 *
 *	default:
 *		return results_parse(key, argument, state, &arguments->results);
 */
#ifndef FAULTLINE_RESULTS_H
#define FAULTLINE_RESULTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/output/table.h"

struct results_options {
	enum output_format format;
	const char *file; /* NULL or "-": standard output */
	bool wide;
};

enum { RESULTS_CSV = 0x400, RESULTS_JSON };

/* Rows of a struct argp_option table, in one of its groups. */
#define RESULTS_OPTIONS(group)                                                                       \
	{"csv", RESULTS_CSV, "FILE", OPTION_ARG_OPTIONAL, "Write results as CSV", group},            \
		{"json", RESULTS_JSON, "FILE", OPTION_ARG_OPTIONAL, "Write results as JSON", group}, \
	{                                                                                            \
		"wide", 'w', NULL, 0, "Show every column", group                                     \
	}

/* Takes these options; ARGP_ERR_UNKNOWN for any other key. */
error_t results_parse(int key, char *argument, struct argp_state *state,
		      struct results_options *options);

struct results_output {
	struct writer *writer;
	FILE *file;
	bool own_file;
};

/* -EEXIST and so on with a sentence; nothing is left open then. */
int results_open(struct results_output *output, const struct results_options *options);
/* Returns the first error of any writer call. */
int results_close(struct results_output *output);

#endif
