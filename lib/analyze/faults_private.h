/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The groups and requests that are being reconstructed. fault_groups.c: where they are kept, when they are over, how
 * they are judged; fault_events.c: what an event does to them; faults.c: what others ask.
 */
#ifndef FAULTLINE_FAULTS_PRIVATE_H
#define FAULTLINE_FAULTS_PRIVATE_H

#include <utlist.h>

#include "lib/analyze/fault_probes.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/pasids.h"
#include "lib/analyze/pool.h"
#include "lib/analyze/slots.h"

#define STAGE_BIT(kind) ((__u8)(1u << ((kind)-EVENT_FAULT_DETECT)))
#define ALL_STAGES	0xff
/* PCIe knows no bound; one beyond any device's keeps a hostile stream from long searches. */
#define GROUP_REQUESTS_MAX 4096

struct fault_group_key {
	__u32 device, pasid, group, instance;
};

struct fault_request {
	struct fault fault;
	struct fault_request *next;
	bool left_out; /* it began outside of the period */
};

/*
 * Open groups stand in `open` by age; resumed ones that lack a timestamp in `lingering`. Those that were
 * handed over before they were over stand in `past`, without requests: so their later stages are known.
 */
struct fault_group {
	struct fault_group_key key;
	struct fault_request *requests; /* in the order they appeared */
	struct fault_request *last;
	size_t count; /* also of a past group, of what was not left out */
	struct fault_group *prev, *next;
	__u64 first_ns;
	__u64 due_ns;		/* of a lingering group, else 0 */
	__u64 at[FAULT_STAGES]; /* group events, for requests that appear after them */
	__u64 cpu_fault_ns;	/* CPU faults not yet credited to a request */
	__u64 abandoned_ns;
	__u64 given_up_ns; /* of a past group whose end may still come, else 0 */
	__u64 hanging;	   /* its faults then, of the period */
	__u32 cpu_faults;
	__u32 handler_tid;
	__u16 handler_cpu;
	__u16 queue; /* of a past group */
	__u8 seen;
	__u8 code;
	bool past;
	UT_hash_handle hh;
};

/* What the dictionary says of a device; zero: nothing. */
struct fault_device {
	__u32 pid;	 /* of its owner */
	__u64 mapped_at; /* 0: not known */
	enum fault_path path;
};

struct faults {
	struct faults_config config;
	struct fault_sink sinks[FAULT_SINKS];
	size_t sink_count;
	struct fault_group *groups;
	struct fault_group *open, *lingering, *past;
	size_t past_count;
	struct pool group_pool, request_pool;
	struct slots devices; /* struct fault_device by handle */
	struct pasids *pasids;
	struct faults_counts counts;
	__u64 given_up; /* told as abandoned, not handed over: not in the counts */
	__u64 first_ns; /* of the stream */
	struct fault_probes probes;
	int error;
};

/* Calls of the stream. */
int faults_on_events(void *self, const struct event *events, size_t count);
int faults_on_end(void *self, __u64 end_ns);

/* The first stage of a fault is missing: a kernel path's begins with its report, or its handler. */
bool fault_was_cut(const struct fault *fault);
/* Its stages that were seen are in the order of their kinds. */
bool fault_in_order(const struct fault *fault);
/* Of a device that was not told: emulated. */
enum fault_path fault_device_path(const struct faults *faults, __u32 device);
struct fault_group *fault_group_find(struct faults *faults, const struct event *event);
/* NULL without memory; faults->error says so. The same of fault_request_new(). */
struct fault_group *fault_group_new(struct faults *faults, const struct event *event);
/* Tells of its requests that are over and not yet told so. */
void fault_group_tell_over(struct faults *faults, struct fault_group *group);
/* Judges a group's requests, hands them over and forgets the group. */
void fault_group_close(struct faults *faults, struct fault_group *group);
/*
 * The same, but stages that come yet are known as the group's. They count unless its device waits no more. Its
 * subscribers are told when it ends after all, but not if it was already over at `now`, which is 0 then.
 */
void fault_group_give_up(struct faults *faults, struct fault_group *group, __u64 now);
/* A past group is over, at the latest by the time `now`; 0: nobody looks for its end any more. */
void fault_group_ended(struct faults *faults, struct fault_group *group, __u64 now, bool seen);
/* An event of a past group: true for a stage, which is to be left; false, and the group is forgotten, if a
 * fault begins. */
bool fault_group_went_on(struct faults *faults, struct fault_group *group,
			 const struct event *event);
/* Closes what has waited long enough by the time `now`. */
void fault_group_expire(struct faults *faults, __u64 now);

/* A request of the group; what group events have told already holds for it, too. */
struct fault_request *fault_request_new(struct faults *faults, struct fault_group *group,
					const struct event *event);
/* The group's request of this page, NULL if there is none. */
struct fault_request *fault_request_find(struct fault_group *group, __u64 address);
/*
 * The request whose page a handler touches at a CPU virtual address. With SVA the two addresses are
 * one; guest memory is mapped at multiples of 2 MiB by every VMM, so that the offsets in 2 MiB agree.
 */
#define SAME_PAGE_MASK ((__u64)((2u << 20) - 4096))
struct fault_request *fault_request_at(struct fault_group *group, __u64 virtual_address);
/* Counts it and tells the subscribers, once its first timestamp is set. */
void fault_request_announce(struct faults *faults, struct fault_request *request,
			    const struct event *event);
/* Names the process that the fault's PASID means, if it is known by now. */
void fault_name_process(const struct faults *faults, struct fault *fault);
/* The first time of a stage stands; further ones are counted. */
void fault_stamp(struct fault *fault, unsigned int stage, __u64 time_ns);

#endif
