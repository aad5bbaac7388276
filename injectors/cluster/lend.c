// SPDX-License-Identifier: GPL-2.0
/* What everybody may know of lent functions: states, borrows by number, whether one lasts. */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/lend_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

int lends_create(struct cluster *cluster)
{
	struct lends *lends = shared_alloc(
		cluster, sizeof(struct lends) + LEND_BORROWS_MAX * sizeof(struct lend_record));
	/* A page at least: no [borrow] is no error. */
	__u64 results = (cluster->config->borrow_count + 1ull) * sizeof(struct borrow_results);

	if (!lends)
		return -ENOMEM;
	lends->results = shared_alloc(cluster, results);
	if (!lends->results)
		return -ENOMEM;
	cluster->lends = lends;
	return 0;
}

struct lend_record *lend_record(const struct cluster *cluster, __u32 number)
{
	struct lends *lends = cluster->lends;
	__u32 issued = __atomic_load_n(&lends->issued, __ATOMIC_ACQUIRE);

	if (!number || number > issued || number > LEND_BORROWS_MAX)
		return NULL;
	return &lends->records[number - 1];
}

bool lend_end(struct cluster *cluster, struct lend_record *record, enum lend_end why)
{
	__u32 word = lend_word(record);

	do {
		if (RECORD_PHASE(word) != RECORD_GRANTED && RECORD_PHASE(word) != RECORD_LIVE)
			return false;
	} while (!__atomic_compare_exchange_n(&record->word, &word, RECORD_WORD(RECORD_ENDING, why),
					      false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	record->ended_by = cluster->self;
	__atomic_store_n(&record->ended_ns, monotonic_ns(), __ATOMIC_RELEASE);
	return true;
}

void lend_end_told(struct cluster *cluster, struct lend_record *record, enum lend_end why,
		   enum cluster_step step, int error)
{
	if (lend_end(cluster, record, why))
		lend_step(cluster, step, record, 0, 0, error);
}

bool lend_agent_lives(const struct cluster *cluster, __u32 agent, __u32 life)
{
	return agent_state(cluster, agent) <= AGENT_RUNS && agent_life(cluster, agent) == life;
}

const char *lend_name(const struct cluster *cluster, __u32 function)
{
	return cluster->config->devices[function_device(cluster, function)].name;
}

const char *lend_end_text(enum lend_end why)
{
	static const char *const texts[LEND_ENDS] = {
		[LEND_END_NONE] = "lasts",
		[LEND_END_RETURNED] = "was returned",
		[LEND_END_REVOKED] = "was taken back by its lender",
		[LEND_END_BORROWER_DEAD] = "ended as its borrower died",
		[LEND_END_LENDER_DEAD] = "ended as its lender died",
		[LEND_END_WIPED] = "ended as an adapter on its way lost its tables",
		[LEND_END_FAILED] = "did not come about",
	};

	return why < LEND_ENDS ? texts[why] : "is unknown";
}

enum lend_state lend_state(const struct cluster *cluster, __u32 function)
{
	if (function >= FUNCTIONS_MAX)
		return LEND_UNREGISTERED;
	return __atomic_load_n(&cluster->lends->functions[function].state, __ATOMIC_ACQUIRE);
}

void lend_step_of(struct cluster *cluster, enum cluster_step step, __u32 function, __u32 other_host,
		  int error)
{
	cluster_step(cluster, &(struct step){.step = step,
					     .device = function_device(cluster, function),
					     .borrow = CLUSTER_NONE,
					     .other_host = other_host,
					     .error = -error});
}

void lend_step(struct cluster *cluster, enum cluster_step step, const struct lend_record *record,
	       __u64 address, __u64 begin_ns, int error)
{
	const struct lend_borrow *borrow = &record->borrow;

	if (lend_is_local(record))
		return;
	cluster_step(cluster,
		     &(struct step){.step = step,
				    .device = function_device(cluster, borrow->function),
				    .borrow = borrow->number,
				    .other_host = cluster->host == borrow->lender ? borrow->borrower
										  : borrow->lender,
				    .address = address,
				    .took_ns = begin_ns ? monotonic_ns() - begin_ns : 0,
				    .error = -error});
}

bool lend_lasts(const struct cluster *cluster, __u32 number)
{
	const struct lend_record *record = lend_record(cluster, number);

	return record && RECORD_PHASE(lend_word(record)) == RECORD_LIVE;
}

enum lend_end lend_end_of(const struct cluster *cluster, __u32 number)
{
	const struct lend_record *record = lend_record(cluster, number);

	return record ? RECORD_END(lend_word(record)) : LEND_END_NONE;
}

bool lend_asked_back(const struct cluster *cluster, __u32 number)
{
	const struct lend_record *record = lend_record(cluster, number);

	return record && __atomic_load_n(&record->asked_back, __ATOMIC_ACQUIRE);
}

bool lend_wiped(const struct cluster *cluster, const struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;

	return !lend_is_local(record) && RECORD_PHASE(lend_word(record)) == RECORD_LIVE &&
	       (ntb_generation(cluster, borrow->borrower_adapter) != record->generations[0] ||
		ntb_generation(cluster, borrow->lender_adapter) != record->generations[1]);
}

/* 0 as long as it is not down for dead_ns. */
static int lend_check_way(const struct cluster *cluster, struct lend_record *record)
{
	const struct lend_borrow *borrow = &record->borrow;
	__u64 now = monotonic_ns(), since = 0;

	if (ntb_reaches(cluster, borrow->borrower, borrow->lender, borrow->borrower_adapter)) {
		__atomic_store_n(&record->way_lost_ns, 0, __ATOMIC_RELEASE);
		return 0;
	}
	if (__atomic_compare_exchange_n(&record->way_lost_ns, &since, now, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE) ||
	    now < since + cluster->config->dead_ns)
		return 0;
	return failed(-ENODEV, "%s: the way to %s has been down for %.3f s",
		      lend_name(cluster, borrow->function),
		      cluster->config->hosts[borrow->lender].name, (double)(now - since) / 1e9);
}

int lend_check(const struct cluster *cluster, const struct lend_borrow *borrow)
{
	struct lend_record *record = lend_record(cluster, borrow->number);
	__u32 word;

	if (!record)
		return failed(-ENODEV, "there is no borrow %u", borrow->number);
	word = lend_word(record);
	if (RECORD_PHASE(word) == RECORD_ENDING)
		return failed(RECORD_END(word) == LEND_END_LENDER_DEAD ? -EHOSTDOWN : -ENODEV,
			      "borrow %u of %s %s", borrow->number,
			      lend_name(cluster, record->borrow.function),
			      lend_end_text(RECORD_END(word)));
	if (!lend_agent_lives(cluster, record->borrow.lender, record->lender_life))
		return failed(-EHOSTDOWN, "%s, which has lent %s, is dead",
			      cluster->config->hosts[record->borrow.lender].name,
			      lend_name(cluster, record->borrow.function));
	if (lend_is_local(record))
		return 0;
	if (lend_wiped(cluster, record))
		return failed(-ENODEV, "borrow %u of %s %s", borrow->number,
			      lend_name(cluster, record->borrow.function),
			      lend_end_text(LEND_END_WIPED));
	return lend_check_way(cluster, record);
}

bool lend_counts_of(const struct cluster *cluster, __u32 number, struct lend_counts *counts)
{
	const struct lend_record *record = lend_record(cluster, number);

	if (record)
		*counts = record->counts;
	else
		memset(counts, 0, sizeof(*counts));
	return record;
}

__u32 lends_left(const struct cluster *cluster)
{
	__u32 left = 0, issued = __atomic_load_n(&cluster->lends->issued, __ATOMIC_ACQUIRE);

	for (__u32 number = 1; number <= issued && number <= LEND_BORROWS_MAX; number++) {
		const struct lend_record *record = &cluster->lends->records[number - 1];

		left += RECORD_PHASE(lend_word(record)) != RECORD_NONE &&
			lend_clean(record) != CLEAN_ALL;
	}
	return left;
}

int lend_adapter(struct cluster *cluster, __u32 host, __u32 from_node, __u32 far_host, __u32 wanted,
		 __u32 *adapter)
{
	const struct cluster_config *config = cluster->config;
	const struct fabric *fabric = config->fabric;
	struct route route;
	__u32 least = CLUSTER_NONE;

	for (__u32 node = 0; node < fabric->node_count; node++) {
		if (fabric->nodes[node].kind != FABRIC_ADAPTER ||
		    fabric->nodes[node].host != host ||
		    (wanted != CLUSTER_NONE && wanted != node) ||
		    !ntb_reaches(cluster, host, far_host, node) ||
		    route_through(fabric, from_node, config->hosts[far_host].root, false, &node, 1,
				  &route) ||
		    route.hops >= least)
			continue;
		least = route.hops;
		*adapter = node;
	}
	if (least != CLUSTER_NONE)
		return 0;
	return failed(-ENETUNREACH, "%s has no adapter whose link to %s is up%s%s",
		      config->hosts[host].name, config->hosts[far_host].name,
		      wanted < fabric->node_count ? ": it was to be " : "",
		      wanted < fabric->node_count ? fabric->nodes[wanted].name : "");
}
