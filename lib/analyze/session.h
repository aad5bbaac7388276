/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was recorded, and how: host, clock, probe table, device dictionary, loss, events by kind.
 * The other analyzers' tables take device names from here, and so does the negative answer.
 */
#ifndef FAULTLINE_SESSION_H
#define FAULTLINE_SESSION_H

#include "lib/analyze/analyzer.h"
#include "lib/analyze/fault_probes.h"
#include "lib/analyze/period.h"
#include "lib/analyze/slots.h"
#include "lib/base/device_name.h"
#include "lib/base/flow.h"
#include "lib/base/kinds.h"
#include "lib/base/wall_clock.h"

struct session;

int session_create(struct session **session);
struct stream session_stream(struct session *session);
/*
 * Told ahead of the stream, every device is called as it will be at its end. For who writes names while
 * he reads: until a second device of a name is met, the first bears it alone.
 */
struct stream session_dictionary(struct session *session);
void session_destroy(struct session *session);

/* NULL before the stream has told. */
const struct host_info *session_host(const struct session *session);
/* Every anchor told so far; valid as long as the session is. */
const struct wall_clock *session_clock(const struct session *session);
const struct loss_info *session_loss(const struct session *session);
/* Its recorder was killed within its first second: what was counted was never written. */
bool session_is_unaccounted(const struct session *session);
/* What a flight recorder let go; from_ns 0: the recording holds all of its capture. */
const struct kept_info *session_kept(const struct session *session);

/* NULL if the dictionary does not have it. */
const struct device_info *session_device(const struct session *session, __u32 handle);
/* Whether its process may have begun while it was recorded: a start is known to a clock tick, downwards. Then what
 * the device counts began with nothing. */
bool session_began_within(const struct session *session, const struct device_info *info);
/*
 * The next device behind this handle that was told, or that events or counts name; SESSION_DEVICES behind the
 * last. Begun with 0 (DEVICE_NONE), it takes steps by how many there are, not by how high they are numbered.
 */
#define SESSION_DEVICES SLOTS_MAX
__u32 session_device_next(const struct session *session, __u32 handle);
size_t session_device_count(const struct session *session);
/*
 * What every table and sentence calls it: its name, followed by what tells it from others of this name
 * (device_name.h). Never NULL: "-" for DEVICE_NONE, "device N" if the dictionary does not have it.
 */
const char *session_device_name(const struct session *session, __u32 handle,
				char text[DEVICE_NAME_TEXT]);
/* Whether a pattern that a user gave means this device. */
bool session_device_fits(const struct session *session, __u32 handle, const char *pattern);

/* Frames of a stack in one line, innermost first; "" for one that was not told. */
const char *session_stack(const struct session *session, __u32 id);
/* The newest name of a process, "" if it was not told; "idle" for 0. */
void session_process(const struct session *session, __u32 pid, char comm[16]);

/* NULL: it was not told. */
const struct flow_info *session_flow(const struct session *session, __u32 id);
/* Its text (lib/base/flow.h); "flow N" if it was not told, "-" for 0. */
const char *session_flow_text(const struct session *session, __u32 id, char text[FLOW_TEXT]);

size_t session_probe_count(const struct session *session);
const struct probe_info *session_probe(const struct session *session, size_t index);
/* When it came, if it was off before: with its module, its hardware or its emulator. Else 0. */
__u64 session_probe_since(const struct session *session, size_t index);
/* Its row of the probe table; NULL: there is none, as in recordings of another version. */
struct probe_row;
const struct probe_row *session_probe_row(const struct session *session, size_t index);
/* The first probe of that row (enum probe_id); NULL: none was told. */
const struct probe_info *session_probe_of(const struct session *session, unsigned int id);
/* Counts how often a probe was new, or its state, hits or missed runs others than before. */
__u64 session_probe_changes(const struct session *session);
/* On, and not hit by what must have passed it: as lib/analyze/silent.h judges. */
bool session_probe_is_silent(const struct session *session, size_t index);
void session_set_silent(struct session *session, size_t index, bool silent);

__u64 session_events(const struct session *session);
__u64 session_events_of(const struct session *session, unsigned int kind);
/* What was asked for, where that is not all of the stream. */
const struct period *session_period(const struct session *session);
/* First and newest time covered: capture's start or first event, of a flight recorder the start of
 * what it kept, and the newest time seen or the end; within the period if one was set. 0 if nothing
 * came. */
__u64 session_first_ns(const struct session *session);
__u64 session_last_ns(const struct session *session);
/* "2026-11-21 14:02:00.123 UTC", or the time since boot where no wall-clock is known. */
#define SESSION_WHEN_TEXT 40
const char *session_when(const struct session *session, __u64 ns, char text[SESSION_WHEN_TEXT]);
/* The same in ISO 8601 with nanoseconds; false if no wall-clock is known. */
bool session_wall_time(const struct session *session, __u64 ns, char text[SESSION_WHEN_TEXT]);
/* Remembered by unknown.h until a probe's state changes. */
struct session_unknown {
	bool judged[FAULT_PATHS];
	unsigned int numbers[FAULT_PATHS];
};
struct session_unknown *session_unknown(const struct session *session);
/* Windows received that had run out of counters. */
__u64 session_windows_incomplete(const struct session *session);
/* Devices, probes, stacks, processes and flows told that its dictionaries had no room for. */
__u64 session_dropped(const struct session *session);

/* Where reading stopped for want of memory, in a sentence; "" where it did not. */
#define STOPPED_TEXT 320
const char *session_stopped_text(const struct session *session, char text[STOPPED_TEXT]);
/* What was let go, in a sentence; "" where all is there. */
#define KEPT_TEXT 256
const char *session_kept_text(const struct session *session, char text[KEPT_TEXT]);
/* How long it was watched before what was kept begins. */
__u64 session_let_go_ns(const struct session *session);
/* Both as notes. */
void session_write_kept(const struct session *session, struct writer *writer);
/* What tells devices of one name apart, as a note; nothing if no name is that of several. */
void session_write_shared_names(const struct session *session, struct writer *writer);
/* "Loss and the counters of probes are as of ...": of a recording without its end; "" of others. */
#define AS_OF_TEXT 192
const char *session_as_of_text(const struct session *session, char text[AS_OF_TEXT]);

#endif
