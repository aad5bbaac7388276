/* SPDX-License-Identifier: GPL-2.0 */
/* What a transaction is made of: where its pages end, and what becomes of them (access_count.c). */
#ifndef FAULTLINE_CLUSTER_ACCESS_PRIVATE_H
#define FAULTLINE_CLUSTER_ACCESS_PRIVATE_H

#include "injectors/cluster/access.h"

enum landing_kind { LAND_NOWHERE, LAND_RAM, LAND_BAR, LAND_MSI, LAND_GROUP };

/* Where an address leads, for up to `run` bytes of the initiator's page. */
struct landing {
	enum landing_kind kind;
	enum access_status status; /* ACCESS_DONE, ACCESS_LOST, ACCESS_REFUSED */
	__u32 host;
	__u64 address, run;  /* on that host's bus */
	__u32 function, bar; /* CLUSTER_NONE: of none */
	__u64 offset;
	__u32 group;
	__u32 near, far; /* adapters; CLUSTER_NONE: within the host */
};
void landing_find(struct cluster *cluster, const struct initiator *from, __u64 address, bool write,
		  struct landing *landing);

/* One transaction as it is counted: its pages on one way after the other. */
struct access_tally {
	struct cluster *cluster;
	const struct initiator *from;
	enum path_purpose purpose;
	bool write;
	__u64 address;
	struct access_result result;
	__u32 device, borrow;
	/* The way that is being counted. */
	__u32 to, near, far;
	__u64 bytes, all_bytes;
	__u64 lost_bytes, lost_address;
	__u32 lost_adapter;
	bool again; /* these bytes have been counted: another copy of them */
};
void tally_begin(struct access_tally *tally, struct cluster *cluster, const struct initiator *from,
		 enum path_purpose purpose, bool write, __u64 address);
/* `bytes` went where it says, or were lost. */
void tally_add(struct access_tally *tally, const struct landing *landing, __u64 address,
	       __u64 bytes);
void tally_way(struct access_tally *tally);
void tally_end(struct access_tally *tally, struct access_result *result);

/* Tells of memory that is not its user's. */
void stray_check(struct cluster *cluster, const struct initiator *from,
		 const struct landing *landing, __u64 bytes);

struct peer_window;
struct accesses {
	__u64 *stray_bytes;	      /* by device */
	struct access_counter *paths; /* by device, purpose and way */
	__u64 (*users)[3];	      /* by device: agents, bits */
	struct route_slot
		*routes; /* a hash table that only grows; ways do not depend on links' state */
	struct peer_window *peers; /* peer.c */
};
int peers_create(struct cluster *cluster);

#endif
