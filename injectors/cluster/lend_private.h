/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What lender and borrower have in shared memory.
 *
 * A record per borrow, filled by its two sides, each its own part. What is held of hardware has a word beside it that says so:
 * exchanged for 0 by whoever gives it back, so that it is given back once, however many processes clean up.
 */
#ifndef FAULTLINE_CLUSTER_LEND_PRIVATE_H
#define FAULTLINE_CLUSTER_LEND_PRIVATE_H

#include "injectors/cluster/agent.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"

#define LEND_BORROWS_MAX    4096u
#define LEND_LENDER_WINDOWS 128u
/* On the borrower's side of its DMA window, where its IOMMU is on: a multiple of any window's size. */
#define LEND_IOVA (1ull << 36)
/* A grant that does not become a borrow for so many times dead_ns was lost on its way. */
#define LEND_GRANT_PATIENCE 4

enum record_phase { RECORD_NONE, RECORD_GRANTED, RECORD_LIVE, RECORD_ENDING };
#define RECORD_PHASE(word)	((enum record_phase)((word)&0xff))
#define RECORD_END(word)	((enum lend_end)((word) >> 8))
#define RECORD_WORD(phase, end) ((__u32)(phase) | (__u32)(end) << 8)

/* Parts that are gone. */
#define CLEAN_LENDER   1u
#define CLEAN_BARS     2u
#define CLEAN_BORROWER 4u
#define CLEAN_ALL      7u

/* With a requester entry of its own, as it leads to a host that is not the borrower. */
#define HELD_WITH_ENTRY 2u
struct held_window {
	__u32 held; /* or HELD_WITH_ENTRY */
	struct ntb_window window;
};
struct lend_record {
	__u32 word;		   /* phase and end; by compare and exchange */
	__u32 clean;		   /* bits, only set */
	struct lend_borrow borrow; /* by the lender, then each side its fields */
	__u32 lender_life, borrower_life;
	__u32 generations[2]; /* of the borrower's and the lender's adapter */
	__u64 granted_ns, ended_ns;
	__u32 ended_by;	 /* agent, CLUSTER_NONE */
	__u64 revoke_ns; /* by when it has to be returned; 0: nobody wants it back */

	__u32 lender_domain, lender_attached, requester_held; /* as `held` */
	__u32 user_named;
	struct held_window lender_windows[LEND_LENDER_WINDOWS];

	__u32 known; /* the borrower has its grant's answer */
	__u32 borrower_domain, seen_attached, seen_requester;
	struct held_window bars[FUNCTION_BARS];
	__u32 asked_back;  /* the borrower was told */
	__u64 way_lost_ns; /* since when there is none; 0: there is */

	struct lend_counts counts;
	__u64 intx_base;
};

struct lend_function {
	__u32 state;	    /* enum lend_state */
	__u32 number;	    /* of its borrow, or its last; 0: never lent */
	__u32 life;	    /* of the lender that has registered it */
	__u32 local_domain; /* bus_local.c's */
};

struct lends {
	__u32 issued; /* numbers so far */
	__u32 ended;  /* all up to this one are clean */
	struct lend_function functions[FUNCTIONS_MAX];
	struct borrow_results *results; /* by [borrow] section */
	struct lend_record records[];	/* by number - 1 */
};

/* NULL: there is none of that number. */
struct lend_record *lend_record(const struct cluster *cluster, __u32 number);
/* Ends it if it lasts; true for the one who did. */
bool lend_end(struct cluster *cluster, struct lend_record *record, enum lend_end why);
/* Likewise; who did tells of it as this step. */
void lend_end_told(struct cluster *cluster, struct lend_record *record, enum lend_end why,
		   enum cluster_step step, int error);
static inline __u32 lend_word(const struct lend_record *record)
{
	return __atomic_load_n(&record->word, __ATOMIC_ACQUIRE);
}
static inline __u32 lend_clean(const struct lend_record *record)
{
	return __atomic_load_n(&record->clean, __ATOMIC_ACQUIRE);
}
static inline bool lend_is_local(const struct lend_record *record)
{
	return record->borrow.lender == record->borrow.borrower;
}
/* The process of that life is there, or may come to be. */
bool lend_agent_lives(const struct cluster *cluster, __u32 agent, __u32 life);
const char *lend_name(const struct cluster *cluster, __u32 function);
const char *lend_end_text(enum lend_end why);

/* A step of a borrow (NULL: of none) as this process sees it. Not told of a host's use of its own devices. */
void lend_step(struct cluster *cluster, enum cluster_step step, const struct lend_record *record,
	       __u64 address, __u64 begin_ns, int error);
void lend_step_of(struct cluster *cluster, enum cluster_step step, __u32 function, __u32 other_host,
		  int error);

/* Of the shortest way from a node of `host` to `far_host`, or `wanted` if there is one. */
int lend_adapter(struct cluster *cluster, __u32 host, __u32 from_node, __u32 far_host, __u32 wanted,
		 __u32 *adapter);

/* A message to the lender on behalf of a borrow, which counts. */
int lend_ask(struct cluster *cluster, __u32 number, __u32 host, struct message *message);

/* Turns of this process's threads in what it does as a lender. */
void lend_lock(void);
void lend_unlock(void);

/* An adapter of a live one was wiped. */
bool lend_wiped(const struct cluster *cluster, const struct lend_record *record);

/* Give back what is held (lend_back.c); any process that may. */
void lend_unblock(struct cluster *cluster, __u32 host, __u32 requester);
void lend_drop_bars(struct cluster *cluster, struct lend_record *record);
void lend_drop_borrower(struct cluster *cluster, struct lend_record *record);
void lend_drop_lender_window(struct cluster *cluster, struct lend_record *record,
			     struct held_window *slot);
/* All of the lender's, without its reset: of a dead one. */
void lend_drop_lender(struct cluster *cluster, struct lend_record *record);
/* By the lender: everything of an ended borrow, once, and a reset; then lend_offer(). */
void lend_take_back(struct cluster *cluster, struct lend_record *record);
/* Available, if its last borrower has no window onto it any more, or does not answer for dead_ns. */
void lend_offer(struct cluster *cluster, struct lend_record *record);

/* lend_look.c: a shared borrow that has outlived its manager; ends it, for the next one. */
bool lend_orphaned(const struct cluster *cluster, const struct lend_record *record);
void lend_end_orphan(struct cluster *cluster, struct lend_record *record);

/* What a message LEND_WINDOWS asks for. */
enum lend_windows { LEND_OP_DOMAIN, LEND_OP_DMA, LEND_OP_MSI, LEND_OP_MORE, LEND_OP_DROP };
enum lend_config { LEND_CONFIG_READ, LEND_CONFIG_WRITE, LEND_CONFIG_BARS };

#endif
