/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of queue pairs that a test tells in any order; an analysis gets them in that of their times, in batches of any
 * size, or from a recording.
 */
#ifndef FAULTLINE_TESTS_PAIR_RIG_H
#define FAULTLINE_TESTS_PAIR_RIG_H

#include "tests/unit/test.h"

#include "lib/analyze/analysis.h"
#include "lib/output/rows.h"

#define PAIR_START (1000 * SECOND)

/* "vm0/hca" and "vm1/hca" of one machine, "vm2/hca" and "vm3/hca" of another one; a disk of the first. */
enum { PAIR_LEFT = 1, PAIR_RIGHT, PAIR_ELSEWHERE, PAIR_BEYOND, PAIR_DISK };

struct pair_rig {
	struct analysis_config config;
	__u64 pid_start_ns; /* of the machines */
	struct event *events;
	size_t count, room;
	bool pid_again; /* the other machine has the pid of the first one, which began earlier */
	__u64 end_ns;	/* 0: of the newest event */
	struct analysis *analysis;
	struct rows rows;
};

/* Times are since PAIR_START in all of these; `since` 0: not told. */
void pair_rig_begin(struct pair_rig *rig);
void pair_rig_add(struct pair_rig *rig, struct event event);
struct event told_pair(__u16 kind, __u64 time, __u32 device, __u32 pair, __u64 token, __u8 code);
/* With a fault of this device (pair_rig_fault()), 0: none. */
struct event told_nak(__u64 time, __u32 device, __u32 pair, __u64 token, __u64 timer,
		      __u32 instance);
struct event told_paused(__u64 time, __u32 device, __u32 pair, __u64 token, enum rdma_wait wait,
			 __u32 instance);
struct event told_resumed(__u64 time, __u64 since, __u32 device, __u32 pair, __u64 token,
			  enum rdma_wait wait);
struct event told_packets(__u16 kind, __u64 time, __u32 device, __u32 pair, __u64 token,
			  __u32 packets, __u8 code);
/* A fault, group 5, that begins at `from` and takes `total`. */
void pair_rig_fault(struct pair_rig *rig, __u32 device, __u32 instance, __u64 from, __u64 total);
/* A fault each of whose stages is told at a time of its own; 0: it was not seen. */
struct told_fault {
	__u64 at[FAULT_STAGES];
	__u32 device, pasid; /* 0: the disk, without PASID */
	__u32 group, instance, tid;
	__u64 address;
	__u16 queue;
	__u8 access;	  /* enum event_flags */
	__u8 code;	  /* of its response */
	__u8 cause, page; /* of its page, and flags of that */
};
void pair_rig_stages(struct pair_rig *rig, const struct told_fault *fault);
/* Batches are of `chunk` events, 0: one. */
void pair_rig_run(struct pair_rig *rig, size_t chunk);
/* Takes the rows of a table; the cell of one by its column's name. */
size_t pair_rig_rows(struct pair_rig *rig, analyzer_write *write);
union cell pair_rig_cell(const struct pair_rig *rig, size_t row, const char *column);
/* The wait of that rank, longest first, in words. */
void pair_rig_expect(const struct pair_rig *rig, size_t rank, const char *words);
/* Whether the findings have it. */
bool pair_rig_finds(const struct pair_rig *rig, const char *words);
void pair_rig_end(struct pair_rig *rig);

#endif
