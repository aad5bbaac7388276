/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page request groups as the host assembles them: requests of many devices arrive interleaved, a
 * group is complete with its LAST request.
 */
#ifndef FAULTLINE_PAGE_GROUP_H
#define FAULTLINE_PAGE_GROUP_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "injectors/emu/service.h"

struct page_group_key {
	__u32 device;
	__u32 pasid;
	__u32 group;
};

struct page_group {
	struct page_group_key key;
	__u32 count;
	struct page_request *requests; /* GROUP_PAGES_MAX */
	UT_hash_handle hh;	       /* while incomplete */
	struct page_group *next;       /* while unused */
};

struct group_table;

int group_table_create(struct group_table **table);
void group_table_destroy(struct group_table *table);

/*
 * ISR thread. Adds one request. *complete is the group if this was its last request: it is the
 * caller's until group_table_put(). -E2BIG: the group has more requests than PCIe allows, -ENOMEM;
 * in both cases the request is not kept.
 */
int group_table_add(struct group_table *table, const struct page_request *request,
		    struct page_group **complete);

/* Told of a group that is thrown away; the group is borrowed. */
typedef void (*group_discarded)(void *argument, const struct page_group *group);
/* ISR thread. Throws away what is there of the request's incomplete group, or of every one. */
void group_table_discard(struct group_table *table, const struct page_request *request,
			 group_discarded discarded, void *argument);
void group_table_discard_all(struct group_table *table, group_discarded discarded, void *argument);

/* Any thread. Logs what happens to the whole group at once, for each of its requests. */
void page_group_truth(const struct page_group *group, __u8 what, __u8 code);

/* Any thread. Gives a complete group back. */
void group_table_put(struct group_table *table, struct page_group *group);

#endif
