/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of a NIC and of TCP that a test tells in any order; an analysis gets them in that of their times, in
 * batches of any size.
 */
#ifndef FAULTLINE_TESTS_NIC_RIG_H
#define FAULTLINE_TESTS_NIC_RIG_H

#include "tests/unit/test.h"

#include "lib/analyze/analysis.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stalls.h"
#include "lib/output/rows.h"

#define NIC_START (1000 * SECOND)

/* "vm/net" of model "nic/drop", "vm1/net" of model "nic". */
enum { NIC_ONE = 1, NIC_OTHER };

/* To and from the server of NIC_ONE; the first one's addresses and ports in the network of NIC_OTHER; UDP. */
enum { FLOW_IN = 1, FLOW_OUT, FLOW_ELSEWHERE, FLOW_UDP };

struct nic_rig {
	struct analysis_config config;
	__u64 pid_start_ns; /* of the machines */
	struct event *events;
	size_t count, room;
	__u64 end_ns; /* 0: of the newest event */
	bool goes_on; /* the stream does not end */
	struct analysis *analysis;
	struct rows rows;
};

/* Times are since NIC_START in all of these. */
void nic_rig_begin(struct nic_rig *rig);
void nic_rig_add(struct nic_rig *rig, struct event event);
/* A run of frames on queue 0 that began at `since`, told at `time`: of LOSS_FAULT its fault is `instance`. */
struct event told_lost(__u64 time, __u64 since, __u32 flow, __u32 first, __u32 length, __u32 frames,
		       enum loss_reason reason, __u32 instance);
struct event told_recovered(__u64 time, __u32 flow, __u32 first, __u32 length);
struct event told_resent(__u64 time, __u32 flow, __u32 first, __u32 length,
			 enum tcp_recovery recovery, __u64 timeout);
/* A socket that sends in this flow reports an error. */
struct event told_error(__u64 time, __u32 flow, int error);
struct event told_ring(__u64 time, __u16 queue, enum ring_side side, __u64 frames, __u64 bytes,
		       __u32 lost);
/* A fault of NIC_ONE, group 5, that begins at `from` and takes `total`, all but 100 us of it to resolve. */
void nic_rig_fault(struct nic_rig *rig, __u32 instance, __u64 from, __u64 total);
/* Batches are of `chunk` events, 0: one. */
void nic_rig_run(struct nic_rig *rig, size_t chunk);
/* Takes the rows of a table; the cell of one by its column's name. */
size_t nic_rig_rows(struct nic_rig *rig, analyzer_write *write);
union cell nic_rig_cell(const struct nic_rig *rig, size_t row, const char *column);
/* The stall of that rank, longest first, in words. */
#define NIC_WORDS 1024
const char *nic_rig_words(const struct nic_rig *rig, size_t rank, char text[NIC_WORDS]);
void nic_rig_end(struct nic_rig *rig);

#endif
