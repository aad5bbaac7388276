/* SPDX-License-Identifier: GPL-2.0 */
/* What an RDMA device has come to, written by its model when it stops. */
#ifndef FAULTLINE_RDMA_TOTALS_H
#define FAULTLINE_RDMA_TOTALS_H

#include "injectors/emu/rdma/transport.h"

/* Why the link lost a packet. */
enum rdma_loss {
	RDMA_LOSS_INJECTED, /* packet_loss */
	RDMA_LOSS_NACK,	    /* nack_lost */
	RDMA_LOSS_NO_PAIR,  /* arrived for a number that no queue pair has */
	RDMA_LOSS_STOPPED,  /* still on its way as one of the two stopped */
	RDMA_LOSSES,
};

struct rdma_totals {
	/* Of the link, this device's direction: sent + duplicated = arrived at the other's queue pairs + the sum of lost. */
	__u64 packets, wire_bytes; /* sent: handed to the link; headers included */
	__u64 duplicated;	   /* packet_duplicate made so many more */
	__u64 lost[RDMA_LOSSES];
	__u64 arrived; /* here, from the other side or by loopback: handed to a queue pair */

	/* The sums over all queue pairs there have been. */
	struct transport_counters transport;
	__u64 errors;	  /* queue pairs that went into error */
	__u64 overflows;  /* completions that found their queue full */
	__u64 protection; /* DMA refused: key, domain, right or bounds; nothing was touched */
	__u64 hostile;	  /* doorbell words and counts that make no sense */

	__u64 faults; /* port requests raised */
	__u64 fault_pages;
	__u64 suppressed; /* faults not reported: one of their kind was on its way, or its bit not yet cleared */
	__u64 refused; /* port requests that could not be raised, and were tried again */

	__u64 registered, registered_most; /* bytes of pinned and demand regions, now and most */
	__u64 pinned, pinned_most;
	__u64 mapped, mapped_most; /* of its share of memory: in the IOPT */

	__u64 commands[VERBS_COMMAND_KINDS], commands_failed[VERBS_COMMAND_KINDS];
	__u64 command_ns[VERBS_COMMAND_KINDS];
};

#endif
