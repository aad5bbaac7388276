/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Single verbs of devices with a mode, put together from their events: the answer, its stages, and the wake of the caller, which is told by
 * his next verb. A verb is handed over once it has all, or gives its place to another: so many of a device are kept.
 */
#ifndef FAULTLINE_VERB_CALLS_H
#define FAULTLINE_VERB_CALLS_H

#include "bpf/event.h"
#include "lib/output/table.h"

#define VERB_CALLS_OPEN 256

struct verb_call {
	__u64 start_ns;		     /* called */
	__u64 took_ns;		     /* until it was answered; 0: that was not seen */
	__u64 stage_ns[VERB_STAGES]; /* 0: not had, or not seen */
	__u64 bytes;
	__u32 device, token, key, runs;
	__u16 error;
	__u8 kind;
	__u8 seen;
};

struct verb_sink {
	void (*ended)(void *self, const struct verb_call *call); /* borrowed */
	void *self;
};

struct analysis;
struct verb_calls;
struct session;
/* Before the stream. One at most: -EBUSY. */
int verb_calls_follow(struct verb_calls *calls, struct verb_sink sink);
/* A row of table "verb_calls"; the first begins it, analysis_write() ends it. */
void verb_calls_add(const struct analysis *analysis, struct writer *writer,
		    const struct verb_call *call);

#endif
