/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a live view reads: cheap snapshots of an analysis, one row a device.
 *
 *	struct analysis_config config = {.history_windows = 600, .slos = slos};
 *	analysis_create(&analysis, &config);
 *	capture_poll(capture, analysis_stream(analysis));
 *	n = live_devices(analysis, now_ns, interval_ns, rows, ROWS);
 *	live_summary(analysis, &summary);
 *
 * A snapshot copies and allocates nothing. Totals are since capture began; rates and percentages
 * are over the time asked for; latencies are of the faults since capture began and, if
 * analysis_config.windowed is set and live_look() is called first, of those of the last seconds. A number that loss or a full table has made a floor is marked.
 */
#ifndef FAULTLINE_LIVE_H
#define FAULTLINE_LIVE_H

#include "lib/analyze/analysis.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/window.h"
#include "lib/base/wall_clock.h"

struct live_stage {
	__u64 count;
	__u64 merged; /* of count: the time of an unseen neighbour is in it */
	__u64 mean_ns;
	__u64 p50_ns;
	__u64 p99_ns;
	__u64 max_ns;
	double share; /* 0 to 1: of the total time of all stages */
};

struct live_latency {
	__u64 count;   /* of complete faults */
	__u64 mean_ns; /* detect to resume, as are the next four; 0 without any */
	__u64 p50_ns;
	__u64 p99_ns;
	__u64 p999_ns;
	__u64 max_ns;
	struct live_stage stages[STAGES];
	unsigned int slowest_stage; /* enum stage with the largest share, STAGES if none */
};

enum live_slo_state {
	LIVE_SLO_NONE,	   /* no objective names this device, or not all was measured */
	LIVE_SLO_OK,	   /* no violation in the last closed window */
	LIVE_SLO_WARNED,   /* violated before, not in the last closed window */
	LIVE_SLO_VIOLATED, /* violated in the last closed window */
};

struct live_device {
	__u32 handle;
	const struct device_info *info; /* borrowed; valid until the next call into the stream */
	__u64 now_ns, interval_ns; /* of rates and percentages: it ends there, and is so long */
	__u64 faults;		   /* began */
	__u64 complete;
	__u64 open; /* began and neither resumed nor given up */
	__u64 unfinished;
	__u64 inconsistent;
	__u64 overflowed;     /* dropped by a full page request queue */
	__u64 discarded;      /* by the device, after that */
	__u64 abandoned;      /* given up by the device */
	unsigned int unknown; /* which of these are not known, and what else (unknown.h) */
	__u64 bursts;	      /* times that more than burst_faults came within a second */
	double rate;	      /* faults per second over the interval asked for */
	__u64 peak;	      /* most faults within any one second */
	struct live_latency latency[LATENCY_SPANS];
	double blocked_percent; /* of the interval: some fault of a queue was open; worst queue */
	__u16 blocked_queue;	/* that queue, or QUEUE_NONE */
	__u64 footprint_bytes;	/* distinct 4 KiB pages touched so far, in bytes */
	__u64 footprint_huge_bytes; /* the same in 2 MiB pages */
	double footprint_percent;   /* of the device's memory, NAN if that is unknown */
	__u64 ios;		    /* completed I/Os, from aggregate frames */
	__u64 io_bytes;
	__u64 slow_ios; /* I/Os recorded one by one because slow or faulted */
	__u64 faulted_ios;
	bool rings;	     /* it is a NIC whose rings have told something */
	__u64 frames_lost;   /* by them */
	__u64 last_fault_ns; /* start of the newest fault, 0 if none */
	enum live_slo_state slo;
	__u64 slo_violations;
};

struct live_summary {
	const struct host_info *host;	/* borrowed, NULL before capture has told */
	const struct wall_clock *clock; /* borrowed; it grows, but what it told stays true */
	struct loss_info loss;
	__u64 first_ns; /* of the stream: capture's start or first event */
	__u64 events;
	__u64 faults;
	__u64 overflowed;
	__u64 discarded;
	__u64 abandoned;
	size_t devices; /* in the dictionary, with or without faults */
	size_t probes_on;
	size_t probes_off;
	size_t probes_silent; /* of those on: they look at the wrong place (silent.h) */
	unsigned int floor;   /* reasons (lib/analyze/floor.h): counts are at least, not exactly */
};

/* Last faults a caller may ask for; analysis_config.last_faults says how many are kept. */
#define LIVE_FAULTS_DEFAULT 64

/*
 * Before a snapshot: LATENCY_WINDOW is the length_ns before now_ns. What came since the look before
 * belongs to it. No more than in lib/analyze/window.h is kept: `true` if the window lacks its oldest.
 */
bool live_look(const struct analysis *analysis, __u64 now_ns, __u64 length_ns);
/*
 * Fills up to `max` rows in the order of handles, one for each device of the dictionary; returns
 * the number of devices, which may be more than `max`. The interval ends at now_ns
 * (CLOCK_MONOTONIC) and is interval_ns long, 10 ms at least; `rate` is of its last minute.
 */
size_t live_devices(const struct analysis *analysis, __u64 now_ns, __u64 interval_ns,
		    struct live_device *rows, size_t max);
/* One device; -ENOENT if the dictionary does not have it. */
int live_device(const struct analysis *analysis, __u32 handle, __u64 now_ns, __u64 interval_ns,
		struct live_device *row);
/* Its last finished faults, newest first; returns how many were filled. */
size_t live_faults(const struct analysis *analysis, __u32 handle, struct fault *faults, size_t max);
/* Its faults that are still open, oldest first. */
size_t live_open_faults(const struct analysis *analysis, __u32 handle, struct fault *faults,
			size_t max);
void live_summary(const struct analysis *analysis, struct live_summary *summary);

#endif
