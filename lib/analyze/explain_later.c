// SPDX-License-Identifier: GPL-2.0
/* What is known at the end: flows that stalled, queue pairs that waited, objectives that broke, what was lost. */
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/analyze/floor.h"
#include "lib/analyze/waits.h"

/* A stall or a wait, of each fault that it blames. */
struct explain_blamed {
	struct blame_key key;
	struct explain_blamed_list {
		const struct stall *stall;
		const struct wait *wait;
		struct explain_blamed_list *next;
	} * list;
	UT_hash_handle hh;
};

static void blamed_put(struct explain *e, const struct blame_key *key, const struct stall *stall,
		       const struct wait *wait)
{
	struct explain_blamed_list *entry = memory_calloc(1, sizeof(*entry));
	struct explain_blamed *blamed;

	if (!entry)
		return;
	*entry = (struct explain_blamed_list){stall, wait, NULL};
	HASH_FIND(hh, e->blamed, key, sizeof(*key), blamed);
	if (!blamed) {
		blamed = memory_calloc(1, sizeof(*blamed));
		if (!blamed) {
			memory_free(entry);
			return;
		}
		blamed->key = *key;
		HASH_ADD(hh, e->blamed, key, sizeof(blamed->key), blamed);
	}
	entry->next = blamed->list;
	blamed->list = entry;
}

static void blamed_by(struct explain *e, const struct blamed *blamed, const struct stall *stall,
		      const struct wait *wait)
{
	struct blame_key keys[BLAMED_MAX];

	blamed_keys(blamed, keys);
	for (__u32 i = 0; i < blamed->count; i++)
		blamed_put(e, &keys[i], stall, wait);
}

static void know_blamed(struct explain *e)
{
	__u64 now = session_last_ns(e->analysis->session);
	const struct stall **stalls;
	const struct wait **waits;
	size_t count = 0;

	if (e->blamed_known)
		return;
	e->blamed_known = true;
	stalls = stalls_longest(e->analysis->stalls, now, &count);
	for (size_t i = count; stalls && i-- > 0;)
		blamed_by(e, &stalls[i]->blamed, stalls[i], NULL);
	free(stalls);
	count = 0;
	waits = waits_longest(e->analysis->waits, now, &count);
	for (size_t i = count; waits && i-- > 0;)
		blamed_by(e, &waits[i]->blamed, NULL, waits[i]);
	free(waits);
}

static void tell_stall(const struct explain *e, const struct stall *stall, struct explanation *to)
{
	struct explained item = {.part = EXPLAIN_WAITED,
				 .stage = STAGES,
				 .ns = stall_ns(stall, session_last_ns(e->analysis->session)),
				 .evidence = "stall",
				 .from_ns = stall->from_ns,
				 .to_ns = stall->to_ns,
				 .count = stall->flow,
				 .device = stall->device,
				 .pasid = PASID_NONE,
				 .queue = stall->queue};
	struct sentence words = {0};

	sentence_add(&words, "A connection waited for it: ");
	stall_tell(stall, e->analysis->session, &words);
	sentence_add(&words, ".");
	explanation_add(to, item, &words);
}

static void tell_wait(const struct explain *e, const struct wait *wait, struct explanation *to)
{
	struct explained item = {.part = EXPLAIN_WAITED,
				 .stage = STAGES,
				 .ns = wait_ns(wait, session_last_ns(e->analysis->session)),
				 .evidence = "wait",
				 .from_ns = wait->from_ns,
				 .to_ns = wait->to_ns,
				 .count = wait->key.token,
				 .device = wait->device,
				 .pasid = PASID_NONE,
				 .queue = QUEUE_NONE};
	struct sentence words = {0};

	wait_tell(wait, e->analysis->session, &words);
	sentence_add(&words, ".");
	explanation_add(to, item, &words);
}

static void tell_broken(const struct explain *e, const struct explain_broken *broken,
			struct explanation *to)
{
	struct explained item = {.part = EXPLAIN_OBJECTIVE,
				 .stage = STAGES,
				 .evidence = "violation",
				 .ns = broken->to_ns - broken->from_ns,
				 .from_ns = broken->from_ns,
				 .to_ns = broken->to_ns,
				 .device = broken->device,
				 .pasid = PASID_NONE,
				 .queue = QUEUE_NONE};
	char when[SESSION_WHEN_TEXT];
	struct sentence words = {0};

	sentence_add(&words,
		     "Objective %s broke (%s) at %s, and this fault is one of those that stood in "
		     "its way.",
		     broken->objective->name, slo_metric_name(broken->metric),
		     session_when(e->analysis->session, broken->from_ns, when));
	explanation_add(to, item, &words);
}

/* Stalls and waits name groups; an objective each page of one. */
static void explain_tell_later(struct explain *e, const struct fault *fault, struct explanation *to)
{
	const struct blame_key key = {fault->device, fault->pasid, fault->group, fault->instance};
	const struct explain_named_key named_key = {key, fault->address};
	struct explain_blamed *blamed;
	struct explain_named *named;

	know_blamed(e);
	HASH_FIND(hh, e->blamed, &key, sizeof(key), blamed);
	for (struct explain_blamed_list *l = blamed ? blamed->list : NULL; l; l = l->next) {
		if (l->stall)
			tell_stall(e, l->stall, to);
		else
			tell_wait(e, l->wait, to);
	}
	HASH_FIND(hh, e->named, &named_key, sizeof(named_key), named);
	for (struct explain_broken *b = named ? named->broken : NULL; b; b = b->next)
		tell_broken(e, b, to);
}

static void tell_loss(const struct explain *e, struct explanation *to)
{
	unsigned int floor = floor_of(e->analysis);
	struct sentence words = {0};
	char text[FLOOR_TEXT];

	if (!floor)
		return;
	sentence_add(&words, "Unknown: whether there was more, as not all was recorded: %s.",
		     floor_text(floor, text));
	explanation_add(to,
			(struct explained){.part = EXPLAIN_UNKNOWN,
					   .stage = STAGES,
					   .evidence = "loss",
					   .pasid = PASID_NONE,
					   .queue = QUEUE_NONE},
			&words);
}

void explain_later(struct explain *e, struct explanation *to)
{
	size_t before = to->count;
	struct sentence words = {0};

	explain_tell_later(e, &to->fault, to);
	for (size_t i = before; i < to->count; i++)
		before += to->items[i].part != EXPLAIN_OBJECTIVE;
	if (e->analysis->slo && before == to->count) {
		struct explained item =
			explained_fault(EXPLAIN_OBJECTIVE, STAGES, CAUSE_UNKNOWN, &to->fault);

		sentence_add(&words, "No objective that broke is known to have broken for it.");
		explanation_add(to, item, &words);
	}
	tell_loss(e, to);
}

void explain_loss_later(struct explain *e, const struct explain_wish *wish)
{
	explanation_begin(&e->now, e->analysis, &(struct explain_fault){0});
	tell_loss(e, &e->now);
	if (e->now.count)
		wish->explained(wish->self, &e->now);
}
static bool may_be_named(const struct explain *e, __u32 device)
{
	const struct device_info *info = session_device(e->analysis->session, device);

	return e->analysis->slo || !info || info->kind == DEVICE_EMULATED ||
	       info->kind == DEVICE_IB;
}

static struct explain_named *explain_named_of(struct explain *e, const struct fault *fault)
{
	const struct explain_named_key key = {
		{fault->device, fault->pasid, fault->group, fault->instance}, fault->address};
	struct explain_named *named;

	HASH_FIND(hh, e->named, &key, sizeof(key), named);
	if (named)
		return named;
	named = pool_take(&e->named_pool);
	if (!named)
		return NULL;
	named->key = key;
	named->fault = *fault;
	HASH_ADD(hh, e->named, key, sizeof(named->key), named);
	if (named->hh.tbl)
		return named;
	pool_give(&e->named_pool, named);
	return NULL;
}

void explain_name(struct explain *e, const struct fault *fault, __u64 row)
{
	struct explain_named *named =
		may_be_named(e, fault->device) ? explain_named_of(e, fault) : NULL;

	if (!named)
		return;
	named->row = row;
	named->fault = *fault;
}

void explain_each_later(struct explain *e, const struct explain_wish *wish)
{
	for (struct explain_named *named = e->named; named; named = named->hh.next) {
		const struct explain_fault kept = {named->fault, named->row};

		if (!named->row)
			continue;
		explanation_begin(&e->now, e->analysis, &kept);
		explain_tell_later(e, &named->fault, &e->now);
		if (e->now.count)
			wish->explained(wish->self, &e->now);
	}
}

/* An objective names a fault, which may not be over yet. */
void explain_broke(void *self, const struct slo_violation *violation, const struct fault *fault)
{
	struct explain *e = self;
	struct explain_named *named = explain_named_of(e, fault);
	struct explain_broken *broken = named ? pool_take(&e->broken_pool) : NULL;

	if (!broken)
		return;
	*broken =
		(struct explain_broken){violation->objective, violation->from_ns, violation->to_ns,
					violation->device,    violation->metric,  named->broken};
	named->broken = broken;
}

void explain_later_free(struct explain *e)
{
	struct explain_blamed *blamed, *more;

	HASH_ITER(hh, e->blamed, blamed, more) {
		while (blamed->list) {
			struct explain_blamed_list *next = blamed->list->next;

			memory_free(blamed->list);
			blamed->list = next;
		}
		HASH_DEL(e->blamed, blamed);
		memory_free(blamed);
	}
	HASH_CLEAR(hh, e->named);
	pool_free(&e->named_pool);
	pool_free(&e->broken_pool);
}
