// SPDX-License-Identifier: GPL-2.0
#include "lib/cli/output.h"

#include "lib/base/fail.h"
#include "lib/base/usage.h"

enum { KEY_CSV = 0x100, KEY_JSON, KEY_TABLE, KEY_RAW_TIME, KEY_FORCE };

#define RESULTS_OPTIONS                                                                        \
	{NULL, 0, NULL, 0, "Output:", 1},                                                      \
		{"csv",                                                                        \
		 KEY_CSV,                                                                      \
		 "PATH",                                                                       \
		 OPTION_ARG_OPTIONAL,                                                          \
		 "Write CSV: each table as a file of the directory PATH, or one table into "   \
		 "PATH.csv or, without PATH, to standard output",                              \
		 0},                                                                           \
		{"json", KEY_JSON, "PATH", OPTION_ARG_OPTIONAL, "Write one JSON document", 0}, \
	{                                                                                      \
		"wide", 'w', NULL, 0, "Show all columns and whole names", 0                    \
	}

static const struct argp_option results_option_list[] = {RESULTS_OPTIONS, {0}};
static const struct argp_option output_option_list[] = {
	RESULTS_OPTIONS,
	{"table", KEY_TABLE, "NAME", 0, "Write only this table", 0},
	{"raw-time", KEY_RAW_TIME, NULL, 0, "Print times as monotonic nanoseconds", 0},
	{"force", KEY_FORCE, NULL, 0, "Replace existing output files", 0},
	{0},
};

static const struct argp_option batch_option_list[] = {
	{"csv", KEY_CSV, "PATH", OPTION_ARG_OPTIONAL, "Batch output as CSV", 0},
	{"json", KEY_JSON, "PATH", OPTION_ARG_OPTIONAL, "Batch output as JSON", 0},
	{0},
};

static int output_choose(struct destination *to, int key, const char *argument,
			 const struct argp_state *state)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : NULL;

	return destination_choose(to, key == KEY_CSV ? OUTPUT_CSV : OUTPUT_JSON, argument, next);
}

static error_t batch_parse(int key, char *argument, struct argp_state *state)
{
	if (key != KEY_CSV && key != KEY_JSON)
		return ARGP_ERR_UNKNOWN;
	if (output_choose(state->input, key, argument, state))
		usage_error(state, "%s", failure_text());
	return 0;
}

static error_t output_parse(int key, char *argument, struct argp_state *state)
{
	struct output_options *options = state->input;

	switch (key) {
	case KEY_CSV:
	case KEY_JSON:
		if (output_choose(&options->to, key, argument, state))
			usage_error(state, "%s", failure_text());
		return 0;
	case KEY_TABLE:
		options->table = argument;
		return 0;
	case 'w':
		options->wide = true;
		return 0;
	case KEY_RAW_TIME:
		options->raw_time = true;
		return 0;
	case KEY_FORCE:
		options->force = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp results_argp = {results_option_list, output_parse, NULL, NULL, NULL, NULL, NULL};
const struct argp batch_argp = {batch_option_list, batch_parse, NULL, NULL, NULL, NULL, NULL};
const struct argp output_argp = {output_option_list, output_parse, NULL, NULL, NULL, NULL, NULL};

const char *output_format_name(const struct output_options *options)
{
	switch (options->to.format) {
	case OUTPUT_CSV:
		return "csv";
	case OUTPUT_JSON:
		return "json";
	default:
		return NULL;
	}
}

int output_open(struct writer **writer, const struct output_options *options,
		const char *const *inputs, const char *const *tables)
{
	const struct writer_config config = {
		.format = options->to.format,
		.path = options->to.path,
		.file = stdout,
		.only = options->table,
		.inputs = inputs,
		.overwrite = options->force,
		.growing = options->growing,
		.wide = options->wide,
		.raw_time = options->raw_time,
	};
	int err = writer_open(writer, &config);

	if (err)
		return err;
	err = writer_announce(*writer, tables);
	if (!err)
		return 0;
	writer_abandon(*writer);
	*writer = NULL;
	return err;
}
