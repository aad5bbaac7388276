/* SPDX-License-Identifier: GPL-2.0 */
/* `faultline-inject pageout`: what was asked for, and running it. Options: pageout.c. */
#ifndef FAULTLINE_REAL_PAGEOUT_H
#define FAULTLINE_REAL_PAGEOUT_H

#include "injectors/real/evict.h"
#include "injectors/real/order.h"
#include "injectors/real/verb.h"

#define PAGEOUT_RANGES	  256
#define PAGEOUT_PROCESSES 64

struct address_range {
	__u64 start, end; /* page-aligned */
};

struct pageout_options {
	struct verb_options verb;
	pid_t pid;
	const char *device;
	struct address_range ranges[PAGEOUT_RANGES];
	size_t range_count;
	const char *mappings[PAGEOUT_RANGES]; /* shell patterns of mappings' names */
	size_t mapping_count;
	enum order_kind order;
	enum evict_advice advice;
	__u64 seed;
	double rate;	   /* pages a second, 0: none */
	__u64 burst;	   /* pages, 0: none */
	__u64 every_ns;	   /* between bursts */
	__u64 duration_ns; /* 0: until all is asked for */
	__u64 pages;	   /* in total, 0: all once, or no limit with a rate or bursts */
	bool reclaim;
	__u64 reclaim_bytes; /* 0: as much as was asked to be evicted */
	const char *cgroup;  /* directory, NULL: the process's own */
};

/* One process and where in it. */
struct aim {
	struct target target;
	struct evictor evictor;
	struct address_range *ranges;
	size_t range_count, range_room;
	__u64 pages; /* in these ranges */
	__u64 first; /* its place in the order */
	bool gone;
	bool guest_only;  /* an emulated machine, whose guests' memory can be told by its name */
	char cgroup[256]; /* whose memory.reclaim is written, "" for none */
};

struct pageout {
	const struct pageout_options *options;
	struct aim aims[PAGEOUT_PROCESSES];
	size_t aim_count;
	__u64 pages; /* of all */
	struct order order;
	__u64 asked, elapsed_ns, behind; /* behind: due by then but not asked for in time */
};

/* All of these take a struct pageout, for struct verb_work. Finds the processes, checks consent, opens everything; disturbs nothing. */
int pageout_open(void *self);
void pageout_close(void *self);

/* Until it is done, the processes have ended, or -EINTR: told to stop. */
int pageout_run(void *self);

/* --dry-run. */
void pageout_print(const void *self, FILE *file);
int pageout_report(const void *self, struct writer *writer);

#endif
