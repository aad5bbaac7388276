/* SPDX-License-Identifier: GPL-2.0 */
/* What a kernel lets BPF programs do with its functions: only trying tells. */
#ifndef FAULTLINE_FUNCTIONS_H
#define FAULTLINE_FUNCTIONS_H

#include <stdbool.h>

#include <linux/types.h>

/*
 * Loads a program that does nothing onto the function of this type number (`types`: descriptor of
 * the module's type information, 0: the kernel's); `attach`: also puts it there for a moment.
 * Returns 0 or why not, a negative errno.
 */
int function_try(__u32 type, int types, bool attach);

#endif
