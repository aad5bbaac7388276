// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/adp.h"

static void adp_policy_begin(struct protect *protect)
{
	adp_init(protect->own, protect);
}

static void adp_policy_start(struct protect *protect, __u64 time_ns)
{
	adp_start(protect->own, protect, time_ns);
}

static void adp_policy_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	adp_access(protect, protect->own, time_ns, page);
}

static void adp_policy_advance(struct protect *protect, __u64 time_ns)
{
	adp_advance(protect, protect->own, time_ns);
}

static __u64 adp_policy_active(const struct protect *protect)
{
	const struct adp *adp = protect->own;

	return adp->active.count;
}

const struct policy protect_policy_adp = {
	.told = {"adp", "What has been idle is pinned before it is taken, until it is used again "
			"(VPRI's adaptive DMA protector)."},
	.own_bytes = sizeof(struct adp),
	.begin = adp_policy_begin,
	.start = adp_policy_start,
	.access = adp_policy_access,
	.advance = adp_policy_advance,
	.is_pinned = adp_is_pinned,
	.active = adp_policy_active,
};
