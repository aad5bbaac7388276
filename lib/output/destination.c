// SPDX-License-Identifier: GPL-2.0
#include "lib/output/destination.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"

int destination_name(const char **path, const char *option, const char *text, bool standard_output)
{
	if (!*text || (!standard_output && !strcmp(text, "-")))
		return failed(-EINVAL, "%s '%s': accepted: a path%s", option, text,
			      standard_output ? ", or - for standard output" : "");
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
	return path ? destination_name(&destination->path, option, path, true) : 0;
}

const char *destination_hint(const struct destination *destination, const char *word)
{
	static char hint[256];

	if (!word || word != destination->next)
		return "";
	snprintf(hint, sizeof(hint), "; a path for the tables follows '=': --%s=%s",
		 destination->format == OUTPUT_JSON ? "json" : "csv", word);
	return hint;
}
