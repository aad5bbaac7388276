// SPDX-License-Identifier: GPL-2.0
#include "lib/base/usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/printable.h"

#define USAGE_TEXT 4096 /* kinds of events alone are more than 1024 */

/* What getopt() writes about words that it knows no option for: lines of it stay lines. */
static ssize_t usage_write(void *cookie, const char *bytes, size_t size)
{
	FILE *file = cookie;
	char text[sizeof(struct printable) / PRINTABLE_MOST];

	for (size_t at = 0; at < size;) {
		size_t line = 0;

		while (at + line < size && line < sizeof(text) - 1 && bytes[at + line] != '\n')
			line++;
		memcpy(text, bytes + at, line);
		text[line] = '\0';
		fputs(printable_of(text).text, file);
		at += line;
		if (at < size && bytes[at] == '\n') {
			putc('\n', file);
			at++;
		}
	}
	return (ssize_t)size;
}

const char *argp_program_bug_address = "the issue tracker of the Faultline repository";

enum { KEY_USAGE = 0x300 };

/* argp's own help option is -?, the field's is -h. */
static const struct argp_option help_options[] = {
	{"help", 'h', NULL, 0, "Give this help", -1},
	{"usage", KEY_USAGE, NULL, 0, "Give a short usage message", -1},
	{"version", 'V', NULL, 0, "Print the version", -1},
	{0},
};

static error_t parse_help(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'V':
		printf("%.*s " FAULTLINE_VERSION "\n", (int)strcspn(state->name, " "), state->name);
		exit(EXIT_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	const struct argp_child verb[] = {{argp, 0, NULL, 0}, {0}};
	const struct argp all = {help_options, parse_help, NULL, NULL, verb, NULL, NULL};
	const cookie_io_functions_t functions = {.write = usage_write};
	FILE *file = stderr, *shown = fopencookie(file, "w", functions);
	int err;

	/* Without memory for that, as argp has it. Where argp exits, it is flushed. */
	if (shown)
		stderr = shown;
	argp_err_exit_status = EXIT_USAGE;
	err = argp_parse(&all, argc, argv, flags | ARGP_NO_HELP, NULL, input);
	stderr = file;
	if (shown)
		fclose(shown);
	return err;
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list arguments;
	char text[USAGE_TEXT], shown[USAGE_TEXT];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	argp_error(state, "%s", printable(text, shown, sizeof(shown)));
}
