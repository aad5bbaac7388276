/* SPDX-License-Identifier: GPL-2.0 */
/* The binaries that emulated machines run: what the USDT probes are attached to. */
#ifndef FAULTLINE_EMULATOR_H
#define FAULTLINE_EMULATOR_H

#include <stddef.h>

#define EMULATOR_NAME "faultline-inject"

/* Whether it is a file that can be read; what it holds is another matter. */
int emulator_check(const char *path);

/*
 * The emulator's path: `asked` if given, else faultline-inject beside this program, else in $PATH.
 * -ENOENT with a sentence if there is none.
 */
int emulator_find(const char *asked, char *path, size_t bytes);

#endif
