/* SPDX-License-Identifier: GPL-2.0 */
/* Formats of `faultline export` whose target is a file: where each part of the recordings has its own. */
#ifndef FAULTLINE_TOOLS_EXPORT_FILE_H
#define FAULTLINE_TOOLS_EXPORT_FILE_H

#include <limits.h>
#include <stdio.h>

#include "tools/export.h"

struct export_file {
	char path[PATH_MAX];
	FILE *file;
	bool overwrite;
};

/*
 * A file that has no name yet, for one part: the target itself where that is the only one, else RUN.HOST.ID.ext for
 * a target RUN.ext, with ID as export_part_id() is. A negative errno with a sentence for what is in the way, unless
 * that may be replaced, and for what is read.
 */
int export_file_create(struct export_file *out, const struct export_job *job,
		       const struct export_part *part);
/* Its name, once it is whole and on the disk. Closes it in any case. */
int export_file_name(struct export_file *out);
/* Instead: nothing is left of it. Nothing happens if it was closed before. */
void export_file_discard(struct export_file *out);

#endif
