// SPDX-License-Identifier: GPL-2.0
#include "injectors/results.h"

#include "lib/base/fail.h"

error_t results_parse(int key, char *argument, struct argp_state *state,
		      struct results_options *options)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : NULL;

	switch (key) {
	case 'w':
		options->wide = true;
		return 0;
	case RESULTS_CSV:
	case RESULTS_JSON:
		if (destination_choose(&options->to, key == RESULTS_CSV ? OUTPUT_CSV : OUTPUT_JSON,
				       argument, next))
			usage_error(state, "%s", failure_text());
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void results_refuse_dry_run(const struct results_options *options, struct argp_state *state)
{
	if (options->to.format != OUTPUT_TEXT)
		usage_error(state, "--%s: accepted: without --dry-run, which has no results",
			    options->to.format == OUTPUT_JSON ? "json" : "csv");
}

int results_open(struct writer **writer, const struct results_options *options, const char *table)
{
	const char *const tables[] = {table, NULL};
	const struct writer_config config = {.format = options->to.format,
					     .path = options->to.path,
					     .file = stdout,
					     .growing = options->growing,
					     .wide = options->wide};

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
