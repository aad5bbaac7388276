// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/page_store.h"

#include "lib/base/memory.h"

#define ROOM_FIRST	 64
#define CHAIN_BITS_FIRST 5
#define ROOM_MOST	 (1u << 31)

void page_store_init(struct page_store *store)
{
	*store = (struct page_store){.free = NO_PAGE};
}

void page_store_free(struct page_store *store)
{
	memory_free(store->pages);
	memory_free(store->chains);
	page_store_init(store);
}

__u64 page_store_bytes(const struct page_store *store)
{
	__u64 chains = store->chains ? sizeof(*store->chains) << store->chain_bits : 0;

	return store->room * sizeof(*store->pages) + chains;
}

/* A chain for each two pages, until there are more. */
static bool page_store_spread(struct page_store *store)
{
	const __u32 bits = store->chains ? store->chain_bits + 1 : CHAIN_BITS_FIRST;
	__u32 *chains = memory_realloc(store->chains, sizeof(*chains) << bits);

	if (!chains)
		return false;
	store->chains = chains;
	store->chain_bits = bits;
	for (__u32 i = 0; i < 1u << bits; i++)
		chains[i] = NO_PAGE;
	/* It is called when all are in use. */
	for (__u32 i = 0; i < store->count; i++) {
		__u32 *chain = &chains[page_store_chain(store, store->pages[i].number)];

		store->pages[i].chain = *chain;
		*chain = i;
	}
	return true;
}

bool page_store_grow(struct page_store *store)
{
	const __u32 room = store->room ? store->room + store->room / 16 : ROOM_FIRST;
	struct kept_page *pages;

	if (store->room >= ROOM_MOST)
		return false;
	if (!store->chains || store->count >= 2u << store->chain_bits)
		if (!page_store_spread(store))
			return false;
	pages = memory_realloc(store->pages, room * sizeof(*pages));
	if (!pages)
		return false;
	store->pages = pages;
	store->room = room;
	return true;
}

__u32 page_store_add(struct page_store *store, __u64 number)
{
	__u32 index = store->free, *chain;

	if (index != NO_PAGE)
		store->free = store->pages[index].chain;
	else if (store->touched < store->room || page_store_grow(store))
		index = store->touched++;
	else
		return NO_PAGE;
	chain = &store->chains[page_store_chain(store, number)];
	store->pages[index] = (struct kept_page){.number = number, .chain = *chain};
	*chain = index;
	store->count++;
	return index;
}

void page_store_remove(struct page_store *store, __u32 index)
{
	struct kept_page *page = &store->pages[index];
	__u32 *link = &store->chains[page_store_chain(store, page->number)];

	while (*link != index)
		link = &store->pages[*link].chain;
	*link = page->chain;
	page->chain = store->free;
	page->state = 0;
	store->free = index;
	store->count--;
}
