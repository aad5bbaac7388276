// SPDX-License-Identifier: GPL-2.0
/* The heap is a pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986), whose links are those of the list. */
#include "lib/protect/page_store.h"

void recency_init(struct recency *recency)
{
	*recency = (struct recency){NO_PAGE, NO_PAGE, NO_PAGE, 0};
}

static bool is_used_before(const struct kept_page *one, const struct kept_page *other)
{
	return one->last_ns != other->last_ns ? one->last_ns < other->last_ns
					      : one->turn < other->turn;
}

/* The newer root becomes the first child of the older. */
static __u32 heap_meld(struct kept_page *pages, __u32 one, __u32 other)
{
	__u32 below = other, above = one;

	if (one == NO_PAGE || other == NO_PAGE)
		return one == NO_PAGE ? other : one;
	if (is_used_before(&pages[other], &pages[one])) {
		above = other;
		below = one;
	}
	pages[below].older = above;
	pages[below].newer = pages[above].child;
	if (pages[below].newer != NO_PAGE)
		pages[pages[below].newer].older = below;
	pages[above].child = below;
	return above;
}

/* Siblings in pairs from the first on, then the pairs from the last on: that is what bounds the cost. */
static __u32 heap_meld_siblings(struct kept_page *pages, __u32 first)
{
	__u32 pairs = NO_PAGE, root = NO_PAGE, second, pair;

	while (first != NO_PAGE) {
		pair = first;
		second = pages[pair].newer;
		first = second == NO_PAGE ? NO_PAGE : pages[second].newer;
		pair = heap_meld(pages, pair, second);
		pages[pair].newer = pairs;
		pairs = pair;
	}
	while (pairs != NO_PAGE) {
		pair = pairs;
		pairs = pages[pair].newer;
		root = heap_meld(pages, root, pair);
	}
	return root;
}

static void heap_remove(struct kept_page *pages, struct recency *recency, __u32 index)
{
	const __u32 hangs_on = pages[index].older, sibling = pages[index].newer;
	const __u32 rest = heap_meld_siblings(pages, pages[index].child);

	if (recency->root == index) {
		recency->root = rest;
		return;
	}
	if (pages[hangs_on].child == index)
		pages[hangs_on].child = sibling;
	else
		pages[hangs_on].newer = sibling;
	if (sibling != NO_PAGE)
		pages[sibling].older = hangs_on;
	recency->root = heap_meld(pages, recency->root, rest);
}

void recency_add(struct page_store *store, struct recency *recency, __u32 index)
{
	struct kept_page *page = &store->pages[index];

	recency->count++;
	page->newer = NO_PAGE;
	page->late =
		recency->newest != NO_PAGE && is_used_before(page, &store->pages[recency->newest]);
	if (page->late) {
		page->child = NO_PAGE;
		recency->root = heap_meld(store->pages, recency->root, index);
		return;
	}
	page->older = recency->newest;
	if (page->older != NO_PAGE)
		store->pages[page->older].newer = index;
	else
		recency->oldest = index;
	recency->newest = index;
}

void recency_remove(struct page_store *store, struct recency *recency, __u32 index)
{
	const struct kept_page *page = &store->pages[index];

	recency->count--;
	if (page->late) {
		heap_remove(store->pages, recency, index);
		return;
	}
	*(page->older == NO_PAGE ? &recency->oldest : &store->pages[page->older].newer) =
		page->newer;
	*(page->newer == NO_PAGE ? &recency->newest : &store->pages[page->newer].older) =
		page->older;
}

__u32 recency_oldest(const struct page_store *store, const struct recency *recency)
{
	const __u32 listed = recency->oldest, late = recency->root;

	if (listed == NO_PAGE || late == NO_PAGE)
		return listed == NO_PAGE ? late : listed;
	return is_used_before(&store->pages[late], &store->pages[listed]) ? late : listed;
}
