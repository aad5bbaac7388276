/* SPDX-License-Identifier: GPL-2.0 */
/*
 * With what arguments the bench runs the programs of the probes: those of a usual call. A program
 * that is not listed gets MEMORY for each, which many take for something they do not watch.
 */
#ifndef FAULTLINE_PROGRAM_ARGUMENTS_H
#define FAULTLINE_PROGRAM_ARGUMENTS_H

#include <linux/types.h>

#define ARGUMENTS 12

/* Kernel memory that is all zeroes: an object that has only just been made. */
#define MEMORY (~0ull - 1)
/* An address that is another page each time, PAGES_VISITED of them in turn. */
#define ADDRESS (~0ull - 2)

#define PAGES_VISITED 4096

struct program_arguments {
	const char *program;
	__u64 at[ARGUMENTS];
};

extern const struct program_arguments program_arguments[];
extern const __u64 program_arguments_default[ARGUMENTS];

#endif
