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
 * docs/translation.md, "The rules, to the picosecond", is the whole of it.
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
	__u64 iova;	  /* of any byte in the page; below 2^57 */
	__u64 next_use;	  /* number of the access that next uses this page; oracle only */
	__u32 page_shift; /* 12, 21 or 30 */
};

/* What one packet asks for, in this order: ring pointer, data buffer, mailbox (section III). */
struct model_packet {
	__u16 source; /* source id: PCIe requester, optionally with its PASID */
	__u16 domain; /* from the context entry: the same in all packets of a source */
	__u32 count;  /* of requests: 1 to MODEL_REQUESTS */
	struct model_request requests[MODEL_REQUESTS];
};

/* Fills `packets` with up to `room`; returns how many, 0 at the end, or a negative errno. */
typedef int (*model_source_fn)(void *self, struct model_packet *packets, int room);

struct model_cache {
	struct cache_config cache; /* entries 0: there is none */
	__u32 partitions;	   /* by low bits of the domain; a power of two, at most the sets */
};

/* How many page-table reads a walk needs. */
enum model_walk {
	/* What the simulator that the paper's authors released does: one dimension, and a miss in
	 * both walk caches costs as many reads as the leaf's level (2 for 2 MiB, 1 for 4 KiB). */
	WALK_AS_RELEASED,
	/* Two dimensions of four levels, counted: five reads for each level of the first dimension
	 * that the walk caches do not spare, then the second one's for the result. */
	WALK_NESTED,
	/* The same, read from real page tables (tables.h), which are filled as pages are met. */
	WALK_TABLES,
	/* Table II taken literally: every walk is 24 reads, whatever the walk caches know. */
	WALK_24,
	/* None: the context entry says pass-through, so that nothing but it is looked up. */
	WALK_NONE,
	WALK_COUNT,
};

/* Which translations ask for what their source's successor will need. */
enum model_trigger {
	TRIGGER_ACCESS, /* each, before it looks anything up: what the authors' simulator does */
	TRIGGER_MISS,	/* one whose page is not in the buffer: what the paper says (section III) */
	TRIGGER_COUNT,
};

struct model_config {
	__u64 packet_bits; /* on the wire, with preamble and gap: 1542 bytes (Table II) */
	__u64 link_bits_per_s;
	__u32 ptb_entries; /* pending translation buffer */
	__u64 pcie_ps, dram_ps, devtlb_hit_ps, context_hit_ps, walk_hit_ps;
	enum model_walk walk;
	__u32 host_shift; /* pages of the second dimension, 12 or 21: walks of NESTED and TABLES */
	struct model_cache context, devtlb, iotlb, level2, level3;
	struct model_cache prefetch; /* the prefetch buffer; entries 0: nothing is prefetched */
	__u32 prefetch_distance;     /* translations from a source to the one predicted by it */
	__u32 prefetch_pages;	     /* newest requests of a source that are fetched */
	__u32 prefetch_trigger;	     /* enum model_trigger */
	/* Beyond the paper; all 0: off. */
	__u32 devices; /* that share the IOMMU, each with its own link, PTB and DevTLB; 0: 1 */
	__u32 invalidate_packets; /* after so many packets of a device one of its pages is taken back */
	__u32 fault_per_million; /* walks of packets that find the page absent and request it (PRI) */
	__u64 fault_ps;		 /* from the page request's arrival until its response leaves */
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
	__u64 time_ps; /* of the last step, or the end of the last packet's slot */
	__u64 packets, translations;
	__u64 drops; /* arrivals that found no room */
	__u64 walks, walk_reads, prefetch_walks;
	__u64 latency_sum_ps, latency_max_ps;
	struct model_cache_stats context, devtlb, iotlb, level2, level3, prefetch;
	__u64 prefetches;	   /* translations asked for ahead */
	__u64 prefetch_useful;	   /* entries of the buffer that were hit */
	__u64 prefetch_unused;	   /* entries that made way before any hit */
	__u64 prefetch_duplicates; /* answers for a page that was in the buffer already */
	__u64 prefetch_late;	   /* answers for a page that the DevTLB had by then */
	__u64 prefetch_refused;	   /* not asked for: too many under way */
	__u64 invalidations, faults;
	__u64 in_flight_ps; /* translations in flight, summed over time: the PTB's area */
	__u32 in_flight_max;
};

/*
 * Who wants to know more than the sums. Called in the order of virtual time; what it does must not
 * depend on anything but its arguments, so that results stay the same.
 */
struct model_observer {
	/* A packet entered after `drops` arrivals without room. */
	void (*entered)(void *self, __u64 now_ps, const struct model_packet *packet, __u64 drops);
	/* One of its translations is complete. */
	void (*completed)(void *self, __u64 now_ps, __u16 source, __u64 latency_ps);
	void *self;
};

struct model;

/* Whether there can be such a model: -EINVAL with the accepted range. */
int model_check(const struct model_config *config);
/* -EINVAL as of model_check(), -ENOMEM. */
int model_create(struct model **model, const struct model_config *config);
/* Before the run; `observer` is borrowed. */
void model_observe(struct model *model, const struct model_observer *observer);
/* Runs until each device's source has ended: `sources` are `config.devices`. */
int model_run(struct model *model, model_source_fn source, void **sources);
/* Entries in use in each partition of a cache; `cache` as in struct model_config, `room` numbers. */
enum model_part { PART_CONTEXT, PART_DEVTLB, PART_IOTLB, PART_LEVEL2, PART_LEVEL3, PART_PREFETCH };
__u32 model_occupancy(const struct model *model, enum model_part part, __u32 *used, __u32 room);
/* What each set of a cache counted, but halvings, partition by partition; NULL: there is no such cache. */
const struct model_cache_stats *model_sets(const struct model *model, enum model_part part,
					   __u32 *count);
/* DevTLB entries of a domain that made way for another domain's. */
__u64 model_lost(const struct model *model, __u16 domain);
void model_stats(const struct model *model, struct model_stats *stats);
void model_destroy(struct model *model);

#endif
