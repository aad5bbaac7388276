/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other pages under a program's addresses, while it runs.
 *
 * The old pages are protected by a userfaultfd: whoever writes to them waits in the kernel, in system calls, too. Their content is
 * copied, the new pages are moved over them, and who waited goes on with these. That takes no signal and stops nobody who
 * does not write. A thread of its own does it, on a stack that is nobody's: the caller's may be among the pages.
 */
#ifndef FAULTLINE_GUEST_SWAP_H
#define FAULTLINE_GUEST_SWAP_H

#include <linux/types.h>
#include <stdbool.h>

/* A row of pages. */
struct swap_piece {
	unsigned char *here;
	unsigned char *made; /* pages that take their place; unmapped there afterwards */
	const unsigned char
		*from; /* where the content is read once they are protected; NULL: `here` */
	__u64 bytes;
};

/* Lives on pages of its own, with its pieces: none of it is written while others are protected. */
struct swap {
	int faults;  /* userfaultfd of this process */
	__u64 modes; /* UFFDIO_REGISTER_MODE_* of the old pages */
	/* Between protection and copy; its error undoes the protection. NULL. */
	int (*between)(void *argument);
	void *argument;
	__u64 bytes;	   /* of this */
	__u32 count, done; /* pieces, and of them those that were swapped, from the first on */
	bool asked;	   /* `between` was, and had no error */
	struct swap_piece piece[];
};

/* NULL. */
struct swap *swap_new(__u32 pieces);
void swap_free(struct swap *swap);
/* 0, or what failed first, with a sentence: pieces from `done` on are as they were. */
int swap_run(struct swap *swap);

#endif
