/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the model: its state. The interface is model.h. */
#ifndef FAULTLINE_TRANSLATE_MODEL_PRIVATE_H
#define FAULTLINE_TRANSLATE_MODEL_PRIVATE_H

#include "lib/translate/cache_set.h"
#include "lib/translate/cache_wide.h"
#include "lib/translate/model.h"
#include "lib/translate/model_queue.h"
#include "lib/translate/random.h"
#include "lib/translate/tables.h"

#define MODEL_DEVICES_MAX  64
#define MODEL_HISTORY_MAX  8
#define MODEL_PREFETCHES   4096 /* of a device under way at most; what comes beyond is not fetched */
#define MODEL_SET_SHIFT	   21	/* of every cache but the level 3 one */
#define MODEL_LEVEL3_SHIFT 30
#define NONE		   UINT32_MAX

/* A cache of the hierarchy with what chooses its set and what it counts. */
struct level {
	struct cache *cache;
	struct model_cache_stats stats;
	__u32 tenant_mask; /* of the domain's bits that choose the partition */
	__u32 sets;	   /* of one partition */
	__u32 page_mask;   /* sets - 1 */
};

/* A translation under way, of a packet or of the prefetcher. */
struct access {
	__u64 iova;
	__u64 next_use;
	__u64 issued_ps;
	__u16 source, domain;
	__u8 page_shift;
	__u8 device;
	__u8 reads;
	bool prefetch;
	bool walks;	   /* the IOTLB, if there is one, did not know the page */
	bool fill2, fill3; /* walk caches that missed */
	bool faulted;
	__u32 next_free;
};

/* The newest requests of a source, kept in main memory by the history reader (section III). */
struct request_history {
	__u64 iova[MODEL_HISTORY_MAX];
	__u8 page_shift[MODEL_HISTORY_MAX];
	__u8 count;
};

struct prefetcher {
	__u32 *predicted; /* source -> the one `distance` translations later; learned once */
	__u16 *domains;	  /* of a source */
	struct request_history *histories;
	__u16 *recent; /* ring of the last `distance` sources */
	__u32 recent_at, recent_count;
	__u32 under_way;
	bool *used; /* by slot of the buffer: it was hit */
};

struct model_device {
	struct level devtlb, buffer;
	struct prefetcher prefetcher;
	__u32 in_flight; /* translations of packets: the PTB */
	__u64 slot_ps;	 /* when the next packet arrives */
	__u64 area_since_ps;
	__u32 until_invalidation; /* packets */
	bool ended;
};

struct model {
	struct model_config config;
	struct level context, iotlb, level2, level3;
	struct model_device *devices;
	struct model_queue queues[MODEL_QUEUES];
	struct access *accesses;
	struct tables *tables;
	const struct model_observer *observer;
	__u32 free_access;
	__u64 now_ps;
	__u64 bound_ps; /* no event of another kind than the present one is due before */
	__u64 slot_ps;	/* from packet to packet */
	struct random random;
	struct model_stats stats;
};

/* Page number, domain and page size in one word, never 0. */
static inline __u64 page_key(__u64 iova, __u32 shift, __u32 domain)
{
	return iova >> shift << (shift - 12) << 18 | (__u64)domain << 2 | (shift - 3) / 9;
}

static inline __u32 key_domain(__u64 key)
{
	return key >> 2 & 0xffff;
}

static inline __u32 set_of(const struct level *level, __u64 iova, __u32 shift, __u32 domain)
{
	return (domain & level->tenant_mask) * level->sets +
	       ((__u32)(iova >> shift) & level->page_mask);
}

static inline struct access *access_new(struct model *m, __u32 *number)
{
	struct access *a = &m->accesses[m->free_access];

	*number = m->free_access;
	m->free_access = a->next_free;
	return a;
}

static inline void access_free(struct model *m, __u32 number)
{
	m->accesses[number].next_free = m->free_access;
	m->free_access = number;
}

static inline void schedule(struct model *m, enum model_event event, __u64 time_ps, __u32 number)
{
	queue_add(&m->queues[event], time_ps, number);
	if (time_ps < m->bound_ps)
		m->bound_ps = time_ps;
}

/* model_prefetch.c: a packet's translation tells who will come, and asks for his pages. */
void model_prefetch(struct model *m, struct model_device *device, const struct access *trigger);
int model_prefetcher_create(struct prefetcher *prefetcher, const struct model_config *config);
void model_prefetcher_destroy(struct prefetcher *prefetcher);

#endif
