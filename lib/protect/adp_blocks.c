// SPDX-License-Identifier: GPL-2.0
/*
 * A page on its way back is in neither recency: it waits in a queue, as all delays are of one length, and its last access
 * tells later where it belongs.
 */
#include "lib/protect/adp.h"

void adp_init(struct adp *adp, const struct protect *protect)
{
	*adp = (struct adp){
		.return_first = NO_PAGE,
		.return_last = NO_PAGE,
		.return_ns = NEVER,
		.scan_ns = NEVER,
		.active_cap = protect_share(protect, protect->keys.active),
		.inactive_cap = protect_share(protect, protect->keys.inactive),
		.promote_after_ns = protect->keys.promote_after_ns,
	};
	recency_init(&adp->active);
	recency_init(&adp->inactive);
}

void adp_start(struct adp *adp, const struct protect *protect, __u64 time_ns)
{
	adp->start_ns = time_ns;
	adp->scan_ns = time_after(time_ns, protect->keys.scan_ns);
}

bool adp_is_pinned(const struct kept_page *page)
{
	return page->state != ADP_ACTIVE;
}

/* The first scan at that time or later, if it is behind the first of all. */
static __u64 adp_scan_from(const struct adp *adp, const struct protect *protect, __u64 time_ns)
{
	const __u64 past = (time_ns - adp->start_ns) % protect->keys.scan_ns;

	return past ? time_after(time_ns, protect->keys.scan_ns - past) : time_ns;
}

static bool adp_is_full(const struct adp *adp)
{
	return adp->inactive.count + adp->returning >= adp->inactive_cap;
}

static bool adp_can_promote(const struct adp *adp, const struct protect *protect)
{
	return !adp_is_full(adp) || (protect->keys.overflow == PROTECT_OVERFLOW_DROP &&
				     adp->inactive.count);
}

/* An active page that adp_can_promote() has room for. */
static void adp_promote(struct protect *protect, struct adp *adp, __u64 time_ns, __u32 index,
			enum protect_reason reason)
{
	struct page_store *store = &protect->store;
	__u32 oldest;

	if (adp_is_full(adp)) {
		oldest = recency_oldest(store, &adp->inactive);
		recency_remove(store, &adp->inactive, oldest);
		protect_unpin(protect, time_ns, oldest, PROTECT_DROPPED);
		page_store_remove(store, oldest);
	}
	recency_remove(store, &adp->active, index);
	store->pages[index].state = ADP_INACTIVE;
	recency_add(store, &adp->inactive, index);
	protect_pin(protect, time_ns, index, reason);
}

/* One page more has become active. */
static void adp_overflow(struct protect *protect, struct adp *adp, __u64 time_ns)
{
	__u32 oldest;

	if (adp->active.count <= adp->active_cap)
		return;
	oldest = recency_oldest(&protect->store, &adp->active);
	if (adp_can_promote(adp, protect)) {
		adp_promote(protect, adp, time_ns, oldest, PROTECT_OVERFLOW);
		return;
	}
	recency_remove(&protect->store, &adp->active, oldest);
	page_store_remove(&protect->store, oldest);
}

static void adp_scan(struct protect *protect, struct adp *adp, __u64 time_ns)
{
	__u32 index;

	while (adp_can_promote(adp, protect)) {
		index = recency_oldest(&protect->store, &adp->active);
		if (index == NO_PAGE || time_after(protect->store.pages[index].last_ns,
						   adp->promote_after_ns) > time_ns)
			return;
		adp_promote(protect, adp, time_ns, index, PROTECT_IDLE);
	}
}

static void adp_await_return(struct protect *protect, struct adp *adp, __u64 time_ns, __u32 index)
{
	struct kept_page *pages = protect->store.pages;

	pages[index].state = ADP_RETURNING;
	pages[index].due_ns = time_after(time_ns, protect->keys.demote_after_ns);
	pages[index].child = NO_PAGE;
	if (adp->returning++) {
		pages[adp->return_last].child = index;
	} else {
		adp->return_first = index;
		adp->return_ns = pages[index].due_ns;
	}
	adp->return_last = index;
}

static void adp_return(struct protect *protect, struct adp *adp)
{
	struct kept_page *pages = protect->store.pages;
	const __u64 time_ns = adp->return_ns;
	const __u32 index = adp->return_first;

	adp->return_first = pages[index].child;
	adp->return_ns = --adp->returning ? pages[adp->return_first].due_ns : NEVER;
	pages[index].state = ADP_ACTIVE;
	recency_add(&protect->store, &adp->active, index);
	protect_unpin(protect, time_ns, index, PROTECT_RETURNED);
	adp_overflow(protect, adp, time_ns);
	/* Earlier scans found nothing, and do not find it now. */
	if (adp->scan_ns < time_ns)
		adp->scan_ns = adp_scan_from(adp, protect, time_ns);
}

/* The next scan that promotes a page, if nothing else happens before. */
static __u64 adp_next_scan(const struct protect *protect, const struct adp *adp)
{
	const __u32 oldest = recency_oldest(&protect->store, &adp->active);
	__u64 idle_ns;

	if (oldest == NO_PAGE || !adp_can_promote(adp, protect))
		return NEVER;
	idle_ns = time_after(protect->store.pages[oldest].last_ns, adp->promote_after_ns);
	return idle_ns <= adp->scan_ns ? adp->scan_ns : adp_scan_from(adp, protect, idle_ns);
}

void adp_advance(struct protect *protect, struct adp *adp, __u64 time_ns)
{
	__u64 next_ns;

	if (time_ns < adp->scan_ns && time_ns < adp->return_ns)
		return;
	for (;;) {
		next_ns = adp_next_scan(protect, adp);
		if (adp->return_ns <= next_ns && adp->return_ns <= time_ns) {
			adp_return(protect, adp);
		} else if (next_ns <= time_ns) {
			adp_scan(protect, adp, next_ns);
			adp->scan_ns = time_after(next_ns, protect->keys.scan_ns);
		} else {
			break;
		}
	}
	if (adp->scan_ns <= time_ns)
		adp->scan_ns = adp_scan_from(adp, protect, time_after(time_ns, 1));
}

static void adp_touch(struct protect *protect, struct kept_page *page, __u64 time_ns)
{
	page->used = true;
	page->last_ns = time_ns;
	page->turn = page_store_turn(&protect->store, time_ns);
}

static void adp_enter(struct protect *protect, struct adp *adp, __u64 time_ns, __u64 number)
{
	const __u32 index = protect_track(protect, time_ns, number);

	if (index == NO_PAGE)
		return;
	adp_touch(protect, &protect->store.pages[index], time_ns);
	protect->store.pages[index].state = ADP_ACTIVE;
	recency_add(&protect->store, &adp->active, index);
	adp_overflow(protect, adp, time_ns);
}

void adp_access(struct protect *protect, struct adp *adp, __u64 time_ns, __u64 number)
{
	const __u32 index = page_store_find(&protect->store, number);
	struct kept_page *page;

	if (index == NO_PAGE) {
		adp_enter(protect, adp, time_ns, number);
		return;
	}
	page = &protect->store.pages[index];
	if (page->state == ADP_ACTIVE && adp->active.newest != index) {
		recency_remove(&protect->store, &adp->active, index);
		adp_touch(protect, page, time_ns);
		recency_add(&protect->store, &adp->active, index);
		return;
	}
	adp_touch(protect, page, time_ns);
	if (page->state == ADP_INACTIVE) {
		recency_remove(&protect->store, &adp->inactive, index);
		adp_await_return(protect, adp, time_ns, index);
	}
}
