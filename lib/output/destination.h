/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What --csv[=PATH] and --json[=PATH] ask for, in every verb of both programs (docs/output.md). The path
 * belongs to its option: the next word of the command line is never taken.
 */
#ifndef FAULTLINE_DESTINATION_H
#define FAULTLINE_DESTINATION_H

#include "lib/output/table.h"

struct destination {
	enum output_format format;
	const char *path; /* NULL or "-": standard output */
	const char *next; /* the word behind an option that names no path */
};

/* The path that an option like --output names: -EINVAL if it is empty, or "-" where standard output is not meant. */
int destination_check(const char *text, bool standard_output);

/*
 * Takes one of the two options with the path behind its '=', or NULL. `next`: the following word of the
 * command line, NULL if there is none. -EINVAL if the other option was given, too.
 */
int destination_choose(struct destination *destination, enum output_format format, const char *path,
		       const char *next);

/*
 * The end of a sentence that refuses `word`: how to name a path, if the word stands where one used to be
 * meant; else "". NULL: of the last destination that was chosen.
 */
const char *destination_hint(const struct destination *destination, const char *word);

#endif
