// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/page_group.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/request_truth.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

struct group_table {
	struct page_group *incomplete; /* ISR thread only */
	pthread_mutex_t lock;	       /* of the list of unused groups */
	struct page_group *unused;
};

int group_table_create(struct group_table **table)
{
	struct group_table *new = calloc(1, sizeof(*new));

	if (!new)
		return failed(-ENOMEM, "no memory for the page request groups");
	pthread_mutex_init(&new->lock, NULL);
	*table = new;
	return 0;
}

static void group_free(struct page_group *group)
{
	free(group->requests);
	free(group);
}

void group_table_destroy(struct group_table *table)
{
	struct page_group *group, *next;

	if (!table)
		return;
	HASH_ITER(hh, table->incomplete, group, next) {
		HASH_DEL(table->incomplete, group);
		group_free(group);
	}
	for (group = table->unused; group; group = next) {
		next = group->next;
		group_free(group);
	}
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static struct page_group *group_get(struct group_table *table)
{
	struct page_group *group;

	pthread_mutex_lock(&table->lock);
	group = table->unused;
	if (group)
		table->unused = group->next;
	pthread_mutex_unlock(&table->lock);
	if (group)
		return group;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->requests = calloc(GROUP_PAGES_MAX, sizeof(*group->requests));
	if (!group->requests) {
		free(group);
		return NULL;
	}
	return group;
}

void group_table_put(struct group_table *table, struct page_group *group)
{
	pthread_mutex_lock(&table->lock);
	group->next = table->unused;
	table->unused = group;
	pthread_mutex_unlock(&table->lock);
}

static struct page_group_key page_group_key_of(const struct page_request *request)
{
	return (struct page_group_key){request->device, request->pasid, request->group};
}

static struct page_group *page_group_find(struct group_table *table, struct page_group_key key)
{
	struct page_group *group;

	HASH_FIND(hh, table->incomplete, &key, sizeof(key), group);
	return group;
}

int group_table_add(struct group_table *table, const struct page_request *request,
		    struct page_group **complete)
{
	struct page_group *group = page_group_find(table, page_group_key_of(request));

	*complete = NULL;
	if (!group) {
		group = group_get(table);
		if (!group)
			return -ENOMEM;
		group->key = page_group_key_of(request);
		group->count = 0;
		HASH_ADD(hh, table->incomplete, key, sizeof(group->key), group);
		if (!group->hh.tbl) {
			group_table_put(table, group);
			return -ENOMEM;
		}
	}
	if (group->count == GROUP_PAGES_MAX)
		return -E2BIG;
	group->requests[group->count++] = *request;
	if (request->flags & EVENT_LAST) {
		HASH_DEL(table->incomplete, group);
		*complete = group;
	}
	return 0;
}

void page_group_truth(const struct page_group *group, __u8 what, __u8 code)
{
	__u64 now = monotonic_ns();
	struct truth_record truth;

	for (__u32 i = 0; truth_enabled() && i < group->count; i++) {
		truth = request_truth(TRUTH_SERVICE, what, &group->requests[i]);
		truth.time_ns = now;
		truth.flags = EVENT_GROUP;
		truth.code = code;
		truth_log(truth);
	}
}

static void page_group_discard(struct group_table *table, struct page_group *group,
			       group_discarded discarded, void *argument)
{
	HASH_DEL(table->incomplete, group);
	page_group_truth(group, TRUTH_VOID, 0);
	discarded(argument, group);
	group_table_put(table, group);
}

void group_table_discard(struct group_table *table, const struct page_request *request,
			 group_discarded discarded, void *argument)
{
	struct page_group *group = page_group_find(table, page_group_key_of(request));

	if (group)
		page_group_discard(table, group, discarded, argument);
}

void group_table_discard_all(struct group_table *table, group_discarded discarded, void *argument)
{
	struct page_group *group, *next;

	HASH_ITER(hh, table->incomplete, group, next)
		page_group_discard(table, group, discarded, argument);
}
