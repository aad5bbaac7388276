// SPDX-License-Identifier: GPL-2.0
#include "injectors/results.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

/* "--csv FILE" beside argp's own "--csv=FILE": takes the next word unless it is an option or a job. */
static const char *optional_file(struct argp_state *state, const char *argument)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : NULL;
	size_t length = next ? strlen(next) : 0;

	if (argument || !next || (*next == '-' && length > 1) ||
	    (length > 4 && !strcmp(next + length - 4, ".ini")))
		return argument;
	state->next++;
	return next;
}

error_t results_parse(int key, char *argument, struct argp_state *state,
		      struct results_options *options)
{
	switch (key) {
	case 'w':
		options->wide = true;
		return 0;
	case RESULTS_CSV:
	case RESULTS_JSON:
		if (options->format != OUTPUT_TEXT)
			argp_error(state, "--csv and --json: accepted: one of them");
		options->format = key == RESULTS_CSV ? OUTPUT_CSV : OUTPUT_JSON;
		options->file = optional_file(state, argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int results_open(struct results_output *output, const struct results_options *options)
{
	struct writer_config config = {.format = options->format, .wide = options->wide};
	int fd, err;

	*output = (struct results_output){.file = stdout};
	if (options->file && strcmp(options->file, "-") != 0) {
		fd = files_create(AT_FDCWD, options->file, 0644);
		if (fd < 0)
			return fd;
		output->file = fdopen(fd, "w");
		output->own_file = true;
		if (!output->file)
			return failed(-errno, "%s: %s", options->file, strerror(errno));
	}
	config.file = output->file;
	err = writer_open(&output->writer, &config);
	if (err && output->own_file)
		fclose(output->file);
	return err;
}

int results_close(struct results_output *output)
{
	int err = 0;

	if (output->writer)
		err = writer_close(output->writer);
	if (output->own_file && output->file && fclose(output->file) && !err)
		err = failed(-errno, "cannot write the results: %s", strerror(errno));
	*output = (struct results_output){0};
	return err;
}
