/* SPDX-License-Identifier: GPL-2.0 */
/*
 * faultline-inject odp: RDMA traffic over memory that is not there (NPF, figure 3 and section 4).
 *
 * Two sides on one device: the near one posts the operations, the far one owns what they reach. One
 * of the two regions pages on demand (ODP), the other is pinned. Before a pass pages of the former
 * are evicted and proven absent; each operation touches pages of its own, so that each page is
 * exactly one fault. The far side is in this process, or in one of its own.
 */
#ifndef FAULTLINE_REAL_ODP_H
#define FAULTLINE_REAL_ODP_H

#include <infiniband/verbs.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/page.h"
#include "injectors/real/verb.h"
#include "lib/analyze/histogram.h"

enum odp_operation {
	ODP_WRITE,	 /* RDMA WRITE into the far region */
	ODP_READ,	 /* RDMA READ out of the far region */
	ODP_SEND,	 /* into a receive buffer of the far region */
	ODP_READ_LOCAL,	 /* RDMA READ into the near region */
	ODP_WRITE_LOCAL, /* RDMA WRITE out of the near region */
	ODP_ATOMIC,	 /* fetch and add in the far region */
	ODP_OPERATIONS,
};

enum odp_eviction {
	ODP_EVICT_NONE,
	ODP_EVICT_DONTNEED, /* MADV_DONTNEED: the content is lost */
	ODP_EVICT_PAGEOUT,  /* MADV_PAGEOUT */
	ODP_EVICT_RECLAIM,  /* memory.reclaim of the own cgroup */
	ODP_EVICTIONS,
};

extern const char *const odp_operation_names[ODP_OPERATIONS + 1];
extern const char *const odp_eviction_names[ODP_EVICTIONS + 1];

struct odp_options {
	struct verb_options verb;
	const char *device;
	const char *file;   /* memory of this file or block device; NULL: anonymous */
	int descriptor;	    /* of it, while odp_run() is at work */
	const char *cgroup; /* directory; NULL: the own one */
	__u32 operations;   /* bit per enum odp_operation */
	enum odp_eviction eviction;
	__u64 count;   /* operations a pass */
	__u64 message; /* bytes of each */
	__u64 offset;  /* in the page */
	__u64 passes;
	__u64 evictions; /* the first so many passes begin with one */
	__u64 late_ns;	 /* receives are posted so long after the send; 0: before it */
	__u64 hold_ns;	 /* wait before the end, regions still there */
	int gid;	 /* index, -1: choose */
	__u32 mtu;	 /* bytes */
	__u8 timeout, retries, rnr_timer;
	bool pinned;	    /* no region pages on demand */
	bool prefetch;	    /* advice before the pass */
	bool two_processes; /* the far side has its own */
};

/* -EINVAL with a sentence for what argp cannot judge alone. */
int odp_options_check(void *options);
/* "write,send" or "all" into a __u32; -EINVAL with a sentence. */
int odp_parse_operations(const char *text, void *operations);

/* odp_memory.c: the region's memory. */
struct odp_memory {
	char *start;
	size_t bytes;
	int file; /* that of the options, -1: anonymous */
	int pagemap;
	int reclaim; /* memory.reclaim, -1 unless it is needed */
};

int odp_memory_open(struct odp_memory *memory, const struct odp_options *options);
void odp_memory_close(struct odp_memory *memory);
/* How many of its pages are in the page table; negative errno. */
long odp_memory_present(const struct odp_memory *memory);
/* Evicts all and proves it; calls: how often the kernel was asked. */
int odp_memory_evict(const struct odp_memory *memory, enum odp_eviction how, __u64 *calls);

/* odp_side.c: device, queue pair and region of one side. */
struct odp_address {
	union ibv_gid gid;
	__u64 memory;
	__u32 queue_pair;
	__u32 key;
};

struct odp_side {
	const struct odp_options *options;
	struct ibv_context *context;
	struct ibv_pd *domain;
	struct ibv_cq *completions;
	struct ibv_qp *queue_pair;
	struct ibv_mr *region;
	struct odp_memory memory;
	struct odp_address own;
	int gid;       /* index of own.gid */
	size_t stride; /* bytes from one operation's memory to the next */
};

/* Of all operations of a side. */
size_t odp_bytes(const struct odp_options *options);
/* Its memory holds a pattern that belongs to `seed`, and is there. */
int odp_side_open(struct odp_side *side, const struct odp_options *options, bool on_demand,
		  __u64 seed);
int odp_side_connect(struct odp_side *side, const struct odp_address *peer);
void odp_side_close(struct odp_side *side);
char *odp_side_at(const struct odp_side *side, __u64 number);
/* A number for the bytes of one operation. */
__u64 odp_side_sum(const struct odp_side *side, __u64 number);
int odp_side_receive(struct odp_side *side, __u64 number);
/* Waits for one completion. 0, its status (positive), or a negative errno. */
int odp_side_wait(struct odp_side *side);
/* The whole region in pieces whose length advice can name; how many. */
#define ODP_PIECES 72 /* of 1 GiB: more than the options allow */
int odp_side_pieces(const struct odp_side *side, struct ibv_sge pieces[ODP_PIECES]);
/* Advice to bring all of the region, synchronously; one call. */
int odp_side_prefetch(struct odp_side *side, bool write);

/* odp_far.c: the far side, here or in a process of its own. */
enum odp_request {
	ODP_FAR_OPEN,	 /* value: on demand? -> address */
	ODP_FAR_CONNECT, /* address */
	ODP_FAR_EVICT,	 /* value: how -> value: calls */
	ODP_FAR_PRESENT, /* -> value: pages */
	ODP_FAR_RECEIVE, /* value: number */
	ODP_FAR_WAIT,	 /* one completion */
	ODP_FAR_SUM,	 /* value: number -> value */
	ODP_FAR_PREFETCH,
	ODP_FAR_CLOSE,
};

struct odp_far {
	const struct odp_options *options;
	struct odp_side side; /* if it is here */
	int process;	      /* pid, 0: here */
	int socket;
};

struct odp_message {
	struct odp_address address;
	__u64 value;
	__u32 request;
	__s32 result;
	char sentence[256]; /* of a failure */
};

/* Before anything else: a process must not be forked with a device open. */
int odp_far_begin(struct odp_far *far, const struct odp_options *options);
/* The result (a negative errno with its sentence, or what the request gives). */
int odp_far_ask(struct odp_far *far, enum odp_request request, struct odp_message *message);
void odp_far_end(struct odp_far *far);

/* odp_run.c: what was done, counted here and nowhere else. */
struct odp_pass {
	enum odp_operation operation;
	__u64 pass;
	__u64 forced;	  /* pages of the on-demand region that were proven absent before */
	__u64 evictions;  /* calls that evicted */
	__u64 prefetches; /* calls of advice */
	__u64 prefetched; /* pages that are there after it and were not before */
	__u64 posted, completed, failed;
	__u64 wrong; /* operations whose data is not what was sent */
	int status;  /* of the last that failed: enum ibv_wc_status */
	struct histogram latency;
};

#define ODP_PASSES_MAX 64

struct odp_run {
	struct odp_options options;
	struct odp_side near;
	struct odp_far far;
	struct odp_pass passes[ODP_OPERATIONS * ODP_PASSES_MAX];
	size_t pass_count;
};

/* Both take a struct odp_run, for struct verb_work. */
int odp_run(void *self);
/* Whether data can be right: rxe ignores the offset in a page, for each packet. */
bool odp_aligned(const struct odp_options *options);
int odp_report(const void *self, struct writer *writer);

#endif
