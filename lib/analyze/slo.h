/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Service level objectives, and which fault broke them (VPRI section 2.2; fio's words).
 *
 *	[slo gold]
 *	device = *disk0		; fnmatch pattern of device names
 *	latency_target = 2ms		; at most latency_percentile of a window's I/Os may ...
 *	latency_percentile = 99.9	; ... 100 - 99.9 percent of them, be slower; default 100
 *	latency_window = 1s		; multiple of 1 s; default 1s
 *	min_iops = 1000			; in every whole window
 *	min_bandwidth = 10M		; bytes a second, in every whole window
 *	fault_rate = 10			; I/O page faults a second, at most, in a window
 *	burst = 5			; no more faults than this within any one second
 *	loss = 0.1			; percent of a NIC's frames, at most, in a window
 *	max_stall = 50ms		; no TCP flow of a NIC may stall for longer
 *	min_throughput = 10M		; bytes a second, in every 100 ms of a NIC
 *
 * Windows are cut at multiples of latency_window of CLOCK_MONOTONIC. I/O counts come from aggregate
 * frames. A throughput window is judged only if it lies wholly between the device's first and last
 * I/O: before and after nobody wanted any; a window without I/O in between is 0, which is what a
 * freeze looks like.
 *
 * The cause of a violated latency is the faults of the device (and queue, where the I/O names one)
 * that overlapped its I/Os slower than the target; of a violated throughput those that overlapped
 * the window; of a violated rate or burst the faults themselves. No overlap is said as such. What NICs lost
 * names its cause: of their objectives only faults that cost frames of the window, or of the stalls in it, are
 * one.
 */
#ifndef FAULTLINE_SLO_H
#define FAULTLINE_SLO_H

#include "lib/analyze/session.h"
#include "lib/analyze/stage.h"
#include "lib/job/options.h"

#define SLO_MAX		    64
#define SLO_VIOLATIONS_KEPT 100000 /* rows; further ones are counted only */

struct slo_objective {
	char name[NAME_TEXT];
	char device[NAME_TEXT];	   /* fnmatch pattern, "*" if not given */
	__u64 latency_target_ns;   /* 0: none, as with all below */
	double latency_percentile; /* (0, 100] */
	__u64 window_ns;
	double min_iops;
	__u64 min_bandwidth;
	double fault_rate;
	unsigned int burst;
	double loss; /* percent */
	__u64 max_stall_ns;
	__u64 min_throughput; /* bytes a second */
	bool has_fault_rate;  /* 0 faults a second is an objective, too */
	bool has_burst;
	bool has_loss;
};

struct slo_set {
	struct slo_objective objectives[SLO_MAX];
	size_t count;
};

/* Reads [slo NAME] sections of an INI file; other sections are a job's and are skipped.
 * -EBADMSG with "FILE:LINE: ..." and what is accepted, -ENOENT, -ENODATA if it has no [slo]. */
int slo_read(const char *path, struct slo_set *set);
/* Its keys and sections. */
extern const struct option_table slo_options;

enum slo_metric {
	SLO_LATENCY,
	SLO_IOPS,
	SLO_BANDWIDTH,
	SLO_FAULT_RATE,
	SLO_BURST,
	SLO_LOSS,
	SLO_STALL,
	SLO_THROUGHPUT,
	SLO_METRICS,
};

struct slo_violation {
	const struct slo_objective *objective;
	enum slo_metric metric;
	__u32 device;
	__u64 from_ns, to_ns;
	double measured, target;  /* ns, per second, bytes per second, faults, percent */
	__u32 flow;		  /* that stalled */
	bool open;		  /* the stall was when the recording ended */
	__u64 frames;		  /* of the window of SLO_LOSS: delivered and lost */
	__u64 lost[LOSS_REASONS]; /* frames, of the window or of stalls in it */
	__u64 held;		  /* frames that waited for their buffers in it */
	__u64 ios;		  /* I/Os of the window */
	__u64 slow_ios;	 /* of them slower than the target, recorded one by one or only counted */
	bool slow_floor; /* slow_ios is a floor: some share a bucket with the target */
	__u64 recorded_ios;   /* of the slow ones recorded one by one: only these have times */
	__u64 overlapped_ios; /* of the recorded ones: some fault overlapped */
	__u64 faults;	      /* that overlapped the slow I/Os or the window */
	unsigned int stage;   /* enum stage that took most time of them; STAGES: no fault */
	__u64 stage_ns;	      /* its time, summed over these faults */
	__u64 merged;	      /* of these faults: it has the time of stages before it that ... */
	unsigned int before;  /* ... were not seen, of so many at most */
	__u64 faults_ns;      /* all their stages, summed */
	struct fault longest; /* of these faults, if there was one */
	/* Let go before it was explained, of this window or older: then what is above are floors. */
	__u64 not_kept_ios, not_kept_faults, not_kept_runs;
	__u64 not_kept_ns; /* the last of them ended */
};

/* Who is told of each fault that an objective's cause names. Both are borrowed. */
struct slo_sink {
	void (*names)(void *self, const struct slo_violation *violation, const struct fault *fault);
	void *self;
};

struct slo_device_state {
	__u64 violations;     /* so far */
	__u64 last_window;    /* end of the newest window judged, ns */
	__u64 last_violation; /* end of the newest window violated, ns */
};

struct faults;
struct rings;
struct stalls;
struct slo;

/* The set is borrowed until destroy; it may be filled in until the first device comes. Told are the
 * windows that have a part in `period` (NULL: all). */
int slo_create(struct slo **slo, const struct slo_set *set, struct faults *faults,
	       const struct period *period);
/* From now on objectives of NICs are judged, too. -ENOSPC. */
int slo_watch_frames(struct slo *slo, struct rings *rings, struct stalls *stalls);
/* At most one subscriber. */
void slo_subscribe(struct slo *slo, struct slo_sink sink);
struct stream slo_stream(struct slo *slo);
void slo_destroy(struct slo *slo);
__u64 slo_violations(const struct slo *slo);
/*
 * Faults told too late to be judged by rate or burst, more than 5 s after they began, and violations
 * whose causes were searched among a part of the slow I/Os or faults.
 */
__u64 slo_dropped(const struct slo *slo);
/* Kept rows, oldest first; NULL beyond. */
const struct slo_violation *slo_violation(const struct slo *slo, size_t index);
/*
 * Why the objective of this index tells nothing, or not of all that it asks: "objective gold: no device
 * fits 'nic*'; nothing was measured". NULL if there was something to judge. Who has watched for faults
 * and seen none has measured their rate; who has seen no I/O has not measured its latency.
 */
#define SLO_UNMEASURED_TEXT 256
const char *slo_unmeasured(const struct slo *slo, size_t objective, char text[SLO_UNMEASURED_TEXT]);
/* Likewise for want of a device or of probes for faults: I/O may still come. */
const char *slo_unwatched(const struct slo *slo, size_t objective, char text[SLO_UNMEASURED_TEXT]);
/* Whether of the device was measured all that its objectives ask for; false if none names it. */
bool slo_measured(const struct slo *slo, __u32 device);
/* Whether a device fits the objective of this index. */
bool slo_fits(const struct slo *slo, size_t objective);
/* All of the same objective, metric and device, it included; also those that are not kept. */
__u64 slo_violations_like(const struct slo *slo, const struct slo_violation *violation);
/* One objective of one device: windows with I/O or frames that were judged, and those of any metric that broke it. */
struct slo_judgement {
	const struct slo_objective *objective;
	__u32 device;
	__u64 windows, violations;
};
void slo_each(const struct slo *slo,
	      void (*each)(void *argument, const struct slo_judgement *judgement), void *argument);
struct slo_device_state slo_device(const struct slo *slo, __u32 device);
const char *slo_metric_name(enum slo_metric metric);
/* One sentence without a full stop: "12 of 13 slow I/Os overlapped 4 faults; resolve took ...". */
#define SLO_CAUSE_TEXT 384
const char *slo_cause(const struct slo_violation *violation, const struct session *session,
		      char text[SLO_CAUSE_TEXT]);
/* Table "slo": a row per objective, device and metric, one without a device if none fits; beyond `limit` (0: none) only the violated. */
analyzer_write slo_write;
/* Table "violations". */
analyzer_write slo_write_violations;
/* One violation as a sentence for humans: when, what, how much, why. */
void slo_write_sentence(const struct slo_violation *violation, const struct session *session,
			struct writer *writer);

#endif
