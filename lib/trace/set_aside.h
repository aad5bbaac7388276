/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside lib/trace: what a flight recorder that died has left, out of the way of the next one.
 *
 * "always.flt" becomes "always.crashed-001.flt", a flight recorder's file like any other, beside its
 * segments. Segments of a recorder that died before it had recorded anything are deleted.
 */
#ifndef FAULTLINE_TRACE_SET_ASIDE_H
#define FAULTLINE_TRACE_SET_ASIDE_H

#include <stdbool.h>

#include "lib/base/numbered_files.h"
#include "lib/trace/trace.h"

/* Whether this is the file of a flight recorder that ended without its end; `ended`: or of one that came to it. */
bool trace_is_abandoned(const char *path, bool ended);
/* Sets all segments but those of `recording` aside. *set_aside: the number of the last ring, 0 if nothing was. */
int trace_set_aside(const char *path, __u32 recording, __u32 *set_aside);

/*
 * The disk is full: deletes the oldest segment of those set aside, or else of those of `path` that are not of
 * `recording`, whose recorder must be known to be dead. False: there is none. *deleted counts those that held
 * anything.
 */
bool trace_set_aside_give_up(const char *path, __u32 recording, __u64 *deleted);
/* Whether a start finds room at all once all of that is gone: if not it is deleted in vain. */
bool trace_set_aside_has_room(const char *path, __u32 recording);

int trace_set_aside_list(const char *path, struct numbers *numbers);
/* Deletes the file of a ring whose segments are gone; of anything else nothing. */
void trace_set_aside_forget(const char *path);

#endif
