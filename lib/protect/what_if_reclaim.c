// SPDX-License-Identifier: GPL-2.0
/* A memory manager that looks at times of its own, and takes what was idle longest. */
#include "lib/protect/what_if_private.h"

#define LOOK_NS	      1000000000ull
#define LOOKS_A_CYCLE 64   /* at least */
#define LOOKS_QUIET   3600 /* longer than policies wait, as a rule */

/* kept_page.state of the tenant's pages. due_ns of a pinned one: by how many domains. */
enum { TENANT_TOUCHED = 1, TENANT_OUT = 2, TENANT_PINNED = 4 };

void tenant_reclaimer_init(struct what_if *what_if)
{
	struct tenant_reclaimer *reclaimer = &what_if->reclaimer;
	const __u64 period_ns = what_if->config.share_period_ns;

	page_store_init(&reclaimer->pages);
	recency_init(&reclaimer->takable);
	reclaimer->next_ns = reclaimer->tick_ns = NEVER;
	if (what_if->config.rule != WHAT_IF_RECLAIM)
		return;
	reclaimer->tick_ns = LOOK_NS;
	if (period_ns && period_ns / LOOKS_A_CYCLE < LOOK_NS)
		reclaimer->tick_ns = period_ns / LOOKS_A_CYCLE ?: 1;
	reclaimer->cycle =
		(period_ns + what_if->config.young_ns) / reclaimer->tick_ns + LOOKS_QUIET;
}

void tenant_reclaimer_free(struct what_if *what_if)
{
	page_store_free(&what_if->reclaimer.pages);
}

/* Up for half of the period, and down for the other half. */
static double reclaim_share(const struct what_if_config *config, __u64 since_ns)
{
	const __u64 period_ns = config->share_period_ns;
	double phase;

	if (!period_ns)
		return config->share_high;
	phase = 2 * (double)(since_ns % period_ns) / (double)period_ns;
	if (phase > 1)
		phase = 2 - phase;
	return config->share_low + (config->share_high - config->share_low) * phase;
}

/* What was last used at `young_ns` or later stays. */
static bool reclaim_take(struct tenant_reclaimer *reclaimer, __u64 wanted, __u64 young_ns)
{
	bool any = false;

	while (reclaimer->out < wanted) {
		const __u32 oldest = recency_oldest(&reclaimer->pages, &reclaimer->takable);

		if (oldest == NO_PAGE || reclaimer->pages.pages[oldest].last_ns >= young_ns)
			break;
		recency_remove(&reclaimer->pages, &reclaimer->takable, oldest);
		reclaimer->pages.pages[oldest].state |= TENANT_OUT;
		reclaimer->out++;
		any = true;
	}
	return any;
}

void reclaimer_look(struct what_if *what_if, __u64 time_ns)
{
	const struct what_if_config *config = &what_if->config;
	struct tenant_reclaimer *reclaimer = &what_if->reclaimer;
	const double pages =
		(double)(config->share_of_memory ? config->memory_pages : reclaimer->touched);
	double share;

	reclaimer->quiet++;
	what_if_advance_all(what_if, time_ns);
	share = reclaim_share(config, time_ns - what_if->start_ns);
	if (share > 0 && reclaim_take(reclaimer, (__u64)protect_rounding(share * pages),
				      !config->young_ns		   ? NEVER
				      : time_ns > config->young_ns ? time_ns - config->young_ns
								   : 0))
		reclaimer->quiet = 0;
	/* After more than a cycle in which nothing happened there is nothing to take until something does. */
	reclaimer->next_ns = reclaimer->quiet > reclaimer->cycle
				     ? NEVER
				     : time_after(time_ns, reclaimer->tick_ns);
}

/* Something happened: it looks again, at its next multiple. */
static void reclaimer_wake(struct what_if *what_if, __u64 time_ns)
{
	struct tenant_reclaimer *reclaimer = &what_if->reclaimer;

	reclaimer->quiet = 0;
	if (reclaimer->next_ns == NEVER)
		reclaimer->next_ns =
			time_after(time_ns, reclaimer->tick_ns - (time_ns - what_if->start_ns) %
									 reclaimer->tick_ns);
}

static __u32 tenant_page(struct what_if *what_if, struct what_if_domain *domain, __u64 number)
{
	struct page_store *pages = &what_if->reclaimer.pages;
	__u32 index = page_store_find(pages, number);

	if (index == NO_PAGE)
		index = page_store_add(pages, number);
	if (index == NO_PAGE)
		domain->counts.policy.untracked++;
	return index;
}

/* True if it was out. */
static bool tenant_bring(struct tenant_reclaimer *reclaimer, struct kept_page *page)
{
	if (!(page->state & TENANT_OUT))
		return false;
	page->state &= ~TENANT_OUT;
	reclaimer->out--;
	return true;
}

static bool is_takable(const struct kept_page *page)
{
	return page->state == TENANT_TOUCHED;
}

bool reclaimer_access(struct what_if *what_if, struct what_if_domain *domain, __u64 time_ns,
		      __u64 number)
{
	struct tenant_reclaimer *reclaimer = &what_if->reclaimer;
	const __u32 index = tenant_page(what_if, domain, number);
	struct kept_page *page;
	bool out;

	reclaimer_wake(what_if, time_ns);
	if (index == NO_PAGE)
		return false;
	page = &reclaimer->pages.pages[index];
	if (is_takable(page))
		recency_remove(&reclaimer->pages, &reclaimer->takable, index);
	out = tenant_bring(reclaimer, page);
	reclaimer->touched += !(page->state & TENANT_TOUCHED);
	page->state |= TENANT_TOUCHED;
	page->last_ns = time_ns;
	page->turn = page_store_turn(&reclaimer->pages, time_ns);
	if (is_takable(page))
		recency_add(&reclaimer->pages, &reclaimer->takable, index);
	return out;
}

static void tenant_unpin(struct tenant_reclaimer *reclaimer, __u32 index)
{
	struct kept_page *page = &reclaimer->pages.pages[index];

	if (!(page->state & TENANT_PINNED) || --page->due_ns)
		return;
	page->state &= ~TENANT_PINNED;
	if (is_takable(page))
		recency_add(&reclaimer->pages, &reclaimer->takable, index);
	else
		page_store_remove(&reclaimer->pages, index);
}

void reclaimer_pin(struct what_if *what_if, struct what_if_domain *domain,
		   const struct protect_action *action)
{
	struct tenant_reclaimer *reclaimer = &what_if->reclaimer;
	const __u32 index = action->pin ? tenant_page(what_if, domain, action->page)
					: page_store_find(&reclaimer->pages, action->page);
	struct kept_page *page;

	reclaimer_wake(what_if, action->time_ns);
	if (index == NO_PAGE)
		return;
	if (!action->pin) {
		tenant_unpin(reclaimer, index);
		return;
	}
	page = &reclaimer->pages.pages[index];
	if (is_takable(page))
		recency_remove(&reclaimer->pages, &reclaimer->takable, index);
	domain->counts.brought += tenant_bring(reclaimer, page);
	if (!(page->state & TENANT_PINNED))
		page->due_ns = 0;
	page->state |= TENANT_PINNED;
	page->due_ns++;
}
