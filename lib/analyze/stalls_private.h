/* SPDX-License-Identifier: GPL-2.0 */
/* Inside stalls.c and stalls_tables.c. */
#ifndef FAULTLINE_STALLS_PRIVATE_H
#define FAULTLINE_STALLS_PRIVATE_H

#include "lib/analyze/hash.h"
#include "lib/analyze/sequence.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stalls.h"

#define STALL_FLOWS_MAX	 65536
#define STALL_RESENT_MAX 64 /* newest retransmissions of a flow */

#define RESENT_SYNACK 0xff /* beside enum tcp_recovery */

struct resent {
	__u64 time_ns, timeout_ns;
	__s64 from, to;
	__u64 counted; /* serial of the stall that it was counted for, 0: none */
	__u8 recovery; /* enum tcp_recovery, or RESENT_SYNACK */
};

/* A flow that has lost something, or sent it again. */
struct stall_flow {
	__u32 id;
	__s64 near;		     /* the highest position so far */
	struct sequence_set missing; /* of the open stall: lost and not delivered since */
	struct sequence_set lost;    /* of the open stall: all */
	struct resent *resent;	     /* the newest, modulo their room, a power of two */
	size_t resent_room;
	__u64 resent_count;
	struct stall *open;
	__u64 aborted_ns; /* when the newest stall was, and none is open; `lost` is still its; 0: it was not */
	__u64 stalls, longest_ns;
	struct flow_info name; /* id 0; all zero if the dictionary lacks it */
	UT_hash_handle hh, by_name;
};

struct stalls {
	const struct session *session;
	struct stall_flow *flows;
	struct stall_flow *named; /* the same, by their names */
	struct pool pool;	  /* struct stall */
	struct blame blame;
	struct slots devices; /* struct stall_device_totals */
	struct stall **kept;  /* a heap, the shortest on top */
	size_t kept_count, kept_room;
	__u64 count, serial, dropped;
	struct stall_sink sinks[STALL_SINKS];
	size_t sink_count;
};

#endif
