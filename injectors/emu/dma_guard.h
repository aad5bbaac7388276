/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Touching memory that may not be there: a SIGBUS becomes a return value.
 *
 * The instructions that may fault are listed in a table, as the kernel does for its copies from and
 * to user space; a SIGBUS handler for the process lets a thread that faulted in one of them go on
 * behind it. Nothing is saved per call, and any number of threads may be in at once. A SIGBUS from
 * anywhere else goes to whoever had it before.
 */
#ifndef FAULTLINE_DMA_GUARD_H
#define FAULTLINE_DMA_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Installs the handler unless it is; again if another took its place (cmocka does, for each test). */
int dma_guard_install(void);
/* 0, or -EFAULT: a part may have been copied. */
int dma_guard_copy(void *to, const void *from, size_t bytes);
/* Reads a byte, or writes it back unchanged (atomically): 0 or -EFAULT. */
int dma_guard_touch(void *address, bool write);

#endif
