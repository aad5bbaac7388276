/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one run of a machine gave: one row of numbers, the columns of the result table and the names
 * that expectations may use.
 */
#ifndef FAULTLINE_JOB_RESULT_H
#define FAULTLINE_JOB_RESULT_H

#include "injectors/emu/machine.h"
#include "injectors/job/programs.h"
#include "injectors/job/schedule.h"
#include "injectors/job/vms.h"
#include "lib/job/column.h"

/* Samples that must lie beyond a percentile before it is given at all. */
#define RESULT_BEYOND 20

/* Over the networks of a machine, both sides of each. */
struct network_sums {
	__u32 count;
	__u64 retransmits, timeouts, spurious_timeouts, probes, fast;
	__u64 guest_dropped; /* frames of the guest that its driver did not take in time */
};

enum result_column {
	RESULT_SECONDS, /* length of the longest workload */
	RESULT_IOS,
	RESULT_UNSENT, /* were due and never sent */
	RESULT_IOPS,
	RESULT_BYTES_PER_S,
	RESULT_LATENCY_MEAN,
	RESULT_LATENCY_P50,
	RESULT_LATENCY_P90,
	RESULT_LATENCY_P99,
	RESULT_LATENCY_P999,
	RESULT_LATENCY_P9999,
	RESULT_LATENCY_MAX,
	RESULT_LATENCY_MIN,
	RESULT_MIN_IOPS, /* slowest 100 ms, of the workload that suffered most */
	RESULT_FAULTS,	 /* page requests */
	RESULT_GROUPS,
	RESULT_MAJOR,
	RESULT_ROUND_TRIPS,
	RESULT_ROUND_TRIP_MEAN,
	RESULT_ROUND_TRIP_P50,
	RESULT_ROUND_TRIP_P90,
	RESULT_ROUND_TRIP_P99,
	RESULT_ROUND_TRIP_MAX,
	RESULT_HOST_MEAN, /* with DEVICE_MEAN the mean round trip */
	RESULT_DEVICE_MEAN,
	RESULT_HOST_LEAST,
	RESULT_DEVICE_LEAST,
	RESULT_OVERFLOWS,
	RESULT_OVERFLOW_EPOCHS,
	RESULT_DISCARDS,
	RESULT_AUTO_ANSWERED,
	RESULT_DISABLES,
	RESULT_REFUSED,
	RESULT_HELD_BACK,
	RESULT_EVICT_ASKED,
	RESULT_EVICTED,
	RESULT_EVICT_MISSED,
	RESULT_EVICT_PINNED,
	RESULT_PINNED,
	RESULT_PINNED_MEAN, /* by the protector, percent of all tenants' memory */
	RESULT_PINNED_MAX,
	RESULT_PINS,
	RESULT_UNPINS,
	RESULT_PIN_REFUSED,
	RESULT_ACCESSES, /* records of the access log */
	RESULT_ACCESSES_LOST,
	RESULT_LIMITED,	 /* memory_limit: bytes */
	RESULT_IN_GROUP, /* 1: by a memory cgroup, 0: by the machine's reclaimer alone */
	RESULT_PRESENT,
	RESULT_PRESENT_MOST,
	RESULT_RECLAIMED,
	RESULT_ROOM_WAITS,
	RESULT_INSTANCES, /* of stores */
	RESULT_INSTANCES_REFUSED,
	RESULT_HITS,
	RESULT_HIT_RATE,
	RESULT_WORST_HIT_RATE,
	RESULT_HITS_PER_S,
	RESULT_WORST_SHARE,
	RESULT_TRANSITION,
	RESULT_FIRED,	/* how often delay, lost response, ... acted */
	RESULT_BLOCKED, /* share of queue time in which a fault was open, 0 to 1 */
	RESULT_OFF_TENANT,
	RESULT_AT_MSI,
	RESULT_OFF_MSI,
	RESULT_BEHIND_OTHERS,
	RESULT_ROUND_TRIP_BEST,
	RESULT_LOOKUPS,
	RESULT_LOOKUP_P50,
	RESULT_DEVTLB_HITS, /* of devices with lookup=ats */
	RESULT_DEVTLB_MISSES,
	RESULT_IOTLB_HITS,
	RESULT_IOTLB_MISSES,
	RESULT_READ_ONLY,
	RESULT_UPGRADES,
	RESULT_INVALID,
	RESULT_HUGE,
	RESULT_SPLITS,
	RESULT_EMQ_COMMANDS,
	RESULT_EMQ_DEPTH_MAX,
	RESULT_EMQ_FULL_WAITS,
	RESULT_EMQ_P50,
	RESULT_EMQ_P99,
	RESULT_EMQ_MAX,
	RESULT_GOODPUT, /* of programs, or of frames that are made up */
	RESULT_MIN_GOODPUT,
	RESULT_REQUESTS,
	RESULT_REQUESTS_PER_S,
	RESULT_REQUEST_P99,
	RESULT_FRAMES,
	RESULT_DELIVERED,
	RESULT_LOST,
	RESULT_LOST_FAULT,
	RESULT_LOST_NO_BUFFER,
	RESULT_LOST_CACHE_FULL,
	RESULT_LOST_INNOCENT,
	RESULT_LOST_BACKUP_FULL,
	RESULT_LOST_BEFORE_NIC,
	RESULT_LOST_WIRE,
	RESULT_LOST_OVERLONG,
	RESULT_HELD,
	RESULT_HELD_NOW,
	RESULT_FRAME_ERRORS,
	RESULT_INTERRUPTS,
	RESULT_STALLS,
	RESULT_MAX_STALL,
	RESULT_TIME_TO_STEADY,
	RESULT_RETRANSMITS, /* of the networks' own counters, both sides */
	RESULT_TIMEOUTS,
	RESULT_SPURIOUS_TIMEOUTS,
	RESULT_PROBES,
	RESULT_FAST,
	RESULT_OPERATIONS, /* of ranks */
	RESULT_OPERATIONS_PER_S,
	RESULT_RNR, /* of RDMA devices */
	RESULT_DROPPED,
	RESULT_RESENT,
	RESULT_WIRE_EFFICIENCY,
	RESULT_SUPPRESSED,
	RESULT_PAUSED,
	RESULT_PROTECTION,
	RESULT_CQ_OVERRUNS,
	RESULT_COMMANDS,
	RESULT_COMMAND_MEAN,
	RESULT_REGISTERED,
	RESULT_MAPPED,
	RESULT_CACHE_HITS,
	RESULT_CACHE_MISSES,
	RESULT_COPIED,
	RESULT_UNDO_MEAN, /* of loads of verbs */
	RESULT_UNDO_P50,
	RESULT_UNDO_MIN,
	RESULT_OVER_SLO,
	RESULT_REGIONS_REFUSED,
	RESULT_STOPPED_CALLS,
	RESULT_DATA_KICKS,
	RESULT_DATA_INJECTIONS,
	RESULT_GUEST_PINNED,
	RESULT_MACHINE_PINNED,
	RESULT_GUEST_RESIDENT,
	RESULT_MACHINE_RESIDENT,
	RESULT_LOAD_CPU,
	RESULT_ENGINE_CPU,
	RESULT_WORK_POST_LEAST, /* and the next two, in this order */
	RESULT_WORK_DEVICE_LEAST,
	RESULT_WORK_REAP_LEAST,
	RESULT_HYV_REGISTERED,
	RESULT_PINS_GUEST,
	RESULT_PINS_REMAP,
	RESULT_PINS_DRIVER,
	RESULT_VERBS_REFUSED,
	RESULT_REMAPS,
	RESULT_REMAPS_SKIPPED,
	RESULT_PINS_UNEQUAL,
#define VM_RESULT(id, name, meaning) RESULT_##id,
#include "injectors/job/vm_results.def"
#undef VM_RESULT
	RESULT_GUEST, /* what guests tell, from here on in the order of guest_keys.def */
	RESULT_GUEST_LAST = RESULT_GUEST + GUEST_KEYS - 1,
	RESULT_ERRORS,
	RESULT_MISMATCHES,
	RESULT_VIOLATIONS,
	RESULT_MOVED,  /* by ranks and programs */
	RESULT_LANDED, /* at RDMA devices */
	RESULT_CPU,
	RESULT_GOODPUT_PER_CPU, /* of ranks */
	RESULT_PID,		/* of the machine: tells it in a recording of several */
	RESULT_COLUMNS,
};

extern const struct job_columns job_columns;

/* NAN: not known, or a percentile with too few samples. Times in ns. */
struct result {
	double values[RESULT_COLUMNS];
};

/* What numbers alone do not say. */
struct result_notes {
	char failing
		[448]; /* devices with RESULT_ERRORS: the first ones' names, and how many others */
	char printed[16384]; /* by programs of guests */
	char unread[512];    /* the first program whose output gave no result, and why; "" */
};

/* What it was called with and what was done to it. */
struct result_input {
	const struct machine *machine;
	const struct machine_config *config;
	const struct programs *programs;     /* stopped */
	const struct guest_programs *guests; /* likewise */
	const struct vms *vms;		     /* likewise */
	struct schedule_totals injected;
	__u64 cpu_ns; /* of this process, while loads and injections ran */
	struct network_sums networks;
	struct result_notes *notes; /* filled */
};

/* Asks the machine's networks, which are gone once it has stopped. */
int result_count_networks(struct result_input *input);

void result_clear(struct result *result);
/* Summarises a machine that has stopped. */
int result_fill(struct result *result, const struct result_input *input);

#endif
