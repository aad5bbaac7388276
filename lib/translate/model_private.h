/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the model: its state. The interface is model.h. */
#ifndef FAULTLINE_TRANSLATE_MODEL_PRIVATE_H
#define FAULTLINE_TRANSLATE_MODEL_PRIVATE_H

#include "lib/base/random.h"
#include "lib/translate/model_level.h"
#include "lib/translate/model_queue.h"
#include "lib/translate/tables.h"

#define MODEL_DEVICES_MAX 64
#define MODEL_HISTORY_MAX 8
#define MODEL_PREFETCHES  4096 /* of a device under way at most; what comes beyond is not fetched */
#define NONE		  UINT32_MAX
#define TIME_MAX_PS	  (TIME_END_PS / 2) /* of an arrival: 13 days of virtual time */

/* A translation under way, of a packet or of the prefetcher. */
struct access {
	struct model_step step; /* first: the queue's step is the access */
	__u64 key;		/* page_key() */
	__u64 next_use;
	union {
		__u64 issued_ps;
		struct access *next_free;
	};
	__u16 source;
	__u8 device;
	bool prefetch;
	bool walks;	   /* the IOTLB, if there is one, did not know the page */
	bool fill2, fill3; /* walk caches that missed */
	bool faulted;
	struct miss devtlb, iotlb, level2, level3;
};

/* The newest requests of a source, kept in main memory by the history reader (section III). */
struct request_history {
	__u64 keys[MODEL_HISTORY_MAX];
	__u32 count;
};

struct prefetcher {
	__u32 *predicted; /* source -> the one `distance` translations later; learned once */
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
	__u8 number;
	bool ended;
};

struct model {
	struct model_config config;
	struct level context, iotlb, level2, level3;
	struct model_device *devices;
	__u64 *lost; /* by domain: DevTLB entries that made way for another domain's */
	struct model_queue queues[MODEL_QUEUES];
	__u64 due[MODEL_QUEUES]; /* of each queue's first step */
	struct access *accesses;
	struct tables *tables;
	const struct model_observer *observer;
	struct access *free_access;
	bool instant; /* some step takes no time: what it causes may come before what is due at once */
	__u32 context_slot; /* of the context entry that was hit last */
	__u64 now_ps;
	__u64 slot_ps; /* from packet to packet */
	struct random random;
	struct model_stats stats;
	bool overflowed; /* a sum was beyond 64 bits */
};

static inline struct access *access_new(struct model *m)
{
	struct access *a = m->free_access;

	m->free_access = a->next_free;
	return a;
}

static inline void access_free(struct model *m, struct access *a)
{
	a->next_free = m->free_access;
	m->free_access = a;
}

static inline void model_schedule(struct model *m, enum model_step_kind kind, __u64 time_ps,
				  struct access *a)
{
	__u64 due = due_at(time_ps, kind);

	queue_add(&m->queues[kind], &a->step, due);
	if (due < m->due[kind])
		m->due[kind] = due;
}

static inline struct access *model_take(struct model *m, enum model_step_kind kind)
{
	struct model_step *step = queue_take(&m->queues[kind]);

	m->due[kind] = queue_first(&m->queues[kind]);
	return (struct access *)step;
}

/*
 * model_prefetch.c: a packet's translation tells who will come; and, there or from `time_ps` on, for
 * whose pages to ask.
 */
void model_prefetch(struct model *m, struct model_device *device, const struct access *a);
void model_prefetch_ahead(struct model *m, struct model_device *device, __u16 source,
			  __u64 time_ps);
int model_prefetcher_create(struct prefetcher *prefetcher, const struct model_config *config);
void model_prefetcher_destroy(struct prefetcher *prefetcher);

#endif
