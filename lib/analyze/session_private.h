/* SPDX-License-Identifier: GPL-2.0 */
/* Inside session.c and session_probes.c. */
#ifndef FAULTLINE_SESSION_PRIVATE_H
#define FAULTLINE_SESSION_PRIVATE_H

#include "lib/analyze/device_names.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slots.h"
#include "lib/capture/probes.h"

struct named_stack {
	__u32 id;
	char *text; /* frames in one line, innermost first */
	UT_hash_handle hh;
};

struct named_process {
	__u32 pid;
	char comm[16];
	UT_hash_handle hh;
};

struct named_flow {
	struct flow_info info;
	UT_hash_handle hh;
};

struct session_probe {
	struct probe_info info;
	__u64 since_ns;		     /* it was off before; 0: it was not */
	const struct probe_row *row; /* NULL: of another version */
	bool silent;
};

struct session {
	struct named_stack *stacks;
	struct named_process *processes;
	struct named_flow *flows;
	struct host_info host;
	struct wall_clock clock;
	struct loss_info loss;
	struct kept_info kept;
	struct slots devices; /* struct device_info; handle 0 while unknown */
	struct device_name *names;
	size_t device_count;
	/* A bit for each device that was told, or that events or counts name. */
	__u64 named[SLOTS_MAX / 64];
	struct session_probe *probes;
	size_t probe_count, probe_room;
	size_t of_row[PROBE_COUNT]; /* the first probe of a row, counted from 1; 0: none */
	__u64 probe_changes;
	__u64 kinds[EVENT_KIND_MAX];
	__u64 events;
	__u64 first_ns, last_ns;
	struct period period;
	__u64 windows_incomplete;
	__u64 dropped;
	bool has_host;
	struct session_unknown unknown;
};

/* A call of the stream. */
int session_on_probe(void *self, const struct probe_info *probe);

#endif
