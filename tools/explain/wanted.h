/* SPDX-License-Identifier: GPL-2.0 */
/* Which fault `explain` is asked for, and those that come near it. */
#ifndef FAULTLINE_TOOLS_EXPLAIN_WANTED_H
#define FAULTLINE_TOOLS_EXPLAIN_WANTED_H

#include "lib/analyze/explain.h"
#include "tools/offline.h"

#define WANTED_NEAREST 5

/* DEVICE@TIME: from then on, as long as its last digit is worth: "+1.5s" is the 100 ms behind it. */
struct wanted_time {
	const char *text; /* as it was given, NULL: it was not */
	char *device;	  /* pattern; owned */
	const char *time_text;
	struct units_time time;
	__u64 worth_ns;
};

struct wanted_span {
	__u64 from_ns, to_ns;
};

enum wanted_rank {
	RANK_STARTS, /* it began within the time asked for */
	RANK_OPEN,   /* it had begun and was not over */
	RANK_NEAR,
};

struct wanted_fault_near {
	struct fault fault;
	__u64 row, distance_ns;
	enum wanted_rank rank;
	size_t host;
	bool explained;
	struct explanation explanation;
};

struct explain_wanted {
	struct wanted_time at;
	__u64 row;		   /* 0: none */
	bool slowest;		   /* none of these: every fault */
	struct wanted_span *spans; /* of each host, of `at` */
	struct wanted_fault_near near[WANTED_NEAREST];
	size_t count;
	__u64 seen, ranks[2]; /* faults; of RANK_STARTS, RANK_OPEN */
};

/* "vm0/disk@14:02:03.25": -EINVAL with a sentence. */
int wanted_parse(const char *text, struct wanted_time *at);
/* What the time means for each host. */
int wanted_resolve(struct explain_wanted *wanted, const struct offline *offline);
/* A fault is over: its row if it may be the one. */
__u64 wanted_look(struct explain_wanted *wanted, const struct offline *offline,
		  const struct fault *fault);
void wanted_keep(struct explain_wanted *wanted, const struct explanation *explanation, size_t host);
/* The one; NULL with -EINVAL and a sentence of those that it might be, or of the nearest. */
struct wanted_fault_near *wanted_find(struct explain_wanted *wanted, struct offline *offline);
void wanted_free(struct explain_wanted *wanted);

#endif
