/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that queue pairs dropped or sent again, told as runs: consecutive numbers of one pair, for one reason and
 * because of one wait. Each packet is in exactly one run.
 *
 * A run ends with the next packet of its pair and kind that does not go on where it ended, when it is asked for, and where
 * two pairs share a place. One thread's; no allocation after creation.
 */
#ifndef FAULTLINE_EMU_RDMA_PACKET_RUNS_H
#define FAULTLINE_EMU_RDMA_PACKET_RUNS_H

#include <linux/types.h>

enum packet_run_kind { PACKETS_DROPPED, PACKETS_RESENT, PACKET_RUN_KINDS };

struct packet_run {
	__u64 token;
	__u64 since_ns; /* when the first was */
	__u32 pair;
	__u32 first, end; /* 24-bit numbers, `end` is not of it */
	__u32 packets;	  /* 0: no run */
	__u8 kind;	  /* enum packet_run_kind */
	__u8 code;	  /* enum rdma_drop or enum rdma_resend */
};

typedef void (*packet_run_tell)(void *argument, const struct packet_run *run);

struct packet_runs;

/* `pairs`: places, one a queue pair and kind; 1 or more. tell() may not call these functions. */
int packet_runs_create(struct packet_runs **runs, __u32 pairs, packet_run_tell tell,
		       void *argument);
void packet_runs_destroy(struct packet_runs *runs);

/* Joins it with the open run that it goes on, or opens one; tells what ends by that. */
void packet_runs_add(struct packet_runs *runs, const struct packet_run *packet);
/* Those of this pair, or of all. */
void packet_runs_flush_pair(struct packet_runs *runs, __u32 pair);
void packet_runs_flush(struct packet_runs *runs);

#endif
