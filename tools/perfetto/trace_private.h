/* SPDX-License-Identifier: GPL-2.0 */
/* Inside tools/perfetto: what has been begun of a trace. */
#ifndef FAULTLINE_PERFETTO_TRACE_PRIVATE_H
#define FAULTLINE_PERFETTO_TRACE_PRIVATE_H

#include "lib/analyze/blame.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/invalidations.h"
#include "lib/analyze/session.h"
#include "lib/analyze/stage.h"
#include "lib/analyze/stalls.h"
#include "tools/perfetto/lanes.h"
#include "tools/perfetto/trace.h"

/* The whole of a fault's group resumes at once, so what is joined to it is joined to all of its requests. */
uint64_t perfetto_flow(const struct blame_key *key);

/* What lasts on a device, beside faults and I/Os, which are of queues. */
enum device_lanes {
	LANES_INVALIDATIONS,
	LANES_STALLS,
	LANES_WAITS,
	LANES_VIOLATIONS,
	DEVICE_LANES
};
enum device_counter { COUNTER_FAULTS, COUNTER_IOS, COUNTER_OPEN, COUNTER_BLOCKED, DEVICE_COUNTERS };

struct device_tracks {
	__u32 device;
	__u64 track;
	struct lanes lanes[DEVICE_LANES];
	__u64 cpu_faults; /* 0: it has none yet */
	__u64 counters[DEVICE_COUNTERS];
	/* Of the open faults: how many, most within a window, what was told last. */
	__u64 window, open, most, told;
	double blocked; /* told last */
	bool faulted;
	UT_hash_handle hh;
};

/* What an I/O may have waited for. */
struct past_fault {
	__u64 from_ns, to_ns, address, length, flow;
};

struct queue_tracks_key {
	__u32 device, queue;
};

struct queue_tracks {
	struct queue_tracks_key key;
	struct lanes faults, ios;
	struct past_fault *past; /* the newest, modulo their room, a power of two */
	size_t past_room;
	__u64 past_count;
	UT_hash_handle hh;
};

struct injection_key {
	__u64 id;
	__u32 device, pid;
};

struct open_injection {
	struct injection_key key;
	struct event start;
	UT_hash_handle hh;
};

/* A fault more or less is open: to be told in the order of time. */
struct open_change {
	__u64 time_ns;
	__u32 device;
	bool begins;
};

struct perfetto {
	struct analysis *analysis;
	struct packets *packets;
	__u64 root, cpu_faults; /* tracks */
	struct device_tracks *devices;
	struct queue_tracks *queues;
	struct lanes injections;
	struct open_injection *open_injections;
	struct event *ios; /* that wait until the faults are over which they waited for, a ring */
	size_t io_room;
	__u64 io_head, io_tail;
	struct open_change *changes; /* a heap, the earliest on top */
	size_t change_count, change_room;
	__u64 change_ns;     /* up to here they are told */
	__u64 now_ns;	     /* the newest time of the stream */
	__u64 blocked_to_ns; /* up to here it is told for how long queues were blocked; 0: nothing is */
	__u64 left_out;	     /* what had no time, or found no memory */
};

/* NULL without memory. */
struct device_tracks *perfetto_device(struct perfetto *perfetto, __u32 device);
struct queue_tracks *perfetto_queue(struct perfetto *perfetto, __u32 device, __u16 queue);
/* The lanes of a device, NULL without memory. */
struct lanes *perfetto_lanes(struct perfetto *perfetto, __u32 device, enum device_lanes which);

struct perfetto_slice {
	__u64 from_ns, to_ns;
	const char *category, *name;
	const struct packet_arguments *arguments;
	const uint64_t
		*flows; /* joined to others of these numbers, in the order in which they begin */
	size_t flow_count;
};

/* On a lane that is free; what is to be inside comes between the two. Returns its track. */
__u64 perfetto_slice_begin(struct perfetto *perfetto, struct lanes *lanes,
			   const struct perfetto_slice *slice);
void perfetto_slice_end(struct perfetto *perfetto, __u64 track, const struct perfetto_slice *slice);
void perfetto_slice(struct perfetto *perfetto, struct lanes *lanes,
		    const struct perfetto_slice *slice);

/* trace_faults.c */
void perfetto_on_began(void *self, const struct fault *fault);
/* Which may be long before the host is done with it. */
void perfetto_on_over(void *self, const struct fault *fault);
void perfetto_on_finished(void *self, const struct fault *fault);
/* The time that a fault's slice takes. False: none of its timestamps was seen. */
bool perfetto_fault_span(const struct perfetto *perfetto, const struct fault *fault, __u64 *from_ns,
			 __u64 *to_ns);
void perfetto_cpu_fault(struct perfetto *perfetto, const struct event *event);

/* trace_waiting.c: of what had to wait for faults */
void perfetto_io(struct perfetto *perfetto, const struct event *event);
/* Those whose faults are known by that time. */
void perfetto_flush_ios(struct perfetto *perfetto, __u64 time_ns);
void perfetto_on_stall(void *self, const struct stall *stall);
void perfetto_finish_waiting(struct perfetto *perfetto);

/* trace_happened.c: what else happened */
void perfetto_injection(struct perfetto *perfetto, const struct event *event);
void perfetto_on_invalidation(void *self, const struct invalidation *invalidation);
void perfetto_finish_happened(struct perfetto *perfetto);

/* trace_counters.c */
void perfetto_open(struct perfetto *perfetto, __u32 device, __u64 time_ns, bool begins);
/* What is sure by that time. */
void perfetto_flush_counters(struct perfetto *perfetto, __u64 time_ns);
void perfetto_finish_counters(struct perfetto *perfetto);

#endif
