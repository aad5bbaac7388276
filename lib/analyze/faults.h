/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reconstruction: events in, faults out (VPRI section 5.2; NPF figure 3).
 *
 * A fault is one page request, known by its group (device, pasid, group, instance) and its address.
 * Group events hold for every request of the group. A group that has resumed is handed over at once
 * when every timestamp was seen, else after a short wait for late events. Nothing is dropped: what
 * never resumed is handed over as unfinished, what contradicts itself as inconsistent. A fault is handed
 * over once: stages that come after it was given up are counted, and left.
 *
 * CPU faults that a handler took name the group. Where it is known at which address the handler sees the
 * device's memory, one is credited to the request of its page and to no other: what else a handler
 * touches (its stack, its code, a sanitizer's shadow) is its own. Elsewhere it is credited to the request
 * of the same offset in 2 MiB, else to the request resolved next: a handler resolves the pages of its
 * group one after the other.
 *
 * Other analyzers subscribe and share this one reconstruction.
 */
#ifndef FAULTLINE_FAULTS_H
#define FAULTLINE_FAULTS_H

#include "lib/analyze/analyzer.h"
#include "lib/analyze/period.h"

struct faults_config {
	size_t open_max;      /* requests at once; beyond it the oldest is given up; 0: 262144 */
	__u64 linger_ns;      /* wait for late events after resume, 0: 200 ms */
	__u64 give_up_ns;     /* age at which a fault is unfinished, 0: 120 s */
	__u64 start_ns;	      /* a fault without its beginning is cut by the stream's start, not
			       inconsistent, if seen this early in the stream; 0: 60 s */
	struct period period; /* a fault that begins outside is left out */
};

/* How a group ends that was given up before: its faults have been handed over. */
struct fault_end {
	__u32 device;
	__u16 queue;
	bool seen;	   /* its end was; else only that it has ended, by then at the latest */
	__u64 faults;	   /* of the period */
	__u64 given_up_ns; /* as in struct fault */
	__u64 time_ns;	   /* 0: nobody looks for its end any more */
};

/* Called during events(), tick() or end(); the fault is borrowed. */
struct fault_sink {
	void (*began)(void *self, const struct fault *fault); /* its first timestamp is set */
	void (*finished)(void *self, const struct fault *fault);
	void *self;
	bool everything; /* of faults outside of the period, too */
	void (*ended)(void *self, const struct fault_end *end); /* after all; may be NULL */
	/* Nobody waits for it any more, but it is handed over later, as the host still has it or events may be late:
	 * told_over says why. At most once, before finished(); may be NULL. */
	void (*over)(void *self, const struct fault *fault);
};

/* Of faults of the period, but for `open` and what was left out. */
struct faults_counts {
	__u64 began;
	__u64 open;
	__u64 complete;
	__u64 unfinished;   /* with the next */
	__u64 given_up;	    /* closed early: too many open at once */
	__u64 went_on;	    /* unfinished when they were given up, but then stages came */
	__u64 went_on_late; /* of these: at an age at which we give up, whoever did before */
	__u64 inconsistent;
	__u64 overflowed;
	__u64 discarded;
	__u64 abandoned;  /* given up by their devices */
	__u64 automatic;  /* groups that the IOMMU answered itself, nothing resolved */
	__u64 cpu_faults; /* of handlers, credited to a request */
	__u64 cpu_faults_unmatched;
	__u64 cut;	 /* of any state: began before the stream did */
	__u64 cut_core;	 /* of these: of the kernel's own page requests */
	__u64 unwatched; /* of any state: the probe of its beginning is off or was not asked for */
	const char *unwatched_probe;
	__u64 left_before; /* began before the period */
	__u64 left_across; /* of these: ended in it or later, or not at all */
	__u64 left_after;  /* began after the period */
};

#define FAULT_SINKS 24

struct faults;

int faults_create(struct faults **faults, const struct faults_config *config);
/* -ENOSPC beyond FAULT_SINKS. Subscribers are called in the order of subscription. */
int faults_subscribe(struct faults *faults, struct fault_sink sink);
struct stream faults_stream(struct faults *faults);
/* How long after its first event a fault is handed over at most. */
__u64 faults_late_ns(const struct faults *faults);
/* Whether it had begun before its device was watched: its first stage was not seen, though all were looked for. */
bool faults_began_before(const struct faults *faults, const struct fault *fault);
/* Whether its end would have been seen: if not, that it has none tells nothing. Nobody knows of RDMA. */
bool faults_end_watched(const struct faults *faults, const struct fault *fault);
/*
 * The probe for want of which not each fault of this device is told: it is off, or its kind of event was
 * not asked for. NULL: its faults are told, or no probe was.
 */
const char *faults_unwatched(const struct faults *faults, __u32 device);
enum faults_watched {
	FAULTS_WATCHED,
	FAULTS_PARTLY_WATCHED, /* whoever recorded left out those of some path */
	FAULTS_NOT_WATCHED,
};

/* Of all devices; what this host cannot show is not missed where anything is watched. */
enum faults_watched faults_watched(const struct faults *faults);
void faults_counts(const struct faults *faults, struct faults_counts *counts);
/* Whether any of the period began. */
bool faults_began(const struct faults *faults);
/* Every fault not yet handed over: open ones, oldest group first, then those that have resumed and
 * wait for late events. */
void faults_each_open(const struct faults *faults,
		      void (*each)(void *argument, const struct fault *fault), void *argument);
void faults_destroy(struct faults *faults);

#endif
