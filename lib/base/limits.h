/* SPDX-License-Identifier: GPL-2.0 */
/* Limits of this process (RLIMIT_*): raised to what is needed where that is allowed, else a sentence. */
#ifndef FAULTLINE_LIMITS_H
#define FAULTLINE_LIMITS_H

/*
 * Raises the soft limit of open files to the hard one, and both to `count` where that is more. `what`
 * begins the sentence if the kernel does not let us: -EMFILE.
 */
int limits_need_files(const char *what, unsigned long count);

/* Of the main thread's stack: what is too small ends with a SIGSEGV somewhere. -ENOMEM, likewise. */
int limits_need_stack(void);

/* The kernel kills at the hard limit of CPU time: the soft one is a second less, and can be answered. */
void limits_warn_of_cpu(void);

/* As all limits were before: for a child, ahead of its exec. */
void limits_restore(void);

#endif
