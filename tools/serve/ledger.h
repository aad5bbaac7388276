/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counts that are served: rows of counters by name, which never fall.
 *
 * What analyzers count begins with capture, and goes with the device. A row outlives both: it tells what it told
 * when the server ended last (`base`) and what has been counted since, and never less than it told before. Devices
 * of one name are one row. Rows are bounded: behind the first so many devices there is one more, LEDGER_OTHER.
 */
#ifndef FAULTLINE_SERVE_LEDGER_H
#define FAULTLINE_SERVE_LEDGER_H

#include <stdbool.h>

#include "lib/analyze/hash.h"
#include "lib/analyze/stage.h"
#include "lib/base/stream.h"
#include "tools/serve/bounds.h"

#define LEDGER_OTHER	    "other"
#define LEDGER_DEVICES_MOST 10000
#define LEDGER_NAME	    (2 * NAME_TEXT)
#define LEDGER_LABELS	    (4 * LEDGER_NAME + 64)

enum lost_where {
	LOST_RING,
	LOST_RECURSION,
	LOST_ACCESS_LOG,
	LOST_MACHINES,
	LOST_DISK,
	LOST_WHERES
};
enum reply {
	ANSWER_SUCCESS,
	ANSWER_INVALID,
	ANSWER_FAILURE,
	ANSWER_AUTOMATIC,
	ANSWER_OTHER,
	ANSWERS
};

/* Counters of a row: nothing but __u64, so that they are added up as an array. */
struct host_counts {
	__u64 events, lost[LOST_WHERES], unseen, scrapes, textfile_failures;
};

struct device_counts {
	__u64 began, over[EFFORTS], answers[ANSWERS];
	__u64 blocked_ns, bursts, overflowed, discarded, abandoned, unfinished;
	__u64 unrecoverable, invalidations, ios, io_bytes, ios_faulted;
	__u64 odp_faults, odp_pages, packets_resent;
	__u64 frames[2], lost[LOSS_REASONS], stalls, stall_ns; /* frames by enum ring_side */
	struct bounded latency, invalidation, stages[STAGES];
};

struct container_counts {
	__u64 failures;
};

struct port_counts {
	__u64 counters[RDMA_COUNTERS];
};

struct objective_counts {
	__u64 windows, violations;
};

struct probe_counts {
	__u64 hits, lost;
};

/* What is so now, of those that there are now. */
struct device_now {
	bool there, may_fault, nic, rdma;
	__u32 kind;
	unsigned int unknown; /* enum unknown_number that no device of the name tells */
	__u64 open, peak, footprint_bytes, memory_bytes;
};

struct container_now {
	bool there;
	__u64 pinned_bytes, limit_bytes, mappings, mappings_limit; /* UINT64_MAX: no limit */
};

enum probe_condition {
	PROBE_IS_ATTACHED,
	PROBE_IS_SILENT,
	PROBE_IS_OFF,
	PROBE_IS_LOST,
	PROBE_IS_DISABLED
};

struct probe_now {
	bool there, was_attached; /* the second for as long as the server runs */
	enum probe_condition condition;
};

enum ledger_kind {
	LEDGER_HOST,	  /* one row */
	LEDGER_DEVICE,	  /* device */
	LEDGER_CONTAINER, /* VFIO container */
	LEDGER_PORT,	  /* device, port */
	LEDGER_OBJECTIVE, /* objective, device */
	LEDGER_PROBE,	  /* probe */
	LEDGER_KINDS,
};

struct ledger_row {
	char name[LEDGER_NAME], second[LEDGER_NAME];
	char labels[LEDGER_LABELS]; /* device="tenant0/disk0" */
	union {
		struct device_now device;
		struct container_now container;
		struct probe_now probe;
	} is;
	/* The struct of its kind, thrice: counted by now, as it was told last, before this server. */
	__u64 *now, *told, *base;
	struct ledger_row *next;
	UT_hash_handle hh;
};

struct ledger {
	size_t devices_most;
	size_t named[LEDGER_KINDS]; /* rows, but for "other" */
	struct ledger_row *rows;    /* by kind and names */
	struct ledger_row *first[LEDGER_KINDS],
		*last[LEDGER_KINDS]; /* in the order in which they came */
};

void ledger_init(struct ledger *ledger, size_t devices_most);
void ledger_free(struct ledger *ledger);
/* Counting begins again at nothing. */
void ledger_begin(struct ledger *ledger);
/* All is counted: tells it. */
void ledger_end(struct ledger *ledger);
/* The name under which a device is told: its own, or LEDGER_OTHER. */
const char *ledger_device(struct ledger *ledger, const char *name);
/* Made if there is room, else that of "other"; NULL without memory. */
struct ledger_row *ledger_row(struct ledger *ledger, enum ledger_kind kind, const char *name,
			      const char *second);
size_t ledger_counters(enum ledger_kind kind);

#define LEDGER_EACH(row, ledger, kind) \
	for (const struct ledger_row *row = (ledger)->first[kind]; row; row = row->next)
#define LEDGER_NOW(row, type)  ((struct type *)(row)->now)
#define LEDGER_TOLD(row, type) ((const struct type *)(row)->told)

#endif
