/* SPDX-License-Identifier: GPL-2.0 */
/* How much memory a process may take. */
#ifndef FAULTLINE_MEMORY_H
#define FAULTLINE_MEMORY_H

/*
 * From now on an allocation beyond the memory that is available to all fails with ENOMEM, instead of
 * having the kernel kill whom it likes when pages are touched. A lower limit (ulimit -d) stays. Does
 * nothing where /proc does not tell.
 */
void memory_keep_to_available(void);

#endif
