/* SPDX-License-Identifier: GPL-2.0 */
/* The two blocks of `adp`, which `tuned` and `spatial` are made of as well. Rules: docs/protect.md. */
#ifndef FAULTLINE_PROTECT_ADP_H
#define FAULTLINE_PROTECT_ADP_H

#include "lib/protect/protect_private.h"

enum adp_state { ADP_ACTIVE = 1, ADP_INACTIVE, ADP_RETURNING };

struct adp {
	struct recency active;
	struct recency inactive;	/* but for those on their way back */
	__u32 return_first, return_last; /* in the order in which their delays end */
	__u32 returning;
	__u64 return_ns; /* when the first delay ends; NEVER */
	__u64 scan_ns;	 /* the next scan */
	__u64 start_ns;
	__u64 active_cap, inactive_cap; /* pages */
	__u64 promote_after_ns;
};

void adp_init(struct adp *adp, const struct protect *protect);
void adp_start(struct adp *adp, const struct protect *protect, __u64 time_ns);
void adp_access(struct protect *protect, struct adp *adp, __u64 time_ns, __u64 number);
void adp_advance(struct protect *protect, struct adp *adp, __u64 time_ns);
bool adp_is_pinned(const struct kept_page *page);

#endif
