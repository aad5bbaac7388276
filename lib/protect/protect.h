/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages of a domain stay pinned, so that its devices hardly fault (VPRI section 6.2).
 *
 * A domain is what devices reach together: a device and PASID, or all devices of a tenant. Each has a policy of its
 * own, which is told of accesses and of time, and says what to pin and to unpin; it has no clock, no thread, and pins
 * nothing itself. The same objects serve the emulated machine (injectors/emu), `faultline protect` and
 * `faultline fleet`. The rules, in the words that a second implementation needs: docs/protect.md.
 *
 * Time is what the caller says: ns from any origin. It never runs back: an earlier time counts as the newest. What is
 * due at a time (a scan, the end of a delay) happens at that time, before the access that lets it pass and in
 * the order of times, so that what a policy does depends on its accesses alone, not on how often it is advanced.
 */
#ifndef FAULTLINE_PROTECT_H
#define FAULTLINE_PROTECT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Why a page is pinned or let go. */
enum protect_reason {
	PROTECT_TOUCHED,  /* pin: static, lru: at its access */
	PROTECT_IDLE,	  /* pin: it was idle for promote_after */
	PROTECT_OVERFLOW, /* pin: the active block was full, and it was its tail */
	PROTECT_EXPECTED, /* pin: a run is about to reach it */
	PROTECT_RETURNED, /* unpin: an access, demote_after ago, made it active again */
	PROTECT_DROPPED,  /* unpin: the block of pinned pages was full, and it was its tail */
	PROTECT_UNUSED,	  /* unpin: the run that was to reach it did not */
	PROTECT_SHRUNK,	  /* unpin: idle for longer than tuned has learned to wait */
	PROTECT_REASONS,
};

struct protect_action {
	__u64 time_ns; /* when it is due, not when the caller came to tell of it */
	__u64 page;
	__u8 pin;    /* else unpin */
	__u8 reason; /* enum protect_reason */
};

/* Who pins. It is called from protect_access() and protect_advance(), never twice for one page without its opposite. */
struct protect_sink {
	void (*act)(void *argument, const struct protect_action *action);
	void *argument;
};

/* What to do with a page that the inactive block has no room for; the paper is silent. */
enum protect_overflow {
	PROTECT_OVERFLOW_DROP,	 /* its tail is unpinned and forgotten */
	PROTECT_OVERFLOW_REFUSE, /* the new one stays active */
};

#define PROTECT_RUN_MAX 64 /* of keys run and ahead */

/* Numbers of all policies; a share is one of the domain's memory, 0 to 1. Times in ns. */
struct protect_keys {
	__u32 policy;		/* index in protect_policies */
	__u32 overflow;		/* enum protect_overflow */
	double active;		/* adp: tracked, not pinned: 0.30 */
	double inactive;	/* adp: pinned: 0.05 */
	double lru;		/* lru: pinned: 0.10 */
	__u64 scan_ns;		/* adp: between two scans: 20 s */
	__u64 promote_after_ns; /* adp: idle so long it is pinned: 180 s */
	__u64 demote_after_ns; /* adp: from a hit in the inactive block until it is unpinned: 30 s */
	__u64 fault_after_ns;  /* tuned: idle so long a page may be gone: 300 s */
	__u64 learn_ns;	       /* tuned: between two decisions */
	__u32 run;	       /* spatial: steps of one stride that make a run */
	__u32 ahead;	       /* spatial: pages pinned ahead of a run */
	__u64 expect_ns;       /* spatial: so long they wait for it */
};

void protect_keys_default(struct protect_keys *keys);

struct protect;

/*
 * `memory_pages`: what shares are shares of, at least 1. Pages are numbers; they need not be below it, as IOVAs are
 * where a driver puts them. -ENOMEM; -EINVAL for keys out of range, with a sentence.
 */
int protect_create(struct protect **protect, const struct protect_keys *keys, __u64 memory_pages,
		   struct protect_sink sink);
void protect_destroy(struct protect *protect);

/* The device used a page. What is due until then happens first. */
void protect_access(struct protect *protect, __u64 time_ns, __u64 page);
/* Time has passed: what is due at or before time_ns happens. */
void protect_advance(struct protect *protect, __u64 time_ns);
/* As if no access had been: what is pinned is told as let go (PROTECT_DROPPED), in the order of page numbers. */
void protect_release(struct protect *protect);

struct protect_state {
	__u64 active; /* pages tracked and not pinned */
	__u64 pinned; /* pages pinned now */
	__u64 pinned_max;
	__u64 pins, unpins;
	__u64 useless; /* pages let go of which no use was told since they were pinned */
	__u64 untracked; /* accesses lost for want of memory: then all that follows is less than it could be */
};
void protect_state(const struct protect *protect, struct protect_state *state);

/* A policy is a file NAME.c and a line in policies.def. */
struct protect_policy {
	const char *name;
	const char *about; /* a sentence, for help and docs */
};
/* In the order of policies.def, `none` first; NULL at the end. */
extern const struct protect_policy *const protect_policies[];
/* Index of a policy, -ENOENT. */
int protect_policy_find(const char *name);

#endif
