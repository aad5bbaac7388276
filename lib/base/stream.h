/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pipe between sources and sinks.
 *
 * A source (live capture, a recording) pushes into a struct stream; a sink (the recorder, an
 * analyzer, the live view) implements struct stream_ops. A source never knows a sink, and the order
 * of calls is the same live and offline: host first, a device, stack, process or flow before the first
 * event that names it,
 * events in merged order, an aggregate frame once its window has closed, loss whenever it changed,
 * end last. Every callback returns 0 or a negative errno, which stops the source. Any may be NULL.
 *
 * Pointers are borrowed for the duration of the call; a sink copies what it keeps.
 */
#ifndef FAULTLINE_STREAM_H
#define FAULTLINE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/aggregate.h"
#include "bpf/device_kind.h"
#include "bpf/event.h"

#define HOST_TEXT	 256
#define HOST_FILTER_TEXT 4096 /* more than all devices or kinds that can be asked for */
#define NAME_TEXT	 64
#define REASON_TEXT	 512

struct host_info {
	char hostname[NAME_TEXT];
	char kernel[HOST_TEXT]; /* uname -r and -v */
	char boot_id[NAME_TEXT];
	char version[NAME_TEXT]; /* of the Faultline that captured */
	char command[HOST_TEXT]; /* how it was called */
	__u32 cpus;
	__u32 page_size;
	__u64 start_ns; /* CLOCK_MONOTONIC when capture began */
	/* What capture was asked for, separated by ", "; "": everything. */
	char devices[HOST_FILTER_TEXT]; /* names or patterns */
	char kinds[HOST_FILTER_TEXT];	/* of events, as options take them */
};

/* CLOCK_REALTIME at a CLOCK_MONOTONIC instant: taken at start and again every minute. */
struct clock_anchor {
	__u64 monotonic_ns;
	__u64 realtime_ns;
};

/* A dictionary entry; everything is as it was when the device was first seen. */
#define PID_START_TICK_NS \
	10000000ull /* the kernel tells when a process began to a tick, downwards */

struct device_info {
	__u32 handle;	       /* nonzero, dense from 1, unique within one capture */
	__u32 kind;	       /* enum device_kind */
	char name[NAME_TEXT];  /* "tenant0/disk0", "0000:00:02.0", "vda" */
	char model[NAME_TEXT]; /* "block", "accel", a driver's name */
	char vm[NAME_TEXT];    /* tenant or VM, "" if none */
	char comm[16];	       /* of the owner */
	__s32 iommu_group;     /* -1 if none */
	__u32 pid;	       /* owner, 0 if the kernel */
	__u64 pid_start_ns;    /* its start at CLOCK_MONOTONIC, to 10 ms: tells a reused pid */
	__u64 cgroup;	       /* cgroup v2 id, 0 if unknown */
	__u64 source_id;       /* id of the source: BDF, dev_t, index in the emulated machine */
	__u32 queues;	       /* 0 if unknown */
	__u64 memory;	       /* bytes of memory the device can reach, 0 if unknown */
	__u64 first_ns;
	__u64 mapped_at; /* what the device knows as 0 is here in its owner's address space, so
			    that a page has one CPU address; 0: not known */
};

#define STACK_TEXT 2048

/* A kernel stack that events name in their `group`: told before the first of them. */
struct stack_info {
	__u32 id;    /* nonzero */
	__u32 depth; /* frames that there were, also of those that the text has no room for */
	char text[STACK_TEXT]; /* a line a frame, innermost first: "symbol+0x12" or "0xffff..." */
};

/* What the frames of one connection have in common, in one direction: told before the first event that names it. */
struct flow_info {
	__u32 id;	 /* nonzero; events name it in their `tid` */
	__u32 device;	 /* handle of the NIC whose network it is in, 0: the host's own */
	__u8 family;	 /* AF_INET, AF_INET6; 0: no IP */
	__u8 protocol;	 /* IPPROTO_*; without IP 0 */
	__u16 ethertype; /* without IP */
	__u16 source_port, destination_port; /* host order; 0 where the protocol has none */
	__u8 source[16], destination[16];    /* network order, of IPv4 the first four bytes */
};

/* The name of a process at the time of its events: told before the first that owns something. */
struct process_info {
	__u32 pid;
	__u64 first_ns; /* when Faultline met it under this name */
	char comm[16];
};

enum probe_state_kind {
	PROBE_OFF, /* could not attach; reason says why */
	PROBE_ON,
	PROBE_DISABLED, /* not asked for */
};

/* A row of the probe table with its counters; counters are totals since attach. */
struct probe_info {
	char name[NAME_TEXT];	/* "fault_detect", "page_fault_user" */
	char attach[NAME_TEXT]; /* "usdt faultline:fault_detect", "tp_btf page_fault_user" */
	char reason[REASON_TEXT];
	__u32 state; /* enum probe_state_kind */
	__u64 hits;
	__u64 emitted; /* events that reached a ring */
	__u64 lost;    /* events for which the ring had no room */
	__u64 missed;  /* runs the kernel skipped because of recursion */
};

/* What a flight recorder, or a snapshot of one, does not hold any more of its capture. */
struct kept_info {
	__u64 from_ns;	/* CLOCK_MONOTONIC: what is before was let go; 0: nothing was */
	__u64 segments; /* deleted */
	__u64 events;	/* recorded one by one and let go */
};

/*
 * Exact account: produced = received + lost + missed + turned_away. Totals since the start of capture.
 * That of the access logs of emulated machines is of the same form, its produced being the sum.
 */
struct loss_info {
	__u64 produced;
	__u64 received;
	__u64 lost;   /* ring full, or its device has no slot; summed over probes */
	__u64 missed; /* recursion */
	__u64 late;   /* received after the merge had passed their time (kept, flagged) */
	__u64 state_failed; /* kernel-side map inserts that failed: some groups have no instance, events no device */
	__u64 access_lost; /* access-log records the device discarded or we were too slow for */
	__u64 access_received;
	__u64 access_missed;	/* I/Os of machines that ended before they were met */
	__u64 machines_missed;	/* those machines */
	__u64 machines_unknown; /* machines not met, or killed, that told no total of their I/Os */
	__u64 filtered; /* page requests that were seen and left out: not of the devices or kinds asked for */
	__u64 turned_away; /* calls of an emulator's probes by processes that may not be machines: no loss */
	/* What came while the recorder had no room to write it: events of those received, and seconds of
	 * counts. */
	__u64 unwritten_events;
	__u64 unwritten_windows;
	__u64 damaged_bytes; /* offline only: bytes of the recording skipped as unreadable */
	__u64 damaged_frames;
	/* Offline only: the recording has no end, what came last is missing. So is what was lost since
	 * as_of_ns (0: before any account), the last unaccounted_ns of what is there. */
	bool cut;
	__u64 as_of_ns;
	__u64 unaccounted_ns;
};

/* Events that there were did not come this far. */
static inline bool loss_of_events(const struct loss_info *loss)
{
	return loss->lost || loss->missed || loss->damaged_bytes || loss->damaged_frames ||
	       loss->unwritten_events;
}

struct aggregate_row {
	struct aggregate_key key;
	struct aggregate_counts counts;
	__u32 histogram; /* first of its bins in the frame, bins ordered by bucket */
	__u32 bins;	 /* 0 where the kind has no latency */
};

/* One nonempty histogram bucket (bpf/histogram.h), in ns. */
struct aggregate_bin {
	__u32 bucket;
	__u32 count;
};

/* What capture counts in one window at most: beyond it the frame is `incomplete`. */
#define AGGREGATE_ROWS_MAX  (1u << 17)
#define AGGREGATE_PAGES_MAX (1u << 20)

/* Everything counted in one closed window, a consistent whole. */
struct aggregate_frame {
	__u64 window;	 /* start_ns / AGGREGATE_WINDOW_NS */
	bool incomplete; /* a counting map was full: the counts are floors */
	size_t row_count;
	size_t bin_count;
	size_t page_count;
	const struct aggregate_row *rows;
	const struct aggregate_bin *bins;
	const struct aggregate_page *pages; /* sorted by device, pasid, page */
};

struct stream_ops {
	int (*host)(void *self, const struct host_info *host);
	int (*clock)(void *self, const struct clock_anchor *anchor);
	int (*probe)(void *self,
		     const struct probe_info *probe); /* again when its counters moved */
	int (*device)(void *self, const struct device_info *device);
	int (*stack)(void *self, const struct stack_info *stack);
	int (*process)(void *self, const struct process_info *process);
	int (*flow)(void *self, const struct flow_info *flow);
	int (*events)(void *self, const struct event *events, size_t count);
	int (*aggregate)(void *self, const struct aggregate_frame *frame);
	int (*loss)(void *self, const struct loss_info *loss);
	int (*kept)(void *self, const struct kept_info *kept); /* only from a flight recorder */
	/* Time has passed up to now_ns though nothing happened: live views and windows advance. */
	int (*tick)(void *self, __u64 now_ns);
	int (*end)(void *self, __u64 end_ns);
};

struct stream {
	const struct stream_ops *ops;
	void *self;
};

/* A stream that passes every call to up to STREAM_FANOUT sinks, in order; the first error wins, and ends
 * all calls but end(), which every sink gets. */
#define STREAM_FANOUT 40
struct stream_fan {
	struct stream sinks[STREAM_FANOUT];
	size_t count;
	/* Where memory ran out (lib/base/memory.h) its sinks take no more, which is no error: others beside
	 * them go on, and whoever reads asks memory_ran_out(). end() still comes. */
	bool stops;
};
struct stream stream_fan(struct stream_fan *fan);
/* -ENOSPC beyond STREAM_FANOUT. */
int stream_fan_add(struct stream_fan *fan, struct stream sink);

static inline int stream_events(struct stream s, const struct event *events, size_t count)
{
	return s.ops->events ? s.ops->events(s.self, events, count) : 0;
}

#endif
