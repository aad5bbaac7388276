/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a recording cannot tell because a probe was off while others of its path were on. A number that
 * such a probe would have told is unknown, not 0. What is not known is said in the probe's row.
 */
#ifndef FAULTLINE_UNKNOWN_H
#define FAULTLINE_UNKNOWN_H

#include "lib/analyze/session.h"
#include "lib/capture/probes.h"

bool unknown_probe(const struct session *session, enum probe_id probe);
/* Likewise, and the device is an emulated one, whose numbers come from this probe. */
bool unknown_without(const struct session *session, __u32 device, enum probe_id probe);
/* How long its queues stood still: from its faults' beginning to their end. */
bool unknown_blocked(const struct session *session, __u32 device);
/* "fault_void: which faults ...; invalidate_ack: ...", "" if nothing is. The caller frees it; NULL
 * without memory. */
char *unknown_text(const struct session *session);
/* A sentence for each probe. */
int unknown_write(const struct session *session, struct writer *writer);

#endif
