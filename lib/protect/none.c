// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/protect_private.h"

static void none_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	(void)protect, (void)time_ns, (void)page;
}

const struct policy protect_policy_none = {
	.told = {"none", "Nothing is pinned: what all others are measured against."},
	.access = none_access,
};
