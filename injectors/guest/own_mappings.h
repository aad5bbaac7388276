/* SPDX-License-Identifier: GPL-2.0 */
/* What this process has mapped where, by the kernel's word: a program maps and unmaps without telling anybody. */
#ifndef FAULTLINE_GUEST_OWN_MAPPINGS_H
#define FAULTLINE_GUEST_OWN_MAPPINGS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct own_mapping {
	__u64 start, end, offset, inode; /* inode 0: of no file */
	__u32 major, minor;
	bool readable, writable, shared;
};

struct own_mappings {
	FILE *text;
	bool queried; /* one at a time, whatever number there is; else read from the first on */
	struct own_mapping last; /* that was read */
};

/* A negative errno, with a sentence. */
int own_mappings_open(struct own_mappings *mappings);
/* As on a kernel that cannot be asked for one (before 6.11). */
int own_mappings_open_text(struct own_mappings *mappings);
void own_mappings_close(struct own_mappings *mappings);
/* The first that ends behind `here`; false: there is none. Fastest if `here` ascends. */
bool own_mapping_from(struct own_mappings *mappings, __u64 here, struct own_mapping *mapping);

#endif
