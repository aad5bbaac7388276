// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/protect_private.h"

#define PINNED 1

struct lru {
	struct recency pinned;
	__u64 cap;
};

static void lru_begin(struct protect *protect)
{
	struct lru *lru = protect->own;

	recency_init(&lru->pinned);
	lru->cap = protect_share(protect, protect->keys.lru);
}

static void lru_hit(struct protect *protect, struct lru *lru, __u64 time_ns, __u32 index)
{
	struct kept_page *page = &protect->store.pages[index];

	page->used = true;
	page->last_ns = time_ns;
	if (lru->pinned.newest == index)
		return;
	recency_remove(&protect->store, &lru->pinned, index);
	recency_add(&protect->store, &lru->pinned, index);
}

static void lru_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	struct lru *lru = protect->own;
	__u32 index = page_store_find(&protect->store, page), oldest;

	if (index != NO_PAGE) {
		lru_hit(protect, lru, time_ns, index);
		return;
	}
	/* There is room before the oldest makes more: without memory it stays. */
	index = protect_track(protect, time_ns, page);
	if (index == NO_PAGE)
		return;
	if (lru->pinned.count >= lru->cap) {
		oldest = recency_oldest(&protect->store, &lru->pinned);
		protect_unpin(protect, time_ns, oldest, PROTECT_DROPPED);
		recency_remove(&protect->store, &lru->pinned, oldest);
		page_store_remove(&protect->store, oldest);
	}
	protect->store.pages[index].state = PINNED;
	recency_add(&protect->store, &lru->pinned, index);
	protect_pin(protect, time_ns, index, PROTECT_TOUCHED);
}

static bool lru_is_pinned(const struct kept_page *page)
{
	return page->state == PINNED;
}

const struct policy protect_policy_lru = {
	.told = {"lru", "What was touched last is pinned, up to a share of the memory."},
	.own_bytes = sizeof(struct lru),
	.begin = lru_begin,
	.access = lru_access,
	.is_pinned = lru_is_pinned,
};
