// SPDX-License-Identifier: GPL-2.0
/* Who lives looks after who is dead, whose tables are gone, who was asked for a device and has not given it back. */
#include <errno.h>

#include "injectors/cluster/lend_private.h"
#include "injectors/cluster/nvme.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

static bool look_host_lives(const struct cluster *cluster, __u32 host)
{
	return agent_state(cluster, host) <= AGENT_RUNS;
}

static bool look_lender_lives(const struct cluster *cluster, const struct lend_record *record)
{
	return lend_agent_lives(cluster, record->borrow.lender, record->lender_life);
}

static bool look_borrower_lives(const struct cluster *cluster, const struct lend_record *record)
{
	return lend_agent_lives(cluster, record->borrow.agent, record->borrower_life);
}

/* One of its two hosts; anybody if neither is there. */
static bool look_concerned(const struct cluster *cluster, const struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;

	return cluster->host == borrow->lender || cluster->host == borrow->borrower ||
	       (!look_host_lives(cluster, borrow->lender) &&
		!look_host_lives(cluster, borrow->borrower));
}

/*
 * Of a controller that others share (share.h), whose manager is dead: they go on, in windows of their own, until the next manager
 * borrows it, which cannot go on without a reset. Until then it is still lent.
 */
bool lend_orphaned(const struct cluster *cluster, const struct lend_record *record)
{
	return record->borrow.shared && RECORD_PHASE(lend_word(record)) == RECORD_LIVE &&
	       !look_borrower_lives(cluster, record) && look_lender_lives(cluster, record);
}

void lend_end_orphan(struct cluster *cluster, struct lend_record *record)
{
	lend_end_told(cluster, record, LEND_END_BORROWER_DEAD, STEP_BORROWER_DEAD, -EHOSTDOWN);
	lend_drop_borrower(cluster, record);
	lend_drop_bars(cluster, record);
	lend_take_back(cluster, record);
}

/* Does it last? */
static void look_at_life(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	bool lender = cluster->host == borrow->lender;
	__u64 now = monotonic_ns();

	if (lend_orphaned(cluster, record))
		return;
	if (!look_borrower_lives(cluster, record))
		lend_end_told(cluster, record, LEND_END_BORROWER_DEAD, STEP_BORROWER_DEAD,
			      -EHOSTDOWN);
	else if (!look_lender_lives(cluster, record))
		lend_end_told(cluster, record, LEND_END_LENDER_DEAD, STEP_LENDER_DEAD, -EHOSTDOWN);
	else if (lend_wiped(cluster, record))
		lend_end_told(cluster, record, LEND_END_WIPED, STEP_REVOKED, -ENODEV);
	else if (lender && record->revoke_ns && now >= record->revoke_ns)
		lend_end_told(cluster, record, LEND_END_REVOKED, STEP_REVOKED, 0);
	else if (lender && RECORD_PHASE(lend_word(record)) == RECORD_GRANTED &&
		 now >= record->granted_ns + LEND_GRANT_PATIENCE * cluster->config->dead_ns)
		lend_end_told(cluster, record, LEND_END_FAILED, STEP_REVOKED, -ETIMEDOUT);
	if (cluster->host == borrow->borrower)
		lend_check(cluster, borrow); /* notes since when there is no way */
}

/* Borrower's parts: of a living one its host takes the BARs away as soon as it can know, the rest is its own driver's to leave. */
static void look_at_borrower(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u32 clean = lend_clean(record);

	/* Nor is there anything of one that never got to know of its grant. */
	if (!look_borrower_lives(cluster, record) ||
	    !__atomic_load_n(&record->known, __ATOMIC_ACQUIRE)) {
		if (!(clean & CLEAN_BORROWER))
			lend_drop_borrower(cluster, record);
		if (!(clean & CLEAN_BARS))
			lend_drop_bars(cluster, record);
	} else if (!(clean & CLEAN_BARS) && cluster->host == borrow->borrower &&
		   (!look_lender_lives(cluster, record) || lend_is_local(record) ||
		    ntb_reaches(cluster, borrow->borrower, borrow->lender, CLUSTER_NONE))) {
		lend_drop_bars(cluster, record);
	}
}

static void look_at_lender(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	struct lend_function *function = &cluster->lends->functions[borrow->function];
	__u32 clean = lend_clean(record), end = RECORD_END(lend_word(record));

	if (!look_lender_lives(cluster, record) && !(clean & CLEAN_LENDER)) {
		/* Before its next life registers it: that one waits for this, or does it. */
		if (function->number == borrow->number && function->life == record->lender_life)
			__atomic_store_n(&function->state, LEND_LOST, __ATOMIC_RELEASE);
		lend_drop_lender(cluster, record);
	}
	if (cluster->host != borrow->lender)
		return;
	/* What a living borrower returns is its own to finish, and a message, which needs a way, tells of it. */
	if (!(lend_clean(record) & CLEAN_LENDER) &&
	    (end != LEND_END_RETURNED || !look_borrower_lives(cluster, record) ||
	     ((clean & CLEAN_BARS) && (clean & CLEAN_BORROWER) &&
	      (lend_is_local(record) ||
	       ntb_reaches(cluster, borrow->lender, borrow->borrower, CLUSTER_NONE)))))
		lend_take_back(cluster, record);
	if (lend_clean(record) & CLEAN_LENDER)
		lend_offer(cluster, record);
}

/* Legacy interrupts do not leave the device: no window carries them. */
static void look_at_intx(struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u32 device = function_device(cluster, borrow->function);
	struct nvme_stats stats;
	__u64 masked;

	if (cluster->host != borrow->lender || !cluster->config->devices[device].intx ||
	    cluster->config->devices[device].model != MODEL_NVME || lend_is_local(record) ||
	    borrow->guest)
		return;
	nvme_stats(cluster, borrow->function, &stats);
	masked = stats.interrupts_masked - record->intx_base;
	if (masked != record->counts.intx_masked) {
		lend_step(cluster, STEP_INTX_MASKED, record, masked, 0, 0);
		__atomic_store_n(&record->counts.intx_masked, masked, __ATOMIC_RELAXED);
	}
}

/* All that is needed of it is done: nobody looks at it, or at those before it, again. */
static bool look_done(const struct cluster *cluster, const struct lend_record *record)
{
	const struct lend_function *function = &cluster->lends->functions[record->borrow.function];

	return RECORD_PHASE(lend_word(record)) == RECORD_ENDING &&
	       lend_clean(record) == CLEAN_ALL &&
	       (function->number != record->borrow.number || function->state != LEND_RESETTING);
}

static void look_at_record(struct cluster *cluster, struct lend_record *record)
{
	enum record_phase phase = RECORD_PHASE(lend_word(record));

	if (phase == RECORD_NONE || !look_concerned(cluster, record))
		return;
	if (phase != RECORD_ENDING) {
		look_at_intx(cluster, record);
		look_at_life(cluster, record);
	}
	if (RECORD_PHASE(lend_word(record)) == RECORD_ENDING) {
		look_at_borrower(cluster, record);
		look_at_lender(cluster, record);
	}
}

void lend_look(struct cluster *cluster)
{
	struct lends *lends = cluster->lends;
	__u32 issued = __atomic_load_n(&lends->issued, __ATOMIC_ACQUIRE),
	      number = __atomic_load_n(&lends->ended, __ATOMIC_ACQUIRE) + 1;
	bool all = true;

	lend_lock();
	for (; number <= issued && number <= LEND_BORROWS_MAX; number++) {
		struct lend_record *record = &lends->records[number - 1];

		look_at_record(cluster, record);
		all = all && look_done(cluster, record);
		if (all)
			__atomic_store_n(&lends->ended, number, __ATOMIC_RELEASE);
	}
	lend_unlock();
}

/* By turns with who looks at the record: what has ended meanwhile is not asked for. NULL: it is not lent. */
static struct lend_record *revoke_begin(struct cluster *cluster, __u32 function, __u64 until_ns)
{
	struct lend_record *record;

	lend_lock();
	record = lend_record(cluster, cluster->lends->functions[function].number);
	if (record && (RECORD_PHASE(lend_word(record)) != RECORD_LIVE ||
		       record->borrow.lender != cluster->host))
		record = NULL;
	if (record && (!record->revoke_ns || until_ns < record->revoke_ns))
		__atomic_store_n(&record->revoke_ns, until_ns, __ATOMIC_RELEASE);
	if (record)
		lend_step(cluster, STEP_REVOKE, record, 0, 0, 0);
	lend_unlock();
	return record;
}

int lend_revoke(struct cluster *cluster, __u32 function, __u64 grace_ns)
{
	const struct lend_record *record =
		function < FUNCTIONS_MAX
			? revoke_begin(cluster, function, monotonic_ns() + grace_ns)
			: NULL;

	if (!record)
		return failed(-ENOENT, "function %u is not lent by this host", function);
	/* Waits, so not in that turn: messages are answered in others. */
	message_tell(
		cluster, record->borrow.borrower,
		&(struct message){.type = MESSAGE_LEND_REVOKE, .words = {record->borrow.number}});
	return 0;
}

/* What earlier lives of this host have lent, and nobody has cleaned up after yet. */
static void register_after(struct cluster *cluster, __u32 function, __u32 life)
{
	struct lends *lends = cluster->lends;
	__u32 issued = __atomic_load_n(&lends->issued, __ATOMIC_ACQUIRE);

	for (__u32 number = 1; number <= issued && number <= LEND_BORROWS_MAX; number++) {
		struct lend_record *record = &lends->records[number - 1];

		if (RECORD_PHASE(lend_word(record)) == RECORD_NONE ||
		    record->borrow.function != function || record->lender_life == life ||
		    (lend_clean(record) & CLEAN_LENDER))
			continue;
		lend_end_told(cluster, record, LEND_END_LENDER_DEAD, STEP_LENDER_DEAD, -EHOSTDOWN);
		lend_drop_lender(cluster, record);
	}
}

int lend_register(struct cluster *cluster, __u32 function)
{
	struct lend_function *lent;
	const struct lend_record *last;
	__u32 life = agent_life(cluster, cluster->host);

	if (function >= FUNCTIONS_MAX || function_host(cluster, function) != cluster->host)
		return failed(-EINVAL, "function %u is none of this host's", function);
	lent = &cluster->lends->functions[function];
	if (lent->state != LEND_UNREGISTERED && lent->life == life && lent->state != LEND_LOST)
		return failed(-EALREADY, "%s is registered", lend_name(cluster, function));
	lend_lock();
	register_after(cluster, function, life);
	last = lend_record(cluster, lent->number);
	if (last || lent->local_domain)
		function_reset(cluster, function);
	lent->local_domain = 0;
	lend_unblock(cluster, cluster->host, REQUESTER_FUNCTION(function));
	lent->life = life;
	/* As long as its last borrower has windows onto it: lend_offer(). */
	__atomic_store_n(&lent->state,
			 last && !(lend_clean(last) & CLEAN_BARS) ? LEND_RESETTING : LEND_AVAILABLE,
			 __ATOMIC_RELEASE);
	lend_step_of(cluster, STEP_REGISTER, function, CLUSTER_NONE, 0);
	lend_unlock();
	return 0;
}

void lend_unregister(struct cluster *cluster, __u32 function)
{
	struct lend_function *lent = &cluster->lends->functions[function];
	struct lend_record *record = lend_record(cluster, lent->number);

	if (lent->state == LEND_UNREGISTERED)
		return;
	lend_lock();
	if (record && RECORD_PHASE(lend_word(record)) != RECORD_NONE) {
		lend_end_told(cluster, record, LEND_END_REVOKED, STEP_REVOKED, 0);
		lend_take_back(cluster, record);
	}
	__atomic_store_n(&lent->state, LEND_UNREGISTERED, __ATOMIC_RELEASE);
	lend_step_of(cluster, STEP_UNREGISTER, function, CLUSTER_NONE, 0);
	lend_unlock();
}
