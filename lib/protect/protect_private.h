/* SPDX-License-Identifier: GPL-2.0 */
/* What a policy is made of, and what all of them use. */
#ifndef FAULTLINE_PROTECT_PRIVATE_H
#define FAULTLINE_PROTECT_PRIVATE_H

#include "lib/protect/page_store.h"
#include "lib/protect/protect.h"

/* No time: what is due then never comes, and the newest that an access can have is one less. */
#define NEVER (~0ull)

struct protect {
	const struct policy *policy;
	struct protect_sink sink;
	struct protect_keys keys;
	__u64 memory_pages;
	__u64 newest_ns;
	bool started; /* there was an access */
	struct page_store store;
	void *own;		    /* the policy's */
	struct protect_state state; /* but for `active` */
};

/* Times never run back here. All but `told` and `access` may be NULL. */
struct policy {
	struct protect_policy told;
	size_t own_bytes;
	void (*begin)(struct protect
			      *protect); /* keys are in range; no page is known, or none any more */
	void (*start)(struct protect *protect, __u64 time_ns); /* the first access is coming */
	void (*access)(struct protect *protect, __u64 time_ns, __u64 page);
	void (*advance)(struct protect *protect, __u64 time_ns);
	bool (*is_pinned)(const struct kept_page *page);
	__u64 (*active)(const struct protect *protect); /* pages that are not pinned */
};

/* Tell the sink, and count. */
void protect_pin(struct protect *protect, __u64 time_ns, __u32 index, enum protect_reason reason);
void protect_unpin(struct protect *protect, __u64 time_ns, __u32 index, enum protect_reason reason);

/* Before it is rounded down: 29% of 100 pages are 29, though 0.29 is a little less as a double. */
static inline double protect_rounding(double pages)
{
	return pages * (1 + 1e-12);
}

/* Whole pages of a share, at least one. */
__u64 protect_share(const struct protect *protect, double share);

/* A page that is not known; counted as untracked where there is no memory: NO_PAGE. */
__u32 protect_track(struct protect *protect, __u64 time_ns, __u64 page);

/* Sums of times end at NEVER. */
static inline __u64 time_after(__u64 time_ns, __u64 delay_ns)
{
	return time_ns < NEVER - delay_ns ? time_ns + delay_ns : NEVER;
}

#endif
