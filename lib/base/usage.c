// SPDX-License-Identifier: GPL-2.0
#include "lib/base/usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/printable.h"

/* What getopt() writes about words that it knows no option for: lines of it stay lines. */
static ssize_t write_printable(void *cookie, const char *bytes, size_t size)
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

int usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	const cookie_io_functions_t functions = {.write = write_printable};
	FILE *file = stderr, *shown = fopencookie(file, "w", functions);
	int err;

	/* Without memory for that, as argp has it. Where argp exits, it is flushed. */
	if (shown)
		stderr = shown;
	err = argp_parse(argp, argc, argv, flags, NULL, input);
	stderr = file;
	if (shown)
		fclose(shown);
	return err;
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list arguments;
	char text[1024];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	argp_error(state, "%s", printable_of(text).text);
}
