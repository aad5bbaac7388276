/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Streams whose truth is known: seeded random faults with chosen stage times, reused group numbers,
 * groups of several requests, late events, missing timestamps, overflows, faults that never resume,
 * faults that contradict themselves, and faults that had begun before the stream.
 */
#ifndef FAULTLINE_SYNTHETIC_H
#define FAULTLINE_SYNTHETIC_H

#include "lib/analyze/analyzer.h"

struct synthetic_config {
	unsigned int seed;
	unsigned int devices;	   /* handles 1 to N; 0: 3 */
	unsigned int queues;	   /* per device; 0: 2 */
	unsigned int groups;	   /* groups of page requests; 0: 997 */
	unsigned int requests_max; /* of one group; 0: 1 */
	unsigned int numbers;	   /* group numbers of a device, used round; 0: 32 */
	__u64 start_ns;		   /* 0: 1000 s */
	__u64 gap_ns;		   /* mean between two groups; 0: 3 ms */
	/* Each in groups per thousand; the first that strikes decides. */
	unsigned int late;	   /* one event arrives up to 100 ms late */
	unsigned int missing;	   /* one timestamp between detect and resume is not told */
	unsigned int overflowed;   /* requests dropped by a full queue, then resumed */
	unsigned int unfinished;   /* no response, no resume */
	unsigned int given_up;	   /* the same, and capture says so after 50 ms */
	unsigned int inconsistent; /* resolved before its handler began */
	unsigned int cut;	   /* groups at the start whose first events are missing */
	unsigned int cpu_noise;	   /* other CPU faults per group */
	bool frames;		   /* aggregate frames with I/Os, CPU faults and pages */
};

struct synthetic {
	struct host_info host;
	struct clock_anchor clock;
	struct loss_info loss;
	struct device_info *devices;
	size_t device_count;
	struct event *events; /* in the order of arrival */
	size_t event_count;
	struct fault *faults; /* the truth, by group, with the state that must be found */
	size_t fault_count;
	struct aggregate_frame *frames;
	size_t frame_count;
	__u64 end_ns;
};

void synthetic_make(struct synthetic *synthetic, const struct synthetic_config *config);
/* Pushes everything into `sink`, at most `chunk` events a call (0: as many as possible). */
int synthetic_feed(const struct synthetic *synthetic, struct stream sink, size_t chunk);
void synthetic_free(struct synthetic *synthetic);

#endif
