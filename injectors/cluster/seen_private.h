/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of seen.h: rings to the hosts' processes, what gauges tell, and the truth log's memory. */
#ifndef FAULTLINE_CLUSTER_SEEN_PRIVATE_H
#define FAULTLINE_CLUSTER_SEEN_PRIVATE_H

#include <stdatomic.h>

#include "injectors/cluster/seen.h"
#include "injectors/emu/registry.h"

#define SEEN_ARGUMENTS 8
#define SEEN_NONE      0xffffffffu

/* What a probe will tell, on its way to the process that fires it. */
struct seen_record {
	__u64 at[SEEN_ARGUMENTS]; /* as probes.h */
	__u64 begin_ns, end_ns;	  /* of an I/O */
	__u32 kind, reserved;
};

/*
 * A ring of each agent to each host: one process writes, whose threads take turns, and one reads. Head and tail run freely.
 * Whoever is killed leaves a ring in order: a record counts once `head` has passed it.
 */
struct seen_cursor {
	_Atomic __u64 head, lost;
	_Atomic __u64 tail __attribute__((aligned(64)));
	__u64 lost_told; /* of the reader */
} __attribute__((aligned(64)));

#define SEEN_OWN   8192 /* records to the own host */
#define SEEN_CROSS 256	/* to any other; of the one that has begun all, to each */

/* What is told of a device of a host's machine every 100 ms; by its index. */
struct seen_gauges {
	_Atomic __u64 ios, bytes, errors, longest_ns, ended_ns; /* of I/Os that are over */
	_Atomic __u64 charged, charged_most, window;
	_Atomic __u32 borrow; /* the last one that anything was charged to */
	__u32 reserved;
};

struct sights {
	__u32 run;	 /* drawn when the cluster was made: numbers of borrows are of this run */
	__u32 producers; /* agents, and behind them the one that has begun all */
	__u32 gauges_of_host;
	struct seen_cursor *cursors; /* [producer][host] */
	struct seen_record *own;     /* [producer][SEEN_OWN] */
	struct seen_record *cross;   /* [producer][host][SEEN_CROSS] */
	struct seen_gauges *gauges;  /* [host][index] */
	/* In the machine of its host: [host][device], [node], [agent]. */
	__u32 *index_of_device, *index_of_adapter, *index_of_agent;
	_Atomic __u64 unplaced; /* records of devices that their host's machine does not have */
	/* the truth log */
	_Atomic bool truth_wanted;
	_Atomic __u64 truth_count;
	struct cluster_truth *truth;
};

/* seen_devices.c: numbers everything. */
int sights_number(struct cluster *cluster);
/* What all of a host's machine are; to be freed. */
int seen_registry(const struct cluster *cluster, __u32 host, struct registry_device **devices,
		  __u32 *count);
/* What is told goes to this index of this host's machine; SEEN_NONE: it has none. */
__u32 seen_self(const struct cluster *cluster, __u32 device);
struct seen_gauges *seen_gauges(const struct cluster *cluster, __u32 host, __u32 index);

/* seen_ring.c: fires now, or has the host's process fire. */
void seen_post(struct cluster *cluster, __u32 host, const struct seen_record *record);
/* seen_gauges.c: of this process's host. */
void seen_gauges_fire(struct cluster *cluster);
/* The last words of a borrow's window, when it ends. */
void seen_window_state(struct cluster *cluster, __u32 host, __u32 index);

#endif
