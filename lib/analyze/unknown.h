/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a recording cannot tell because a probe was off, left out, refused or silent, or its kind of event
 * not asked for, while others of its path were on. A number that such a probe would have told is unknown,
 * not 0. What is not known without a probe is said in its row.
 */
#ifndef FAULTLINE_UNKNOWN_H
#define FAULTLINE_UNKNOWN_H

#include "lib/analyze/session.h"
#include "lib/capture/probes.h"

/* Numbers of a device that are not known without some probe. */
enum unknown_number {
	UNKNOWN_BLOCKED = 1 << 0, /* from its faults' beginning to their end */
	UNKNOWN_OVERFLOWED = 1 << 1,
	UNKNOWN_DISCARDED = 1 << 2,
	UNKNOWN_ABANDONED = 1 << 3,
	UNKNOWN_FAULTS = 1 << 4, /* how many, and whether any */
	UNKNOWN_STATES = 1 << 5, /* which are complete, open, unfinished or inconsistent */
	UNKNOWN_IO = 1 << 6,	 /* I/Os, and the footprint that they make */
};

/* Whether its events were not recorded one by one, though some may have come. */
bool unknown_probe(const struct session *session, enum probe_id probe);
/* Whether it was not asked for, or that is so of a probe that gives it: counts of it lack some. */
bool unknown_kind(const struct session *session, __u16 kind);
/* Likewise of this device's: not for want of a probe that counts other devices', or tells whose it is. */
bool unknown_count(const struct session *session, __u16 kind, __u32 device);
/* Whether groups of emulated devices were not told apart, so that numbers may be too high or too low. */
bool unknown_groups(const struct session *session);
/* Bit per enum unknown_number. */
unsigned int unknown_numbers(const struct session *session, __u32 device);
/* Of any device. */
unsigned int unknown_of_all(const struct session *session);
/* Whether faults that nobody left out were not all told: a probe that tells each is silent, or could not be on. */
bool unknown_unwatched(const struct session *session);
/* "complete", ...; "unknown" where what would contradict that was not recorded. */
const char *unknown_state_name(unsigned int numbers, unsigned int state);
/* "fault_void: which faults ...; invalidate_ack: ...", "" if nothing is. The caller frees it; NULL
 * without memory. */
char *unknown_text(const struct session *session);
#define UNKNOWN_TEXT 256
/* "Unknown from the kinds of events asked for: overflowed, discarded."; "" if all is known, or was asked for. */
const char *unknown_kinds(const struct session *session, char text[UNKNOWN_TEXT]);
/* Of session_probe(index): "Probe fault_void is off: ....", "" if nothing is missing without it. */
const char *unknown_sentence(const struct session *session, size_t index, char text[UNKNOWN_TEXT]);
/* Those of all probes, and of those alone that tell of faults. */
void unknown_write(const struct session *session, struct writer *writer);
void unknown_write_of_faults(const struct session *session, struct writer *writer);

#endif
