/* SPDX-License-Identifier: GPL-2.0 */
/* The medium of an emulated disk: a file or block device that is given, or an unlinked file. */
#ifndef FAULTLINE_BLOCK_FILE_H
#define FAULTLINE_BLOCK_FILE_H

#include "injectors/emu/devices/block.h"

struct block_file {
	int descriptor;
	__u64 bytes; /* whole sectors */
	bool zeroed; /* it is new: every sector reads as zero */
};

/*
 * A given file is never created, grown or shrunk, and opened for writing only if the settings say so; a
 * block device then with O_EXCL, and -EPERM without consent. An unlinked one is in `directory`; NULL or "": $TMPDIR or /var/tmp. Errors come with a sentence.
 */
int block_file_open(struct block_file *file, const struct block_settings *settings,
		    const char *directory);
void block_file_close(struct block_file *file);

#endif
