/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the live view shows: a snapshot that stays valid while the analysis goes on (the screen may
 * be paused). Filled by tools/top/collect.c, read by the drawing and the batch output; nothing here
 * knows a terminal or a source.
 */
#ifndef FAULTLINE_TOP_MODEL_H
#define FAULTLINE_TOP_MODEL_H

#include "lib/analyze/live.h"
#include "lib/analyze/watched.h"
#include "lib/analyze/worst.h"
#include "tools/top/tables.h"

#define TOP_HISTORY    240 /* seconds of rate kept per device */
#define TOP_FAULTS     LIVE_FAULTS_DEFAULT
#define TOP_OWNER_TEXT (NAME_TEXT + 16)

struct top_device {
	struct live_device live; /* its info pointer is not valid here: */
	struct device_info info;
	char name[DEVICE_NAME_TEXT]; /* as it is shown: unlike any other's */
	char owner[TOP_OWNER_TEXT];  /* VM, else comm:pid, else "kernel" */
	double io_rate;		     /* I/Os per second, of whole seconds; NAN: not known */
	__u64 ios;		     /* since the start, of the seconds that were told */
	__u32 history_count;
	float history[TOP_HISTORY]; /* faults in each whole second, newest last */
};

/* More about one device; filled only while its detail screen is open. */
struct top_detail {
	__u32 device; /* handle, 0: none */
	__u64 row;    /* id of a row of a table view, 0: none */
	__u64 invalidations, invalidation_p50_ns, invalidation_p99_ns;
	size_t fault_count;
	struct fault faults[TOP_FAULTS]; /* open ones first, then finished, newest first */
	/* Of a row of a table view: those of the view's further tables. */
	struct rows tables[VIEW_TABLES]; /* owned */
};

void top_detail_free(struct top_detail *detail);

struct top_model {
	char host[NAME_TEXT];
	struct live_summary summary;		/* its host pointer is not valid here */
	bool replay;				/* from a recording */
	char kept[KEPT_TEXT];			/* what a flight recorder let go; "": nothing */
	bool ended;				/* the recording is at its end */
	__u64 now_ns;				/* CLOCK_MONOTONIC */
	__u64 interval_ns;			/* what rates are over */
	__u64 faults, open;			/* of the devices shown, as is the rate */
	enum watched_state watched[PATH_COUNT]; /* only while there is no device to show */
	double rate;				/* NAN: not known */
	bool rings;				/* of a NIC: then there is ... */
	double loss_rate;			/* frames lost per second */
	unsigned int unknown;	 /* which totals are not known of some device (unknown.h) */
	double self_cpu_percent; /* of one CPU, over the interval */
	__u64 self_memory_bytes; /* resident */
	enum latency_span span;	 /* of the latencies shown */
	__u64 window_ns;	 /* how long LATENCY_WINDOW is */
	bool window_cut;	 /* it lacks its oldest faults: there were too many */
	struct worst worst;
	unsigned int view;	 /* what `table` is of; VIEW_FAULTS: nothing */
	struct view_table table; /* owned */
	__u64 counts[VIEWS];	 /* the tabs' numbers; the faults' is above */
	size_t device_count;
	size_t device_room;
	struct top_device *devices; /* owned */
};

void top_model_free(struct top_model *model);

enum top_sort {
	SORT_RATE,
	SORT_TOTAL,
	SORT_P50,
	SORT_P99,
	SORT_MAX,
	SORT_BLOCKED,
	SORT_FOOTPRINT,
	SORT_SLO,
	SORT_NAME,
	SORT_COUNT,
};

const char *top_sort_name(enum top_sort sort);
/* SORT_COUNT if there is no such name. */
enum top_sort top_sort_from(const char *name);

/*
 * Writes indices of the devices whose name or owner contains `filter` (case ignored; NULL or ""
 * takes all) into `order`, sorted; equal ones by total, then name, so that rows do not jump.
 * `order` has room for device_count. Numbers sort downwards, names upwards; `reverse` turns either.
 * Returns how many.
 */
size_t top_order(const struct top_model *model, enum top_sort sort, bool reverse,
		 const char *filter, __u32 *order);

/* The latencies that the screen shows. */
const struct live_latency *top_latency(const struct top_model *model,
				       const struct top_device *device);

/* None of the view's paths is watched: that nothing was seen says nothing. */
bool top_is_blind(const struct top_model *model, unsigned int view);

const struct top_device *top_find(const struct top_model *model, __u32 handle);

/* From the stream's first instant to now. */
__u64 top_elapsed(const struct top_model *model);

/* Events that did arrive: of a damaged recording the newest account of them may be missing. */
__u64 top_received(const struct live_summary *summary);
/* Events that did not arrive, of any sort: what makes numbers floors. */
__u64 top_lost(const struct loss_info *loss);

#endif
