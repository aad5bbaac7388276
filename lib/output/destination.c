// SPDX-License-Identifier: GPL-2.0
#include "lib/output/destination.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"

/* Of the one command line: the last that was chosen without a path. */
static struct destination destination_pathless;

int destination_check(const char *text, bool standard_output)
{
	if (*text && (standard_output || strcmp(text, "-") != 0))
		return 0;
	return failed(-EINVAL, "invalid path '%s'; accepted: a path%s", text,
		      standard_output ? ", or - for standard output" : "");
}

/* destination_check() behind the option's name, and in `path`. */
static int destination_name(const char **path, const char *option, const char *text,
			    bool standard_output)
{
	int err = destination_check(text, standard_output);

	if (err)
		return failed_in(err, "%s", option);
	*path = text;
	return 0;
}

int destination_choose(struct destination *destination, enum output_format format, const char *path,
		       const char *next)
{
	const char *option = format == OUTPUT_JSON ? "--json" : "--csv";

	if (destination->format != OUTPUT_TEXT && destination->format != format)
		return failed(-EINVAL, "--csv and --json exclude each other");
	destination->format = format;
	destination->path = NULL;
	destination->next = path ? NULL : next;
	destination_pathless = *destination;
	return path ? destination_name(&destination->path, option, path, true) : 0;
}

const char *destination_hint(const struct destination *destination, const char *word)
{
	static char hint[256];

	destination = destination ? destination : &destination_pathless;
	if (!word || word != destination->next)
		return "";
	snprintf(hint, sizeof(hint), "; a path for the tables follows '=': --%s=%s",
		 destination->format == OUTPUT_JSON ? "json" : "csv", word);
	return hint;
}
