/* SPDX-License-Identifier: GPL-2.0 */
/* The file or block device that a verb maps instead of memory of its own, and that is written thereby. */
#ifndef FAULTLINE_REAL_MEMORY_FILE_H
#define FAULTLINE_REAL_MEMORY_FILE_H

#include "injectors/real/verb.h"

/* Ahead of anything else: -EPERM for a block device that its user has not consented to by its name, to
 * which links are resolved. A dry run prints which it would need. */
int memory_file_consent(const struct verb_options *options, const char *path);

/*
 * A descriptor for all who map it, as a block device lets itself be opened once; at least `bytes` are
 * there. `grow`: a regular file gets what it lacks. Errors have a sentence that begins with `option`.
 */
int memory_file_open(const struct verb_options *options, const char *option, const char *path,
		     __u64 bytes, bool grow);

#endif
