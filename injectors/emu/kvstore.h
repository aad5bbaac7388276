/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A key-value store of the guest behind a NIC, with its items in guest memory and its clients at the other end of the
 * wire: a [kvstore NAME] section (docs/overcommit.md).
 *
 * It answers get and set of memcached's text protocol over TCP in the guest's network namespace. memcached itself keeps
 * its items in its own heap, which no guest memory is behind; here each is a piece of the tenant's memory, which is
 * evicted to the pager's file and comes back by a real fault, or is registered with the NIC and pinned.
 *
 * An instance has a fixed capacity, of which it uses the least recently used item for a new one once it is full. With
 * pin all of that is pinned before it starts; one that is refused (ENOMEM) does not start, and the others do.
 */
#ifndef FAULTLINE_KVSTORE_H
#define FAULTLINE_KVSTORE_H

#include <stdbool.h>

#include "lib/analyze/histogram.h"

#define KVSTORE_PORT 11211
#define KVSTORE_HEADER \
	264 /* bytes of an item beside its value: its key, up to 250 bytes, and lengths */
#define KVSTORE_ITEM_LEAST 512
#define KVSTORE_ITEM_MOST  65536
#define KVSTORE_CLIENTS	   64
#define KVSTORE_WINDOW_NS  100000000ull /* hits are counted by 100 ms */

struct kvstore_config {
	char name[64];
	__u32 device;	  /* machine index, of a NIC with a network */
	bool pin;	  /* all items, before it starts */
	__u64 items;	  /* capacity */
	__u32 item_bytes; /* of guest memory, with the header */
	__u32 clients;	  /* connections, each with one request at a time */
	/* Keys that clients ask for, uniformly: the first `working_set`, from `shift_at_ns` on the first `shift_to`. */
	__u64 working_set, shift_to;
	__u64 shift_at_ns; /* 0: never */
	bool opposite; /* every second store of a section goes from `shift_to` to `working_set` */
	__u32 set_percent; /* of requests; a get that misses is followed by a set of its own */
	__u64 duration_ns; /* from when all instances have been filled */
	__u64 seed;
};

struct kvstore_result {
	bool started;		/* else it was refused */
	__u64 begin_ns, end_ns; /* monotonic; 0: not yet */
	__u64 gets, hits, sets; /* answered, of the clients' choice; misses are gets without hits */
	__u64 damaged;		/* hits with another value than the key's */
	__u64 errors;		/* clients that lost their connection, or were refused a set */
	__u64 replaced;		/* items that made way */
	__u64 hits_shifted;	/* of the hits, those after the shift */
	__u64 gets_shifted;
	__u32 *windows; /* hits in each KVSTORE_WINDOW_NS since begin_ns */
	__u32 window_count;
	struct histogram latency; /* of requests, ns */
};

#endif
