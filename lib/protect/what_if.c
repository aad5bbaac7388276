// SPDX-License-Identifier: GPL-2.0
#include "lib/protect/what_if.h"

#include <errno.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/protect/what_if_private.h"

#define SHARE_LOWEST (-1000.0)

static bool is_share(double share)
{
	return share >= 0 && share <= 1;
}

static int what_if_check(const struct what_if_config *config)
{
	if (config->rule != WHAT_IF_INTERVAL && config->rule != WHAT_IF_RECLAIM)
		return failed(-EINVAL, "rule %d: accepted: 0 (interval), 1 (reclaim)",
			      (int)config->rule);
	if (!config->memory_pages)
		return failed(-EINVAL, "a tenant of no pages: accepted: 1 and more");
	if (!(config->share_low >= SHARE_LOWEST && config->share_low <= 1) ||
	    !is_share(config->share_high))
		return failed(-EINVAL, "share_low=%g, share_high=%g: accepted: -1000 to 1, 0 to 1",
			      config->share_low, config->share_high);
	if (config->share_low > config->share_high)
		return failed(-EINVAL, "share_low=%g: accepted: up to share_high=%g",
			      config->share_low, config->share_high);
	return 0;
}

int what_if_create(struct what_if **what_if, const struct what_if_config *config)
{
	struct what_if *made;
	struct protect *tried;
	int error = what_if_check(config);

	/* Keys are checked now and not when the first domain comes. */
	if (!error)
		error = protect_create(&tried, &config->keys, config->memory_pages,
				       (struct protect_sink){0});
	if (error)
		return error;
	protect_destroy(tried);
	made = memory_calloc(1, sizeof(*made));
	if (!made)
		return failed(-ENOMEM, "no memory for a what-if");
	made->config = *config;
	made->sample_ns = config->sample_ns;
	tenant_reclaimer_init(made);
	*what_if = made;
	return 0;
}

static void domain_destroy(struct what_if_domain *domain)
{
	protect_destroy(domain->protect);
	page_store_free(&domain->pages);
	memory_free(domain->samples);
	memory_free(domain);
}

void what_if_destroy(struct what_if *what_if)
{
	if (!what_if)
		return;
	for (size_t i = 0; i < what_if->count; i++)
		domain_destroy(what_if->domains[i]);
	memory_free(what_if->domains);
	tenant_reclaimer_free(what_if);
	memory_free(what_if);
}

/* What was pinned until now counts as long as it was. */
static void domain_account(struct what_if_domain *domain, __u64 time_ns)
{
	if (time_ns <= domain->changed_ns)
		return;
	domain->counts.pinned_time +=
		(unsigned __int128)domain->pinned * (time_ns - domain->changed_ns);
	domain->changed_ns = time_ns;
}

/* NO_PAGE without memory: then the domain's numbers are less than they could be. */
static __u32 domain_page(struct what_if_domain *domain, __u64 number)
{
	__u32 index = page_store_find(&domain->pages, number);

	if (index == NO_PAGE)
		index = page_store_add(&domain->pages, number);
	if (index == NO_PAGE)
		domain->counts.policy.untracked++;
	return index;
}

static void domain_pin(struct what_if_domain *domain, const struct protect_action *action)
{
	const __u32 index = domain_page(domain, action->page);

	if (index == NO_PAGE)
		return;
	domain->pages.pages[index].state |= JUDGED_PINNED;
	domain->pages.pages[index].due_ns = action->time_ns;
}

static void domain_unpin(struct what_if_domain *domain, const struct protect_action *action)
{
	const __u32 index = page_store_find(&domain->pages, action->page);

	if (index == NO_PAGE)
		return;
	domain->pages.pages[index].state &= ~JUDGED_PINNED;
	if (!domain->pages.pages[index].state)
		page_store_remove(&domain->pages, index);
}

static void what_if_act(void *argument, const struct protect_action *action)
{
	struct what_if_domain *domain = argument;
	struct what_if *what_if = domain->what_if;

	domain_account(domain, action->time_ns);
	if (action->pin) {
		domain->pinned++;
		domain_pin(domain, action);
	} else {
		domain->pinned--;
		domain_unpin(domain, action);
	}
	if (what_if->config.rule == WHAT_IF_RECLAIM)
		reclaimer_pin(what_if, domain, action);
	if (what_if->config.act)
		what_if->config.act(what_if->config.argument, domain->number, action);
}

int what_if_add_domain(struct what_if *what_if, __u64 memory_pages)
{
	struct what_if_domain *domain;
	int error;

	if (what_if->count >= WHAT_IF_DOMAINS)
		return failed(-EINVAL, "more than %d domains in a tenant", WHAT_IF_DOMAINS);
	if (!array_grow(&what_if->domains, &what_if->room, what_if->count + 1,
			sizeof(struct what_if_domain *), ARRAY_LIMITED))
		return failed(-ENOMEM, "no memory for domain %zu", what_if->count);
	domain = memory_calloc(1, sizeof(*domain));
	if (!domain)
		return failed(-ENOMEM, "no memory for domain %zu", what_if->count);
	domain->what_if = what_if;
	domain->number = (__u32)what_if->count;
	page_store_init(&domain->pages);
	error = protect_create(&domain->protect, &what_if->config.keys, memory_pages,
			       (struct protect_sink){what_if_act, domain});
	if (error) {
		memory_free(domain);
		return error;
	}
	what_if->domains[what_if->count++] = domain;
	return (int)domain->number;
}

void what_if_advance_all(struct what_if *what_if, __u64 time_ns)
{
	for (size_t i = 0; i < what_if->count; i++)
		protect_advance(what_if->domains[i]->protect, time_ns);
}

static void what_if_start(struct what_if *what_if, __u64 time_ns)
{
	what_if->started = true;
	what_if->start_ns = what_if->newest_ns = time_ns;
	what_if->next_sample_ns =
		what_if->sample_ns ? time_after(time_ns, what_if->sample_ns) : NEVER;
	what_if->reclaimer.next_ns = time_after(time_ns, what_if->reclaimer.tick_ns);
}

/* False if nothing is left that happens at a time of its own until then. A look comes before a sample of the same time. */
static bool what_if_step(struct what_if *what_if, __u64 time_ns)
{
	const __u64 look_ns = what_if->reclaimer.next_ns, sample_ns = what_if->next_sample_ns;

	if (look_ns <= time_ns && look_ns <= sample_ns) {
		reclaimer_look(what_if, look_ns);
		return true;
	}
	if (sample_ns <= time_ns) {
		what_if_take_samples(what_if, sample_ns);
		return true;
	}
	if (what_if->config.rule == WHAT_IF_INTERVAL)
		return false;
	/* A page of one domain may be another's as well. What a policy does may wake the memory manager. */
	what_if_advance_all(what_if, time_ns);
	return what_if->reclaimer.next_ns <= time_ns;
}

static void what_if_advance(struct what_if *what_if, __u64 time_ns)
{
	while (what_if_step(what_if, time_ns))
		;
	what_if->newest_ns = time_ns;
}

static void judge_fault(struct what_if *what_if, struct what_if_domain *domain,
			const struct what_if_access *access, __u64 gap_ns, bool avoided)
{
	if (avoided)
		domain->counts.avoided++;
	else
		domain->counts.faults++;
	if (what_if->config.fault)
		what_if->config.fault(what_if->config.argument, access, gap_ns, avoided);
}

static void judge_known(struct what_if *what_if, struct what_if_domain *domain,
			const struct what_if_access *access, const struct kept_page *page, bool out)
{
	const __u64 gap_ns = access->time_ns - page->last_ns;

	if (what_if->config.rule == WHAT_IF_RECLAIM) {
		if (out)
			judge_fault(what_if, domain, access, gap_ns, false);
	} else if (gap_ns > what_if->config.idle_ns) {
		judge_fault(what_if, domain, access, gap_ns,
			    page->state & JUDGED_PINNED &&
				    page->due_ns <= page->last_ns + what_if->config.idle_ns);
	}
}

static void judge_access(struct what_if *what_if, struct what_if_domain *domain,
			 const struct what_if_access *access)
{
	struct what_if_counts *counts = &domain->counts;
	const bool out = what_if->config.rule == WHAT_IF_RECLAIM &&
			 reclaimer_access(what_if, domain, access->time_ns, access->page);
	const __u32 index = domain_page(domain, access->page);
	struct kept_page *page;

	counts->accesses += access->count;
	if (index == NO_PAGE)
		return;
	page = &domain->pages.pages[index];
	if (page->state & JUDGED_TOUCHED) {
		judge_known(what_if, domain, access, page, out);
	} else {
		counts->pages++;
		counts->first_accesses++;
		counts->first_pinned += (page->state & JUDGED_PINNED) != 0;
	}
	counts->pages_told += !access->lost && !(page->state & JUDGED_TOLD);
	page->state |= access->lost ? JUDGED_TOUCHED : JUDGED_TOUCHED | JUDGED_TOLD;
	page->last_ns = access->time_ns;
}

void what_if_access(struct what_if *what_if, const struct what_if_access *access)
{
	struct what_if_access now = *access;
	struct what_if_domain *domain;

	if (access->domain >= what_if->count)
		return;
	domain = what_if->domains[access->domain];
	if (now.time_ns == NEVER)
		now.time_ns--;
	if (!what_if->started)
		what_if_start(what_if, now.time_ns);
	if (now.time_ns < what_if->newest_ns)
		now.time_ns = what_if->newest_ns;
	what_if_advance(what_if, now.time_ns);
	protect_advance(domain->protect, now.time_ns);
	judge_access(what_if, domain, &now);
	if (!now.lost)
		protect_access(domain->protect, now.time_ns, now.page);
}

void what_if_end(struct what_if *what_if, __u64 time_ns)
{
	if (!what_if->started)
		return;
	if (time_ns == NEVER)
		time_ns--;
	if (time_ns < what_if->newest_ns)
		time_ns = what_if->newest_ns;
	what_if_advance(what_if, time_ns);
	what_if_advance_all(what_if, time_ns);
	for (size_t i = 0; i < what_if->count; i++)
		domain_account(what_if->domains[i], time_ns);
}

void what_if_rest(struct what_if *what_if, __u64 time_ns)
{
	if (!what_if->started || time_ns <= what_if->newest_ns || time_ns == NEVER)
		return;
	what_if->newest_ns = time_ns;
	for (size_t i = 0; i < what_if->count; i++)
		domain_account(what_if->domains[i], time_ns);
}

void what_if_counts(const struct what_if *what_if, __u32 number, struct what_if_counts *counts)
{
	const __u64 length_ns = what_if->newest_ns - what_if->start_ns;
	const struct what_if_domain *domain = what_if->domains[number];
	const __u64 untracked = domain->counts.policy.untracked;

	*counts = domain->counts;
	protect_state(domain->protect, &counts->policy);
	counts->policy.untracked += untracked;
	counts->pinned_mean = length_ns ? (double)counts->pinned_time / (double)length_ns : 0;
}
