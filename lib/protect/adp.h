/* SPDX-License-Identifier: GPL-2.0 */
/* The two blocks of `adp`, which `tuned` and `spatial` are made of as well. Rules: docs/protect.md. */
#ifndef FAULTLINE_PROTECT_ADP_H
#define FAULTLINE_PROTECT_ADP_H

#include "lib/protect/protect_private.h"

struct learner;

enum adp_state {
	ADP_ACTIVE = 1,
	ADP_INACTIVE,
	ADP_RETURNING, /* inactive, and hit */
	ADP_EXPECTED, /* spatial: pinned, and not used yet; its last access is the step that expects it */
	ADP_GHOST, /* tuned: it would be forgotten, were its next access not worth knowing */
};

struct adp {
	struct recency active, inactive, expected, ghosts;
	__u32 return_first, return_last; /* in the order in which their delays end */
	__u32 returning;
	__u64 return_ns; /* when the first delay ends; NEVER */
	__u64 unused_ns; /* when the first expected page has waited long enough; NEVER */
	__u64 scan_ns;	 /* the next scan */
	__u64 start_ns;
	__u64 active_cap, inactive_cap, ghost_cap; /* pages */
	__u64 promote_after_ns;
	/* tuned: a page idle for longer is not pinned, nor are those that are not admitted. */
	__u64 give_up_ns;
	__u32 admitted;		 /* parts of ADP_ALL */
	struct learner *learner; /* NULL: nobody learns */
};

#define ADP_ALL 256

void adp_init(struct adp *adp, const struct protect *protect);
void adp_start(struct adp *adp, const struct protect *protect, __u64 time_ns);
void adp_access(struct protect *protect, struct adp *adp, __u64 time_ns, __u64 number);
void adp_advance(struct protect *protect, struct adp *adp, __u64 time_ns);
/* spatial: a page that is about to be used is pinned, or waits anew. False: there is no room for more. */
bool adp_expect(struct protect *protect, struct adp *adp, __u64 time_ns, __u64 number);
bool adp_is_pinned(const struct kept_page *page);

#endif
