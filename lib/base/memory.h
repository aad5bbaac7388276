/* SPDX-License-Identifier: GPL-2.0 */
/* How much memory a process may take. */
#ifndef FAULTLINE_MEMORY_H
#define FAULTLINE_MEMORY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define MEMORY_LIMIT_LEAST (16ull << 20)

/*
 * What grows with what is read: tables, histograms, sets of pages, dictionaries. All of it is counted and
 * held to one limit of the process, since a recording's numbers are claims: a few hundred bytes may name a
 * million pages. As calloc(), realloc() and free(), from any thread; what is allocated here is freed
 * here. NULL where memory or the limit is reached, and then memory_ran_out() is true for good:
 * whoever reads stops, and counts are floors (docs/limits.md).
 */
void *memory_calloc(size_t count, size_t size) __attribute__((malloc));
void *memory_realloc(void *memory, size_t size);
void memory_free(void *memory);

/* The limit in bytes: of what is allocated above, not of the rest of the process. Until it is set, none. */
void memory_limit(__u64 bytes);
__u64 memory_limit_now(void);
/* Half of the memory of this machine. */
__u64 memory_limit_default(void);
__u64 memory_used(void);
bool memory_ran_out(void);
/* "--max-memory 64M was reached", or that the system gave none; "" if nothing was refused. */
#define MEMORY_TEXT 96
const char *memory_ran_out_text(char text[MEMORY_TEXT]);

/*
 * From now on any allocation beyond so much more than there is now, or beyond what is available to all,
 * fails with ENOMEM, instead of having the kernel kill whom it likes when pages are touched. A lower limit
 * (ulimit -d) stays.
 */
void memory_keep_to(__u64 bytes);

#endif
