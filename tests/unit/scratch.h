/* SPDX-License-Identifier: GPL-2.0 */
/* A directory for the files of a test program: cmocka's setup and teardown of a group or a test. */
#ifndef FAULTLINE_TEST_SCRATCH_H
#define FAULTLINE_TEST_SCRATCH_H

/* Its path, from scratch_make() on. */
extern char scratch[];

int scratch_make(void **state);
/* With all that is in it. */
int scratch_remove(void **state);

/* Likewise a run directory (lib/base/run_directory.h) of the test's own; its removal fails if anything is left in it. */
extern char run_scratch[];

int run_scratch_make(void **state);
int run_scratch_remove(void **state);

#endif
