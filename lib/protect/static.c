// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/protect_private.h"

#define PINNED 1

static void static_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	__u32 index = page_store_find(&protect->store, page);

	if (index != NO_PAGE) {
		protect->store.pages[index].used = true;
		return;
	}
	index = protect_track(protect, time_ns, page);
	if (index == NO_PAGE)
		return;
	protect->store.pages[index].state = PINNED;
	protect_pin(protect, time_ns, index, PROTECT_TOUCHED);
}

static bool static_is_pinned(const struct kept_page *page)
{
	return page->state == PINNED;
}

const struct policy protect_policy_static = {
	.told = {"static", "What was ever touched is pinned and stays: the fewest faults, the most "
			   "memory."},
	.access = static_access,
	.is_pinned = static_is_pinned,
};
