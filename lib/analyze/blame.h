/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults that something is blamed on (a stall, a wait), and how long they took, which is known once they are over:
 * before or after the blame is told.
 */
#ifndef FAULTLINE_BLAME_H
#define FAULTLINE_BLAME_H

#include "lib/analyze/analyzer.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/pool.h"

#define BLAMED_MAX     256   /* faults of one list */
#define BLAME_OVER_MAX 16384 /* faults that are over and that nobody blames, the newest */

struct blame_key {
	__u32 device, pasid, group, instance;
};

/* A fault that may be blamed: all of its page requests. */
struct blamed_fault {
	struct blame_key key;
	__u32 blames;	  /* lists that name it */
	bool over;	  /* in the ring of those that are */
	__u64 total_ns;	  /* of its longest request, 0: not known */
	__u64 resolve_ns; /* of that one */
	UT_hash_handle hh;
};

struct blamed_node {
	struct blamed_fault *fault;
	struct blamed_node *next;
};

/* Different faults, a floor if there are BLAMED_MAX. All zero: none. */
struct blamed {
	struct blamed_node *first;
	__u32 count;
};

/* The one that took longest, of those that are over. */
struct blamed_worst {
	__u64 total_ns;	  /* 0: of none it is known */
	__u64 resolve_ns; /* 0: it was not measured */
};

struct blame {
	struct blamed_fault *faults;
	struct pool pool;  /* struct blamed_fault */
	struct pool nodes; /* struct blamed_node */
	struct blamed_fault **over;
	__u64 head, tail; /* of `over`, free-running */
	__u64 dropped;
};

void blame_init(struct blame *blame);
void blame_destroy(struct blame *blame);
/* A fault is over. */
void blame_finished(struct blame *blame, const struct fault *fault);
/* The fault that this event names. */
void blame_add(struct blame *blame, struct blamed *blamed, const struct event *e);
/* The list is forgotten. */
void blame_release(struct blame *blame, struct blamed *blamed);
/* blamed->count of them. */
void blamed_keys(const struct blamed *blamed, struct blame_key *keys);
struct blamed_worst blamed_worst(const struct blamed *blamed);

#endif
