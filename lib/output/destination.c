// SPDX-License-Identifier: GPL-2.0
#include "lib/output/destination.h"

#include <errno.h>

#include "lib/base/fail.h"

int destination_choose(struct destination *destination, enum output_format format, const char *path,
		       const char *next)
{
	const char *name = format == OUTPUT_JSON ? "json" : "csv";

	if (destination->format != OUTPUT_TEXT && destination->format != format)
		return failed(-EINVAL, "--csv and --json exclude each other");
	if (path && !*path)
		return failed(-EINVAL, "--%s=: no path behind '='; accepted: --%s=PATH, or --%s",
			      name, name, name);
	destination->format = format;
	destination->path = path;
	destination->next = path ? NULL : next;
	return 0;
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
