// SPDX-License-Identifier: GPL-2.0
/* A fault that is over is remembered for a while, as events are handed on in batches: its end may have been seen
 * before what blames it. */
#include "lib/analyze/blame.h"

#include "lib/analyze/faults.h"
#include "lib/analyze/stage.h"

void blame_init(struct blame *b)
{
	pool_init(&b->pool, sizeof(struct blamed_fault));
	pool_init(&b->nodes, sizeof(struct blamed_node));
}

void blame_destroy(struct blame *b)
{
	HASH_CLEAR(hh, b->faults);
	pool_free(&b->pool);
	pool_free(&b->nodes);
	memory_free(b->over);
}

static struct blamed_fault *blame_make(struct blame *b, struct blame_key key)
{
	struct blamed_fault *fault;

	HASH_FIND(hh, b->faults, &key, sizeof(key), fault);
	if (fault)
		return fault;
	fault = pool_take(&b->pool);
	if (!fault)
		return NULL;
	fault->key = key;
	HASH_ADD(hh, b->faults, key, sizeof(fault->key), fault);
	if (fault->hh.tbl)
		return fault;
	pool_give(&b->pool, fault);
	return NULL;
}

static void blame_forget(struct blame *b, struct blamed_fault *fault)
{
	if (fault->blames || fault->over)
		return;
	HASH_DEL(b->faults, fault);
	pool_give(&b->pool, fault);
}

static void remember(struct blame *b, struct blamed_fault *fault)
{
	struct blamed_fault **slot;

	if (!b->over)
		b->over = memory_calloc(BLAME_OVER_MAX, sizeof(struct blamed_fault *));
	if (!b->over || fault->over) {
		blame_forget(b, fault);
		return;
	}
	slot = &b->over[b->tail % BLAME_OVER_MAX];
	if (b->tail - b->head == BLAME_OVER_MAX) {
		b->head++;
		(*slot)->over = false;
		blame_forget(b, *slot);
	}
	fault->over = true;
	*slot = fault;
	b->tail++;
}

void blame_finished(struct blame *b, const struct fault *fault)
{
	const struct blame_key key = {fault->device, fault->pasid, fault->group, fault->instance};
	struct blamed_fault *blamed = blame_make(b, key);
	__u64 total = fault_total_ns(fault);
	struct stage_times times;

	if (!blamed)
		return;
	if (total > blamed->total_ns) {
		stage_times(fault, &times);
		blamed->total_ns = total;
		blamed->resolve_ns =
			times.measured & 1u << STAGE_RESOLVE ? times.ns[STAGE_RESOLVE] : 0;
	}
	remember(b, blamed);
}

void blame_add(struct blame *b, struct blamed *blamed, const struct event *e)
{
	const struct blame_key key = {e->device, e->pasid, e->group, e->instance};
	struct blamed_fault *fault = blame_make(b, key);
	struct blamed_node *node;

	for (node = blamed->first; node; node = node->next)
		if (node->fault == fault)
			return;
	if (!fault)
		return;
	node = blamed->count < BLAMED_MAX ? pool_take(&b->nodes) : NULL;
	if (!node) {
		b->dropped++;
		blame_forget(b, fault);
		return;
	}
	fault->blames++;
	*node = (struct blamed_node){fault, blamed->first};
	blamed->first = node;
	blamed->count++;
}

void blame_release(struct blame *b, struct blamed *blamed)
{
	for (struct blamed_node *node = blamed->first, *next; node; node = next) {
		next = node->next;
		node->fault->blames--;
		blame_forget(b, node->fault);
		pool_give(&b->nodes, node);
	}
	*blamed = (struct blamed){0};
}

void blamed_keys(const struct blamed *blamed, struct blame_key *keys)
{
	for (const struct blamed_node *node = blamed->first; node; node = node->next)
		*keys++ = node->fault->key;
}

struct blamed_worst blamed_worst(const struct blamed *blamed)
{
	struct blamed_worst worst = {0};

	for (const struct blamed_node *node = blamed->first; node; node = node->next)
		if (node->fault->total_ns > worst.total_ns) {
			worst.total_ns = node->fault->total_ns;
			worst.resolve_ns = node->fault->resolve_ns;
		}
	return worst;
}
