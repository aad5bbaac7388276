/* SPDX-License-Identifier: GPL-2.0 */
/* Inside stalls.c, stalls_blame.c and stalls_tables.c. */
#ifndef FAULTLINE_STALLS_PRIVATE_H
#define FAULTLINE_STALLS_PRIVATE_H

#include "lib/analyze/hash.h"
#include "lib/analyze/pool.h"
#include "lib/analyze/sequence.h"
#include "lib/analyze/stalls.h"

#define STALL_FLOWS_MAX	 65536
#define STALL_FAULTS_MAX 256   /* of one stall */
#define STALL_RESENT_MAX 64    /* newest retransmissions of a flow */
#define STALL_OVER_MAX	 16384 /* faults that are over and that no stall blames, the newest */

/* A fault that may have cost frames: all of its page requests. */
struct blamed_fault {
	struct blame_key key;
	__u32 blames;	  /* stalls that name it */
	bool over;	  /* in the ring of those that are */
	__u64 total_ns;	  /* of its longest request, 0: not known */
	__u64 resolve_ns; /* of that one */
	UT_hash_handle hh;
};

struct stall_fault {
	struct blamed_fault *fault;
	struct stall_fault *next;
};

struct blame {
	struct blamed_fault *faults;
	struct pool pool;  /* struct blamed_fault */
	struct pool nodes; /* struct stall_fault */
	struct blamed_fault **over;
	__u64 head, tail; /* of `over`, free-running */
	__u64 dropped;
};

void blame_init(struct blame *blame);
void blame_destroy(struct blame *blame);
/* A fault is over. */
void blame_finished(struct blame *blame, const struct fault *fault);
/* The stall has lost frames to the fault that this event names. */
void blame_add(struct blame *blame, struct stall *stall, const struct event *e);
/* The stall is forgotten. */
void blame_release(struct blame *blame, struct stall *stall);

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
	bool aborted; /* the newest stall was, and none is open; `lost` is still its */
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
	struct stall **kept; /* a heap, the shortest on top */
	size_t kept_count, kept_room;
	__u64 count, serial, dropped;
	struct stall_sink sink;
};

#endif
