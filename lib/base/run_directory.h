/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The directory through which observers find emulated machines, trusted because only root can have
 * put anything there.
 */
#ifndef FAULTLINE_RUN_DIRECTORY_H
#define FAULTLINE_RUN_DIRECTORY_H

#include <stdbool.h>

#define RUN_DIRECTORY	    "/run/faultline"
#define RUN_DIRECTORY_VAR   "FAULTLINE_RUN_DIR" /* another one, for private runs and tests */
#define RUN_MACHINE_SUFFIX  ".machine"
#define RUN_OBSERVER_SUFFIX ".observer" /* lib/capture/observer.h */
#define RUN_SOCKET_INFIX    ".vm-" /* "PID.vm-...": a socket for virtual machines of that machine's */

/* RUN_DIRECTORY, or what the environment names instead. */
const char *run_directory(void);

/* -EBADMSG, like an input that is wrong, with a sentence if that is no absolute path. */
int run_directory_check(void);

/*
 * Opens it (O_CLOEXEC), after making it if it is missing and `create` is set. -EPERM with a
 * sentence unless it is a directory, no link, of root with mode 0700; -ENOENT if it is missing.
 */
int run_directory_open(bool create);

/* Whether whatever has its name is not to be trusted, with the sentence; a missing one is none. */
bool run_directory_is_foreign(void);
/* Whether it is missing and nobody can make it, as what it would be in is missing, too; with the sentence. */
bool run_directory_is_homeless(void);
/* Whether that is so, or it was named by the environment and cannot be had, with the sentence. */
bool run_directory_is_missed(void);

#endif
