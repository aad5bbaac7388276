/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs of RDMA devices: what their counters say (every 100 ms), and the runs of packets that they dropped or sent
 * again.
 *
 * A pair's counters are since it was made. Of a machine that began while it was recorded all of them count, of one that
 * was met later what came after they were first told. Within a period counts what lies between two tellings that have
 * a part in it; of runs those that began in it.
 */
#ifndef FAULTLINE_QUEUE_PAIRS_H
#define FAULTLINE_QUEUE_PAIRS_H

#include "lib/analyze/analyzer.h"

#define QUEUE_PAIRS_MAX 65536

struct pair_totals {
	__u64 operations, bytes; /* completed; that landed */
	__u64 rnr_sent, rnr_received;
	__u64 dropped, resent; /* packets, as the counters say */
	__u64 stopped_ns;
	/* As runs and single events say. */
	__u64 dropped_for[RDMA_DROPS], resent_for[RDMA_RESENDS];
	__u64 naks, naks_heard, rewound, suppressed, in_window;
};

struct queue_pairs;
struct session;

int queue_pairs_create(struct queue_pairs **pairs, const struct session *session);
struct stream queue_pairs_stream(struct queue_pairs *pairs);
void queue_pairs_destroy(struct queue_pairs *pairs);
/* NULL: nothing was told of it. */
const struct pair_totals *queue_pair_totals(const struct queue_pairs *pairs, __u32 device,
					    __u32 pair);
/* Summed over the pairs of a device; of pair_totals those that counters tell. */
struct pair_totals queue_pairs_of_device(const struct queue_pairs *pairs, __u32 device);
size_t queue_pairs_count(const struct queue_pairs *pairs);
/* RNR NAKs that all of them have sent, as their counters say. */
__u64 queue_pairs_naks(const struct queue_pairs *pairs);
/* Pairs that found no room. */
__u64 queue_pairs_dropped(const struct queue_pairs *pairs);
/* By device and number. */
analyzer_write queue_pairs_write;

#endif
