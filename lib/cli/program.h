/* SPDX-License-Identifier: GPL-2.0 */
/* A program of verbs: its own options, its list of verbs, and the way to one of them. */
#ifndef FAULTLINE_PROGRAM_H
#define FAULTLINE_PROGRAM_H

#include <stddef.h>

struct verb {
	const char *name, *does;
	/* argv[0] is "PROGRAM VERB". Has printed its error's sentence; an enum exit_code (lib/base/fail.h). */
	int (*run)(int argc, char **argv);
};

struct program {
	const char *name, *does;
	const char *examples; /* lines */
	const struct verb *verbs;
	size_t verb_count;
};

/* `PROGRAM help VERB` is `PROGRAM VERB --help`, unless the program has a verb of that name. */
int program_run(const struct program *program, int argc, char **argv);

#endif
