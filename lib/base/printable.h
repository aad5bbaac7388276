/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names come from strangers: of devices, processes, hosts and files, of sections and values of a job. What
 * people read shows them so that they neither steer a terminal nor pass for other text: printable ASCII as
 * it is, a line's end and a tab as \n, \r and \t, any other character of UTF-8 as \u202e or \U0001f600, any
 * other byte as \x1b.
 */
#ifndef FAULTLINE_PRINTABLE_H
#define FAULTLINE_PRINTABLE_H

#include <stddef.h>

#include <linux/types.h>

#define PRINTABLE_MOST 4 /* bytes that one byte becomes at most */

/* In `out`, which it returns: as much of it as `size` has room for, and no part of an escape. */
const char *printable(const char *text, char *out, size_t size);
/* Likewise, for the arguments of one printf(): printable_of(name).text. */
struct printable {
	char text[1024];
};
struct printable printable_of(const char *text);
/* All of it, to be freed; NULL without memory. */
char *printable_copy(const char *text);

/* Bytes of the character of UTF-8 that `text` begins with, 0 if it begins with none or is at its end. */
size_t utf8_character(const char *text, __u32 *character);

#endif
