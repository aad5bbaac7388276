// SPDX-License-Identifier: GPL-2.0
/*
 * A page on its way back is in neither recency: it waits in a queue, as all delays are of one length, and its last access
 * tells later where it belongs.
 */
#include "lib/protect/adp.h"

#include "lib/protect/learner.h"

void adp_init(struct adp *adp, const struct protect *protect)
{
	*adp = (struct adp){
		.return_first = NO_PAGE,
		.return_last = NO_PAGE,
		.return_ns = NEVER,
		.unused_ns = NEVER,
		.scan_ns = NEVER,
		.active_cap = protect_share(protect, protect->keys.active),
		.inactive_cap = protect_share(protect, protect->keys.inactive),
		.promote_after_ns = protect->keys.promote_after_ns,
		.give_up_ns = NEVER,
		.admitted = ADP_ALL,
	};
	recency_init(&adp->active);
	recency_init(&adp->inactive);
	recency_init(&adp->expected);
	recency_init(&adp->ghosts);
}

void adp_start(struct adp *adp, const struct protect *protect, __u64 time_ns)
{
	adp->start_ns = time_ns;
	adp->scan_ns = time_after(time_ns, protect->keys.scan_ns);
}

bool adp_is_pinned(const struct kept_page *page)
{
	return page->state != ADP_ACTIVE && page->state != ADP_GHOST;
}

/* The first scan at that time or later, if it is behind the first of all. */
static __u64 adp_scan_from(const struct adp *adp, const struct protect *protect, __u64 time_ns)
{
	const __u64 past = (time_ns - adp->start_ns) % protect->keys.scan_ns;

	return past ? time_after(time_ns, protect->keys.scan_ns - past) : time_ns;
}

static bool adp_is_full(const struct adp *adp)
{
	return adp->inactive.count + adp->returning + adp->expected.count >= adp->inactive_cap;
}

static bool adp_can_promote(const struct adp *adp, const struct protect *protect)
{
	return !adp_is_full(adp) ||
	       (protect->keys.overflow == PROTECT_OVERFLOW_DROP && adp->inactive.count);
}

/* By its number, so that it is always the same pages. */
static bool adp_is_admitted(const struct adp *adp, const struct kept_page *page)
{
	return (page->number * 0x9e3779b97f4a7c15ull >> 56) < adp->admitted;
}

/* A page of no block. */
static void adp_forget(struct protect *protect, struct adp *adp, __u64 time_ns, __u32 index)
{
	struct page_store *store = &protect->store;

	if (!adp->ghost_cap) {
		page_store_remove(store, index);
		return;
	}
	store->pages[index].state = ADP_GHOST;
	recency_add(store, &adp->ghosts, index);
	if (adp->ghosts.count <= adp->ghost_cap)
		return;
	index = recency_oldest(store, &adp->ghosts);
	recency_remove(store, &adp->ghosts, index);
	learner_lost(adp->learner, time_ns - store->pages[index].last_ns);
	page_store_remove(store, index);
}

/* The oldest inactive page makes way. */
static void adp_drop(struct protect *protect, struct adp *adp, __u64 time_ns,
		     enum protect_reason reason)
{
	const __u32 oldest = recency_oldest(&protect->store, &adp->inactive);

	recency_remove(&protect->store, &adp->inactive, oldest);
	protect_unpin(protect, time_ns, oldest, reason);
	adp_forget(protect, adp, time_ns, oldest);
}

static __u64 adp_given_up(const struct protect *protect, const struct adp *adp, __u32 index)
{
	return time_after(protect->store.pages[index].last_ns, adp->give_up_ns);
}

/* Active's oldest page leaves it, if only for want of a place. False: it stays, as there is none and it may. */
static bool adp_promote(struct protect *protect, struct adp *adp, __u64 time_ns, __u32 index,
			enum protect_reason reason)
{
	struct kept_page *page = &protect->store.pages[index];
	const bool is_worth =
		adp_is_admitted(adp, page) && adp_given_up(protect, adp, index) > time_ns;

	if (is_worth && reason == PROTECT_IDLE && !adp_can_promote(adp, protect))
		return false;
	recency_remove(&protect->store, &adp->active, index);
	if (!is_worth || !adp_can_promote(adp, protect)) {
		adp_forget(protect, adp, time_ns, index);
		return true;
	}
	if (adp_is_full(adp))
		adp_drop(protect, adp, time_ns, PROTECT_DROPPED);
	page->state = ADP_INACTIVE;
	recency_add(&protect->store, &adp->inactive, index);
	protect_pin(protect, time_ns, index, reason);
	return true;
}

/* One page more has become active. */
static void adp_overflow(struct protect *protect, struct adp *adp, __u64 time_ns)
{
	if (adp->active.count > adp->active_cap)
		adp_promote(protect, adp, time_ns, recency_oldest(&protect->store, &adp->active),
			    PROTECT_OVERFLOW);
}

static __u64 adp_idle(const struct protect *protect, const struct adp *adp, __u32 index)
{
	return time_after(protect->store.pages[index].last_ns, adp->promote_after_ns);
}

static void adp_scan(struct protect *protect, struct adp *adp, __u64 time_ns)
{
	__u32 index;

	while ((index = recency_oldest(&protect->store, &adp->inactive)) != NO_PAGE &&
	       adp_given_up(protect, adp, index) <= time_ns)
		adp_drop(protect, adp, time_ns, PROTECT_SHRUNK);
	while ((index = recency_oldest(&protect->store, &adp->active)) != NO_PAGE &&
	       adp_idle(protect, adp, index) <= time_ns &&
	       adp_promote(protect, adp, time_ns, index, PROTECT_IDLE))
		;
}

static void adp_await_return(struct protect *protect, struct adp *adp, __u64 time_ns, __u32 index)
{
	struct kept_page *pages = protect->store.pages;

	pages[index].state = ADP_RETURNING;
	pages[index].due_ns = time_after(time_ns, protect->keys.demote_after_ns);
	if (adp->returning++) {
		pages[adp->return_last].child = index;
	} else {
		adp->return_first = index;
		adp->return_ns = pages[index].due_ns;
	}
	adp->return_last = index;
}

/* There may be something to do for the next scan: earlier ones found nothing, and do not find it now. */
static void adp_skip_scans(const struct protect *protect, struct adp *adp, __u64 time_ns)
{
	if (adp->scan_ns < time_ns)
		adp->scan_ns = adp_scan_from(adp, protect, time_ns);
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
	adp_skip_scans(protect, adp, time_ns);
}

static void adp_set_unused(const struct protect *protect, struct adp *adp)
{
	const __u32 first = recency_oldest(&protect->store, &adp->expected);

	adp->unused_ns = first == NO_PAGE ? NEVER
					  : time_after(protect->store.pages[first].last_ns,
						       protect->keys.expect_ns);
}

static void adp_unused(struct protect *protect, struct adp *adp)
{
	const __u32 index = recency_oldest(&protect->store, &adp->expected);
	const __u64 time_ns = adp->unused_ns;

	recency_remove(&protect->store, &adp->expected, index);
	adp_set_unused(protect, adp);
	protect_unpin(protect, time_ns, index, PROTECT_UNUSED);
	page_store_remove(&protect->store, index);
	adp_skip_scans(protect, adp, time_ns);
}

/* The next scan that finds something to do, if nothing else happens before. */
static __u64 adp_next_scan(const struct protect *protect, const struct adp *adp)
{
	const __u32 active = recency_oldest(&protect->store, &adp->active);
	const __u32 inactive = recency_oldest(&protect->store, &adp->inactive);
	__u64 due_ns = NEVER, given_up_ns;

	if (active != NO_PAGE) {
		due_ns = adp_idle(protect, adp, active);
		given_up_ns = adp_given_up(protect, adp, active);
		if (due_ns < given_up_ns && !adp_can_promote(adp, protect) &&
		    adp_is_admitted(adp, &protect->store.pages[active]))
			due_ns = given_up_ns;
	}
	if (inactive != NO_PAGE) {
		given_up_ns = adp_given_up(protect, adp, inactive);
		if (given_up_ns < due_ns)
			due_ns = given_up_ns;
	}
	return due_ns <= adp->scan_ns ? adp->scan_ns : adp_scan_from(adp, protect, due_ns);
}

void adp_advance(struct protect *protect, struct adp *adp, __u64 time_ns)
{
	__u64 next_ns, first_ns;

	if (time_ns < adp->scan_ns && time_ns < adp->return_ns && time_ns < adp->unused_ns)
		return;
	for (;;) {
		next_ns = adp_next_scan(protect, adp);
		first_ns = next_ns < adp->unused_ns ? next_ns : adp->unused_ns;
		first_ns = first_ns < adp->return_ns ? first_ns : adp->return_ns;
		if (first_ns > time_ns)
			break;
		if (adp->return_ns == first_ns) {
			adp_return(protect, adp);
		} else if (adp->unused_ns == first_ns) {
			adp_unused(protect, adp);
		} else {
			adp_scan(protect, adp, next_ns);
			adp->scan_ns = time_after(next_ns, protect->keys.scan_ns);
		}
	}
	if (adp->scan_ns <= time_ns)
		adp->scan_ns = adp_scan_from(adp, protect, time_after(time_ns, 1));
}

bool adp_expect(struct protect *protect, struct adp *adp, __u64 time_ns, __u64 number)
{
	__u32 index = page_store_find(&protect->store, number);

	if (index == NO_PAGE) {
		if (!adp_can_promote(adp, protect))
			return false;
		index = page_store_add(&protect->store, number);
		if (index == NO_PAGE)
			return false;
		if (adp_is_full(adp))
			adp_drop(protect, adp, time_ns, PROTECT_DROPPED);
		protect->store.pages[index].last_ns = time_ns;
		protect->store.pages[index].state = ADP_EXPECTED;
		recency_add(&protect->store, &adp->expected, index);
		protect_pin(protect, time_ns, index, PROTECT_EXPECTED);
	} else if (protect->store.pages[index].state == ADP_EXPECTED) {
		recency_remove(&protect->store, &adp->expected, index);
		protect->store.pages[index].last_ns = time_ns;
		recency_add(&protect->store, &adp->expected, index);
	}
	adp_set_unused(protect, adp);
	return true;
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

/* A page that is known, but is no active one. */
static void adp_hit(struct protect *protect, struct adp *adp, __u64 time_ns, __u32 index)
{
	struct kept_page *page = &protect->store.pages[index];
	struct page_store *store = &protect->store;

	switch (page->state) {
	case ADP_INACTIVE:
		recency_remove(store, &adp->inactive, index);
		adp_await_return(protect, adp, time_ns, index);
		break;
	case ADP_EXPECTED:
		recency_remove(store, &adp->expected, index);
		adp_set_unused(protect, adp);
		adp_await_return(protect, adp, time_ns, index);
		break;
	case ADP_GHOST:
		recency_remove(store, &adp->ghosts, index);
		page->state = ADP_ACTIVE;
		adp_touch(protect, page, time_ns);
		recency_add(store, &adp->active, index);
		adp_overflow(protect, adp, time_ns);
		return;
	}
	adp_touch(protect, page, time_ns);
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
	if (adp->learner)
		learner_used(adp->learner, time_ns - page->last_ns);
	if (page->state != ADP_ACTIVE) {
		adp_hit(protect, adp, time_ns, index);
	} else if (adp->active.newest == index) {
		adp_touch(protect, page, time_ns);
	} else {
		recency_remove(&protect->store, &adp->active, index);
		adp_touch(protect, page, time_ns);
		recency_add(&protect->store, &adp->active, index);
	}
}
