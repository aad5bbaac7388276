/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept to explain by. explain.c: when a fault is explained; explain_context.c: what is remembered and how it is
 * found; explain_injections.c: those that were under way; explain_stages.c: why each stage took its time; explain_fault.c: all else of a fault; explain_later.c: what is
 * known at the end; explain_text.c: building and writing.
 */
#ifndef FAULTLINE_EXPLAIN_PRIVATE_H
#define FAULTLINE_EXPLAIN_PRIVATE_H

#include "lib/analyze/explain.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/pool.h"
#include "lib/analyze/sentence.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slo_private.h"
#include "lib/base/inject_point.h"

/* After its end a fault waits so long for what belongs to it, for the I/O that met it up to the second. */
#define EXPLAIN_SETTLE_NS      1000000000ull
#define EXPLAIN_SETTLE_MOST_NS 10000000000ull
#define EXPLAIN_INJECTIONS_MAX 4096
#define EXPLAIN_TAKEN_MAX      262144 /* pages that were taken back */
#define EXPLAIN_THREADS_MAX    4096
#define EXPLAIN_DETAILS	       256 /* pieces of evidence of one sentence */

struct explain_fault {
	struct fault fault;
	__u64 row;
};

/* What a run of EXPLAIN_BLOCK faults spans, so that it need not be looked through. */
#define EXPLAIN_BLOCK  64
#define EXPLAIN_BLOCKS (2 * SLO_MEMORY_MAX / EXPLAIN_BLOCK)
struct explain_block {
	__u64 least_begin_ns, most_end_ns;
};

struct explain_io {
	__u64 from_ns, to_ns, address, length;
	__u32 device;
	__u16 queue;
	__u8 code;
};

/* A handler thread with one group. */
struct explain_run {
	__u64 handler_ns, response_ns; /* response_ns 0: not yet */
	__u64 woken_ns, ran_ns;	       /* the last time before; 0: not seen */
	struct blame_key key;
};

struct explain_thread {
	__u32 tid;
	__u64 woken_ns, ran_ns;
	struct memory runs; /* struct explain_run */
	UT_hash_handle hh;
};

struct explain_injection {
	__u64 id, from_ns, to_ns; /* to_ns 0: it goes on */
	__u32 device;
	__u32 pid; /* of its machine, of DEVICE_ALL */
	__u32 tid; /* that began it, and evicts for it: some, not all */
	__u8 point;
	bool wrote,
		wrote_not; /* it has evicted with, without writing to storage: its kind is one of these */
};

/* Those of one point that were under way. */
#define EXPLAIN_INJECTED_MOST 8
struct explain_injected {
	const struct explain_injection *all[EXPLAIN_INJECTED_MOST];
	size_t count;
};

#define TAKEN_TIMES 4
struct explain_taken {
	struct taken_key {
		__u64 page;
		__u32 device, pasid;
	} key;
	struct taken_time {
		__u64 sent_ns, freed_ns, token;
		__u32 tid; /* that freed it */
		bool written;
	} at[TAKEN_TIMES];
	unsigned int next;
	UT_hash_handle hh;
};

/* A fault of which something may be told at the end. */
struct explain_named {
	struct explain_named_key {
		struct blame_key group;
		__u64 address;
	} key;
	__u64 row;
	struct fault fault;
	struct explain_broken *broken;
	UT_hash_handle hh;
};

struct explain_broken {
	const struct slo_objective *objective;
	__u64 from_ns, to_ns;
	__u32 device;
	enum slo_metric metric;
	struct explain_broken *next;
};

struct explain_blamed; /* explain_later.c */

struct explain {
	const struct analysis *analysis;
	const struct explain_wish *wish;
	struct memory faults; /* struct explain_fault, those that are over */
	__u64 next;	      /* of them the first that is not explained */
	struct explain_block blocks[EXPLAIN_BLOCKS];
	struct memory ios;	 /* struct explain_io that met a fault */
	struct memory overflows; /* struct event */
	struct explain_thread *threads;
	struct pool thread_pool, taken_pool, named_pool, broken_pool;
	struct explain_injection *injections;
	size_t injection_count, injection_room;
	bool foreseen; /* the injections, with their ends */
	bool lossy;    /* so said what was read before */
	struct explain_taken *taken;
	bool taken_full;
	struct explain_named *named;
	struct explain_blamed *blamed;
	bool blamed_known;
	__u64 now_ns;
	bool begun;		/* the table */
	struct explanation now; /* the one that is being made */
};

/* explain_context.c */
void explain_remember_fault(struct explain *e, const struct fault *fault);
void explain_remember(struct explain *e, const struct event *event);
/* explain_injections.c: begins, ends, or evicts. */
void explain_remember_injection(struct explain *e, const struct event *event);
void explain_context_init(struct explain *e);
void explain_context_free(struct explain *e);
const struct explain_run *explain_run_of(const struct explain *e, const struct fault *fault,
					 const struct memory **runs, __u64 *index);
/* Those that are known to have been under way ... */
struct explain_injected explain_injected(const struct explain *e, __u32 device, unsigned int point,
					 __u64 from_ns, __u64 to_ns);
/* ... and those whose end was not seen, where it may have been lost. */
struct explain_injected explain_perhaps_injected(const struct explain *e, __u32 device,
						 unsigned int point, __u64 from_ns, __u64 to_ns);
/* Of these the one that evicted the page, else all that may have. */
void explain_evicted_by(struct explain_injected *injected, const struct taken_time *taken);
/* Whether the first of them did: its own thread freed it. */
bool explain_freed(const struct explain_injected *injected, const struct taken_time *taken);
/* Whether events lack. */
bool explain_lossy(const struct explain *e);
/* The last time before `before_ns` that the page was taken from its device; NULL: none was seen. */
const struct taken_time *explain_taken_before(const struct explain *e, const struct fault *fault,
					      __u64 before_ns);
/* Every other fault, over or open, that has a part in [from, to]. */
typedef void explain_visit(void *argument, const struct fault *fault);
void explain_each_near(const struct explain *e, const struct fault *of, __u64 from_ns, __u64 to_ns,
		       explain_visit *visit, void *argument);
bool explain_same_group(const struct fault *a, const struct fault *b);
bool explain_same_machine(const struct explain *e, __u32 a, __u32 b);

static inline __u64 explain_at(const struct fault *fault, unsigned int kind)
{
	return fault->at[kind - EVENT_FAULT_DETECT];
}

/* What is being looked for of one stage. */
struct stage_search {
	const struct explain *e;
	const struct fault *fault;
	struct explanation *to;
	unsigned int stage;
	__u64 from_ns, to_ns;
	__u64 own_ns;	   /* since when it is the page's own turn; 0: not known */
	struct fault last; /* of those that were looked for, the one that lasted longest */
	__u64 last_ns;	   /* until then */
	size_t found;
	struct explained details[EXPLAIN_DETAILS]; /* `found`, as many as there is room for */
};

__u64 stage_search_ns(const struct stage_search *search);
/* What shares are of: all stages that were measured, also where a later one was stamped first. */
__u64 explain_stages_ns(const struct fault *fault);
void stage_search_add_injected(struct stage_search *search, const struct explain_injected *injected,
			       size_t from);
/* From its beginning until what was found last. */
__u64 stage_search_covered_ns(const struct stage_search *search);
/* "; of 1.2ms of it nothing that was recorded says why", unless it is next to nothing. */
void stage_search_tell_rest(const struct stage_search *search, struct sentence *words, __u64 ns);
/* Puts the stage's sentence, ended, with its first piece of evidence, and the others that were found. */
enum explain_cause stage_search_put(struct stage_search *search, struct explained item,
				    struct sentence *words);
enum explain_cause stage_search_put_itself(struct stage_search *search, struct sentence *words,
					   enum explain_cause cause);
/* Other pages of its group that were ready for the same step later. */
void stage_search_group(struct stage_search *search, unsigned int kind);
enum explain_cause stage_search_put_group(struct stage_search *search, struct sentence *words);
/* explain_dispatch.c */
enum explain_cause explain_dispatch(struct stage_search *search, struct sentence *words);
/* explain_stages.c: all stages; the cause of the longest. */
enum explain_cause explain_stages(const struct explain *e, const struct fault *fault,
				  struct explanation *to);
/* explain_fault.c */
void explain_fault(struct explain *e, const struct explain_fault *fault, struct explanation *to);
/* explain_waited.c */
void explain_waited(const struct explain *e, const struct fault *fault, struct explanation *to);
void explain_help(const struct explain *e, const struct fault *fault, struct explanation *to);
void explain_unknown(const struct explain *e, const struct fault *fault, struct explanation *to);

/* explain_later.c */
void explain_name(struct explain *e, const struct fault *fault, __u64 row);
void explain_broke(void *self, const struct slo_violation *violation, const struct fault *fault);
void explain_later_free(struct explain *e);

extern const struct analyzer_table explain_tables[];
/* explain_text.c: a sentence, or with NULL a piece of evidence, made of `item`. */
struct explained *explanation_add(struct explanation *to, struct explained item,
				  const struct sentence *words);
void explanation_begin(struct explanation *to, const struct analysis *analysis,
		       const struct explain_fault *fault);
/* "an injection that evicts pages (id 1) was", "injections 1 and 2 that evict pages were" */
void explain_tell_injected(struct sentence *words, const struct explain_injected *injected);
/* "; an injection ... (id 1) had begun: its end was not seen, and events were lost: it may have ended" */
void explain_tell_perhaps(const struct explain *e, struct sentence *words,
			  const struct explain_injected *perhaps);
void explanation_add_injected(struct explanation *to, enum explain_part part, unsigned int stage,
			      const struct explain_injected *injected);
/* Of an injection that may have ended: no cause. */
void explanation_add_perhaps(struct explanation *to, enum explain_part part, unsigned int stage,
			     const struct explain_injected *perhaps);
/* "group 3.7 of vm1/disk" */
void explain_tell_group(struct sentence *words, const struct explain *e, __u32 device, __u32 group,
			__u32 instance);
struct explained explained_fault(enum explain_part part, unsigned int stage,
				 enum explain_cause cause, const struct fault *fault);
/* The invalidation that took the fault's page away is the evidence. */
void explained_by_invalidation(struct explained *item, const struct taken_time *taken);
struct explained explained_injection(enum explain_part part, unsigned int stage,
				     const struct explain_injection *injection);

#endif
