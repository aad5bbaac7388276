/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages that a policy knows: found by number, and kept in the order of their last accesses.
 *
 * A page is 40 bytes and named by a 32-bit index, which it keeps until it is removed. With slack of the pool, which
 * grows by a sixteenth, and the hash index, which has one chain for one to two pages, it is at most 48 (page_store_bytes()).
 * Memory is of lib/base/memory.h. No access allocates but one that finds the pool full.
 */
#ifndef FAULTLINE_PROTECT_PAGE_STORE_H
#define FAULTLINE_PROTECT_PAGE_STORE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define NO_PAGE 0xffffffffu

struct kept_page {
	__u64 number;
	__u64 last_ns; /* its last access */
	union {
		struct {
			__u32 older,
				newer; /* in a recency's list; in its heap: what it hangs on, its sibling */
		};
		__u64 due_ns; /* of a page that is in none: when its delay ends */
	};
	__u32 turn;  /* of its last access among those of one time */
	__u32 child; /* in a recency's heap; of a page that is in none: the next to come back */
	__u32 chain; /* of the hash index; of a free one: the next that is free */
	__u8 state;  /* the policy's; 0: it is free */
	bool late;   /* it is in the heap */
	bool used;   /* since it was pinned */
};

struct page_store {
	struct kept_page *pages;
	__u32 *chains;
	__u32 chain_bits; /* there are 1 << chain_bits; none before the first page */
	__u32 room,
		touched; /* pages that there is memory for; of them, those that were ever in use */
	__u32 free;
	__u32 count; /* in use */
	__u32 turn;  /* of the newest access */
	__u64 turn_ns;
};

void page_store_init(struct page_store *store);
void page_store_free(struct page_store *store);
/* Makes room for one more; false without memory. Pages move, their indexes do not. */
bool page_store_grow(struct page_store *store);
/* A page that is not there: zeroed but for its number. NO_PAGE without memory. */
__u32 page_store_add(struct page_store *store, __u64 number);
void page_store_remove(struct page_store *store, __u32 index);
/* What all of it takes. */
__u64 page_store_bytes(const struct page_store *store);

/* The high bits of a product depend on all bits of the number. */
static inline __u32 page_store_chain(const struct page_store *store, __u64 number)
{
	return (number ^ number >> 32) * 0x9e3779b97f4a7c15ull >> (64 - store->chain_bits);
}

static inline __u32 page_store_find(const struct page_store *store, __u64 number)
{
	__u32 index = store->count ? store->chains[page_store_chain(store, number)] : NO_PAGE;

	while (index != NO_PAGE && store->pages[index].number != number)
		index = store->pages[index].chain;
	return index;
}

/* The next turn of that time, which is not below the last one's. */
static inline __u32 page_store_turn(struct page_store *store, __u64 time_ns)
{
	store->turn = store->turn_ns == time_ns ? store->turn + (store->turn != ~0u) : 0;
	store->turn_ns = time_ns;
	return store->turn;
}

/*
 * Some pages of a store in the order of their last accesses: a list, and a heap of those that came when a newer one was
 * in the list already. The first is what nearly all are in, and moves in a few instructions; the second keeps
 * pages that come back late at O(log n) each, whatever the order.
 */
struct recency {
	__u32 oldest, newest; /* of the list */
	__u32 root;	      /* of the heap: its oldest */
	__u32 count;	      /* of both */
};

void recency_init(struct recency *recency);
/* Where its last access puts it. */
void recency_add(struct page_store *store, struct recency *recency, __u32 index);
void recency_remove(struct page_store *store, struct recency *recency, __u32 index);
/* NO_PAGE if there is none. */
__u32 recency_oldest(const struct page_store *store, const struct recency *recency);

#endif
