/* SPDX-License-Identifier: GPL-2.0 */
/* What slo.c judges with, slo_cause.c explains with and slo_tables.c prints. */
#ifndef FAULTLINE_SLO_PRIVATE_H
#define FAULTLINE_SLO_PRIVATE_H

#include "lib/analyze/bursts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/histogram.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/slots.h"
#include "lib/analyze/stalls.h"

/*
 * Slow I/Os and finished faults of a device are kept to find causes among them: this long, and as long as a
 * window or burst that they may explain is not judged; the newest so many of each.
 */
#define SLO_MEMORY_NS  15000000000ull
#define SLO_MEMORY_MAX 65536

/*
 * A fault that was held back is told after it began. Rates and bursts wait this long for it, and are then
 * judged: while there is memory of what explains them. A window is a second or longer.
 */
#define SLO_LATE_NS 5000000000ull
#define SLO_WINDOWS \
	8 /* that may wait: the newest, and those that end within SLO_LATE_NS before it */

/* Lost or held frames. */
struct lost_run {
	__u64 from_ns, to_ns;
	__u32 flow, frames;
	__u32 pasid, group, instance; /* of LOSS_FAULT; instance 0: no fault is known */
	__u8 reason;		      /* enum loss_reason, LOSS_REASONS: held */
};

/* What a stall that is too long has lost, and the faults that it blames. */
struct stalled {
	__u64 lost[LOSS_REASONS];
	size_t count;
	struct blame_key faults[];
};

/* What rings and stalls have told, until the stream has come to it: batches are told of as a whole. */
struct told_frames {
	enum { TOLD_ROUND, TOLD_WINDOW, TOLD_STALL } what;
	struct ring_window window;
	__u32 flow;
	struct stalled *stalled; /* owned; NULL: not longer than any objective allows */
};

/* A violation of an objective of frames, which waits for what explains it. */
struct low_frames {
	__u64 from_ns, to_ns;
	double measured;
	__u32 flow;
	__u32 judged; /* index */
	enum slo_metric metric;
	bool open;
	struct stalled *stalled; /* of SLO_STALL, owned */
};

struct slow_io {
	__u64 from_ns, to_ns;
	__u16 queue;
};

/* Growing rings of what happened lately, indices modulo capacity (a power of two). */
struct memory {
	void *items;
	size_t size; /* of one item */
	__u64 (*until_ns)(const void *item);
	size_t capacity;
	__u64 head, tail; /* free-running: [head, tail) is kept */
	__u64 let_go;	  /* so many that are not kept any more ... */
	__u64 let_go_ns;  /* ... and that lasted until then at most */
};

/* One objective for one device. */
struct judged {
	const struct slo_objective *objective;
	__u64 window; /* I/Os are gathered for; number of windows since 0 */
	bool gathering;
	__u64 ios, bytes, latency_max_ns;
	struct histogram latency;
	__u64 first_io_ns;		  /* start of the first second with I/O */
	__u64 fault_window;		  /* the oldest that is not judged */
	__u64 window_faults[SLO_WINDOWS]; /* from it on, modulo */
	struct bursts bursts;
	__u64 violations[SLO_METRICS];
	__u64 windows;	    /* with I/O that were judged */
	__u64 frame_window; /* the oldest whose frames are not judged */
	__u64 delivered[SLO_WINDOWS], lost[SLO_WINDOWS]; /* frames, from it on, modulo */
	__u64 frame_windows;				 /* windows with frames */
	struct ring_window low; /* below min_throughput so far; bytes: the least a second */
};

struct device_slo {
	__u32 device;
	bool known;
	struct judged *judged;
	size_t count;
	struct memory ios;    /* struct slow_io */
	struct memory faults; /* struct fault, finished */
	bool has_frames;      /* an objective of frames fits */
	struct memory told;   /* struct told_frames */
	__u64 judged_ns; /* throughput was judged until then, UINT64_MAX: no frame came so far */
	__u64 told_ns;	 /* since when the oldest stall among them was open, UINT64_MAX: none was */
	struct memory runs;   /* struct lost_run */
	struct memory stalls; /* struct told_frames, those that are over */
	struct memory low;    /* struct low_frames, to be judged */
	__u64 low_ns; /* since when the oldest of these was low, UINT64_MAX: there is none */
	/* Since when the oldest stall is open, UINT64_MAX: none is; as of a look now and then. */
	__u64 stalled_ns, stalled_looked_ns;
	__u64 latency_floor; /* least latency target; faster I/Os are not kept */
	struct slo_device_state state;
};

struct slo {
	const struct slo_set *set;
	const struct stalled *stalled; /* of the violation that is being explained */
	struct faults *reconstruction;
	struct slo_sink sink;
	struct stalls *stalls; /* NULL: no objective of frames is judged */
	struct period period;
	struct slots devices; /* struct device_slo */
	struct slo_violation *violations;
	size_t kept, capacity;
	__u64 total;
	__u64 dropped; /* faults told too late to be judged, violations explained by a part */
	int error;
};

/* A new item at the tail, the oldest let go when SLO_MEMORY_MAX are kept; NULL without memory. */
void *memory_push(struct memory *memory);
/* Lets go of the oldest that lasted until before this time. */
void memory_expire(struct memory *memory, __u64 since_ns);
void *memory_at(const struct memory *memory, __u64 index);

/* A new violation, explained; its row is dropped beyond SLO_VIOLATIONS_KEPT, its count is not. */
void slo_violate(struct slo *slo, struct device_slo *device, struct judged *judged,
		 struct slo_violation violation);
struct device_slo *slo_find(const struct slo *slo, __u32 device);
/* What ended before may be forgotten when it is `now_ns`: no window and no burst that is yet to be judged has it. */
__u64 slo_wanted_since(const struct device_slo *device, __u64 now_ns);

/* Objectives of frames: slo_frames.c. */
void slo_frames_init(struct device_slo *device);
void slo_frames_free(struct device_slo *device);
void slo_frames_take(struct slo *slo, struct device_slo *device, const struct event *e);
/* It is `now_ns`: what came until then is taken, and what ended longer ago than a run may be late is judged. */
void slo_frames_end(struct slo *slo, struct device_slo *device, __u64 now_ns);
/* The stream has ended. */
void slo_frames_end_all(struct slo *slo, __u64 end_ns);
__u64 slo_frames_wanted(const struct device_slo *device);

/* Which faults the lost frames of a violation name, each once, ordered; the caller frees it. */
struct named_faults {
	struct blame_key *keys;
	size_t count;
};
bool slo_is_of_frames(enum slo_metric metric);
/* Fills in what frames were lost and held. False without memory. */
bool slo_frames_explain(const struct slo *slo, const struct device_slo *device,
			struct slo_violation *violation, struct named_faults *named);
bool slo_frames_name(const struct named_faults *named, const struct fault *fault);

/* Fills in what is known of the cause; objective, metric, device, from, to and slow_ios are set. */
void slo_explain(const struct slo *slo, const struct device_slo *device,
		 struct slo_violation *violation);

#endif
