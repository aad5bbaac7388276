/* SPDX-License-Identifier: GPL-2.0 */
/* What the events of NICs say (bpf/event_kinds.def), taken apart. */
#ifndef FAULTLINE_FRAMES_H
#define FAULTLINE_FRAMES_H

#include <stdbool.h>
#include <string.h>

#include "lib/base/stream.h"

static inline __u64 frames_count(const struct event *e)
{
	return e->length >> 32;
}

static inline __u64 frames_bytes(const struct event *e)
{
	return (__u32)e->length;
}

/* When the first frame of a run was lost or held. */
static inline __u64 frames_since(const struct event *e)
{
	return e->value && e->value < e->time_ns ? e->value : e->time_ns;
}

static inline enum loss_reason frames_reason(const struct event *e)
{
	return e->code < LOSS_REASONS ? (enum loss_reason)e->code : LOSS_UNKNOWN;
}

/* All of it had been delivered before: nobody waits for it. */
static inline bool frames_needless(const struct event *e)
{
	return e->flags & EVENT_PRIV;
}

/* Of LOSS_FAULT: a group that got no instance names no fault. */
static inline bool frames_name_fault(const struct event *e)
{
	return e->code == LOSS_FAULT && e->instance;
}

/* Its sequence numbers: `length` of them from `first` on. False if it has none, or no sender would have so many. */
static inline bool frames_range(const struct event *e, __u32 *first, __u32 *length)
{
	*first = (__u32)(e->address >> 32);
	*length = (__u32)e->address - *first;
	return *length && *length < 1u << 31;
}

/* "nic", or "nic/" and its policy. */
static inline bool frames_device(const struct device_info *device)
{
	return device && !strncmp(device->model, "nic", 3) &&
	       (!device->model[3] || device->model[3] == '/');
}

/* What the device does with frames for buffers that are absent: "drop"; "" if it does not tell. */
static inline const char *frames_policy(const struct device_info *device)
{
	return frames_device(device) && device->model[3] ? device->model + 4 : "";
}

/* "fault", "no_buffer", ... */
const char *frames_reason_name(enum loss_reason reason);

/* Columns of a table: frames lost by reason, of an array of LOSS_REASONS. */
#define FRAMES_LOST_COLUMNS(COLUMN, lost)                                       \
	COLUMN(lost_fault, none, COUNT, 10, WIDE, lost[LOSS_FAULT])             \
	COLUMN(lost_no_buffer, none, COUNT, 14, WIDE, lost[LOSS_NO_BUFFER])     \
	COLUMN(lost_cache_full, none, COUNT, 15, WIDE, lost[LOSS_CACHE_FULL])   \
	COLUMN(lost_backup_full, none, COUNT, 16, WIDE, lost[LOSS_BACKUP_FULL]) \
	COLUMN(lost_before_nic, none, COUNT, 15, WIDE, lost[LOSS_BEFORE_NIC])   \
	COLUMN(lost_wire, none, COUNT, 9, WIDE, lost[LOSS_WIRE])                \
	COLUMN(lost_overlong, none, COUNT, 13, WIDE, lost[LOSS_OVERLONG])       \
	COLUMN(lost_unknown, none, COUNT, 12, WIDE, lost[LOSS_UNKNOWN])

#endif
