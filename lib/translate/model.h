/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How an I/O translation hierarchy behaves under many tenants: HyperTRIO's performance model
 * (HyperTRIO sections III and IV-C), driven by packets in virtual time.
 *
 * A packet arrives at every slot of the link and needs all of its translations. It enters if fewer
 * than `ptb_entries` translations are in flight, else it is dropped and comes again at the next
 * slot. Each translation looks up the context cache, then the DevTLB and beside it the prefetch
 * buffer; what misses goes over PCIe to the IOMMU, which looks up its IOTLB and page-walk caches,
 * reads what is left of the page tables, and answers. Translations complete out of order.
 *
 * Time is in integer picoseconds and draws are seeded: one configuration, one trace, one result.
 * What comes out is a model's word, never a measurement.
 */
#ifndef FAULTLINE_TRANSLATE_MODEL_H
#define FAULTLINE_TRANSLATE_MODEL_H

#include "lib/translate/cache.h"

#define MODEL_REQUESTS 4     /* translations of one packet at most */
#define MODEL_TENANTS  65536 /* source and domain numbers are 16 bits */

struct model_request {
	__u64 iova;
	__u64 next_use;	  /* number of the access that next uses this page; oracle only */
	__u32 page_shift; /* 12, 21 or 30 */
};

/* What one packet asks for, in this order: ring pointer, data buffer, mailbox (section III). */
struct model_packet {
	__u16 source; /* source id: PCIe requester, optionally with its PASID */
	__u16 domain; /* from the context entry */
	__u32 count;  /* of requests */
	struct model_request requests[MODEL_REQUESTS];
};

/* Fills `packets` with up to `room`; returns how many, 0 at the end, or a negative errno. */
typedef int (*model_source_fn)(void *self, struct model_packet *packets, int room);

struct model_cache {
	struct cache_config cache; /* entries 0: there is none */
	__u32 partitions;	   /* by low bits of the domain; a power of two, at most the sets */
};

/* How many page-table reads a walk needs after what the walk caches know. */
enum model_walk {
	/* What the simulator that the paper's authors released does: one dimension, and a miss in
	 * both walk caches costs as many reads as the leaf's level (2 for 2 MiB, 1 for 4 KiB). */
	WALK_AS_RELEASED,
	/* Table II: every walk in two dimensions, `walk_reads` for a 4 KiB page (24 of 4 levels),
	 * fewer by what the leaf's size and the walk caches save. */
	WALK_NESTED,
};

struct model_config {
	__u64 packet_bits; /* on the wire, with preamble and gap: 1542 bytes (Table II) */
	__u64 link_bits_per_s;
	__u32 ptb_entries; /* pending translation buffer */
	__u64 pcie_ps, dram_ps, devtlb_hit_ps, context_hit_ps, walk_hit_ps;
	enum model_walk walk;
	struct model_cache context, devtlb, iotlb, level2, level3;
	struct model_cache prefetch; /* the prefetch buffer; entries 0: nothing is prefetched */
	__u32 prefetch_distance;     /* translations from a source to the one predicted by it */
	__u32 prefetch_pages;	     /* newest requests of a source that are fetched */
	__u64 seed;
};

/* Table II and Table IV of the paper. */
enum model_preset { MODEL_BASE, MODEL_HYPERTRIO };
void model_preset(struct model_config *config, enum model_preset preset);

struct model_cache_stats {
	__u64 hits, misses, fills;
	__u64 evictions;       /* valid entries that made way */
	__u64 cross_evictions; /* of another domain's */
	__u64 halvings;
};

struct model_stats {
	__u64 time_ps; /* of the last completion */
	__u64 packets, translations;
	__u64 drops; /* arrivals that found no room */
	__u64 walks, walk_reads, prefetch_walks;
	__u64 latency_sum_ps, latency_max_ps;
	struct model_cache_stats context, devtlb, iotlb, level2, level3, prefetch;
	__u64 prefetches, prefetch_useful, prefetch_duplicates, prefetch_unused;
};

struct model;

/* -EINVAL with the accepted range, -ENOMEM. */
int model_create(struct model **model, const struct model_config *config);
/* Runs to the end of the source. */
int model_run(struct model *model, model_source_fn source, void *self);
void model_stats(const struct model *model, struct model_stats *stats);
void model_destroy(struct model *model);

#endif
