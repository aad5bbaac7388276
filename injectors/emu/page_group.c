// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/page_group.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

static struct group_key key_of(const struct page_request *request)
{
	return (struct group_key){request->device, request->pasid, request->group};
}

static struct page_group *find(struct group_table *table, struct group_key key)
{
	struct page_group *group;

	HASH_FIND(hh, table->incomplete, &key, sizeof(key), group);
	return group;
}

int group_table_add(struct group_table *table, const struct page_request *request,
		    struct page_group **complete)
{
	struct page_group *group = find(table, key_of(request));

	*complete = NULL;
	if (!group) {
		group = group_get(table);
		if (!group)
			return -ENOMEM;
		group->key = key_of(request);
		group->count = 0;
		HASH_ADD(hh, table->incomplete, key, sizeof(group->key), group);
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

__u32 group_table_forget(struct group_table *table, const struct page_request *request)
{
	struct page_group *group = find(table, key_of(request));
	__u32 count;

	if (!group)
		return 0;
	count = group->count;
	HASH_DEL(table->incomplete, group);
	group_table_put(table, group);
	return count;
}
