// SPDX-License-Identifier: GPL-2.0
/* What a borrow holds, given back: by its two sides, or by who lives after who is dead. Each part once, in whatever order. */
#include <errno.h>

#include "injectors/cluster/lend_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/*
 * Windows have numbers of their own, so that unmapping one twice does no harm. Domains and requester entries have none: those of a
 * dead process are its reaper's (agent_run.h), who may have given them to others by now.
 */

/* True for the one who is to give it back. */
static bool held_taken(__u32 *held, __u32 *what)
{
	*what = __atomic_exchange_n(held, 0, __ATOMIC_ACQ_REL);
	return *what;
}

static void record_cleaned(struct lend_record *record, __u32 part)
{
	__atomic_fetch_or(&record->clean, part, __ATOMIC_ACQ_REL);
}

/* Blocked until here by the end of its domain, not free to go everywhere. */
void lend_unblock(struct cluster *cluster, __u32 host, __u32 requester)
{
	if (host_iommu_domain_of(cluster, host, requester) == HOST_IOMMU_BLOCKED)
		host_iommu_detach(cluster, host, requester);
}

static bool lend_lender_lives(const struct cluster *cluster, const struct lend_record *record)
{
	return lend_agent_lives(cluster, record->borrow.lender, record->lender_life);
}

void lend_drop_bars(struct cluster *cluster, struct lend_record *record)
{
	__u32 was;

	for (__u32 bar = 0; bar < FUNCTION_BARS; bar++)
		if (held_taken(&record->bars[bar].held, &was))
			ntb_unmap(cluster, &record->bars[bar].window);
	record_cleaned(record, CLEAN_BARS);
}

void lend_drop_borrower(struct cluster *cluster, struct lend_record *record)
{
	__u32 host = record->borrow.borrower, domain, was;

	if (held_taken(&record->borrower_domain, &domain) &&
	    lend_agent_lives(cluster, record->borrow.agent, record->borrower_life))
		host_iommu_domain_destroy(cluster, host, domain);
	if (held_taken(&record->seen_attached, &was))
		lend_unblock(cluster, host, record->seen_requester);
	record_cleaned(record, CLEAN_BORROWER);
}

void lend_drop_lender_window(struct cluster *cluster, struct lend_record *record,
			     struct held_window *slot)
{
	const struct lend_borrow *borrow = &record->borrow;
	const struct ntb_window window = slot->window;
	__u32 was;

	if (!held_taken(&slot->held, &was))
		return;
	/* Before the window, whose place may be another's at once. */
	if (borrow->lender_domain && !borrow->guest && lend_lender_lives(cluster, record))
		host_iommu_unmap(cluster, borrow->lender, borrow->lender_domain,
				 window.address & ~(__u64)(HOST_PAGE - 1),
				 window.bytes + (window.address & (HOST_PAGE - 1)),
				 function_device(cluster, borrow->function));
	if (window.adapter != CLUSTER_NONE)
		ntb_unmap(cluster, &window);
	if (was == HELD_WITH_ENTRY && lend_lender_lives(cluster, record))
		ntb_requester_remove(cluster, window.adapter, window.far_host,
				     REQUESTER_FUNCTION(borrow->function));
}

static void lend_drop_ways(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u32 was;

	for (__u32 i = 0; i < LEND_LENDER_WINDOWS; i++)
		lend_drop_lender_window(cluster, record, &record->lender_windows[i]);
	if (held_taken(&record->requester_held, &was) && lend_lender_lives(cluster, record))
		ntb_requester_remove(cluster, borrow->lender_adapter, borrow->borrower,
				     REQUESTER_FUNCTION(borrow->function));
}

/* Another function of the device that the same agent has keeps its right to its memory. */
static bool lend_used_otherwise(struct cluster *cluster, const struct lend_record *record)
{
	__u32 device = function_device(cluster, record->borrow.function),
	      issued = __atomic_load_n(&cluster->lends->issued, __ATOMIC_ACQUIRE);

	for (__u32 number = 1; number <= issued && number <= LEND_BORROWS_MAX; number++) {
		const struct lend_record *other = &cluster->lends->records[number - 1];

		if (other != record && __atomic_load_n(&other->user_named, __ATOMIC_ACQUIRE) &&
		    other->borrow.agent == record->borrow.agent &&
		    function_device(cluster, other->borrow.function) == device)
			return true;
	}
	return false;
}

static void lend_drop_rights(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u32 domain, was;

	if (held_taken(&record->lender_domain, &domain)) {
		if (lend_lender_lives(cluster, record))
			host_iommu_domain_destroy(cluster, borrow->lender, domain);
		lend_unblock(cluster, borrow->lender, REQUESTER_FUNCTION(borrow->function));
	}
	if (!held_taken(&record->user_named, &was))
		return;
	if (!lend_used_otherwise(cluster, record))
		access_user_set(cluster, function_device(cluster, borrow->function), borrow->agent,
				false);
	if (function_borrow(cluster, borrow->function) == borrow->number)
		function_borrow_set(cluster, borrow->function, CLUSTER_NONE);
}

void lend_drop_lender(struct cluster *cluster, struct lend_record *record)
{
	lend_drop_ways(cluster, record);
	lend_drop_rights(cluster, record);
	record_cleaned(record, CLEAN_LENDER);
}

static void lend_state_move(struct cluster *cluster, const struct lend_record *record,
			    enum lend_state state)
{
	struct lend_function *function = &cluster->lends->functions[record->borrow.function];

	if (function->number == record->borrow.number)
		__atomic_store_n(&function->state, state, __ATOMIC_RELEASE);
}

void lend_offer(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	struct lend_function *function = &cluster->lends->functions[borrow->function];
	__u64 ended = __atomic_load_n(&record->ended_ns, __ATOMIC_ACQUIRE);

	if (function->number != borrow->number || function->state != LEND_RESETTING)
		return;
	if (!(lend_clean(record) & CLEAN_BARS) &&
	    lend_agent_lives(cluster, borrow->agent, record->borrower_life) &&
	    monotonic_ns() < ended + cluster->config->dead_ns)
		return;
	lend_state_move(cluster, record, LEND_AVAILABLE);
	lend_step(cluster, STEP_AVAILABLE, record, 0, ended, 0);
}

void lend_take_back(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u64 begin = monotonic_ns();

	if (lend_clean(record) & CLEAN_LENDER)
		return;
	lend_state_move(cluster, record, LEND_RETURNING);
	peer_release(cluster, borrow->function, borrow->number);
	lend_drop_ways(cluster, record);
	lend_step(cluster, STEP_RELEASE, record, 0, begin, 0);
	begin = monotonic_ns();
	lend_state_move(cluster, record, LEND_RESETTING);
	/* Blocked by its domain, if there is one, until it has forgotten every address. */
	function_reset(cluster, borrow->function);
	lend_step(cluster, STEP_RESET, record, 0, begin, 0);
	lend_drop_rights(cluster, record);
	record_cleaned(record, CLEAN_LENDER);
	lend_offer(cluster, record);
}
