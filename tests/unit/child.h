/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that a test starts. */
#ifndef FAULTLINE_TEST_CHILD_H
#define FAULTLINE_TEST_CHILD_H

#include <sys/types.h>

/*
 * fork(); a test that is killed takes the child along, which may be one that goes on until it is killed. An
 * assertion that fails in the child ends it by SIGABRT.
 */
pid_t child_fork(void);

#endif
