/* SPDX-License-Identifier: GPL-2.0 */
/* A program's static memory, made such that it can be registered. */
#ifndef FAULTLINE_GUEST_STATIC_MEMORY_H
#define FAULTLINE_GUEST_STATIC_MEMORY_H

/*
 * The program's own initialized memory is a private mapping of its file, whose writers nobody can make wait. While there is one thread yet, and
 * so no other writer, memory of no file with the same bytes takes its place. 0, or a negative errno with a sentence.
 */
int static_memory_begin(void);

#endif
