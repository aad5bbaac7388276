// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/base/fail.h"

#define HOT_TIMES     4	  /* the median of the tenant's pages that stay in use */
#define STARTUP_LIMIT 100 /* accesses (section IV-D, figure 8, group 3) */
#define NO_SLOT	      UINT32_MAX
#define ROOM_LEAST    64

struct page {
	__u64 key; /* IOVA and shift */
	struct page_use use;
	struct page *newer, *older; /* of the tenant's pages by last access */
	__u32 slot;		    /* the same order as a number, with gaps */
	UT_hash_handle hh;
};

struct tenant_pages {
	struct page *pages;
	struct page *newest;
	struct page *last_of_size[3];
	__u32 *taken; /* slots up to each that pages have, as a binary indexed tree */
	__u32 room, next_slot;
	__u64 accesses, cold;
	__u64 distances[REUSE_DISTANCES];
};

struct sharer {
	__u64 key;
	__u32 tenants;
	UT_hash_handle hh;
};

struct pages {
	struct tenant_pages *tenants[MODEL_TENANTS];
	struct page_use *uses;
	size_t use_count;
	struct tenant_use *tenant_uses;
	size_t tenant_count;
	__u64 distances[REUSE_DISTANCES];
};

int pages_create(struct pages **pages)
{
	*pages = calloc(1, sizeof(**pages));
	return *pages ? 0 : failed(-ENOMEM, "no memory for the pages of a trace");
}

static void free_tenant(struct tenant_pages *tenant)
{
	struct page *page = tenant->newest;

	HASH_CLEAR(hh, tenant->pages);
	while (page) {
		struct page *older = page->older;

		free(page);
		page = older;
	}
	free(tenant->taken);
	free(tenant);
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	for (__u32 i = 0; i < MODEL_TENANTS; i++)
		if (pages->tenants[i])
			free_tenant(pages->tenants[i]);
	free(pages->uses);
	free(pages->tenant_uses);
	free(pages);
}

static void add_taken(struct tenant_pages *tenant, __u32 slot, __u32 change)
{
	for (__u32 i = slot + 1; i <= tenant->room; i += i & -i)
		tenant->taken[i - 1] += change;
}

/* Pages used since this one. */
static __u32 distance_of(const struct tenant_pages *tenant, const struct page *page)
{
	__u32 count = HASH_COUNT(tenant->pages);

	for (__u32 i = page->slot + 1; i; i -= i & -i)
		count -= tenant->taken[i - 1];
	return count;
}

/* All pages get slots without gaps, and as many again are free. */
static int tenant_renumber(struct tenant_pages *tenant)
{
	__u32 count = HASH_COUNT(tenant->pages), slot = count;

	if (2 * count > tenant->room) {
		__u32 room = 4 * count > ROOM_LEAST ? 4 * count : ROOM_LEAST;
		__u32 *more = realloc(tenant->taken, room * sizeof(more[0]));

		if (!more)
			return failed(-ENOMEM, "no memory for the pages of a trace");
		tenant->taken = more;
		tenant->room = room;
	}
	for (struct page *page = tenant->newest; page; page = page->older)
		page->slot = --slot;
	for (__u32 i = 0; i < tenant->room; i++)
		tenant->taken[i] = i < count;
	for (__u32 i = 1; i <= tenant->room; i++)
		if (i + (i & -i) <= tenant->room)
			tenant->taken[i + (i & -i) - 1] += tenant->taken[i - 1];
	tenant->next_slot = count;
	return 0;
}

/* The slot behind all others, for the page that stands first in the list. */
static int take_slot(struct tenant_pages *tenant, struct page *page)
{
	if (tenant->next_slot == tenant->room)
		return tenant_renumber(tenant);
	if (page->slot != NO_SLOT)
		add_taken(tenant, page->slot, -1u);
	page->slot = tenant->next_slot++;
	add_taken(tenant, page->slot, 1);
	return 0;
}

static void move_to_front(struct tenant_pages *tenant, struct page *page)
{
	page->newer->older = page->older;
	if (page->older)
		page->older->newer = page->newer;
	page->newer = NULL;
	page->older = tenant->newest;
	tenant->newest->newer = page;
	tenant->newest = page;
}

/* An access to a page that is known already: how many others there were since the last one. */
static int page_reuse(struct tenant_pages *tenant, struct page *page)
{
	__u32 distance = 0;
	int err = 0;

	if (page != tenant->newest) {
		distance = distance_of(tenant, page);
		move_to_front(tenant, page);
		err = take_slot(tenant, page);
	}
	tenant->distances[distance < REUSE_DISTANCES ? distance : REUSE_DISTANCES - 1]++;
	return err;
}

static struct page *tenant_new_page(struct tenant_pages *tenant, __u16 number,
				    const struct model_request *request, __u64 key)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->key = key;
	page->slot = NO_SLOT;
	page->use = (struct page_use){
		.tenant = number,
		.shift = request->page_shift,
		.iova = request->iova >> request->page_shift << request->page_shift,
		.first = tenant->accesses,
	};
	HASH_ADD(hh, tenant->pages, key, sizeof(key), page);
	if (!page->hh.tbl) {
		free(page);
		return NULL;
	}
	page->older = tenant->newest;
	if (tenant->newest)
		tenant->newest->newer = page;
	tenant->newest = page;
	tenant->cold++;
	return take_slot(tenant, page) ? NULL : page;
}

static int take_request(struct tenant_pages *tenant, __u16 number,
			const struct model_request *request)
{
	__u64 key =
		request->iova >> request->page_shift << request->page_shift | request->page_shift;
	struct page **last = &tenant->last_of_size[request->page_shift / 9 - 1];
	struct page *page;

	HASH_FIND(hh, tenant->pages, &key, sizeof(key), page);
	if (page && page_reuse(tenant, page))
		return -ENOMEM;
	if (!page)
		page = tenant_new_page(tenant, number, request, key);
	if (!page)
		return failed(-ENOMEM, "no memory for the pages of a trace");
	page->use.accesses++;
	page->use.last = tenant->accesses++;
	page->use.runs += *last != page;
	*last = page;
	return 0;
}

int pages_take(struct pages *pages, const struct model_packet *packet)
{
	struct tenant_pages **tenant = &pages->tenants[packet->source];
	int err = 0;

	if (!*tenant)
		*tenant = calloc(1, sizeof(**tenant));
	if (!*tenant)
		return failed(-ENOMEM, "no memory for the pages of a trace");
	for (__u32 i = 0; !err && i < packet->count; i++)
		err = take_request(*tenant, packet->source, &packet->requests[i]);
	return err;
}

static int by_accesses(const void *left, const void *right)
{
	const struct page_use *a = left, *b = right;

	if (a->tenant != b->tenant)
		return a->tenant < b->tenant ? -1 : 1;
	if (a->accesses != b->accesses)
		return a->accesses > b->accesses ? -1 : 1;
	return a->iova < b->iova ? -1 : a->iova > b->iova;
}

static bool is_startup(const struct page_use *use, __u64 accesses)
{
	return use->accesses < STARTUP_LIMIT && use->last < accesses / 10;
}

/* One tenant's pages, sorted by accesses: the median of those that stay in use parts hot from data. */
static void pages_classify(struct page_use *uses, size_t count, __u64 accesses)
{
	size_t lasting = 0, seen = 0;
	__u64 median = 0;

	for (size_t i = 0; i < count; i++)
		lasting += !is_startup(&uses[i], accesses);
	for (size_t i = 0; i < count; i++)
		if (!is_startup(&uses[i], accesses) && seen++ == lasting / 2)
			median = uses[i].accesses;
	for (size_t i = 0; i < count; i++)
		uses[i].page_class = is_startup(&uses[i], accesses)	      ? PAGE_STARTUP
				     : uses[i].accesses >= HOT_TIMES * median ? PAGE_HOT
									      : PAGE_DATA;
}

/* The least cache in which so many per mille of the reuses hit. */
static __u32 active_set(const struct tenant_pages *tenant, __u32 per_mille)
{
	__u64 reuses = tenant->accesses - tenant->cold, hits = 0;
	__u32 distance = 0;

	if (!reuses)
		return 0;
	for (; distance < REUSE_DISTANCES - 1; distance++) {
		hits += tenant->distances[distance];
		if (hits * 1000 >= reuses * per_mille)
			break;
	}
	return distance + 1;
}

/* Small pages that take turns, a ring and a mailbox, say nothing of the data's runs, and the reverse. */
static void set_run(struct tenant_use *tenant, const struct page_use *uses, size_t count)
{
	for (__u32 shift = 12; shift <= 30; shift += 9) {
		__u64 accesses = 0, runs = 0;

		for (size_t i = 0; i < count; i++)
			if (uses[i].shift == shift) {
				accesses += uses[i].accesses;
				runs += uses[i].runs;
			}
		if (runs && accesses * 1000 / runs > tenant->run)
			tenant->run = accesses * 1000 / runs;
	}
}

static size_t count_pages(const struct pages *pages)
{
	size_t count = 0;

	for (__u32 i = 0; i < MODEL_TENANTS; i++)
		count += pages->tenants[i] ? HASH_COUNT(pages->tenants[i]->pages) : 0;
	return count;
}

static void gather_tenant(struct pages *pages, __u16 number, const struct tenant_pages *tenant)
{
	struct page_use *first = &pages->uses[pages->use_count];
	__u32 half = active_set(tenant, 500);
	size_t count = 0;

	for (const struct page *p = tenant->newest; p; p = p->older)
		first[count++] = p->use;
	qsort(first, count, sizeof(*first), by_accesses);
	pages_classify(first, count, tenant->accesses);
	pages->use_count += count;
	pages->tenant_uses[pages->tenant_count++] = (struct tenant_use){
		.tenant = number,
		.accesses = tenant->accesses,
		.pages = count,
		.cold = tenant->cold,
		.reuse_median = half ? half - 1 : 0,
		.active99 = active_set(tenant, 990),
		.active999 = active_set(tenant, 999),
		.active_all = active_set(tenant, 1000),
	};
	set_run(&pages->tenant_uses[pages->tenant_count - 1], first, count);
	for (__u32 d = 0; d < REUSE_DISTANCES; d++)
		pages->distances[d] += tenant->distances[d];
}

/* How many tenants use each address, told to every one of them. */
static int count_sharers(struct pages *pages)
{
	struct sharer *sharers = NULL, *sharer, *next;
	int err = 0;

	for (size_t i = 0; !err && i < pages->use_count; i++) {
		__u64 key = pages->uses[i].iova | pages->uses[i].shift;

		HASH_FIND(hh, sharers, &key, sizeof(key), sharer);
		if (!sharer) {
			sharer = calloc(1, sizeof(*sharer));
			if (sharer) {
				sharer->key = key;
				HASH_ADD(hh, sharers, key, sizeof(key), sharer);
			}
			if (!sharer || !sharer->hh.tbl) {
				free(sharer);
				err = failed(-ENOMEM, "no memory for the pages of a trace");
				break;
			}
		}
		sharer->tenants++;
	}
	for (size_t i = 0; !err && i < pages->use_count; i++) {
		__u64 key = pages->uses[i].iova | pages->uses[i].shift;

		HASH_FIND(hh, sharers, &key, sizeof(key), sharer);
		pages->uses[i].sharers = sharer ? sharer->tenants : 1;
	}
	HASH_ITER(hh, sharers, sharer, next) {
		HASH_DEL(sharers, sharer);
		free(sharer);
	}
	return err;
}

int pages_finish(struct pages *pages)
{
	size_t count = count_pages(pages);

	pages->uses = calloc(count + 1, sizeof(pages->uses[0]));
	pages->tenant_uses = calloc(MODEL_TENANTS, sizeof(pages->tenant_uses[0]));
	if (!pages->uses || !pages->tenant_uses)
		return failed(-ENOMEM, "no memory for %zu pages", count);
	for (__u32 i = 0; i < MODEL_TENANTS; i++)
		if (pages->tenants[i])
			gather_tenant(pages, (__u16)i, pages->tenants[i]);
	return count_sharers(pages);
}

const struct page_use *pages_uses(const struct pages *pages, size_t *count)
{
	*count = pages->use_count;
	return pages->uses;
}

const struct tenant_use *pages_tenants(const struct pages *pages, size_t *count)
{
	*count = pages->tenant_count;
	return pages->tenant_uses;
}

const __u64 *pages_distances(const struct pages *pages)
{
	return pages->distances;
}

const char *page_class_name(unsigned int page_class)
{
	static const char *const names[PAGE_CLASSES] = {"hot", "data", "startup"};

	return page_class < PAGE_CLASSES ? names[page_class] : "unknown";
}
