/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosts as processes, whose memory and hardware are files of memory that all of them have mapped.
 *
 * Everything shared is made by cluster_create() before the first fork, so that it lies at the same address in every process
 * and a pointer into it means the same everywhere. It outlives whoever is killed, as hardware does: no lock is in it. What
 * several processes change is changed by atomic operations, everything else has one writer, named with it.
 * Each module keeps what it has there behind a pointer of its own.
 *
 * What is emulated is the hardware (access.h: how a write of a device finds memory; ntb.h; iommu.h; nvme.h), by whichever
 * process's thread acts: no other process takes part in a transaction, as in an NTB's data path. What is software of a host
 * runs in that host's process (agent.h), and hosts ask each other by messages (message.h), which need a link.
 */
#ifndef FAULTLINE_CLUSTER_H
#define FAULTLINE_CLUSTER_H

#include "injectors/cluster/config.h"
#include "lib/fabric/cost.h"

struct memories;   /* memory.h: RAM of hosts */
struct iommus;	   /* iommu.h */
struct ntbs;	   /* ntb.h */
struct functions;  /* function.h: PCIe functions: config space, BARs */
struct accesses;   /* access.h: routes and counters */
struct agents;	   /* agent.h: processes */
struct mailboxes;  /* message.h */
struct lends;	   /* lend.h */
struct nvmes;	   /* nvme.h */
struct shares;	   /* share.h: controllers that clients share */
struct guests;	   /* guest.h: VMs */
struct sights;	   /* seen.h: what has happened, for probes and the truth log */
struct injections; /* inject.h: what is injected now */

struct cluster {
	const struct cluster_config *config;
	const struct fabric_costs *costs;
	struct memories *memories;
	struct iommus *iommus;
	struct ntbs *ntbs;
	struct functions *functions;
	struct accesses *accesses;
	struct agents *agents;
	struct mailboxes *mailboxes;
	struct lends *lends;
	struct nvmes *nvmes;
	struct shares *shares;
	struct guests *guests;
	struct sights *sights;
	struct injections *injections;
	__u32 self; /* agent that this process is; CLUSTER_NONE: the one that has begun them all */
	__u32 host; /* of it */
};

/* Calls each module's NAME_create(cluster), which may call shared_alloc(). `config` and `costs` are borrowed. */
int cluster_create(struct cluster **cluster, const struct cluster_config *config,
		   const struct fabric_costs *costs);
void cluster_destroy(struct cluster *cluster);

/* Zeroed memory that all processes share, page-aligned; before the first fork only. NULL: none is left (a sentence is set). */
void *shared_alloc(struct cluster *cluster, size_t bytes);
/* The same as a memory file, whose descriptor all processes have as well. */
void *shared_file(struct cluster *cluster, const char *name, size_t bytes, int *file);

/* Each module's: makes its part, sets its pointer. Freed with the cluster. */
int memories_create(struct cluster *cluster);
int iommus_create(struct cluster *cluster);
int ntbs_create(struct cluster *cluster);
int functions_create(struct cluster *cluster);
int access_counts_create(struct cluster *cluster);
int agents_create(struct cluster *cluster);
int mailboxes_create(struct cluster *cluster);
int lends_create(struct cluster *cluster);
int nvmes_create(struct cluster *cluster);
int shares_create(struct cluster *cluster);
int guests_create(struct cluster *cluster);
int sights_create(struct cluster *cluster);
int injections_create(struct cluster *cluster);

#endif
