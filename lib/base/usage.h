/* SPDX-License-Identifier: GPL-2.0 */
/*
 * argp's words about a command line that it does not understand, made printable: a shell's pattern puts
 * names of strangers' files there.
 */
#ifndef FAULTLINE_USAGE_H
#define FAULTLINE_USAGE_H

#include <argp.h>

/*
 * argp_parse() with -h, --usage and -V, without the index of what is left. Errors of the command line end the
 * program with EXIT_USAGE.
 */
int usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);
/* argp_error(): one line, whatever the values hold. */
void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
