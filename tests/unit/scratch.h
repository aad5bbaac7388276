/* SPDX-License-Identifier: GPL-2.0 */
/* A directory for the files of a test program: cmocka's setup and teardown of a group or a test. */
#ifndef FAULTLINE_TEST_SCRATCH_H
#define FAULTLINE_TEST_SCRATCH_H

/* Its path, from scratch_make() on. */
extern char scratch[];

int scratch_make(void **state);
/* With all that is in it. */
int scratch_remove(void **state);

#endif
