/* SPDX-License-Identifier: GPL-2.0 */
/* What slo.c judges with, slo_cause.c explains with and slo_tables.c prints. */
#ifndef FAULTLINE_SLO_PRIVATE_H
#define FAULTLINE_SLO_PRIVATE_H

#include "lib/analyze/bursts.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/histogram.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/slots.h"

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
	__u64 windows; /* with I/O that were judged */
};

struct device_slo {
	__u32 device;
	bool known;
	struct judged *judged;
	size_t count;
	struct memory ios;    /* struct slow_io */
	struct memory faults; /* struct fault, finished */
	__u64 latency_floor;  /* least latency target; faster I/Os are not kept */
	struct slo_device_state state;
};

struct slo {
	const struct slo_set *set;
	struct faults *reconstruction;
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

/* Fills in what is known of the cause; objective, metric, device, from, to and slow_ios are set. */
void slo_explain(const struct slo *slo, const struct device_slo *device,
		 struct slo_violation *violation);

#endif
